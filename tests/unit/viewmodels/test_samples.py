"""Pictures to try a model on: from the data of its own run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tpu_studio.viewmodels import samples
from tpu_studio.viewmodels.samples import passages_of, samples_of
from tpu_studio.wire.brief import NAME_LETTERS, SAMPLE_LETTERS
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.resources import resource_path

SEVEN = next(resource_path("samples", "digits", "preview").glob("7-*.png"))


def with_pictures(*pictures: dict[str, Any]) -> Plan:
    return replace(plan(), data={"kind": "digits", "preview": {"pictures": list(pictures)}})


def test_only_what_was_kept_aside_is_offered_where_that_is_known():
    seen, unseen = {"path": str(SEVEN), "class": "7"}, {"path": str(SEVEN), "class": "7", "kept": True}
    assert [one.kept for one in samples_of(with_pictures(seen, unseen))] == [True]
    assert [one.label for one in samples_of(with_pictures(seen))] == ["7"]  # a plan of an older version


def test_the_built_in_digits_are_found_also_in_a_run_from_another_computer():
    assert samples_of(with_pictures({"path": f"/elsewhere/{SEVEN.name}", "class": "7"}))[0].path == SEVEN


def test_a_digit_that_does_not_lie_with_the_program_is_not_offered():
    assert samples_of(with_pictures({"path": "/elsewhere/strange.png", "class": "7"})) == ()


def test_a_picture_in_more_folders_than_any_is_not_looked_for(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(b"x")
    paths = ("/a" * 1_500, "/" + "b" * 5_000, str(tmp_path / "a.png"))
    named = [{"path": path, "class": "7"} for path in paths]
    found = samples_of(replace(plan(), data={"kind": "images", "preview": {"pictures": named}}))
    assert [one.path for one in found] == [tmp_path / "a.png"]


def test_pictures_that_are_gone_are_not_offered(tmp_path: Path):
    gone = replace(with_pictures({"path": str(tmp_path / "a.jpg"), "class": "cat"}))
    assert samples_of(replace(gone, data={**gone.data, "kind": "images"})) == ()


def naming(pictures: Any) -> Plan:
    return replace(plan(), data={"kind": "images", "preview": {"pictures": pictures}})


@pytest.mark.parametrize("share", [r"\\evil\share\x.png", "//evil/share/x.png", "smb://evil/share/x.png"])
def test_a_picture_in_somebodys_share_is_not_even_looked_for(monkeypatch: pytest.MonkeyPatch, share: str) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Path, "is_file", lambda self: asked.append(str(self)) or True)
    assert samples_of(naming([{"path": share, "class": "x"}])) == ()
    assert asked == []


@pytest.mark.parametrize(
    "pictures", [7, "x", ["x"], [{}], {"a": 1}, [{"path": 5}], [{"path": "\0"}], [{"path": "x" * 5000}]]
)
def test_what_names_no_picture_is_passed_over(pictures: Any) -> None:
    assert samples_of(naming(pictures)) == ()


def test_no_more_are_looked_for_than_a_plan_of_ours_names(tmp_path: Path) -> None:
    (tmp_path / "x.png").touch()
    found = samples_of(naming([{"path": str(tmp_path / "x.png"), "class": "x"}] * 10_000))
    assert len(found) == samples._NAMED


def test_of_a_text_as_much_is_offered_as_a_plan_of_ours_holds() -> None:
    long = "ab cd " * 100_000
    told = [{"text": long, "class": long, "kept": True}]
    found = passages_of(replace(plan(), data={"kind": "text", "preview": {"texts": told}}))[0]
    assert (len(found.text), len(found.label)) == (SAMPLE_LETTERS, NAME_LETTERS)
    assert len(samples_of(with_pictures({"path": str(SEVEN), "class": long}))[0].label) == NAME_LETTERS
