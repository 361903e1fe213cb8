"""A plan with the TPU compiler's word: memory, what to change when it does not fit, honesty where it could not say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.making import with_compiler
from tests.fakes.plans import plan
from tpu_studio.domain.sentences import say_check, say_finding
from tpu_studio.viewmodels.plancheck import own_words
from tpu_studio.wire.plan import Check, Plan, Range
from tpu_studio.wire.planparts import NO_LIMITS, Alternative, PlanMemory

GIB = 2**30
HERE = Alternative("computer", "cpu", None, Range(1.0, 2.0, 3.0), None)
REFUSED = {
    "fits": False,
    "batch": 64,
    "device_bytes": 62 * GIB,
    "limit_bytes": 16 * GIB,
    "parts": {},
    "words": "Ran out of memory on HBM",
}
ACCEPTED = {"fits": True, "batch": 8, "device_bytes": 5 * GIB, "limit_bytes": 16 * GIB, "parts": {"weights": 1 * GIB}}
TRACED = {"problems": [], "operations": [], "programs": 2}


def rented(**values: Any) -> Plan:
    made = plan()
    job = {
        "training.global_batch": 64,
        "training.accumulate": 1,
        "training.precision": "float32",
        "training.rematerialize": False,
        "model.name": "gpt-nano",
        **values,
    }
    return replace(
        made,
        job=made.job.with_values({**job}),
        place="cloud",
        framework="jax",
        accelerator="v5litepod-1",
        memory=PlanMemory(20 * GIB, 14 * GIB, "estimate", False, False, 0, {"weights": GIB, "optimizer": GIB}),
        checks=(Check("memory-does-not-fit", "warning", "estimated"),),
    )


def ids(made: Plan) -> list[str]:
    return [check.id for check in made.checks]


def test_the_compilers_word_replaces_the_estimate() -> None:
    made = with_compiler(rented(), {"compiler": "ready", "traced": TRACED, "compiled": ACCEPTED})
    assert made.fits
    assert made.memory.by == "tpu-compiler"
    assert (made.memory.device_bytes, made.memory.limit_bytes) == (5 * GIB, 16 * GIB)
    assert ids(made) == ["shapes-meet"]


def test_work_that_could_not_be_counted_is_told_in_a_sentence() -> None:
    traced = {**TRACED, "work": {"flops": 1.0, "unclear": ["tpu_custom_call", "while", "pure_callback", "io_callback"]}}
    limited = replace(rented(), limits=replace(NO_LIMITS, money_usd=5.0))
    made = with_compiler(limited, {"compiler": "ready", "traced": traced, "compiled": ACCEPTED})
    told = next(check for check in made.checks if check.id == "work-unclear")
    assert told.level == "warning"  # for money
    assert str(say_check(told.id, told.title, told.facts)) == (
        "Some of this model's work shows only while it runs. Not counted beforehand: a part written for TPUs alone; "
        "a loop that goes on until a value says stop (one round of it counts); a part that calls back into Python. "
        "So it may take longer and cost more than this estimate says, up to your limit of $5.00: there it is ended. "
        "Nothing was charged yet. Set a small limit for the first run: it measures the true speed, and later plans go "
        "by that."
    )
    here = with_compiler(replace(rented(), place="computer"), {"compiler": "ready", "traced": traced})
    told = next(check for check in here.checks if check.id == "work-unclear")
    assert told.level == "info"
    assert str(say_check(told.id, told.title, told.facts)).endswith(
        "So it may take longer than this estimate says. Nothing was charged. Train it for a minute: what is measured "
        "goes into later plans."
    )
    clear = {**TRACED, "work": {"flops": 1.0, "unclear": []}}
    assert ids(with_compiler(rented(), {"compiler": "ready", "traced": clear, "compiled": ACCEPTED})) == ["shapes-meet"]


@pytest.mark.parametrize("needs", [5 * GIB, 3 * GIB])
def test_the_parts_sum_up_to_what_the_compiler_says_is_needed(needs: int) -> None:
    parts = {"weights": GIB, "optimizer": GIB, "data": 1, "activations": GIB, "temporaries": GIB}
    made = with_compiler(rented(), {"compiled": {**ACCEPTED, "device_bytes": needs, "parts": parts}})
    assert sum(made.memory.parts.values()) == needs
    assert (made.memory.parts["weights"], made.memory.parts["optimizer"]) == (GIB, GIB)
    assert min(made.memory.parts.values()) >= 0


def test_what_does_not_fit_comes_with_ways_that_do() -> None:
    answer = {"compiler": "ready", "traced": TRACED, "compiled": REFUSED, "largest_batch": {"largest_batch": 8}}
    made = with_compiler(rented(), answer)
    assert not made.fits
    fixes = {check.id: check.fix for check in made.checks}
    assert fixes["memory-does-not-fit"] == {"training.global_batch": 8}
    assert fixes["fit-rematerialize"] == {"training.rematerialize": True}
    assert fixes["fit-bfloat16"] == {"training.precision": "bfloat16"}
    assert fixes["fit-accumulate"] == {"training.accumulate": 4}  # 62 GiB in parts of at most 16
    assert "fit-larger-slice" in fixes
    assert made.checks[0].facts["raw"] == "Ran out of memory on HBM"
    assert not made.blocking


def test_a_guess_stands_in_until_the_search_is_through() -> None:
    answer = {"compiler": "ready", "traced": TRACED, "compiled": REFUSED, "largest_batch": {"guess": 16}}
    assert with_compiler(rented(), answer).checks[0].fix == {"training.global_batch": 16}


def test_nothing_is_proposed_that_is_so_already() -> None:
    answer = {"compiler": "ready", "traced": TRACED, "compiled": REFUSED}
    made = with_compiler(rented(**{"training.rematerialize": True, "training.precision": "bfloat16"}), answer)
    assert not {"fit-rematerialize", "fit-bfloat16"} & set(ids(made))


def test_room_for_more_is_told() -> None:
    answer = {"compiler": "ready", "traced": TRACED, "compiled": ACCEPTED, "largest_batch": {"largest_batch": 128}}
    made = with_compiler(rented(), answer)
    assert next(check.fix for check in made.checks if check.id == "batch-can-grow") == {"training.global_batch": 128}


def test_room_for_more_than_there_is_to_learn_from_is_no_advice() -> None:
    answer = {"compiler": "ready", "traced": TRACED, "compiled": ACCEPTED, "largest_batch": {"largest_batch": 639_584}}
    assert "batch-can-grow" not in ids(with_compiler(rented(), answer))


def test_a_compiler_that_broke_down_leaves_the_estimate_and_says_so() -> None:
    answer = {"compiler": "ready", "traced": TRACED, "ended": {"id": "check-compiler-crashed", "facts": {}}}
    made = with_compiler(rented(), answer)
    assert made.memory.by == "estimate"
    assert "check-compiler-crashed" in ids(made)
    assert not made.blocking


def test_without_a_compiler_the_estimate_is_labelled() -> None:
    made = with_compiler(rented(), {"compiler": "missing", "traced": TRACED})
    assert "estimate-no-compiler" in ids(made)
    tensorflow = replace(rented(), framework="tensorflow")
    answer = {"compiler": "missing", "missing": ["tf-tpu-compiler"], "traced": TRACED}
    told = next(one for one in with_compiler(tensorflow, answer).checks if one.id == "estimate-tensorflow")
    assert "--with tf-tpu-compiler" in say_finding(told.id, told.facts).action
    assert "estimate-tensorflow" not in ids(with_compiler(tensorflow, {"compiler": "ready", "traced": TRACED}))


@pytest.mark.parametrize(
    ("status", "next_step"), [("missing", "--install"), ("broken", "--repair"), ("installing", "when it is done")]
)
def test_a_compiler_that_is_not_ready_says_what_to_do(status: str, next_step: str) -> None:
    made = with_compiler(rented(), {"compiler": status, "traced": TRACED})
    told = next(one for one in made.checks if one.id == "estimate-no-compiler")
    assert next_step in say_finding(told.id, told.facts).action


def test_a_model_that_cannot_run_gets_no_advice_and_no_cost() -> None:
    made = replace(
        rented(),
        cost_usd=Range(1.0, 2.0, 3.0),
        alternatives=(HERE,),
    )
    made = replace(made, checks=(*made.checks, Check("advice-no-spot", "info", "Spot is not worth it")))
    wrong = {"id": "model-shapes", "facts": {"got": "(64,)", "wanted": "(9, 9)"}}
    told = with_compiler(made, {"compiler": "ready", "traced": {"problems": [wrong], "operations": []}})
    assert told.checks[0].id == "model-shapes" and not [one for one in told.checks if one.id.startswith("advice-")]
    assert told.cost_usd is None and told.alternatives == ()
    assert told.verdict.why.startswith("It cannot start yet: The shapes do not meet")
    refused = {"id": "op-host-callback", "level": "error", "facts": {}}
    told = with_compiler(made, {"compiler": "ready", "traced": {"problems": [], "operations": [refused]}})
    assert told.cost_usd is None
    fine = with_compiler(made, {"compiler": "ready", "traced": TRACED, "compiled": ACCEPTED})
    assert fine.cost_usd == made.cost_usd and fine.alternatives == made.alternatives


def test_all_the_words_stay_in_the_answer_and_few_in_the_plan() -> None:
    words = "Used 20G of 15.75G hbm. " * 5000
    compiled = {"fits": False, "device_bytes": 9, "limit_bytes": 5, "words": words}
    made = with_compiler(rented(), {"compiler": "ready", "traced": TRACED, "compiled": compiled})
    told = next(one for one in made.checks if one.id == "memory-does-not-fit")
    assert 1000 < len(told.facts["raw"]) < 5000
    operation = {"id": "op-refused", "level": "error", "facts": {"raw": "first", "words": "all of it"}}
    answer = {"compiler": "ready", "traced": {"problems": [], "operations": [operation]}, "compiled": compiled}
    assert own_words(answer) == f"{words.strip()}\n\nall of it"


def test_a_damaged_compiler_leaves_the_estimate_and_names_the_repair() -> None:
    compiled = {
        "problem": "compiler-damaged",
        "raw": "libtpu.so: cannot open",
        "status": "broken",
        "missing": ["tpu-compiler"],
    }
    made = with_compiler(rented(), {"compiler": "ready", "traced": TRACED, "compiled": compiled})
    told = next(one for one in made.checks if one.id == "compiler-damaged")
    assert "engine --repair --with tpu-compiler" in say_finding(told.id, told.facts).action
    assert made.memory.by == "estimate"
    assert not made.blocking


def test_a_model_that_does_not_work_stands_in_the_way() -> None:
    facts = {"file": "/me/model.py", "line": 12, "layer": "head", "got": "(None, 32)", "wanted": "64", "axis": "-1"}
    traced = {"problems": [{"id": "model-shapes", "facts": facts}], "operations": []}
    made = with_compiler(rented(), {"compiler": "ready", "traced": traced})
    (problem,) = made.blocking
    assert problem.title == "The shapes do not meet in the layer “head” (“model.py”, line 12)"


def test_a_model_that_was_ended_is_named() -> None:
    made = with_compiler(rented(), {"compiler": "ready", "ended": {"id": "model-forks", "facts": {"count": 40}}})
    assert [check.id for check in made.blocking] == ["model-forks"]
