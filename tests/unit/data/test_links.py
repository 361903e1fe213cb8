"""A stranger's folder of data may hold links to files of mine: what they lead to is no data, for no reader."""

from __future__ import annotations

import ast
import io
import os
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tpu_studio.cloud.bundle import data_pieces
from tpu_studio.data import convert as converting
from tpu_studio.data import images, labelfile, links, textlayout
from tpu_studio.data import texts as textfiles
from tpu_studio.data.convert import convert
from tpu_studio.data.described import read_dataset
from tpu_studio.data.folders import list_images
from tpu_studio.data.guess import guess
from tpu_studio.data.imaging import BrokenImage
from tpu_studio.data.links import is_file_inside, is_folder_inside
from tpu_studio.data.look import look
from tpu_studio.data.paths import leads_outside
from tpu_studio.data.predicting import inputs_in
from tpu_studio.data.sources import open_data
from tpu_studio.data.tables import fingerprint
from tpu_studio.data.watching import Watch
from tpu_studio.domain.sentences import say, why_broken
from tpu_studio.trainer.script import pictures, splitting
from tpu_studio.viewmodels.opening import what_is
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job
from tpu_studio.wire.plainfiles import plainly

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2hunter2\n" * 20


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Files of mine beside what a stranger sent."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "id_ed25519").write_text(SECRET)
    Image.new("RGB", (20, 20), "red").save(folder / "me.png")
    return folder


def texts(root: Path) -> Path:
    for kind in ("good", "bad"):
        (root / kind).mkdir(parents=True)
        for number in range(20):
            (root / kind / f"{number}.txt").write_text(f"a {kind} text, number {number}, with words " * 5)
    return root


def brought(job: Job) -> bytes:
    out = io.BytesIO()
    for piece in data_pieces(job):
        piece.write(out)
    return out.getvalue()


@pytest.mark.parametrize("model", ["text-classifier", "gpt-nano"])
def test_a_text_that_a_link_brings_from_elsewhere_is_no_data(
    job_of: Callable[..., Job], tmp_path: Path, mine: Path, model: str
) -> None:
    root = texts(tmp_path / "reviews")
    (root / "good" / "0.txt").unlink()
    (root / "good" / "0.txt").symlink_to("../../mine/id_ed25519")
    (root / "bad" / "again.txt").symlink_to("1.txt")  # inside of the folder it may lead where it wants
    job = job_of("text", root, model=model, tokenizer="bytes")
    seen, opened = look(job), open_data(job)
    assert [(one.item, one.why) for one in seen.broken] == [("good/0.txt", "link-outside")]
    assert seen.broken_count == opened.broken_count == 1
    assert "hunter2" not in str(seen.to_json())
    kept = [side.batch(np.arange(len(side)))["x"] for side in (opened.train, opened.validation)]
    assert not any(b"hunter2" in (rows - shift).astype(np.uint8).tobytes() for rows in kept for shift in (0, 1))
    sent = brought(job)
    assert b"hunter2" not in sent and b"again.txt" in sent


def test_a_picture_and_a_folder_that_links_bring_from_elsewhere_are_no_data(
    job_of: Callable[..., Job], picture_folder: Callable[..., Path], mine: Path
) -> None:
    root = picture_folder({"cats": 40, "dogs": 40})
    (root / "cats" / "me.png").symlink_to(mine / "me.png")
    (root / "photos").symlink_to(mine, target_is_directory=True)
    (root / "dogs" / "inner").symlink_to("../../mine", target_is_directory=True)
    job = job_of("images", root)
    seen = look(job)
    assert {(one.item, one.why) for one in seen.broken} == {
        ("cats/me.png", "link-outside"),
        ("photos", "link-outside"),
        ("dogs/inner", "link-outside"),
    }
    assert seen.examples == 80 and b"me.png" not in brought(job)
    assert "copy" in why_broken("link-outside")


