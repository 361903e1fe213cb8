"""What a path is: the one place that decides what dropping, opening or handing over a file does."""

from pathlib import Path

import pytest

from tpu_studio.data.guess import guess
from tpu_studio.viewmodels.opening import what_is


@pytest.mark.parametrize(
    ("name", "kind", "data_kind"),
    [
        ("flowers.tpujob", "job", ""),
        ("FLOWERS.TPUJOB", "job", ""),
        ("prices.csv", "data", "table"),
        ("prices.TSV", "data", "table"),
        ("plays.txt", "data", "text"),
        ("prices.jsonl", "data", "table"),
        ("prices.json", "data", "table"),
        ("prices.parquet", "data", "table"),
        ("dataset.json", "data", "tfrecord"),
        ("plan.json", "run", ""),
        ("movie.mp4", "unknown", ""),
        ("no ending", "unknown", ""),
    ],
)
def test_a_file_is_known_by_its_name(tmp_path, name, kind, data_kind):
    (tmp_path / name).write_text("x")
    opened = what_is(tmp_path / name)
    assert (opened.kind, opened.data_kind) == (kind, data_kind)


def test_folders_of_texts_hold_text_and_folders_of_pictures_pictures(tmp_path):
    for part in ("train", "test"):
        for kind in ("good", "bad"):
            (tmp_path / "reviews" / part / kind).mkdir(parents=True)
            (tmp_path / "reviews" / part / kind / "1.txt").write_text("Well.")
            (tmp_path / "pets" / part / kind).mkdir(parents=True)
            (tmp_path / "pets" / part / kind / "1.png").write_text("")
            (tmp_path / "pets" / part / "README.txt").write_text("Pets.")
    assert what_is(tmp_path / "reviews").data_kind == what_is(tmp_path / "reviews" / "train").data_kind == "text"
    assert what_is(tmp_path / "pets").data_kind == what_is(tmp_path / "pets" / "train").data_kind == "images"


def test_a_table_with_nothing_but_text_to_learn_from_is_text(tmp_path):
    rows = [
        f'"A {word} day, and number {n} was no better than {n - 1}",{word}'
        for n in range(60)
        for word in ("good", "bad")
    ]
    (tmp_path / "reviews.csv").write_text("review,mood\n" + "\n".join(rows))
    (tmp_path / "stars.csv").write_text(
        "review,stars,mood\n" + "\n".join(row.replace('",', f'",{len(row) % 5},') for row in rows)
    )
    assert what_is(tmp_path / "reviews.csv").data_kind == "text"
    assert what_is(tmp_path / "stars.csv").data_kind == "table"
    assert guess(tmp_path / "reviews.csv") == {"data.kind": "text", "data.path": str(tmp_path / "reviews.csv")}


def test_a_folder_with_a_plan_is_a_run_and_so_is_the_plan_itself(tmp_path):
    (tmp_path / "plan.json").write_text("{}")
    assert what_is(tmp_path).kind == "run"
    assert what_is(tmp_path / "plan.json").path == tmp_path


def test_a_run_that_lost_its_plan_is_no_folder_of_pictures(tmp_path):
    (tmp_path / "events").mkdir()
    assert what_is(tmp_path).kind == "data"  # a kind of picture may be called so
    (tmp_path / "checkpoints").mkdir()
    assert what_is(tmp_path).kind == "run"


def test_a_folder_of_folders_holds_pictures_and_a_folder_of_texts_holds_text(tmp_path):
    (tmp_path / "hands" / "0").mkdir(parents=True)
    assert what_is(tmp_path / "hands").data_kind == "images"
    plays = tmp_path / "plays"
    plays.mkdir()
    (plays / "hamlet.txt").write_text("To be")
    (plays / ".hidden").write_text("")
    assert what_is(plays).data_kind == "text"


def test_what_lies_on_another_computer_is_not_even_looked_for(monkeypatch):
    monkeypatch.setattr(Path, "exists", None)
    for share in ("//host/share/rows.csv", r"\\host\share\run-k3f7", "smb://host/share/x.zip"):
        assert what_is(Path(share)).kind == "share"
        assert "is on another computer and was not looked for" in what_is(Path(share)).sentence


def test_what_has_gone_and_what_is_unknown_each_say_so_in_a_sentence(tmp_path):
    assert "not there any more" in what_is(tmp_path / "gone.tpujob").sentence
    (tmp_path / "song.mp3").write_text("")
    assert "nothing TPU Studio can open" in what_is(tmp_path / "song.mp3").sentence
    (tmp_path / "job.tpujob").write_text("")
    assert what_is(tmp_path / "job.tpujob").sentence == ""


def test_a_name_of_two_lines_forges_none(tmp_path):
    odd = tmp_path / "notes.xyz\nYour TPU is still running\u202e"
    odd.write_text("")
    for path in (odd, tmp_path / "gone\u202e\n.csv"):
        said = what_is(path).sentence
        assert said and not {"\n", "\u202e"} & set(said)
