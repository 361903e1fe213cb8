"""``data``: data sets of the Hugging Face Hub, what one has, and its files for a job. Ctrl-C cancels cleanly."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tpu_studio.cli.engine import cancelling
from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.domain import figures
from tpu_studio.domain.hubwords import columns_words, licence_words, split_words
from tpu_studio.wire import hub, hubdata
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.hubdata import Dataset, Subset

_SHOWN = 40  # subsets in words; in JSON all


def data(arguments: Arguments, output: Output) -> int:
    """Raises: as `cloud.hubdata.DataHub`; BadInput ``command-line``."""
    if not arguments.name:
        return _list(arguments, output)
    if arguments.delete:
        return _delete(arguments.name, output)
    return _fetch(arguments, output)


def as_json(found: Dataset) -> dict[str, object]:
    copies = found.copies()
    return {
        "name": hub.PREFIX + found.name,
        "revision": found.revision,
        "converted": found.converted,
        "licence": found.licence,
        "gated": found.gated,
        "subsets": [_subset_as_json(found, one, copies) for one in found.subsets],
    }


def _subset_as_json(found: Dataset, subset: Subset, copies: Mapping[str, Path]) -> dict[str, object]:
    return {
        "name": subset.name,
        "columns": dict(subset.columns),
        "splits": [
            {
                "name": one.name,
                "bytes": one.size,
                "files": len(one.parts),
                "rows": one.rows,
                "partial": one.partial,
                "downloaded": found.has(one, copies),
            }
            for one in subset.splits
        ],
    }


def _words(found: Dataset) -> str:
    lines, copies = [f"{hub.PREFIX}{found.name}: {licence_words(found)}"], found.copies()
    for subset in found.subsets[:_SHOWN]:
        lines.append(f"  {subset.name}, {figures.size(subset.size)}: {columns_words(subset)}")
        for split in subset.splits:
            here = ", downloaded" if found.has(split, copies) else ""
            lines.append(f"    {split_words(split)}{here}")
    if len(found.subsets) > _SHOWN:
        lines.append(f"  and {len(found.subsets) - _SHOWN:,} subsets more: --json names them all")
    return "\n".join(lines)


def _list(arguments: Arguments, output: Output) -> int:
    if arguments.download or arguments.delete or arguments.subset or arguments.split:
        raise BadInput("command-line", raw="Which data set is meant?", help="tpu-studio data --help")
    found = hubdata.entries()
    words = "\n".join(map(_words, found)) or "No data set of the Hugging Face Hub was looked up on this computer yet."
    output.answer({"datasets": [as_json(one) for one in found]}, words)
    return 0


def _fetch(arguments: Arguments, output: Output) -> int:
    from tpu_studio.cloud.hubdata import DataHub, splits_of, subset_of

    remote = DataHub(os.environ.get("HF_TOKEN", ""))
    with cancelling() as cancelled:
        output.say(f"Asking {remote.address} for {arguments.name}.")
        found = remote.look_up(arguments.name, cancelled=cancelled)
        if not arguments.download:
            output.answer({"dataset": as_json(found)}, f"{_words(found)}\n{_next(found)}")
            return 0
        subset = subset_of(found, arguments.subset)
        splits = splits_of(found, subset, arguments.split)
        output.say(f"{'; '.join(map(split_words, splits))}. {licence_words(found)}")

        def tell(done: int, total: int) -> None:
            share = done / total if total else None
            output.progress(share, f"Downloading: {figures.size(done)} of {figures.size(total)}")

        name = hub.PREFIX + found.name
        path = remote.download(name, subset.name, arguments.split, tell, cancelled)
    words = f'{path}\nName it in a job: data.path = "{path}"; or begin with: tpu-studio plan {path}'
    answer = {
        "dataset": as_json(found),
        "subset": subset.name,
        "splits": [one.name for one in splits],
        "path": str(path),
    }
    output.answer(answer, words)
    return 0


def _next(found: Dataset) -> str:
    which = "" if len(found.subsets) == 1 else " --subset NAME"
    learned = found.subsets[0].learned
    return f"To fetch {' and '.join(learned[:3])}: tpu-studio data {hub.PREFIX}{found.name}{which} --download"


def _delete(name: str, output: Output) -> int:
    from tpu_studio.cloud import hubdata as remote

    size = remote.delete(name)
    output.answer({"name": name, "deleted_bytes": size}, f"{figures.size(size)} of {name} deleted.")
    return 0
