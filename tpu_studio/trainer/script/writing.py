"""A run as a short Keras script of its own: everything that a plan decided, said plainly, with no word of ours in it.

`written` needs the run's plan, the card of its result and its data, which it looks at but does not read; whether the
script is the run's is for ``script.checking``.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpu_studio.data.augment import may_mirror
from tpu_studio.data.fingerprints import check_unchanged
from tpu_studio.data.looked import Look, look_of_plan
from tpu_studio.trainer.recipe import is_mixed
from tpu_studio.trainer.schedule import of_plan
from tpu_studio.trainer.script import pictures, tables, texts
from tpu_studio.trainer.script.fitting import Fitting, fitting, steps_of
from tpu_studio.trainer.script.networks import network
from tpu_studio.trainer.script.parts import Constant, Part, assigned, literal
from tpu_studio.trainer.script.refusing import refusal
from tpu_studio.trainer.stages import unfreeze_at
from tpu_studio.wire import bases, controls, kinds, sums, tasks
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.secrets import short

_TOP = '''\
"""A training of TPU Studio as plain Keras code: the same data, kept aside alike, the same model layer by layer, trained
as long by the same optimizer, and measured the same. RUN and NAME say which it is, REACHED what it reached.

    python THIS_FILE

It reads the files below where they lie on this computer. Each run of it comes out a little otherwise, as two trainings
of different seeds do:

{differs}
"""
'''


_SECTIONS = ("data", "model", "training")
_NARROW = 'keras.config.set_dtype_policy("mixed_bfloat16")  # layers compute in bfloat16; weights stay float32'


def written(run: Path, result: Path, plan: Plan, card: Mapping[str, Any]) -> str:
    """The script of *run*, whose result is that folder.

    Raises:
        RunError: ``export-no-script`` (`refusing`); ``result-unreadable``: plan and card, which anybody may have
            written, do not say what those of a run do.
        DataError: The data is not there, or not what it was.
    """
    try:
        return _text(run, result, plan, card)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        told = short(f"{type(error).__name__}: {error}", 300)
        raise RunError("result-unreadable", path=str(result / sums.CARD), raw=told) from error


def _text(run: Path, result: Path, plan: Plan, card: Mapping[str, Any]) -> str:
    if is_mixed(plan) and len(card["input"]["shape"]) == 4:
        raise refusal("mixed-pictures")
    if tasks.by_id(plan.task).has_chats:
        raise refusal("chats")
    if tasks.by_id(plan.task).has_labels:
        raise refusal("table-of-labels")
    if bases.is_one(plan.job.model.folder):
        raise refusal("other-run")
    model = network(plan, card)
    if controls.extensions(run):
        raise refusal("extended")
    look = look_of_plan(plan)
    check_unchanged(plan.job, look)
    data, fits = _data(plan, card, look, result), fitting(_how(plan, card))
    parts = (data, model, fits)
    text = "\n".join([*_head(plan, card, parts), *(part.code.strip("\n") + "\n\n" for part in parts)]).rstrip() + "\n"
    ast.parse(text)
    return text


def _how(plan: Plan, card: Mapping[str, Any]) -> Fitting:
    shape = card["input"]["shape"]
    varies = plan.job.data.augment is True and len(shape) == 4
    data = card["data"]
    mirrors = may_mirror(data.get("kind"), data.get("classes", ())) if varies else None
    steps = steps_of(plan, card)
    return Fitting(plan, card, of_plan(plan), steps, min(unfreeze_at(plan), steps), mirrors)


def _data(plan: Plan, card: Mapping[str, Any], look: Look, result: Path) -> Part:
    kind = kinds.by_id(plan.job.data.kind)
    if kind.is_converted:
        raise refusal("converted-data")
    if kind.is_built_in:
        return pictures.digits(plan, card)
    if kind.has_pictures:
        return pictures.folder(plan, card, look)
    if kind.has_rows:
        return tables.table(plan, card, look)
    if tasks.by_id(plan.task).continues:
        return texts.one_text(plan, card, look, result)
    return texts.many_texts(plan, card, look, result)


def _head(plan: Plan, card: Mapping[str, Any], parts: tuple[Part, ...]) -> list[str]:
    """All that stands before the functions."""
    differs = "\n".join(f"* {one}" for part in parts for one in part.differs).rstrip(";") + "."
    modules = frozenset().union(*(part.imports for part in parts))
    plain = sorted(f"import {name}" for name in {"os"} | {one for one in modules if not one.startswith("from ")})
    names = sorted(one for one in modules if one.startswith("from "))
    standard = sorted(one for one in names if one.startswith("from pathlib"))
    narrow = plan.job.training.precision == "bfloat16"
    of_run = (
        Constant("RUN", plan.run, "of TPU Studio"),
        Constant("NAME", plan.job.name),
        Constant("REACHED", _reached(card), "on data that it never learned from"),
        Constant("SEED", plan.job.training.seed),
    )
    precision = [_NARROW, ""] if narrow else []
    return [
        _TOP.format(differs=differs),
        *plain,
        *standard,
        "",
        f'os.environ.setdefault("KERAS_BACKEND", {literal(plan.framework)})  # what Keras computes with',
        "",
        "import keras",
        "import numpy as np",
        *(one for one in names if one not in standard),
        "",
        assigned(of_run),
        *(f"\n# The {what}\n{assigned(part.constants)}" for what, part in zip(_SECTIONS, parts, strict=True)),
        "",
        *precision,
        "",
    ]


def _reached(card: Mapping[str, Any]) -> dict[str, float]:
    final = card["trained"]["final"]
    return {
        str(name): float(value)
        for name, value in final.items()
        if str(name).startswith("val_") and isinstance(value, (int, float)) and math.isfinite(value)
    }
