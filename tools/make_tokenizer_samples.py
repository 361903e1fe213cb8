"""Makes `tests/fakes/blanks.zip`: tokenizers as Hugging Face Transformers writes those of Llama 2 and Mistral.

    python tools/make_tokenizer_samples.py    with transformers 5.24, sentencepiece, protobuf, mistral-common

A small SentencePiece model is converted in each way that Transformers has, and the first tokens of Mistral's Tekken. Of
each the archive keeps what it makes of some hundred texts, and of whole chats with their marks. Nothing is fetched: the
large ones come with `mistral_common`, and ours is held to these, too, before anything is written.
"""

from __future__ import annotations

import base64
import json
import random
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from make_decoder_samples import TEXT  # noqa: E402

from tpu_studio.data.instructing import Writer  # noqa: E402
from tpu_studio.data.published import Published  # noqa: E402
from tpu_studio.wire.pretrained.template import Turn, joined, rendered  # noqa: E402

TO = ROOT / "tests" / "fakes" / "blanks.zip"
MARKS = ("[INST]", "[/INST]")
TEMPLATES = ("mistral", "mistral-nemo", "plain")
SMALL, SPECIAL = 700, 20  # tokens of the small Tekken, of which stand for no text
ODD = (
    *(
        "",
        " ",
        "  ",
        "\n",
        "\n\n ",
        " a",
        "a ",
        "  a  ",
        "\ta\t\tb",
        "é",
        "🦊",
        "👩‍👩‍👧",
        "漢字かな",
        "e\u0301",
        "\u00a0 a",
    ),
    *("▁", "▁▁a", "a▁b", " ▁", "<s>", "</s>", "<unk>", "a</s>b", " </s> ", "[INST] x [/INST]", "<0x41>", "<0x0A>"),
    *("\x00", "\r\n", "ẞﬁ", "\u200b", "😀" * 20, "a" * 300, " " * 90, "\n" * 90, "A" * 90, "aB" * 90, "12,345.67"),
)
CHATS = (
    (Turn("user", "How quick?"), Turn("assistant", "As the fox.")),
    (Turn("system", "Be brief."), Turn("user", "é  x"), Turn("assistant", "1\n2")),
    (Turn("user", "🦊"), Turn("assistant", "jumps"), Turn("user", "over"), Turn("assistant", "the\n\n  dog")),
    (Turn("user", "The lazy"), Turn("assistant", "dog"), Turn("user", "naïve?")),
)


