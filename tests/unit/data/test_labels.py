"""Pictures with several labels each: how a table is read, what is refused, what is never opened."""

from __future__ import annotations

import os
import tracemalloc
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.fakes.labelled import mosaics
from tpu_studio.data import labelfile
from tpu_studio.data.guess import guess
from tpu_studio.data.listed import listing_of
from tpu_studio.data.look import look
from tpu_studio.data.looked import alike_findings
from tpu_studio.data.sources import open_data
from tpu_studio.data.watching import Watch
from tpu_studio.domain.sentences import say_finding
from tpu_studio.viewmodels.opening import what_is
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job

JobOf = Callable[..., Job]
LABELLED = "multi-label"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Twenty pictures, 00.png to 19.png."""
    root = tmp_path / "photos"
    root.mkdir()
    for number in range(20):
        put_picture(root / f"{number:02d}.png", number)
    return root


def put_picture(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def labels_of(job: Job) -> dict[str, list[str]]:
    listing = listing_of(job, Watch())
    assert listing.marks is not None
    return {
        name: [listing.classes[at] for at in np.flatnonzero(row)]
        for name, row in zip(listing.names, listing.marks, strict=True)
    }


def refused(job: Job) -> DataError:
    with pytest.raises(DataError) as told:
        listing_of(job, Watch())
    return told.value


def table(root: Path, text: str | bytes, name: str = "labels.csv") -> None:
    (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())


# ------------------------------------------------------------------------------------------------- what is recognised


def test_a_column_for_each_label_holds_yes_or_no(photos: Path, job_of: JobOf) -> None:
    table(photos, "file,beach,dog\n00.png,1,0\n01.png,YES,true\n02.png,false,no\n03.png,,-1\n04.png,0.0,1.0\n")
    assert labels_of(job_of("images", photos)) == {
        "00.png": ["beach"],
        "01.png": ["beach", "dog"],
        "02.png": [],
        "03.png": [],
        "04.png": ["dog"],
    }


@pytest.mark.parametrize(
    "cells",
    [
        ("beach|dog", "dog", "", "beach"),
        ("beach; dog", "dog;", "", " beach"),
        ('"beach, dog"', "dog", "", "beach"),
        ("dog beach", "dog", "", "beach"),
        ("\"['beach', 'dog']\"", "['dog']", "[]", "['beach']"),
        ("beach|dog|beach", "dog", " | ", "beach"),
    ],
)
def test_one_column_lists_the_labels(photos: Path, job_of: JobOf, cells: tuple[str, ...]) -> None:
    table(photos, "image,tags\n" + "".join(f"{number:02d}.png,{cell}\n" for number, cell in enumerate(cells)))
    told = labels_of(job_of("images", photos))
    assert told == {"00.png": ["beach", "dog"], "01.png": ["dog"], "02.png": [], "03.png": ["beach"]}


@pytest.mark.parametrize("name", ["labels.csv", "Labels.CSV", "labels.tsv", "train.csv"])
def test_the_table_is_called_labels_or_is_the_only_one(photos: Path, job_of: JobOf, name: str) -> None:
    sign = "\t" if name.endswith("tsv") else ","
    rows = ("file", "beach", "dog"), ("00.png", "1", "1"), ("01.png", "0", "1"), ("02.png", "1", "0"), ("03", "0", "0")
    table(photos, "\n".join(sign.join(row) for row in rows), name)
    (photos / "notes.txt").write_text("nothing")
    seen = look(job_of("images", photos))
    assert (seen.task, seen.classes) == (LABELLED, (("beach", 2), ("dog", 2)))


def test_of_several_tables_the_one_called_labels_counts(photos: Path, job_of: JobOf) -> None:
    for other in ("other.csv", "another.tsv"):
        table(photos, "file,cat,cow\n00.png,1,0\n01.png,0,1\n", other)
    assert refused(job_of("images", photos)).id == "data-no-classes"
    assert refused(job_of("images", photos, task=LABELLED)).id == "data-labels-missing"
    table(photos, "file,beach,dog\n00.png,1,0\n01.png,1,1\n02.png,0,1\n")
    assert list(labels_of(job_of("images", photos))) == ["00.png", "01.png", "02.png"]


def test_pictures_are_named_with_or_without_folder_and_ending(tmp_path: Path, job_of: JobOf) -> None:
    for number, name in enumerate(("a/one.png", "a/two.jpg", "three.png", "b/c/four.png", "é.png")):
        put_picture(tmp_path / name, number)
    composed, apart = (unicodedata.normalize(form, "é.png") for form in ("NFC", "NFD"))
    os.rename(tmp_path / "é.png", tmp_path / apart)
    table(tmp_path, f"file,x,y\n./a/one.png,1,0\ntwo,0,1\nthree.png,1,1\nb\\c\\four.png,0,0\n{composed},1,0\n")
    assert labels_of(job_of("images", tmp_path)) == {
        "a/one.png": ["x"],
        "a/two.jpg": ["y"],
        "b/c/four.png": [],
        apart: ["x"],
        "three.png": ["x", "y"],
    }


def test_columns_of_something_else_are_left_out_and_told(photos: Path, job_of: JobOf) -> None:
    rows = "".join(f"{n:02d}.png,{n * 7},{n % 2},{int(n % 3 == 0)},by hand\n" for n in range(20))
    table(photos, "file,width,beach,dog,who\n" + rows)
    seen = look(job_of("images", photos))
    found = {one.id: one.facts for one in seen.findings}
    assert [name for name, _ in seen.classes] == ["beach", "dog"]
    assert found["labels-unused-columns"]["columns"] == ["width", "who"]
    assert found["labels-read"] == {
        "table": "labels.csv",
        "labels": ["beach", "dog"],
        "count": 2,
        "files": "file",
        "lists": "",
        "sign": "",
    }
    table(photos, "image,tags\n" + "".join(f"{n:02d}.png,{'a|b' if n % 2 else ''}\n" for n in range(20)))
    found = {one.id: one.facts for one in look(job_of("images", photos)).findings}
    assert [found["labels-read"][name] for name in ("files", "lists", "sign")] == ["image", "tags", "|"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_a_table_may_be_written_in_another_encoding(photos: Path, job_of: JobOf, encoding: str) -> None:
    table(photos, "file;Hündchen;café\n00.png;1;0\n01.png;0;1\n02.png;1;1\n".encode(encoding))
    assert labels_of(job_of("images", photos))["02.png"] == ["Hündchen", "café"]


def test_a_table_without_a_first_line_of_names_may_list_labels(photos: Path, job_of: JobOf) -> None:
    table(photos, "00.png,beach|dog\n01.png,dog\n02.png,beach\n")
    assert labels_of(job_of("images", photos))["00.png"] == ["beach", "dog"]


def test_the_delimiter_is_the_one_under_which_pictures_are_named(photos: Path, job_of: JobOf) -> None:
    """Each row has three labels: the separator of the labels would cut all rows alike, too."""
    table(photos, "file,tags\n" + "".join(f"{n:02d}.png,a{n % 2};b{n % 3};c\n" for n in range(20)))
    assert labels_of(job_of("images", photos))["04.png"] == ["a0", "b1"]  # c: each picture has it


# --------------------------------------------------------------------------------------- beside folders of classes


def test_folders_of_classes_come_before_a_table_of_something_else(
    picture_folder: Callable[..., Path], job_of: JobOf
) -> None:
    root = picture_folder({"cats": 10, "dogs": 10})
    table(root, "file,width,height\ncats/0.png,1,0\ncats/1.png,0,1\n", "sizes.csv")
    table(root, "number,name\n0,cats\n1,dogs\n")
    assert look(job_of("images", root)).task == "classification"


def test_a_table_that_says_what_the_folders_say_changes_nothing(
    picture_folder: Callable[..., Path], job_of: JobOf
) -> None:
    root = picture_folder({"cats": 10, "dogs": 10})
    rows = [f"{name}/{number}.png,{name}" for name in ("cats", "dogs") for number in range(10)]
    table(root, "\n".join(["file,label", *rows]))
    assert look(job_of("images", root)).task == "classification"
    table(root, "\n".join(["file,label", *rows[:-1], "dogs/9.png,cats|dogs"]))
    assert look(job_of("images", root)).task == LABELLED
    assert look(job_of("images", root, task="classification")).task == "classification"


def test_names_of_several_words_are_one_label(photos: Path, job_of: JobOf) -> None:
    names = ["golden retriever", "tabby cat", "red fox", "house cat"]
    table(photos, "file,label\n" + "".join(f"{n:02d}.png,{names[n % 4]}\n" for n in range(20)))
    seen = look(job_of("images", photos))
    assert dict(seen.classes) == dict.fromkeys(sorted(names), 5)
    (read,) = (one for one in seen.findings if one.id == "labels-read")
    assert "column “label” says the label of each" in say_finding(read.id, read.facts).meaning


def test_words_that_recur_are_labels(photos: Path, job_of: JobOf) -> None:
    names = ["clear primary", "primary water clear", "haze primary", "cloudy"]
    table(photos, "file,tags\n" + "".join(f"{n:02d}.png,{names[n % 4]}\n" for n in range(20)))
    assert {name for name, _ in look(job_of("images", photos)).classes} == {
        "clear",
        "primary",
        "water",
        "haze",
        "cloudy",
    }


def test_a_column_of_numbers_names_no_pictures_where_another_does(tmp_path: Path, job_of: JobOf) -> None:
    """As pandas writes a table, with its index; of pictures that are called by numbers."""
    for number in range(20):
        put_picture(tmp_path / f"{number}.png", number)
    rows = [(19 - n, f"{n}.png", n % 2, 1 - n % 2) for n in range(20)]
    for above, cells in ((",file,red,blue", str), ("id,file,red,blue", lambda cell: str(cell).removesuffix(".png"))):
        table(tmp_path, above + "\n" + "".join(",".join(map(cells, row)) + "\n" for row in rows))
        told = labels_of(job_of("images", tmp_path))
        assert told == {f"{n}.png": ["red"] if n % 2 else ["blue"] for n in range(20)}, above


def test_a_title_above_the_names_is_no_row(photos: Path, job_of: JobOf) -> None:
    table(photos, "My labels,,\nfile,cat,dog\n" + "".join(f"{n:02d}.png,{n % 2},{n % 3 % 2}\n" for n in range(20)))
    seen = look(job_of("images", photos))
    assert [name for name, _ in seen.classes] == ["cat", "dog"] and not seen.broken_count


def test_marks_without_end_on_one_letter_are_not_put_in_order(photos: Path, job_of: JobOf) -> None:
    """Unicode's order of a million marks takes minutes."""
    many = "a" + "\u0301\u0327" * 150_000
    table(photos, "file,label\n" + "".join(f"{n:02d}.png,{'ab'[n % 2]}\n" for n in range(20)) + f"{many},a\n{many},b\n")
    job = job_of("images", photos, max_broken_share=0.5)
    assert look(job).broken_count == 2
    assert not unicodedata.is_normalized("NFC", labelfile._composed("a" + "\u0301\u0327" * 16))  # many are minutes
    assert labelfile._composed("\u0f73" * 33) == "\u0f73" * 33  # no mark by its class, and two by what it stands for
    assert labelfile._composed("vie\u0323\u0302t/ha\u0300 no\u0323\u0302i.jpg") == "vi\u1ec7t/h\u00e0 n\u1ed9i.jpg"
    assert alike_findings([many, many + "x"]) and not alike_findings(["a" * 900, "b" * 900])


