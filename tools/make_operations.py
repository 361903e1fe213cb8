"""Write resources/catalogue/tf_operations.json: what TensorFlow's TPU compiler has, and its own answer to each probe.

    python tools/make_operations.py            needs both: engine --install --with tpu-compiler, --with tf-tpu-compiler

Three parts: every operation registered for the TPU compiler with the number types it takes, read from tensorflow-tpu
itself; the inputs whose values it must know, what works slowly and what to use instead, kept here; and for each of
tools/operation_probes.py whether it was lowered, and compiled by the libtpu of TensorFlow's TPU VM. The last is what
`benchmarks/bench_operations.py` and the tests compare the check with.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.local.computer import trainer_environment  # noqa: E402
from tpu_studio.local.engine import compiler, engine_root, tf_compiler  # noqa: E402
from tpu_studio.wire.runfolder import write_atomically  # noqa: E402

TABLE = ROOT / "resources" / "catalogue" / "tf_operations.json"
SLICE = {"accelerator": "v5litepod-1", "generation": "v5e", "topology": "1x1", "devices": 1}

# Inputs whose values the TPU compiler must know (CompileTimeConstantInput in TensorFlow's tf2xla); -1: the last.
CONSTANT: dict[str, list[int]] = {
    "Reshape": [1],
    "Fill": [0],
    "Range": [0, 1, 2],
    "LinSpace": [0, 1, 2],
    "Empty": [0],
    "BroadcastTo": [1],
    "Pad": [1],
    "PadV2": [1],
    "MirrorPad": [1],
    "MirrorPadGrad": [1],
    "Tile": [1],
    "Transpose": [1],
    "ConjugateTranspose": [1],
    "OneHot": [1],
    "ExpandDims": [1],
    "Split": [0],
    "SplitV": [1, 2],
    "ConcatV2": [-1],
    "Concat": [0],
    "GatherV2": [2],
    "ReverseV2": [1],
    "Roll": [2],
    "ArgMax": [1],
    "ArgMin": [1],
    "Cumsum": [1],
    "Cumprod": [1],
    "CumulativeLogsumexp": [1],
    "Sum": [1],
    "Prod": [1],
    "Mean": [1],
    "Max": [1],
    "Min": [1],
    "All": [1],
    "Any": [1],
    "EuclideanNorm": [1],
    "StridedSliceGrad": [0],
    "ListDiff": [0, 1],
    "ScatterNd": [2],
    "Bincount": [1],
    "DenseBincount": [1],
    "SparseToDense": [1],
    "UnsortedSegmentSum": [2],
    "UnsortedSegmentMax": [2],
    "UnsortedSegmentMin": [2],
    "UnsortedSegmentProd": [2],
    "SpaceToBatchND": [1, 2],
    "BatchToSpaceND": [1, 2],
    "SpaceToBatch": [1],
    "BatchToSpace": [1],
    "MatrixDiagV2": [1, 2, 3],
    "MatrixDiagV3": [1, 2, 3],
    "MatrixDiagPartV2": [1],
    "MatrixDiagPartV3": [1],
    "MatrixSetDiagV2": [2],
    "MatrixSetDiagV3": [2],
    "ResizeBilinear": [1],
    "ResizeNearestNeighbor": [1],
    "ResizeNearestNeighborGrad": [1],
    "MaxPoolV2": [1, 2],
    "AvgPoolGrad": [0],
    "AvgPool3DGrad": [0],
    "Conv2DBackpropInput": [0],
    "Conv2DBackpropFilter": [1],
    "Conv3DBackpropInputV2": [0],
    "Conv3DBackpropFilterV2": [1],
    "DepthwiseConv2dNativeBackpropInput": [0],
    "DepthwiseConv2dNativeBackpropFilter": [1],
    "RandomUniform": [0],
    "RandomUniformInt": [0],
    "RandomStandardNormal": [0],
    "TruncatedNormal": [0],
    "StatelessRandomUniform": [0],
    "StatelessRandomUniformV2": [0],
    "StatelessRandomUniformInt": [0],
    "StatelessRandomUniformIntV2": [0],
    "StatelessRandomNormal": [0],
    "StatelessRandomNormalV2": [0],
    "StatelessTruncatedNormal": [0],
    "StatelessTruncatedNormalV2": [0],
    "StatelessParameterizedTruncatedNormal": [0],
    "Multinomial": [1],
    "StatelessMultinomial": [1],
    "RFFT": [1],
    "RFFT2D": [1],
    "RFFT3D": [1],
    "IRFFT": [1],
    "IRFFT2D": [1],
    "IRFFT3D": [1],
    "TensorListReserve": [1],
    "EmptyTensorList": [1],
}

# They have a kernel that refuses all the same (measured: the probes of the same names).
REFUSED: dict[str, str] = {
    "TridiagonalSolve": "does not pivot",
}

# Accepted, with sizes that depend on values: each is computed for the largest size it could have, again and again.
SLOW: dict[str, str] = {
    "Where": "Use tf.where(condition, x, 0), which keeps its size, instead of tf.where(condition) and boolean_mask.",
    "Unique": "Do it to the data before training, or count with one_hot.",
    "DynamicPartition": "Multiply with a mask of zeros and ones instead of taking examples apart.",
    "NonMaxSuppressionV3": "Choose boxes after training, on the computer beside the TPU.",
    "NonMaxSuppressionV4": "Choose boxes after training, on the computer beside the TPU.",
}

# What to use in place of them; "*by value": of an input whose value must be known.
_WORDS: dict[str, str] = {
    "Turn text into numbers before training: in the data set, not in the model.": "AsString StringToHashBucketFast StringToHashBucketStrong StringToHashBucket StringSplitV2 StringLength"
    " StringJoin RegexReplace StaticRegexReplace StringLower StringStrip StringNGrams StringToNumber DecodeRaw"
    " Substr UnicodeDecode",
    "Take tf.print out; losses are told anyway.": "PrintV2 Print StringFormat",
    "Write it in TensorFlow or keras.ops, or do it to the data before training.": "PyFunc EagerPyFunc PyFuncStateless",
    "Look names up before training, in the data; or use whole numbers from 0 and an Embedding.": "LookupTableFindV2 LookupTableSizeV2 LookupTableImportV2 LookupTableInsertV2 LookupTableExportV2 HashTableV2"
    " MutableHashTableV2",
    "Do it to the pictures before training, or use tf.image.resize with bilinear or nearest.": "ResizeBicubic ResizeBicubicGrad ResizeArea ScaleAndTranslate ScaleAndTranslateGrad CropAndResize"
    " EncodeJpegVariableQuality DrawBoundingBoxesV2 ExtractGlimpse",
    "Turn, zoom and shift pictures in the data (the job's augmentation), not in the model: on a TPU RandomRotation,"
    " RandomZoom and RandomTranslation do not work.": "ImageProjectiveTransformV3 ImageProjectiveTransformV2",
    "Read the data before training: the job's data does this.": "DecodeJpeg DecodePng DecodeImage DecodeBmp DecodeGif DecodeWav DecodeCSV ReadFile WriteFile ParseExampleV2"
    " ParseSingleExample IteratorGetNext FIFOQueueV2 QueueEnqueueV2 QueueDequeueV2",
    "Use tf.random.normal or uniform, or draw the numbers before training.": "RandomGamma StatelessRandomGammaV3 StatelessRandomGammaV2 RandomPoissonV2 StatelessRandomPoisson"
    " StatelessRandomBinomial StatefulRandomBinomial",
    "Use tf.linalg.qr, svd, eigh or cholesky, or work it out before training.": "Eig MatrixDeterminant LogMatrixDeterminant Lu Schur MatrixSquareRoot MatrixLogarithm TridiagonalSolve"
    " MatrixSolveLs",
    "Use dense tensors of one size, padded, and a mask.": "SparseTensorDenseMatMul SparseReorder SparseToDense SparseReshape SparseFillEmptyRows SparseSegmentSum"
    " RaggedTensorToTensor RaggedRange RaggedGather RaggedTensorToVariant",
    "Use tf.math.unsorted_segment_sum with a fixed number of segments.": "SegmentSum SegmentMean SegmentMax SegmentMin",
    "Count with tf.one_hot and reduce_sum, or do it to the data before training.": "UniqueWithCounts UniqueV2 UniqueWithCountsV2 HistogramFixedWidth DenseToDenseSetOperation",
    "Give the size beforehand, or count with tf.one_hot and reduce_sum.": "DenseBincount Bincount RaggedBincount SparseBincount",
    "Use tf.nn.max_pool2d.": "MaxPoolWithArgmax FractionalMaxPool",
    "Use tf.nn.max_pool2d, which is a flat dilation.": "Dilation2D",
    "Choose boxes after training, on the computer beside the TPU.": "CombinedNonMaxSuppression",
    "Decode after training, on the computer beside the TPU.": "CTCGreedyDecoder CTCBeamSearchDecoder",
    "Use tf.nn.ctc_loss with dense labels and logits.": "CTCLoss",
    "Measure it after training, on the computer beside the TPU.": "EditDistance",
    "Take it out: the time of each step is told anyway.": "Timestamp",
    "Use the whole softmax: a TPU multiplies with large vocabularies quickly.": "UniformCandidateSampler LogUniformCandidateSampler LearnedUnigramCandidateSampler",
    "Give the size as a number in Python, or mask with tf.where instead of cutting.": "*by_value",
}
INSTEAD = {name: words for words, names in _WORDS.items() for name in names.split()}


def main() -> int:
    lowerer, compiles = tf_compiler(engine_root()), compiler(engine_root())
    with tempfile.TemporaryDirectory() as folder:
        told = ask_lowering(lowerer.python(), Path(folder))
        answers = {name: dict(one) for name, one in told["answers"].items()}
        compile_all(compiles.python(), told["libtpu"], answers)
    versions = {name: lowerer.state().versions[name] for name in ("tensorflow-tpu", "libtpu", "keras")}
    sets = {tuple(one) for types in told["types"].values() for one in types.values()}
    kinds = [list(one) for one in sorted(sets, key=lambda one: (len(one), one))]
    tree: dict[str, Any] = {
        "format": 1,
        "generated": time.strftime("%Y-%m-%d"),
        "note": "Written by tools/make_operations.py from tensorflow-tpu and libtpu; do not edit.",
        "versions": versions,
        "kinds": kinds,
        "types": {name: {at: kinds.index(one) for at, one in types.items()} for name, types in told["types"].items()},
        "constant": dict(sorted(CONSTANT.items())),
        "refused": REFUSED,
        "slow": SLOW,
        "instead": dict(sorted(INSTEAD.items())),
        "answers": {name: summary(one) for name, one in answers.items()},
    }
    write_atomically(TABLE, (as_text(tree) + "\n").encode())
    works = sum(one["works"] for one in tree["answers"].values())
    print(f"{TABLE.name}: {len(told['types'])} operations; of {len(answers)} probes a TPU takes {works}")
    return 0


def _plain(words: str) -> str:
    """Without the folders of this machine."""
    return re.sub(r"/[^\s\"']*/site-packages/", "", words)


def summary(one: dict[str, Any]) -> dict[str, Any]:
    """Works: lowered and compiled. Else who refused, and its words."""
    if not one["lowered"]:
        return {"works": False, "by": "lowering", "words": _plain(one["words"])}
    if one.get("compiled") is not True:
        return {"works": False, "by": "libtpu", "words": _plain(one.get("compiled_words", ""))}
    return {"works": True}


def as_text(tree: dict[str, Any]) -> str:
    """JSON with one line an operation, so that a change can be read."""
    lines: list[str] = []
    for name, value in tree.items():
        if isinstance(value, (dict, list)):
            keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
            ones = value.values() if isinstance(value, dict) else value
            inner = ",\n".join(f"  {key}{json.dumps(one)}" for key, one in zip(keys, ones, strict=True))
            brackets = "{}" if isinstance(value, dict) else "[]"
            lines.append(f" {json.dumps(name)}: {brackets[0]}\n{inner}\n {brackets[1]}")
        else:
            lines.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}"


def ask_lowering(python: Path, folder: Path) -> Any:
    """What `operation_probes` tells in the environment with the TPU's TensorFlow."""
    return _ask(python, "--lower", folder, "answers.json")


