"""Small folders as KerasHub 0.32.0 wrote them, with what its networks see in two pictures (`make_preset_samples`), and
as Hugging Face Transformers 5.24 wrote language models, with what these answer (`make_decoder_samples`)."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

ZIP = Path(__file__).with_name("kerashub.zip")
DECODERS = Path(__file__).with_name("decoders.zip")
CHATS = Path(__file__).with_name("chats.zip")
BLANKS = Path(__file__).with_name("blanks.zip")


def unpacked(name: str, to: Path) -> Path:
    """The folder of that *name* below *to*."""
    with zipfile.ZipFile(ZIP) as archive:
        archive.extractall(to, [one for one in archive.namelist() if one.startswith(f"{name}/")])
    return to / name


def names() -> list[str]:
    """Of those that say what the network sees."""
    with zipfile.ZipFile(ZIP) as archive:
        return [Path(one).parent.name for one in archive.namelist() if one.endswith("seen.npz")]


def decoder(name: str, to: Path) -> Path:
    """The folder of that language model below *to*."""
    with zipfile.ZipFile(DECODERS) as archive:
        archive.extractall(to, [one for one in archive.namelist() if one.startswith(f"{name}/")])
    return to / name


def decoders() -> list[str]:
    with zipfile.ZipFile(DECODERS) as archive:
        return sorted({one.partition("/")[0] for one in archive.namelist()})


def chats(id: str) -> tuple[bytes, list[dict[str, Any]]]:
    """Of that chat template: a tokenizer, and chats in its tokens (`make_chat_samples`)."""
    with zipfile.ZipFile(CHATS) as archive:
        found: list[dict[str, Any]] = json.loads(archive.read(f"{id}/chats.json"))["chats"]
        return archive.read(f"{id}/tokenizer.json"), found


def blanks() -> list[str]:
    """Names of tokenizers as those of Llama 2 and Mistral are written (`make_tokenizer_samples`)."""
    with zipfile.ZipFile(BLANKS) as archive:
        return sorted({one.partition("/")[0] for one in archive.namelist()})


def blank(name: str) -> tuple[bytes, dict[str, Any]]:
    """One of them, and what Transformers makes of `texts` and `chats` by it."""
    with zipfile.ZipFile(BLANKS) as archive:
        found: dict[str, Any] = json.loads(archive.read(f"{name}/seen.json"))
        return archive.read(f"{name}/tokenizer.json"), found
