"""Data sets of the Hugging Face Hub: what subsets and splits one has, and the files of some, held to the Hub's sums.

    hub = DataHub()                                        huggingface.co, as nobody, or with a token of the person's
    found = hub.look_up("hf:owner/name")                   subsets, splits, sizes, licence; some kB
    hub.download("hf:owner/name", "plain_text", ["train"])  its files; the folder that a job names

Of most data sets the Hub has a conversion to Parquet, on a branch of its own (`CONVERTED`); of others, what lies in
`main` under names of splits is taken. How the Hub is asked: `hubclient`; which files are which: `hubsplits`.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tpu_studio.cloud import hubsplits
from tpu_studio.cloud.hubclient import Client, Progress, Wanted, commit, listed
from tpu_studio.cloud.hubfolder import alone, check_room, size_of, writing
from tpu_studio.wire import hubdata
from tpu_studio.wire.errors import BadInput, NotReady, words_of
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.hub import PREFIX
from tpu_studio.wire.hubdata import Dataset, Split, Subset
from tpu_studio.wire.runfolder import write_atomically

CONVERTED = "refs/convert/parquet"


class DataHub(Client):
    KIND = "datasets"
    IS_DATA = True
    PREFIX = "datasets/"
    MOST_SAID = 16_000_000

    def look_up(
        self, name: str, progress: Progress = lambda done, total: None, cancelled: Callable[[], bool] = bool
    ) -> Dataset:
        """What the Hub says of the data set *name*, kept beside what is fetched of it. Nothing of the data comes.

        An old name (`hf:imdb`) is answered by the one that it has now (`stanfordnlp/imdb`), which the record is of.

        Raises:
            BadInput: hub-data-name, hub-not-found, hub-gated, hub-token-refused, hub-no-data, hub-data-large.
            NotReady: hub-unreachable, hub-refused, hub-too-often, hub-no-disk, hub-folder, hub-busy.
        """
        asked = _name(name)
        main = self.told(asked, sums=False, cancelled=cancelled)
        now = str(main.get("id") or asked)
        if not hubdata.is_name(PREFIX + now):
            raise NotReady("hub-refused", name=asked, raw="It answers of something that is called otherwise.")
        found = self._dataset(now, main, cancelled)
        folder = hubdata.folder(PREFIX + now)
        with alone(folder), writing(folder):
            before = hubdata.entry(PREFIX + now)
            if before is None or before.revision != found.revision:
                for begun in folder.rglob("*.part"):
                    begun.unlink()
            write_atomically(folder / hubdata.FILE, found.dumps())
        return found

    def download(
        self,
        name: str,
        subset: str,
        splits: Collection[str] = (),
        progress: Progress = lambda done, total: None,
        cancelled: Callable[[], bool] = bool,
    ) -> Path:
        """*splits* of the subset, or those to learn from, as they were looked up; where they lie, for a job to name.

        What is there of another revision is deleted.

        Raises: as `look_up`; BadInput ``hub-data-not-looked-up``, ``hub-no-subset``, ``hub-no-split``,
            ``hub-one-split``, ``hub-changed``; NotReady ``hub-differs``; StudioError ``hub-cancelled``.
        """
        _name(name)
        found = hubdata.entry(name)
        if found is None:
            raise BadInput("hub-data-not-looked-up", name=name)
        one = subset_of(found, subset)
        chosen = splits_of(found, one, splits)
        folder = hubdata.folder(name)
        with alone(folder):
            base, names = found.folder(one, splits), [split.name for split in chosen]
            with writing(folder):
                make_private(base)
                _drop_others(found, one, names)
                _take(found, one, names)
            wanted = [Wanted(part.file, base / part.name, part.listed) for part in found.missing(one, names)]
            begun = sum(size_of(part.to.with_name(f"{part.to.name}.part")) for part in wanted)
            check_room(folder, sum(part.listed.size for part in wanted) - begun)
            total = sum(split.size for split in chosen)
            self.fetch(found.name, found.revision, wanted, total, progress, cancelled, _came)
        return found.path(one, splits)

    def _dataset(self, name: str, main: Mapping[str, Any], cancelled: Callable[[], bool]) -> Dataset:
        converted = self._converted(name, cancelled)
        told = converted or self.told(name, cancelled=cancelled)
        try:
            named = [(str(one["rfilename"]), one) for one in told["siblings"]]
            files = {file: listed(one) for file, one in named if hubsplits.is_plain(file)}
            revision = commit(told)
            card = hubsplits.card(main.get("cardData"))
        except (KeyError, TypeError, ValueError) as error:
            raise NotReady("hub-refused", name=name, raw=f"Its answer lacks {words_of(error)}") from error
        if len(files) > hubdata.MOST_LISTED:
            raise BadInput("hub-data-large", name=name, page=self.page(name), files=len(files))
        subsets = (hubsplits.converted if converted else hubsplits.own)(files, card)
        if not subsets:
            raise BadInput("hub-no-data", name=name, page=self.page(name), files=len(files))
        if len(subsets) > hubdata.MOST_SUBSETS or max(len(one.splits) for one in subsets) > hubdata.MOST_SPLITS:
            raise BadInput("hub-data-large", name=name, page=self.page(name), files=len(files))
        gated = bool(main.get("gated"))
        return Dataset(name, revision, bool(converted), card.licence, gated, time.time(), subsets)

    def _converted(self, name: str, cancelled: Callable[[], bool]) -> Mapping[str, Any] | None:
        """What lies on the branch of the Hub's conversion; None where there is none."""
        try:
            told = self.told(name, CONVERTED, cancelled=cancelled)
        except BadInput as error:
            if error.id != "hub-changed":  # there is no such revision
                raise
            return None
        files = told.get("siblings")
        names = [one.get("rfilename") for one in files if isinstance(one, dict)] if isinstance(files, list) else []
        return told if any(str(one).endswith(hubdata.TABULAR) for one in names) else None