def ask_check(python: Path) -> Any:
    """What the check's table says of each probe, traced in the training engine: id, level and operation."""
    with tempfile.TemporaryDirectory() as folder:
        return _ask(python, "--check", Path(folder), "checked.json")


def judge(checked: dict[str, list[list[str]]], answers: dict[str, dict[str, Any]]) -> tuple[list[str], list[str]]:
    """False "works" and false alarms of the check; a warning is no alarm."""
    alarmed = {name for name, found in checked.items() if any(level == "error" for _, level, _ in found)}
    works = {name for name, one in answers.items() if one["works"]}
    return sorted(set(answers) - works - alarmed), sorted(works & alarmed)


def _ask(python: Path, option: str, folder: Path, name: str) -> Any:
    argv = [str(python), "-m", "tools.operation_probes", option, str(folder)]
    environment = trainer_environment() | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment |= {"CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads((folder / name).read_bytes())


def compile_all(python: Path, libtpu: str, answers: dict[str, dict[str, Any]]) -> None:
    """Add ``compiled`` to each lowered one. A compiler that breaks down is an answer, and a new one goes on."""
    process = None
    for one in answers.values():
        if not one["lowered"]:
            continue
        if process is None:
            process = subprocess.Popen(
                [str(python), "-m", "tpu_studio.trainer.check.compiling_text"],
                cwd=ROOT,
                text=True,
                env=trainer_environment() | {"TPU_LIBRARY_PATH": libtpu},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            _exchange(process, SLICE)
        told = _exchange(process, {"file": one["file"], "full": False, "kept": 0})
        if told is None:
            one.update(compiled=False, compiled_words="the compiler broke down")
            process = None
        else:
            one.update(compiled=bool(told.get("fits")), compiled_words=told.get("problem") or told.get("words") or "")
    if process is not None:
        process.kill()
        process.wait()


def _exchange(process: subprocess.Popen[str], line: dict[str, Any]) -> Any:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(line) + "\n")
    process.stdin.flush()
    told = process.stdout.readline()
    return json.loads(told) if told else None


if __name__ == "__main__":
    sys.exit(main())