def test_a_name_that_says_here_without_end_is_looked_at_once() -> None:
    """Half a million times "./" took 12 s, as each was cut off by itself; these would take a quarter of an hour."""
    assert labelfile._path("./" * 4_000_000 + "dog.png") == "dog.png" and labelfile._path(".\\.\\a\\b.png") == "a/b.png"
    assert not labelfile.leads_away("./." + "/." * 200_000) and labelfile.leads_away("./../x.png")


def test_cells_of_words_without_end_are_judged_by_their_beginnings() -> None:
    """A million words of each of many rows took a gigabyte and a half."""
    tracemalloc.start()
    try:
        assert labelfile._sign([f"{chr(97 + n)} " + "ab cd ef " * 20_000 for n in range(20)]) == labelfile.NO_SIGN
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_one_label_each_is_told(photos: Path, job_of: JobOf) -> None:
    table(photos, "file,label\n" + "".join(f"{n:02d}.png,{'ab'[n % 2]}\n" for n in range(20)))
    seen = look(job_of("images", photos))
    assert seen.task == LABELLED
    assert "labels-one-each" in {one.id for one in seen.findings}


# ------------------------------------------------------------------------------------------------- counted and named


def test_what_a_table_has_wrong_is_counted_and_named(photos: Path, job_of: JobOf) -> None:
    rows = [f"{n:02d}.png,{n % 2},{int(n % 3 == 0)}" for n in range(18)]
    rows += ["gone.png,1,0", "18.png,maybe,1", "00.png,1,1", "19.png,1"]
    table(photos, "\n".join(["file,beach,dog", *rows]))
    seen = look(job_of("images", photos, max_broken_share=0.3))
    assert {one.item: one.why for one in seen.broken} == {
        "gone.png": "file-missing",
        "line 21": "not-yes-or-no",
        "00.png": "listed-twice",
        "line 23": "fields",
    }
    assert (seen.broken_count, seen.examples) == (4, 18)
    assert refused(job_of("images", photos)).id == "data-too-broken"