def subset_of(found: Dataset, subset: str) -> Subset:
    """The one of that name; "" is the only one. Raises BadInput ``hub-no-subset``."""
    one = found.subsets[0] if not subset and len(found.subsets) == 1 else found.subset(subset)
    if one is None:
        names = [each.name for each in found.subsets]
        raise BadInput("hub-no-subset", name=found.name, subset=subset, subsets=names[:40], count=len(names))
    return one


def splits_of(found: Dataset, subset: Subset, splits: Collection[str]) -> Sequence[Split]:
    """Raises BadInput ``hub-no-split``, ``hub-one-split``, ``hub-data-large``."""
    names = [one.name for one in subset.splits]
    if unknown := [one for one in splits if one not in names]:
        raise BadInput("hub-no-split", subset=subset.name, split=unknown[0], splits=names)
    chosen = subset.chosen(splits)
    if len(chosen) > 1 and not subset.mixes:
        raise BadInput("hub-one-split", subset=subset.name, splits=[one.name for one in chosen])
    size, files = sum(one.size for one in chosen), sum(len(one.parts) for one in chosen)
    if size > hubdata.MOST_BYTES or files > hubdata.MOST_FILES:
        raise BadInput("hub-data-large", name=found.name, subset=subset.name, size=size, files=files)
    return chosen


def _name(value: str) -> str:
    if not hubdata.is_name(value):
        raise BadInput("hub-data-name", value=value[:200])
    return value.removeprefix(PREFIX)


def _came(one: Wanted) -> None:
    base = one.to.parent.parent
    with writing(base):
        _note(base, {hubdata.sum_key(one.to): one.listed.sha256 or one.listed.sha1})


def _note(base: Path, sums: Mapping[str, str]) -> None:
    write_atomically(base / hubdata.FETCHED, json.dumps({**hubdata.fetched(base), **sums}).encode())


def _drop_others(found: Dataset, subset: Subset, splits: Collection[str]) -> None:
    """What lies there of another revision, or was begun of one."""
    base, missing = found.folder(subset, splits), {part.name for part in found.missing(subset, splits)}
    known = {part.name for split in subset.chosen(splits) for part in split.parts}
    kept = (known - missing) | {f"{name}.part" for name in missing}
    for one in base.iterdir():
        if one.name not in kept and one.is_file():
            one.unlink()


def _take(found: Dataset, subset: Subset, splits: Collection[str]) -> None:
    """What another choice of splits has brought already, without a second copy where the disk can do that."""
    base, copies, sums = found.folder(subset, splits), found.copies(), dict[str, str]()
    for part in found.missing(subset, splits):
        there = copies.get(part.checksum)
        with suppress(OSError):  # a file system without links: it is fetched
            if there is not None and hubdata.is_copy(there, part):
                os.link(there, base / part.name, follow_symlinks=False)
                sums[hubdata.sum_key(base / part.name)] = part.checksum
    if sums:
        _note(base.parent, sums)


def delete(name: str) -> int:
    """All that was fetched of it, gone; its bytes. Raises BadInput ``hub-data-name``; NotReady ``hub-busy``."""
    _name(name)
    folder = hubdata.folder(name)
    if not folder.is_dir():
        return 0
    with alone(folder):
        size = sum(size_of(one) for one in folder.rglob("*") if one.is_file())
        shutil.rmtree(folder)
    return size
