"""Whether a script is its run's: it reads the same examples, and its model holds and answers what the run's does.

The script is ours, written from values (`parts.literal`); it is read as a module, so that nothing in it trains. Where
its model is built, Keras is there.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tpu_studio.data import sources, tokens
from tpu_studio.data.looked import look_of_plan
from tpu_studio.data.opened import Source
from tpu_studio.wire import tasks
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import Plan

MEMORY = 2 << 30  # bytes of data; `refusing.MOST_BYTES` is below it
PIXEL = 0.5  # of 255, in the mean: pictures of many million pixels are shrunk in two steps
NUMBER = 1e-5  # of what is standardised; tokens and classes are whole
AT_ONCE = 256
CELL_OF_PYTHON = 131_072  # letters of a cell that the csv module reads where it is told of no other number


def module_of(script: Path) -> ModuleType:
    """*script* read, so that its functions can be called."""
    loader = SourceFileLoader("exported_script", str(script))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def check_data(module: ModuleType, plan: Plan, card: Mapping[str, Any], result: Path) -> int:
    """Examples that the script reads as the run does, on both sides of the split.

    Before it reads any: what *card* says of the data, by which the script goes, is what the data says itself, and the
    tokenizer of *result* is the run's. A stranger's may ask for pictures of any size, and search without end.

    Raises:
        RunError: ``export-differs``, ``result-unreadable``.
        DataError: as `sources.open_data`.
    """
    tokens.of_description({**card["data"], "folder": str(result)})
    opened = sources.open_data(plan.job, look_of_plan(plan), memory_budget_bytes=MEMORY)
    for name, value in json.loads(json.dumps(opened.description)).items():
        if name in card["data"] and card["data"][name] != value:
            raise _differs(f"{name}: {card['data'][name]!r:.100} and {value!r:.100}")
    csv.field_size_limit(CELL_OF_PYTHON)  # of this process: what a script needs beyond that it says itself
    train, unseen = module.load_data()
    sides = {"x": _all(opened.validation)["x"], "y": _all(opened.validation)["y"]}
    if tasks.by_id(plan.task).has_tokens:
        _same("weight", unseen[2], _all(opened.validation)["weight"])
        _same("text", train, opened.train.tokens)  # type: ignore[attr-defined]
    else:
        for name, mine in zip("xy", train, strict=True):
            _same(name, mine, _all(opened.train)[name])
    for name, mine in zip("xy", unseen, strict=False):
        _same(f"unseen {name}", mine, sides[name])
    return len(opened.train) + len(opened.validation)


def built(module: ModuleType, most: int) -> Any:
    """The script's model, untrained. What plan and card claim of its size is anybody's word: it has *most* weights,
    those of the run's model, or is none of this run.

    Raises:
        RunError: ``export-differs``: it has more.
    """
    from tpu_studio.trainer.models.bounded import weights_at_most

    with weights_at_most(most):
        try:
            return module.build_model()
        except ValueError as error:
            raise _differs(f"weights: {error}") from error


def fill(model: Any, trained: Any) -> None:
    """Give *model*, of a script, the weights of the run's model: by the names of layer and weight, all of them.

    Raises:
        RunError: ``export-differs``: it has others.
    """
    mine, theirs = (_by_name(one) for one in (model, trained))
    shapes = [{name: tuple(weight.shape) for name, weight in one.items()} for one in (mine, theirs)]
    if shapes[0] != shapes[1]:
        odd = sorted({*shapes[0].items()} ^ {*shapes[1].items()})
        raise _differs(f"weights: {odd[:3]}")
    for name, weight in mine.items():
        weight.assign(theirs[name])


def _by_name(model: Any) -> Mapping[str, Any]:
    """ "layer/weight" → weight; random states of dropout, which a script draws otherwise, are none."""
    found = {"/".join(weight.path.split("/")[-2:]): weight for weight in model.weights}
    if len(found) != len(model.weights):
        raise _differs("two weights of the same name")
    return found


def _all(source: Source) -> Mapping[str, Any]:
    return source.batch(np.arange(len(source)))


def _same(name: str, mine: Any, wanted: Any) -> None:
    mine, wanted = np.asarray(mine), np.asarray(wanted)
    if mine.shape != wanted.shape or mine.dtype.kind != wanted.dtype.kind:
        raise _differs(f"{name}: {mine.shape} {mine.dtype} and {wanted.shape} {wanted.dtype}")
    of_pixels = mine.ndim == 4
    for start in range(0, len(mine), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        apart = np.abs(mine[part].astype(np.float64) - wanted[part])
        largest = float(apart.mean() if of_pixels else apart.max())
        if not largest <= (PIXEL if of_pixels else NUMBER):
            raise _differs(f"{name}: {largest}", largest)


def _differs(raw: str, difference: float = float("inf")) -> RunError:
    return RunError("export-differs", format="keras-script", difference=difference, raw=raw)
