"""Run in the engine: published tokenizers, as Hugging Face's library cuts by what is left of them.

`cut FOLDER` prints, of each sample, what it makes of texts and gives back of them; `odd FOLDER` what is said of files
that the library would read otherwise than they stand there; `blanks FOLDER`, of those that put a blank before a text,
what they make of texts and chats beside what Transformers does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.fakes.presets import blank, blanks, decoder, decoders
from tools.make_decoder_samples import TEXT
from tpu_studio.data.instructing import Writer
from tpu_studio.data.published import Published
from tpu_studio.wire.pretrained.template import Turn

Tree = dict[str, Any]
TYPED = "<|endoftext|> and <|im_end|>, <eos><bos><pad><unk>"
ODD = {
    "half a letter": "naïve".encode()[:3],
    "behind a letter": b"\xaf and",
    "lone surrogates": b"\xed\xa0\x80 and \xed\xbf\xbf",
    "no letters": bytes(range(128, 256)),
    "zeros": bytes(7),
    "nothing": b"",
}
LONG = ("word " * 20_000 + "\n") * 2


def tokens_of(cutter: Published, text: bytes) -> list[int]:
    tokens, size = cutter.encode(np.frombuffer(text, np.uint8))
    assert size == len(text) and tokens.dtype == np.int32
    return [int(token) for token in tokens]


def back(cutter: Published, tokens: list[int]) -> bytes:
    return b"".join(map(cutter.piece, tokens))


def cut(root: Path) -> dict[str, Any]:
    return {name: _cut(decoder(name, root)) for name in decoders()}


def _cut(folder: Path) -> dict[str, Any]:
    file = (folder / "tokenizer.json").read_bytes()
    cutter, special = Published(file), {one["id"] for one in json.loads(file)["added_tokens"]}
    tokens, typed = (tokens_of(cutter, text.encode()) for text in (TEXT, TYPED))
    long = tokens_of(cutter, LONG.encode())
    odd = {name: back(cutter, tokens_of(cutter, text)).decode() for name, text in ODD.items()}
    wanted = {name: text.decode("utf-8", "replace") for name, text in ODD.items()}
    return {
        "ids": tokens,
        "recorded": np.load(folder / "seen.npz")["ids"].tolist(),
        "text": back(cutter, tokens).decode(),
        "typed": back(cutter, typed).decode(),
        "special": sorted(special & {*tokens, *typed, *long}),
        "never": sorted(cutter.never & {*tokens, *typed, *long}),
        "of_never": back(cutter, sorted(cutter.never)).decode(),
        "long": back(cutter, long) == LONG.encode(),
        "odd": sorted(name for name in ODD if odd[name] != wanted[name]),
        "again": Published(cutter.file).file == cutter.file,
        "vocabulary": cutter.vocabulary,
    }


def odd(root: Path) -> dict[str, Any]:
    """Of each: what is said of it, or tokens of a text and the text again."""
    plain, words = (json.loads((decoder(name, root) / "tokenizer.json").read_bytes()) for name in ("gpt2", "gemma3"))
    blanks = max(words["model"]["vocab"].values()) + 1
    with_blanks = words["model"] | {
        "vocab": words["model"]["vocab"] | {"▁▁": blanks},
        "merges": [*words["model"]["merges"], ["▁", "▁"]],
    }
    made = plain["model"] | {
        "vocab": plain["model"]["vocab"] | {"<|": 300},
        "merges": [*plain["model"]["merges"], ["<", "|"]],
    }
    lost = plain["model"] | {"merges": [*plain["model"]["merges"], ["zz", "qq"]]}
    return {
        "follows": _said(_with(plain, {"id": 300, "content": "@@"}), "a@@b"),
        "far": _said(_with(plain, {"id": 310, "content": "@@"}), "a@@b"),
        "blanks": _said(_with(words | {"model": with_blanks}, {"id": blanks, "content": "▁▁"}), "a  b"),
        "special": _said(_with(plain, {"id": 300, "content": "@@", "special": True}), "a@@b"),
        "made": _said(_with(plain | {"model": made}, {"id": 300, "content": "<|", "special": True}), "a<|b"),
        "gap": _said(plain | {"model": plain["model"] | {"vocab": plain["model"]["vocab"] | {"zz": 305}}}, "zz"),
        "lost": _said(plain | {"model": lost}, "zz"),
    }


def _with(tree: Tree, added: Tree) -> Tree:
    return tree | {"added_tokens": [*tree["added_tokens"], added]}


def _said(tree: Tree, text: str) -> Any:
    try:
        cutter = Published(json.dumps(tree).encode())
    except ValueError as error:
        return str(error)
    tokens = tokens_of(cutter, text.encode())
    return [tokens, back(cutter, tokens).decode(), cutter.vocabulary, sorted(cutter.never)]


def before(_: Path) -> dict[str, Any]:
    return {name: _before(*blank(name)) for name in blanks()}


def _before(file: bytes, seen: Tree) -> Tree:
    cutter, special = Published(file), {one["id"] for one in json.loads(file)["added_tokens"] if one["special"]}
    texts, chats = [], []
    for text, theirs, said in seen["texts"]:
        tokens = tokens_of(cutter, text.encode())
        shown = back(cutter, tokens).decode("utf-8", "replace")
        texts.append([text, tokens, theirs, shown.removeprefix(" ") if cutter.blank_put("nothing") else shown, said])
    for id, turns, theirs in seen["chats"]:
        chats.append([id, turns, Writer(cutter, id).tokens([Turn(*one) for one in turns])[0], theirs])
    long = tokens_of(cutter, LONG.encode())
    return {
        "texts": texts,
        "chats": chats,
        "special": sorted(special.intersection(token for _, tokens, *_ in texts for token in tokens)),
        "again": Published(cutter.file).file == cutter.file,
        "long": back(cutter, long).decode().removeprefix(" ") == LONG and back(cutter, long).count(b"\n ") == 0,
    }


print(json.dumps({"cut": cut, "odd": odd, "blanks": before}[sys.argv[1]](Path(sys.argv[2]))))