@pytest.mark.parametrize("way", ["whole", "through a folder"])
def test_a_job_beside_a_link_does_not_bring_what_that_leads_to(
    job_of: Callable[..., Job], tmp_path: Path, mine: Path, way: str
) -> None:
    """A stranger's job names its data in its own folder, and nobody sees that this is a link to a file of mine."""
    sent = tmp_path / "sent"
    sent.mkdir()
    (sent / "key.txt").symlink_to("../mine/id_ed25519")
    (sent / "texts").symlink_to("../mine", target_is_directory=True)
    named = "key.txt" if way == "whole" else "texts/id_ed25519"
    job = job_of("text", sent, model="gpt-nano").with_values({"data.path": named}, base=str(sent))
    for reads in (look, open_data, brought):
        with pytest.raises(DataError) as refusal:
            reads(job)
        assert refusal.value.id == "data-link-outside"
    seen = job.with_values({"data.path": "../mine/id_ed25519"})  # this can be read in the job
    assert "hunter2" not in str(look(seen).preview)  # and the plan, which may be shared, shows no key


def test_a_folder_that_is_itself_a_link_is_the_persons_own_choice(
    job_of: Callable[..., Job], picture_folder: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "linked").symlink_to(picture_folder({"cats": 40, "dogs": 40}), target_is_directory=True)
    assert look(job_of("images", tmp_path / "linked")).broken_count == 0


@pytest.mark.parametrize("kind", ["images", "text"])
def test_a_folder_of_nothing_but_such_links_is_refused_with_what_to_do(
    job_of: Callable[..., Job], tmp_path: Path, mine: Path, kind: str
) -> None:
    root = tmp_path / "linked"
    for name, other in (("a", "me.png"), ("b", "me.png"), ("c", "id_ed25519")):
        (root / name).mkdir(parents=True)
        ending = ".txt" if kind == "text" else ".png"
        (root / name / f"x{ending}").symlink_to(mine / other)
    with pytest.raises(DataError) as refusal:
        look(job_of(kind, root))
    said = say(refusal.value)
    assert refusal.value.id == "data-link-outside"
    assert "Nothing was charged" in said.meaning and "copy" in said.action


def test_a_data_set_in_shards_with_such_a_link_is_refused(
    job_of: Callable[..., Job], picture_folder: Callable[..., Path], tmp_path: Path, mine: Path
) -> None:
    out = tmp_path / "shards"
    convert(job_of("images", picture_folder({"cats": 40, "dogs": 40})), out)
    shard = next(path for path in out.rglob("*") if path.suffix == ".tfrecord")
    shard.unlink()
    shard.symlink_to(mine / "id_ed25519")
    job = job_of("tfrecord", out)
    for reads in (look, open_data, brought):
        with pytest.raises(DataError) as refusal:
            reads(job)
        assert (refusal.value.id, refusal.value.facts["path"]) == ("data-link-outside", str(shard))


def test_nothing_is_told_of_what_such_a_link_leads_to(tmp_path: Path, mine: Path) -> None:
    root = texts(tmp_path / "reviews")
    (root / "good" / "key.txt").symlink_to(mine / "id_ed25519")
    task = next(task.id for task in tasks.all_tasks() if task.has_classes and task.id in kinds.by_id("text").tasks)
    sorts = {"kind": "text", "task": task, "text_column": ""}
    with pytest.raises(DataError) as refusal:
        inputs_in(sorts, root)
    assert (refusal.value.id, refusal.value.facts["path"]) == ("data-link-outside", str(root / "good" / "key.txt"))


class Asked:
    """An entry of a folder that notes where it was looked through."""

    def __init__(self, entry: os.DirEntry[str], through: list[str]) -> None:
        self.name, self.path, self._entry, self._through = entry.name, entry.path, entry, through

    def __getattr__(self, name: str) -> Any:
        def asked(**how: bool) -> object:
            if name != "is_symlink" and how.get("follow_symlinks", True) and self._entry.is_symlink():
                self._through.append(self.path)
            return getattr(self._entry, name)(**how)

        return asked