def test_pictures_that_no_line_names_are_told_and_left_out(photos: Path, job_of: JobOf) -> None:
    table(photos, "file,beach,dog\n" + "".join(f"{n:02d}.png,{n % 2},{int(n < 4)}\n" for n in range(12)))
    seen = look(job_of("images", photos))
    assert seen.examples == 12
    assert {one.id: one.facts for one in seen.findings}["labels-unlisted"] == {"count": 8}


def test_a_label_that_no_picture_has_or_each_is_left_out_and_told(photos: Path, job_of: JobOf) -> None:
    table(photos, "file,beach,never,always\n" + "".join(f"{n:02d}.png,{n % 2},0,1\n" for n in range(20)))
    seen = look(job_of("images", photos))
    assert seen.classes == (("beach", 10),)
    assert {one.id: one.facts for one in seen.findings}["labels-constant"]["labels"] == ["never", "always"]


def test_a_broken_picture_is_named_like_any_other(photos: Path, job_of: JobOf) -> None:
    (photos / "03.png").write_bytes(b"no picture")
    table(photos, "file,beach,dog\n" + "".join(f"{n:02d}.png,{n % 2},{int(n % 3 == 0)}\n" for n in range(20)))
    job = job_of("images", photos)
    assert [(one.item, one.why) for one in look(job).broken] == [("03.png", "not-an-image")]
    opened = open_data(job, look(job))
    assert (opened.broken_count, len(opened.train) + len(opened.validation)) == (1, 19)


