"""A run begins from another on the same data: what is kept aside stays unseen where it can, and else it is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.bases import RUN, card, run
from tests.fakes.looks import DIAMONDS, HANDS, NOW, PLAYS, job
from tpu_studio.data.looked import Finding, Look
from tpu_studio.data.split import keys_of_names, validation_mask
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.domain.sentences import say_check
from tpu_studio.viewmodels import draft, planwords
from tpu_studio.wire import plan as plans
from tpu_studio.wire.plan import Check, Plan
from tpu_studio.workflow.planning import Draft, Sources, plan_job

PHOTOS = replace(HANDS, fingerprint="f1")
TEXT = {"kind": "text", "task": "language-model", "input_shape": [32], "vocabulary": 256, "tokenizer": "bytes"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


def planned(look: Look = PHOTOS, model: str = "small-cnn", begins: str = f"run:{RUN}", **tables: Any) -> Plan:
    tables["model"] = {"preset": begins}
    return plan_job(Draft(job(model, look.kind, **tables), look), Sources(SHIPPED), NOW).plan


def base(home: Path, look: Look = PHOTOS, model: str = "small-cnn", *, name: str = RUN, **tables: Any) -> Plan:
    """A run of this home that has ended, with its plan."""
    tree = card(model, TEXT, run=name) if model.startswith("gpt") else card(model, run=name)
    plan = planned(look, model, tables.pop("begins", "none"), **tables)
    (run(home, tree, name=name) / "plan.json").write_bytes(plans.dumps(replace(plan, run=name)))
    return plan


def notices(plan: Plan) -> list[Check]:
    assert "base-saw-unseen" not in [check.id for check in plan.blocking]
    return [check for check in plan.checks if check.id == "base-saw-unseen"]


def test_another_seed_or_a_larger_share_keeps_aside_what_the_base_was_trained_on() -> None:
    """Why there is a notice at all: of 1,000 pictures, and none of a smaller share."""
    names = [f"{kind}/{number}.jpg" for kind in ("cats", "dogs") for number in range(500)]
    groups = np.repeat([0, 1], 500)
    before = validation_mask(keys_of_names(names, 0), 0.2, groups)

    def learned(seed: int, share: float) -> int:
        return int((validation_mask(keys_of_names(names, seed), share, groups) & ~before).sum())

    assert (learned(0, 0.2), learned(0, 0.1), learned(0, 0.3)) == (0, 0, 100)
    assert learned(1, 0.2) > 140


def test_it_takes_the_seed_of_the_run_that_it_begins_from(home: Path) -> None:
    base(home, training={"seed": 7})
    plan = planned()
    assert plan.job.training.seed == 7 and not notices(plan)
    assert "stay unseen" in plan.reasons["training.seed"]
    again = draft.of_plan(plan, home)  # planned once more, it is chosen anew
    assert again.training.seed == 0 and "training.seed" not in again.given


def test_on_other_data_the_seed_is_the_usual_one(home: Path) -> None:
    base(home, training={"seed": 7})
    other = planned(replace(PHOTOS, fingerprint="f2"), data={"path": "elsewhere"})
    assert other.job.training.seed == 0 and not notices(other)


def test_a_seed_that_was_given_stays_and_the_figure_is_told_to_be_too_good(home: Path) -> None:
    base(home, training={"seed": 7})
    plan = planned(training={"seed": 8})
    (check,) = notices(plan)
    assert plan.job.training.seed == 8
    assert (check.level, check.fix) == ("warning", {"training.seed": 7})
    said = say_check(check.id, check.title, check.facts)
    assert said.title == f"The figure on unseen data may be too good: “{RUN}” may have learned from that data"
    assert "random seed" in said.meaning and "costs no more" in said.meaning and "training.seed = 7" in said.action
    assert planwords.fix_words(check.fix) == "Keep the same aside"
    assert not notices(planned(training=check.fix and {"seed": check.fix["training.seed"]}))


def test_a_larger_share_is_told_and_a_smaller_one_is_a_part_of_it(home: Path) -> None:
    base(home, data={"validation": 0.2})
    (check,) = notices(planned(data={"validation": 0.3}))
    assert (check.facts["why"], check.fix) == (["share"], {"data.validation": 0.2})
    assert not notices(planned(data={"validation": 0.1}))


def test_data_that_has_changed_since_is_told_and_nothing_mends_it(home: Path) -> None:
    """A row put on top of a table: each row has another number then, and 159 of 200 kept aside were trained on."""
    base(home)
    (check,) = notices(planned(replace(PHOTOS, fingerprint="f2")))
    assert (check.facts["why"], check.fix) == (["data"], None)
    assert "data that neither has seen" in say_check(check.id, check.title, check.facts).action


def test_the_same_data_in_another_place_is_known_by_its_fingerprint(home: Path) -> None:
    base(home)
    assert [one.facts["why"] for one in notices(planned(data={"path": "a-copy"}, training={"seed": 3}))] == [["seed"]]


def test_folders_that_say_what_is_kept_aside_need_no_seed(home: Path) -> None:
    split = replace(PHOTOS, findings=(Finding("fixed-split", "info"),))
    base(home, split, training={"seed": 7})
    plan = planned(replace(split, fingerprint="f2"), training={"seed": 8}, data={"validation": 0.4})
    assert not notices(plan)


def test_of_a_text_to_continue_the_end_is_kept_aside_whatever_the_seed(home: Path) -> None:
    plays = replace(PLAYS, fingerprint="t1")
    base(home, plays, "gpt-nano", training={"seed": 7})
    assert planned(plays, "gpt-nano").job.training.seed == 0
    assert not notices(planned(plays, "gpt-nano", training={"seed": 8}))
    assert notices(planned(plays, "gpt-nano", data={"validation": 0.4}))


def test_what_the_base_itself_began_from_counts_too(home: Path) -> None:
    base(home, name="first-aaaa", training={"seed": 7})
    base(home, begins="run:first-aaaa", training={"seed": 8})
    (check,) = notices(planned())  # the seed of the nearer one is taken
    assert (check.facts["base"], check.facts["why"], check.fix) == ("first-aaaa", ["seed"], None)


@pytest.mark.parametrize("share", ["//host/share/x", "/net/host/x"])
def test_a_share_that_the_plan_of_an_imported_base_names_is_not_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch, share: str
) -> None:
    """To look there would tell another computer that this one is on."""
    made = base(home, training={"seed": 7})
    begun = made.job.with_values({"model.preset": f"{share}/result/model.keras"})
    (home / "runs" / RUN / "plan.json").write_bytes(plans.dumps(replace(made, job=begun, run=RUN)))
    read = plans.read
    monkeypatch.setattr(plans, "read", lambda folder: read(folder) if folder.is_relative_to(home) else pytest.fail())
    assert planned().job.training.seed == 7  # of what is here


@pytest.mark.parametrize("plan", [b"", b"{}", b"[1]"])
def test_a_plan_that_cannot_be_read_tells_nothing_and_stops_nothing(home: Path, plan: bytes) -> None:
    base(home, training={"seed": 7})
    (home / "runs" / RUN / "plan.json").write_bytes(plan)
    made = planned(training={"seed": 8})
    assert not made.blocking and not notices(made)


def test_another_column_of_the_same_table_splits_it_anew(home: Path) -> None:
    table = replace(DIAMONDS, fingerprint="d1")
    tree = card("mlp", {"kind": "table", "task": "regression", "input_shape": [26], "columns": []})
    plan = planned(table, "mlp", "none", data={"target": "price"})
    (run(home, tree) / "plan.json").write_bytes(plans.dumps(replace(plan, run=RUN)))
    assert not notices(planned(table, "mlp"))
    (check,) = notices(planned(replace(table, target="carat"), "mlp"))
    assert check.facts["why"] == ["answers"]