def looked_through(work: Callable[[], object]) -> list[str]:
    """Links that *work* looks through, and what it asks for by its name on another computer."""
    seen: list[str] = []

    @contextmanager
    def scan(folder: Any = ".", real: Any = os.scandir) -> Any:
        seen.append(os.fspath(folder))
        with real(folder) as entries:
            yield (Asked(entry, seen) for entry in entries)

    def noted(name: str, real: Any) -> Any:
        def call(path: Any, *more: Any, **how: Any) -> Any:
            if "/net/" in str(path) or (name in ("stat", "listdir") and how.get("follow_symlinks", True)):
                seen.append(str(path))
            return real(path, *more, **how)

        return call

    with pytest.MonkeyPatch.context() as patched, suppress(DataError):
        for name in ("stat", "lstat", "listdir", "readlink"):
            patched.setattr(os, name, noted(name, getattr(os, name)))
        patched.setattr(os, "scandir", scan)
        work()
    return seen


def below_of_a_script(root: Path) -> object:
    script: dict[str, Any] = {"os": os, "DATA": str(root), "LINKS": pictures.links_of(root).value}
    exec(splitting.BELOW, script)
    return script["below"](str(root))


@pytest.mark.parametrize(
    "work",
    [
        what_is,
        guess,
        textlayout.of_path,
        textlayout.has_shards,
        labelfile.table_in,
        below_of_a_script,
        lambda root: list_images(root, Watch()),
        lambda root: links.files_below(root, (".txt", ".csv")),
        read_dataset,
    ],
    ids=["drop", "guess", "layout", "shards", "labels", "script", "pictures", "files", "converted"],
)
def test_a_link_to_another_computer_is_read_and_never_looked_through(
    work: Callable[[Path], object], tmp_path: Path
) -> None:
    """To ask whether one leads to a folder had an automounter ask the computer of that name."""
    root = tmp_path / "sent"
    (root / "cats").mkdir(parents=True)
    (root / "cats" / "a.txt").write_text("a cat")
    away = [root / name for name in ("bad", "x.txt", "x.png", "labels.csv", "plan.json", "dataset.json", "events")]
    away += [root / "cats" / name for name in ("sub", "y.txt", "y.png", "t.parquet")]
    for number, link in enumerate(away):
        link.symlink_to(f"/net/evil.example/{number}")
    seen = looked_through(lambda: work(root))
    assert str(root) in seen
    assert [one for one in seen if one in map(str, away) or one.startswith("/net/")] == []


def test_links_within_the_folder_are_data(tmp_path: Path) -> None:
    root = texts(tmp_path / "reviews")
    (root / "good" / "again.txt").symlink_to("1.txt")
    (root / "good" / "loop.txt").symlink_to("loop.txt")
    (root / "whole.txt").symlink_to(root / "bad" / "2.txt")
    found, outside = links.files_below(root, (".txt",))
    assert (len(found), outside) == (42, [])
    assert [one.name for one in links.links_below(root)] == ["again.txt", "whole.txt"]
    assert {*map(Path, below_of_a_script(root))} == {*found}  # type: ignore[call-overload]


def test_links_by_many_links_in_each_of_many_folders_are_not_followed(tmp_path: Path) -> None:
    """Two hundred of them in a folder took most of a minute: all lie in it, and a system would open each."""
    folder = tmp_path / "theirs"
    (folder / "b").mkdir(parents=True)
    (folder / "1.txt").write_text("a text")
    for number in range(2, 32):
        (folder / f"{number}.txt").symlink_to("b/../" * 20 + f"{number - 1}.txt")
    assert is_file_inside(folder, "3.txt")
    assert os.path.exists(folder / "31.txt") and leads_outside(folder, folder / "31.txt")


def test_a_link_by_more_folders_than_anybody_has_leads_outside(tmp_path: Path, mine: Path) -> None:
    """It is followed no further than that, and yet a system would open it."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    there = Path("/", *(["tmp", ".."] * 200), *mine.parts[1:])
    (folder / "link").symlink_to(there)
    assert os.path.exists(folder / "link") and leads_outside(folder, folder / "link")
    assert not is_file_inside(folder, "link") and not is_folder_inside(folder, "link")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that somebody else may write into."""
    (tmp_path / "shared" / "below").mkdir(parents=True)
    (tmp_path / "shared" / "below" / "file").write_text("words")
    return tmp_path / "shared"