def texts(count: int) -> list[str]:
    """Odd ones, parts of a text, and letters in any order, written marks among them."""
    drawn = random.Random(7)
    alphabet = [*"abcdefgh AB  \n\n\t.,;:!?0123éß漢🦊▁<>/[]s|", "</s>", "<s>", *MARKS, "<unk>", "<0x41>", " the ", "qu"]
    parts = [TEXT[start : start + drawn.randint(1, 60)] for start in (drawn.randrange(90) for _ in range(count // 3))]
    return [
        *ODD,
        *parts,
        *("".join(drawn.choices(alphabet, k=drawn.randint(1, 30))) for _ in range(count - len(parts))),
    ]


def converted(model: Path, *, legacy: bool, put: bool = True) -> Any:
    """By Transformers' converter, whose way to pieces and merges is its extractor's in 5.24."""
    from tokenizers import AddedToken, Tokenizer, models

    slow: Any = import_module("transformers.convert_slow_tokenizer")
    pieces: Any = import_module("sentencepiece").SentencePieceProcessor(model_file=str(model))

    class Original:
        vocab_file, add_prefix_space = str(model), put
        convert_ids_to_tokens = pieces.id_to_piece

    class Converter(slow.LlamaConverter):  # type: ignore[misc]
        def tokenizer(self, proto: Any) -> Any:
            made = slow.SentencePieceExtractor(str(model)).extract(models.BPE)
            bpe = models.BPE(made["vocab"], made["merges"], unk_token="<unk>", fuse_unk=True, byte_fallback=True)
            cut = Tokenizer(bpe)
            cut.add_tokens([AddedToken("<unk>", normalized=False, special=True), *made["additional_special_tokens"]])
            return cut

    original: Any = Original()
    original.legacy = legacy
    return Converter(original).converted()


def learned(folder: Path) -> Path:
    """With the settings of Llama 2's."""
    (folder / "text").write_text(TEXT * 20, encoding="utf-8")
    import_module("sentencepiece").SentencePieceTrainer.train(
        input=str(folder / "text"),
        model_prefix=str(folder / "tokenizer"),
        model_type="bpe",
        vocab_size=320,  # as the networks of `make_decoder_samples`
        byte_fallback=True,
        split_digits=True,
        allow_whitespace_only_pieces=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        character_coverage=1.0,
        control_symbols=list(MARKS),
        minloglevel=2,
    )
    return folder / "tokenizer.model"


def small_tekken(whole: Path, to: Path) -> Path:
    tree = json.loads(whole.read_text("utf-8"))
    tree["config"] |= {"default_vocab_size": SMALL, "default_num_special_tokens": SPECIAL, "num_vocab_tokens": SMALL}
    tree["vocab"] = tree["vocab"][: SMALL - SPECIAL]
    assert len({base64.b64decode(one["token_bytes"]) for one in tree["vocab"]}) == SMALL - SPECIAL
    to.write_text(json.dumps(tree))
    return to


def by_name(scratch: Path) -> Iterator[tuple[str, Any, bool]]:
    """Each with its name, and whether it is small enough to be kept."""
    mistral: Any = import_module("transformers.integrations.mistral.tokenizer")
    llama: Any = import_module("transformers.models.llama")
    published = Path(str(import_module("mistral_common").__file__)).parent / "data"
    models = (
        learned(scratch),
        published / "tokenizer.model.v1",
        published / "mistral_instruct_tokenizer_240323.model.v3",
    )
    for number, model in enumerate(models):
        sign = f"-{model.suffix[1:]}" if number else ""
        yield f"legacy{sign}", converted(model, legacy=True), not number
        yield f"first{sign}", converted(model, legacy=False), not number
    yield "never", converted(models[0], legacy=False, put=False), True
    yield "plain", converted(models[0], legacy=True, put=False), True
    for legacy in (False, True):  # as version 5 writes it from a folder
        (scratch / "config.json").write_text('{"model_type": "llama"}')
        yield f"written-{legacy}".lower(), llama.LlamaTokenizer.from_pretrained(scratch, legacy=legacy)._tokenizer, True
    tekken = published / "tekken_240718.json"
    yield "tekken-large", mistral.MistralConverter(str(tekken)).converted(), False
    yield "tekken", mistral.MistralConverter(str(small_tekken(tekken, scratch / "tekken.json"))).converted(), True


def seen(cut: Any, file: Path) -> dict[str, Any]:
    """What Transformers makes of texts, with no token added, and of whole chats."""
    whole: Any = import_module("transformers").PreTrainedTokenizerFast(tokenizer_file=str(file))
    made, known = [], Published(file.read_bytes())
    cut.encode_special_tokens = True
    for text in texts(260):
        ids = cut.encode(text, add_special_tokens=False).ids
        made.append([text, ids, cut.decode(ids, skip_special_tokens=False)])
    marks = known.standing.keys()
    chats = []
    for id in [one for one in TEMPLATES if one == "plain" or set(MARKS) <= marks]:
        for turns in CHATS:
            parts = list(joined(rendered(id, turns, marks)))
            ids = whole("".join(part.text for part in parts), add_special_tokens=False)["input_ids"]
            chats.append([id, [[turn.role, turn.text] for turn in turns], ids])
    return {"texts": made, "chats": chats}


def check(name: str, file: Path, found: dict[str, Any]) -> None:
    ours = Published(file.read_bytes())
    for text, ids, _ in found["texts"]:
        assert ours.of_text(text) == ids, (name, text)
    for id, turns, ids in found["chats"]:
        assert Writer(ours, id).tokens([Turn(role, text) for role, text in turns])[0] == ids, (name, id, turns)


def pack(folders: Sequence[Path]) -> None:
    with zipfile.ZipFile(TO, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in folders:
            for file in sorted(folder.iterdir()):
                archive.write(file, f"{folder.name}/{file.name}")


def main() -> int:
    kept = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, cut, is_kept in by_name(Path(scratch)):
            folder = Path(scratch) / name
            folder.mkdir()
            cut.save(str(folder / "tokenizer.json"))
            found = seen(cut, folder / "tokenizer.json")
            (folder / "seen.json").write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
            check(name, folder / "tokenizer.json", found)
            print(f"{name}: {len(found['texts'])} texts and {len(found['chats'])} chats are the same")
            kept += [folder] if is_kept else []
        pack(kept)
    print(f"{TO.name}: {TO.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
