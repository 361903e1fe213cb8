"""Makes `tests/fakes/chats.zip`: chats in the tokens that Hugging Face Transformers makes of them, a folder a template.

    python tools/make_chat_samples.py TEMPLATES    in an environment with transformers 5.24; nothing is fetched

TEMPLATES is a folder with the makers' own templates, as `<id>.jinja` of `wire.pretrained.template` (one more of the
same id: `<id>-other.jinja`), out of their `tokenizer_config.json`. They stay where they are: what is kept is what they
make of some chats, in tokens of a small tokenizer of that family, and the sha256 of each.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from make_decoder_samples import TEXT, of_words  # noqa: E402

from tpu_studio.wire.pretrained import template  # noqa: E402
from tpu_studio.wire.pretrained.tokenizer import PATTERNS  # noqa: E402

TO = ROOT / "tests" / "fakes" / "chats.zip"
CHATS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("user", "How quick is the fox?"), ("assistant", "12,345 times\n\n  as quick; isn’t it?")),
    (("system", "Be brief."), ("user", "Äpfel naïve?"), ("assistant", "Over the lazy dog.")),
    (
        ("user", "In 2024 it's\n- one\n- two"),
        ("assistant", "brown"),
        ("user", "jumps?"),
        ("assistant", "The quick brown fox jumps 🦊"),
    ),
    (("system", "A fox\nor a dog."), ("user", "one"), ("assistant", "two"), ("user", "x"), ("assistant", "y")),
)
THOUGHTS = (
    (("user", "one"), ("assistant", "<think>\nthe fox\n</think>\n\nquick")),
    (("user", "a"), ("assistant", "<think>\nb\n</think>\n\nc"), ("user", "d"), ("assistant", "e")),
)


def tokenizer(id: str, standing: tuple[str, ...]) -> Any:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    special = [AddedToken(one, special=True, normalized=False) for one in standing]
    if id == "gemma":
        cut = Tokenizer.from_str(of_words().to_str())
        cut.add_special_tokens([one for one in special if cut.token_to_id(one.content) is None])
        return cut
    cut = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=id in ("smollm2", "plain"))
    if id == "smollm2":
        cut.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level])
    elif id == "plain":
        cut.pre_tokenizer = level
    else:
        if not id.startswith("llama"):
            cut.normalizer = normalizers.NFC()
        split = pre_tokenizers.Split(Regex(PATTERNS[id.startswith("llama")]), behavior="isolated")
        cut.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    cut.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    cut.train_from_iterator([TEXT * 5, "\n\nassistant\nuser\nsystem\n\n" * 9], trainer)
    cut.add_special_tokens(special)
    if id == "qwen3":
        cut.add_tokens([AddedToken(one, special=False, normalized=False) for one in ("<think>", "</think>")])
    return cut


def samples(id: str, jinja: str, folder: Path) -> dict[str, Any]:
    transformers: Any = import_module("transformers")
    known = next(one for one in template.TEMPLATES if one.id == id)
    standing = (*known.tokens, *(one for one in ("<|endoftext|>",) if not {"</s>", "<bos>"} & set(known.tokens)))
    cut = tokenizer(id, standing)
    cut.save(str(folder / "tokenizer.json"))
    begin = next((one for one in known.tokens if one in ("<|begin_of_text|>", "<bos>", "<s>")), None)
    end = "</s>" if "</s>" in standing else "<|endoftext|>" if "<|endoftext|>" in standing else "<eos>"
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=cut, bos_token=begin, eos_token=end, chat_template=jinja
    )
    made = []
    for chat in (*CHATS, *(THOUGHTS if id == "qwen3" else ())):
        said = [{"role": role, "content": text} for role, text in chat]
        how: dict[str, Any] = {"date_string": "26 Jul 2024", "enable_thinking": False, "return_dict": False}
        whole = wrapped.apply_chat_template(said, tokenize=True, **how)
        asked = wrapped.apply_chat_template(said[:-1], tokenize=True, add_generation_prompt=True, **how)
        made.append({"turns": chat, "whole": whole, "asked": asked})
    return {"chats": made, "sha256": hashlib.sha256(jinja.encode()).hexdigest()}


def main(given: Path) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        for one in template.TEMPLATES:
            folder = Path(scratch) / one.id
            folder.mkdir()
            own = given / f"{one.id}.jinja"
            jinja = template.plain_jinja({"<|endoftext|>"}) if one.id == template.PLAIN else own.read_text("utf-8")
            found = samples(one.id, jinja, folder)
            others = [jinja, *(file.read_text("utf-8") for file in given.glob(f"{one.id}-other.jinja"))]
            if one.id != template.PLAIN:
                assert [template.recognised(text) for text in others] == [one.id] * len(others), one.id
            assert all(samples(one.id, text, folder)["chats"] == found["chats"] for text in others), one.id
            (folder / "chats.json").write_text(json.dumps(found, ensure_ascii=False))
        with zipfile.ZipFile(TO, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(scratch).rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(scratch).as_posix())
    print(f"{TO.name}: {TO.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