def test_a_listed_file_is_read_whatever_link_in_the_folder_leads_to_it(shared: Path) -> None:
    (shared / "link").symlink_to("below/file")
    (shared / "folder").symlink_to("below")
    for name in ("below/file", "link", "folder/file"):
        assert links.content(shared, shared / name, 100) == b"words"
    assert links.content(shared / "link", shared / "link", 3) == b"wor"  # which the person named


@pytest.mark.parametrize("harm", ["link", "linked folder", "pipe", "folder"])
def test_what_took_the_place_of_a_listed_file_is_not_opened(shared: Path, mine: Path, harm: str) -> None:
    file = shared / "below" / "file"
    file.unlink()
    match harm:
        case "link":
            file.symlink_to(mine / "id_ed25519")
        case "linked folder":
            file.parent.rmdir()
            (mine / "file").write_text(SECRET)
            file.parent.symlink_to(mine)
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
    with pytest.raises(OSError):
        links.content(shared, file, 100)


def whoever_changes(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, change: Callable[[], None]) -> None:
    """Just before the function *name* of *module*."""
    then = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *arguments: (change(), then(*arguments))[1])


@pytest.mark.parametrize("harm", ["link", "pipe"])
def test_what_takes_the_place_of_a_picture_after_the_look_is_not_converted(
    job_of: Any, picture_folder: Any, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    folder = picture_folder({"a": 30, "b": 30})
    victim = sorted((folder / "a").iterdir())[3]

    def change() -> None:
        victim.unlink()
        victim.symlink_to(mine / "me.png") if harm == "link" else os.mkfifo(victim)

    whoever_changes(monkeypatch, converting, "_write_all", change)
    report = convert(job_of("images", folder, max_broken_share=0.2), tmp_path / "out")
    assert [one.why for one in report.broken] == ["unreadable"]
    written = b"".join(file.read_bytes() for file in (tmp_path / "out").glob("*.tfrecord"))
    assert (mine / "me.png").read_bytes() not in written


def test_a_preview_of_converted_data_is_of_no_file_that_took_the_place_of_a_picture(
    job_of: Any, picture_folder: Any, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which pictures are shown anybody can work out, and lay links in their places after the look."""
    folder = picture_folder({"a": 30, "b": 30})

    def change() -> None:
        for victim in sorted(folder.rglob("*.png")):
            victim.unlink()
            victim.symlink_to(mine / "me.png")

    listing = list_images(folder, Watch())
    whoever_changes(monkeypatch, images, "pictures_of", change)
    with suppress(DataError):
        convert(job_of("images", folder, max_broken_share=1.0), tmp_path / "out")
    assert list((tmp_path / "out").rglob("preview/*")) == []
    with pytest.raises(BrokenImage, match="unreadable"):  # nor is one trained on
        images.PictureFiles.of(listing, 20, 3)(0)


@pytest.mark.parametrize("harm", ["link", "pipe", "longer"])
def test_what_takes_the_place_of_a_text_after_the_look_is_not_read(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    folder = texts(tmp_path / "texts")
    victim = folder / "good" / "3.txt"

    def change() -> None:
        victim.unlink()
        match harm:
            case "link":
                victim.symlink_to(mine / "id_ed25519")
            case "pipe":
                os.mkfifo(victim)
            case "longer":
                victim.write_text("long " * 100_000)

    whoever_changes(monkeypatch, textfiles, "_read", change)
    with pytest.raises(DataError) as caught:
        textfiles.read_tokens(folder, Watch())
    assert caught.value.id in ("data-changed", "data-loop", "data-unreadable")


def test_a_file_of_data_is_opened_in_a_way_that_waits_for_no_pipe(tmp_path: Path) -> None:
    """Looks that stood before a pipe took a thread of the window's each, until nothing was begun any more."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError), open(path, "rb", opener=plainly):
            pass
    with pytest.raises(DataError, match="data-unreadable"):
        fingerprint(tmp_path / "pipe")
    others = []
    for file in sorted(Path(links.__file__).parent.glob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "open"):
                continue
            modes = [one.value for one in call.args[1:] if isinstance(one, ast.Constant)]
            if "opener" not in {one.arg for one in call.keywords} and not any(str(mode)[0] in "wx" for mode in modes):
                others.append(f"{file.name}: {ast.unparse(call)}")
    assert others == []
