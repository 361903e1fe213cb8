"""Pictures to try a model on: from the data of its own run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes.plans import plan
from tpu_studio.viewmodels.samples import samples_of
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


def test_pictures_that_are_gone_are_not_offered(tmp_path: Path):
    gone = replace(with_pictures({"path": str(tmp_path / "a.jpg"), "class": "cat"}))
    assert samples_of(replace(gone, data={**gone.data, "kind": "images"})) == ()
