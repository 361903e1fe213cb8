"""Where the folders of runs are: found by what a person says, made, and put right where a plan is damaged."""

from __future__ import annotations

import difflib
import secrets
import unicodedata
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.plainfiles import strange_entry
from tpu_studio.wire.runfolder import PLAN, has_plan, is_torn
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns.plans import is_damaged


def check_no_links(folder: Path) -> None:
    """Before anything is written into the run's *folder* that is not opened file by file: a link leads elsewhere.

    Raises:
        RunError: ``run-has-links`` (facts: run, file), ``run-unreadable``.
    """
    try:
        strange = folder if folder.is_symlink() else strange_entry(folder)
    except OSError as error:
        raise RunError("run-unreadable", run=folder.name, raw=error.strerror) from error
    if strange is not None:
        raise RunError("run-has-links", run=folder.name, file=str(strange.relative_to(folder)))


class RunFolders:
    """Args:
    root: ``runs/``; need not be there.
    mend: Puts back the plan of a rented run, and says whether it did.
    called: The ids of the runs that are called so now.
    """

    def __init__(
        self, root: Path, mend: Callable[[Path], bool], called: Callable[[str], Collection[str]] = lambda name: ()
    ) -> None:
        self.root, self._mend, self._called = root, mend, called

    def all(self) -> Sequence[Path]:
        if not self.root.is_dir():
            return []
        return sorted(path for path in self.root.iterdir() if path.is_dir() and not path.name.startswith("."))

    def find(self, run: str, *, damaged: bool = False) -> Path:
        """The folder of a run, by its id, a path, a name that no other run has, or an unambiguous beginning of its id.

        Args:
            damaged: Also one that has lost its plan, or whose plan nobody lets us read, by its id.

        Raises:
            RunError: ``run-unknown`` (facts: run, nearest), ``run-ambiguous`` (facts: run, found), ``plan-missing``,
                ``run-unreadable``.
        """
        exact = self.root / run
        named = bool(run) and run == Path(run).name
        if named and has_plan(exact):
            return self._whole(exact, damaged)
        if named and is_torn(exact) and self._mend(exact):
            return exact
        if named and is_torn(exact):
            if damaged:
                return exact
            raise RunError("plan-missing", run=run, folder=str(exact))
        if (Path(run) / PLAN).exists():
            return Path(run).absolute()
        names = [path.name for path in self.all() if has_plan(path)]
        so = self._called(run) if run else ()
        called = [name for name in names if name in so]
        found = called or [name for name in names if run and name.startswith(run)]
        if len(found) == 1:
            return self._whole(self.root / found[0])
        if found:
            raise RunError("run-ambiguous", run=run, found=sorted(found))
        known = {name.rpartition("-")[0]: name for name in names} | {name: name for name in names}
        near = difflib.get_close_matches(run, known, n=1)
        raise RunError("run-unknown", run=run, nearest=known[near[0]] if near else None)

    def own(self, run: str, *, begins: bool = False) -> Path:
        """The folder of a run that is one of ours, for whoever writes into it: what lies elsewhere is only looked at.

        Args:
            begins: Something is to be started there, which writes wherever its links lead: then there may be none.

        Raises:
            BadInput: ``run-lies-elsewhere`` (facts: folder), also for a link to a run's folder.
            RunError: ``run-has-links`` (facts: run, file), and those of `find`.
        """
        found = self.find(run)
        lies = found.resolve()
        if found.is_symlink() or lies.parent != self.root.resolve():
            raise BadInput("run-lies-elsewhere", folder=str(found))
        folder = self.root / lies.name
        if begins:
            check_no_links(folder)
        return folder

    def _whole(self, folder: Path, damaged: bool = False) -> Path:
        """With its plan as it was launched, where anybody knows it still."""
        if is_damaged(folder):
            self._mend(folder)
        try:
            plans.frozen(folder)
        except FileNotFoundError:
            pass  # said by whoever needs it
        except RunError:
            pass  # no plan any more: said by whoever needs it, and it can be deleted
        except OSError as error:
            if not damaged:
                raise RunError("run-unreadable", run=folder.name, raw=error.strerror) from error
        return folder

    def new_id(self, name: str) -> str:
        """An id for a run of a job of that name; nothing is made."""
        return f"{self.slug(name)}-{''.join(secrets.choice(desk.ALPHABET) for _ in range(4))}"

    def alike(self, name: str) -> list[Path]:
        """The folders of runs of jobs of that name, and of some others of which the name begins so."""
        return [path for path in self.all() if path.name.startswith(self.slug(name)) and has_plan(path)]

    @staticmethod
    def slug(name: str) -> str:
        plain = unicodedata.normalize("NFKD", name[:1_000].lower()).replace(
            "ß", "ss"
        )  # an accent is a letter of its own now
        plain = "".join(c for c in plain if not unicodedata.combining(c))
        letters = "".join(c if c.isascii() and c.isalnum() else " " for c in plain)
        slug = "-".join(letters.split())[:40].strip("-")
        return slug or "run"

    def make(self, name: str) -> Path:
        make_private(self.root)
        while True:
            folder = self.root / self.new_id(name)
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
