"""A described workload, as `estimate` reads it (blueprint, §4): any model on any slice, known in part.

What is absent, null or a word nobody knows is unknown: it gets a notice and a usual value. A number that cannot be
(negative, none, beyond any machine) is an error: guessing around it would hide a slip.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.planner.throughput.families import UNKNOWN, family_of
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.plainfiles import plainly

MOST_BYTES = 1 << 20  # a workload is a dozen lines
# Least and most of each number: the most is far beyond any machine or model there is.
LIMITS: dict[str, tuple[float, float]] = {
    "chips": (1, 131_072),
    "params": (1, 1e15),
    "flops_per_unit_train": (1, 1e21),
    "sequence_length": (1, 1e8),
    "image_size": (1, 1e5),
    "global_batch": (1, 1e9),
}
WHOLE = ("chips", "sequence_length", "image_size", "global_batch")
WORDS = ("generation", "family", "precision", "unit", "framework")
UNITS = ("token", "sequence", "image", "video sample", "example")


@dataclass(frozen=True)
class Notice:
    """Something that made the answer less certain. ``id`` has its sentence in ``domain.sentences``."""

    id: str
    facts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "facts": dict(self.facts)}


@dataclass(frozen=True)
class Workload:
    """None: unknown. Attributes:
    flops_per_unit_train: Forward and backward pass of one unit, a multiply-add counting as two.
    global_batch: Sequences, pictures or samples a step; also where the unit is a token.
    """

    generation: str | None = None
    chips: int | None = None
    family: str | None = None
    params: float | None = None
    flops_per_unit_train: float | None = None
    precision: str | None = None
    unit: str | None = None
    sequence_length: int | None = None
    image_size: int | None = None
    global_batch: int | None = None
    framework: str | None = None


KEYS = tuple(Workload.__dataclass_fields__)


def load(path: Path, catalogue: Catalogue) -> tuple[Workload, list[Notice]]:
    """Read a workload file.

    Raises:
        BadInput: ``workload-file-missing``, ``workload-file-unreadable``, ``workload-file-too-large``,
            ``workload-file-broken``, and those of `parse`.
    """
    name = str(path)
    try:
        with open(path, "rb", opener=plainly) as file:  # a pipe would be waited for
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise BadInput("workload-file-missing", file=name) from error
    except (OSError, ValueError) as error:
        raise BadInput("workload-file-unreadable", file=name, raw=str(error)) from error
    if len(raw) > MOST_BYTES:
        raise BadInput("workload-file-too-large", file=name, most=MOST_BYTES)
    try:
        record = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BadInput("workload-file-broken", file=name, empty=not raw.strip(), raw=str(error)[:200]) from error
    return parse(record, catalogue, file=name)


def parse(record: Any, catalogue: Catalogue, *, file: str = "") -> tuple[Workload, list[Notice]]:
    """Check every value; the workload and what had to be taken for unknown.

    Raises:
        BadInput: ``workload-not-an-object``; ``workload-number`` with key, value, least and most.
    """
    if not isinstance(record, Mapping):
        raise BadInput("workload-not-an-object", file=file, found=type(record).__name__)
    values: dict[str, Any] = {}
    notices: list[Notice] = []
    absent: list[str] = []
    for key in KEYS:
        value = record.get(key)
        if value is None or (isinstance(value, str) and not value.strip()):
            absent.append(key)
        elif key in WORDS:
            values[key] = _word(key, value, catalogue, notices, file)
        else:
            values[key] = _number(key, value, notices, file)
    strange = sorted(str(key) for key in record if key not in KEYS and key not in IGNORED)
    if strange:
        notices.append(Notice("workload-keys-ignored", {"keys": strange[:8], "count": len(strange)}))
    family = family_of(values.get("family"))
    beside = {"image_size"} if (values.get("unit") or family.unit) in ("token", "sequence") else set()
    beside |= {"sequence_length"} if family.kind == "convolution" else set()
    absent = [key for key in absent if key not in beside]
    if "generation" in absent:
        absent.remove("generation")
        notices.append(Notice("workload-generation-absent", {"known": [one.id for one in catalogue.offered()]}))
    if absent:
        notices.append(Notice("workload-values-absent", {"keys": absent}))
    return Workload(**values), notices


# The other columns of the calibration file: a row of it is a workload as it stands.
IGNORED = frozenset(
    [
        "id",
        "accelerator",
        "model",
        "flops_basis",
        "units_per_s",
        "units_per_s_per_chip",
        "step_time_s",
        "tflops_per_s_per_chip",
        "mfu_vs_bf16_peak",
        "mfu_basis",
        "includes_eval_or_checkpoint",
        "bound",
        "confidence",
        "source",
        "source_date",
        "note",
        "small_slice",
    ]
)


def _number(key: str, value: Any, notices: list[Notice], file: str) -> float | int | None:
    least, most = LIMITS[key]
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            notices.append(Notice("workload-value-unknown", {"key": key, "value": value[:60]}))
            return None
    wrong = isinstance(value, bool) or not isinstance(value, (int, float))
    # an int beyond every float is compared as an int, never converted
    if wrong or (isinstance(value, float) and not math.isfinite(value)) or not least <= value <= most:
        shown = (
            str(value)[:40]
            if not isinstance(value, int) or abs(value) <= most * 1000
            else f"a number of {_digits(value)} digits"
        )
        raise BadInput("workload-number", file=file, key=key, value=shown, least=least, most=most)
    if key in WHOLE and value != int(value):
        raise BadInput("workload-number", file=file, key=key, value=str(value), least=least, most=most, whole=True)
    return int(value) if key in WHOLE else float(value)


def _digits(value: int) -> int:
    return max(1, math.ceil(value.bit_length() * math.log10(2)))


def _word(key: str, value: object, catalogue: Catalogue, notices: list[Notice], file: str) -> str | None:
    if not isinstance(value, str):
        raise BadInput("workload-word", file=file, key=key, value=str(value)[:40])
    word = value.strip()
    if key == "generation":
        found = catalogue.find(word)
        if found is not None and found.offered:
            return found.id
        notices.append(
            Notice(
                "workload-generation-unknown", {"value": word[:60], "known": [one.id for one in catalogue.offered()]}
            )
        )
        return None
    known = {
        "family": lambda: family_of(word) is not UNKNOWN,
        "unit": lambda: word.lower() in UNITS,
        "precision": lambda: precision_of(word) is not None,
        "framework": lambda: stack_of(word) != "",
    }[key]()
    if not known:
        notices.append(Notice("workload-value-unknown", {"key": key, "value": word[:60]}))
        return None
    return word.lower() if key in ("family", "unit") else word


def precision_of(word: str | None) -> str | None:
    """bf16, fp32, int8 or fp8 from the ways people write them ("int8 AQT + bf16", "mixed_bfloat16"); None: unknown.

    The narrowest counts: in "int8 AQT + bf16" the products are int8.
    """
    text = (word or "").lower().replace("_", "").replace("-", "")
    for name, spellings in (
        ("fp8", ("fp8", "float8", "f8e")),
        ("int8", ("int8", "aqt")),
        ("bf16", ("bf16", "bfloat16", "fp16", "float16", "mixed")),
        ("fp32", ("fp32", "float32", "f32", "full")),
    ):
        if any(spelling in text for spelling in spellings):
            return name
    return None


def stack_of(word: str | None) -> str:
    """The training program behind a framework's name, the longest match first; "" when nobody knows it."""
    text = (word or "").lower().replace("-", "").replace(" ", "").replace("_", "")
    if re.search(r"(tensorflow|tf)1\.(x|\d$|1[0-2])", text):
        return "tensorflow1"  # of 2018, whose compiler was young; from 1.13 on it is like 2.x
    for name in (
        "maxtext",
        "maxdiffusion",
        "levanter",
        "easylm",
        "bigvision",
        "flax",
        "pytorch",
        "torch",
        "tensorflow",
        "keras",
        "jax",
    ):
        if name in text:
            return {"torch": "pytorch", "keras": "jax"}.get(name, name)
    return "tensorflow" if text in ("tf", "tf2", "tf1") else ""