# ---------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("file,beach,dog\n00.png,0,0\n01.png,0,\n", "data-labels-none"),
        ("file,tags\n00.png,\n01.png,\n", "data-labels-none"),
        ("file,beach\n00.png,1\n01.png,1\n", "data-labels-everywhere"),
        ("file,beach\n", "data-labels-no-pictures"),
        ("file,beach\nx.gif,1\ny.gif,0\n", "data-labels-no-pictures"),
        ("00.png\n01.png\n", "data-one-column"),
        ("00.png,1,0\n01.png,0,1\n", "data-labels-no-header"),
        ("file,who,when\n00.png,me,now\n01.png,you,then\n", "data-labels-unclear"),
        ("", "data-empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "data-not-text"),
        ("file," + ",".join(f"l{n}" for n in range(100_000)) + "\n00.png" + ",1" * 100_000, "data-labels-too-many"),
        (
            "file,tags\n"
            + "".join(f"{n:02d}.png,{'|'.join(str(n * 100 + m) for m in range(99))}\n" for n in range(20)),
            "data-labels-too-many",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("data-") else "",
)
def test_a_table_that_tells_no_labels_is_refused_by_name(
    photos: Path, job_of: JobOf, text: str | bytes, wanted: str
) -> None:
    table(photos, text)
    assert refused(job_of("images", photos)).id == wanted
    assert refused(job_of("images", photos, task=LABELLED)).id == wanted


@pytest.mark.parametrize(
    "name",
    [
        "../secret.png",
        "/etc/secret.png",
        "C:\\me\\a.png",
        "\\\\host\\share\\a.png",
        "a/../../secret.png",
        "https://host/a.png",
        "~/a.png",
        "//host/share/a.png",
        "file:/etc/a.png",
    ],
)
def test_a_name_that_leads_out_of_the_folder_is_refused_and_never_opened(
    photos: Path, job_of: JobOf, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put_picture(photos.parent / "secret.png", 99)
    table(photos, f"file,beach,dog\n00.png,1,0\n{name},0,1\n01.png,0,1\n")
    asked: list[str] = []
    for call in ("open", "stat", "lstat", "readlink"):
        real = getattr(os, call)
        monkeypatch.setattr(
            os, call, lambda path, *a, real=real, **k: (asked.append(str(path)), real(path, *a, **k))[1]
        )
    told = refused(job_of("images", photos))
    assert (told.id, told.facts["line"]) == ("data-labels-outside", 3)
    assert not [path for path in asked if "secret" in path or "host" in path or "etc" in path]
    table(photos, f"file,beach,dog\n{name},0,1\n")
    assert refused(job_of("images", photos)).id == "data-labels-outside"


def test_links_out_of_the_folder_are_not_followed(photos: Path, job_of: JobOf, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put_picture(outside / "secret.png", 99)
    table(outside, "file,beach,dog\n00.png,1,0\n01.png,0,1\n")
    (photos / "led.png").symlink_to(outside / "secret.png")
    rows = "".join(f"{n:02d}.png,{n % 2},{int(n % 3 == 0)}\n" for n in range(20))
    table(photos, f"file,beach,dog\n{rows}led.png,1,1\n")
    seen = look(job_of("images", photos))
    assert [(one.item, one.why) for one in seen.broken] == [("led.png", "link-outside")]
    (photos / "labels.csv").unlink()
    (photos / "labels.csv").symlink_to(outside / "labels.csv")
    assert refused(job_of("images", photos)).id == "data-link-outside"


@pytest.mark.parametrize(
    ("either", "cell", "task"),
    [(("1.jpg", "1.png"), "1", "auto"), (("a/1.png", "b/1.png"), "1.png", LABELLED)],
)
def test_a_name_that_may_be_two_pictures_is_refused(
    tmp_path: Path, job_of: JobOf, either: tuple[str, str], cell: str, task: str
) -> None:
    """Else another computer, which is brought the listed pictures alone, might take the other one."""
    for number, name in enumerate((*either, "2.png", "3.png")):
        put_picture(tmp_path / name, number)
    table(tmp_path, f"file,x,y\n{cell},1,0\n2.png,0,1\n3.png,1,1\n")
    told = refused(job_of("images", tmp_path, task=task))
    assert (told.id, told.facts["either"]) == ("data-labels-ambiguous", list(either))


def test_a_table_beyond_all_tables_is_not_read(photos: Path, job_of: JobOf, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(photos / "labels.csv", "wb") as file:
        file.truncate(labelfile.MOST_BYTES + 1)
    assert refused(job_of("images", photos)).id == "data-labels-too-large"
    table(photos, "file,beach,dog\n" + "".join(f"{n:02d}.png,{n % 2},1\n" for n in range(20)))
    monkeypatch.setattr(labelfile, "MOST_MARKS", 30)
    assert refused(job_of("images", photos)).id == "data-labels-too-large"


def test_a_table_of_numbers_has_no_task_of_labels(tmp_path: Path, job_of: JobOf) -> None:
    table(tmp_path, "a,b\n" + "".join(f"{n},{n % 2}\n" for n in range(50)))
    with pytest.raises(DataError) as told:
        look(job_of("table", tmp_path / "labels.csv", task=LABELLED))
    assert (told.value.id, told.value.facts["allowed"]) == ("data-task-unfit", ["classification", "regression"])


_CELL = st.one_of(
    st.sampled_from(["", "0", "1", "yes", "no", "00.png", "01.png", "02", "../00.png", "a|b", "a;b", "a b", '"', "#x"]),
    st.text(max_size=12),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(st.lists(_CELL, min_size=1, max_size=5), max_size=8),
    sign=st.sampled_from([",", ";", "\t", "|"]),
    noise=st.binary(max_size=20),
)
def test_whatever_stands_in_it_it_is_read_or_refused_by_name(
    photos: Path, job_of: JobOf, rows: list[list[str]], sign: str, noise: bytes
) -> None:
    text = "\n".join(sign.join(row) for row in rows).encode("utf-8", "surrogatepass")
    table(photos, text + noise)
    try:
        listing = listing_of(job_of("images", photos, task=LABELLED, max_broken_share=1.0), Watch())
    except DataError as error:
        assert error.id.startswith("data-")
        return
    marks = listing.marks
    assert marks is not None
    assert marks.shape == (len(listing.names), len(listing.classes))
    assert set(np.unique(marks)) <= {0, 1}
    assert len(set(listing.names)) == len(listing.names)
    assert all((photos / name).is_file() for name in listing.names)
    assert ((marks.sum(axis=0) > 0) & (marks.sum(axis=0) < len(marks))).all()


@settings(max_examples=60, deadline=None)
@given(
    marks=st.integers(1, 6).flatmap(
        lambda labels: st.lists(st.lists(st.booleans(), min_size=labels, max_size=labels), min_size=4, max_size=30)
    ),
    listed=st.booleans(),
)
def test_both_ways_to_write_a_table_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, marks: list[list[bool]], listed: bool
) -> None:
    root = tmp_path_factory.mktemp("photos")
    names = [f"{number:02d}.png" for number in range(len(marks))]
    for number, name in enumerate(names):
        put_picture(root / name, number)
    labels = [f"label_{at}" for at in range(len(marks[0]))]
    if listed:
        cells = ["|".join(label for label, mark in zip(labels, row, strict=True) if mark) for row in marks]
        lines = ["file,labels", *(f"{name},{cell}" for name, cell in zip(names, cells, strict=True))]
    else:
        lines = [",".join(["file", *labels])]
        lines += [",".join([name, *(str(int(one)) for one in row)]) for name, row in zip(names, marks, strict=True)]
    table(root, "\n".join(lines))
    wanted = np.array(marks)
    told = (wanted.any(axis=0)) & (~wanted.all(axis=0))
    if not told.any():
        with pytest.raises(DataError):
            labelfile.read(root, root / "labels.csv", 0.0, Watch())
        return
    listing = labelfile.read(root, root / "labels.csv", 0.0, Watch())
    assert listing.classes == [label for label, kept in zip(labels, told, strict=True) if kept]
    assert listing.marks is not None
    assert (listing.marks == wanted[:, told]).all()


def test_a_table_that_is_dropped_stands_for_its_pictures(tmp_path: Path) -> None:
    mosaics(tmp_path / "photos", 10)
    wanted = {"data.kind": "images", "data.path": str(tmp_path / "photos")}
    assert guess(tmp_path / "photos" / "labels.csv") == guess(tmp_path / "photos") == wanted
    opened = what_is(tmp_path / "photos" / "labels.csv")
    assert (opened.kind, opened.path, opened.data_kind) == ("data", tmp_path / "photos", "images")
    put_picture(tmp_path / "deeper" / "pictures" / "1.png", 1)
    table(tmp_path / "deeper", "file,beach\n1.png,1\n")
    assert guess(tmp_path / "deeper" / "labels.csv")["data.path"] == str(tmp_path / "deeper")
    (tmp_path / "numbers").mkdir()
    table(tmp_path / "numbers", "a,b\n1,2\n2,3\n")  # called so, beside none
    assert guess(tmp_path / "numbers" / "labels.csv")["data.kind"] == "table"
