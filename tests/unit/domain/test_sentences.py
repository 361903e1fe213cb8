"""Every error, finding, notice, reason and check has words: what happened, what it means, what to do.

The source itself is searched, so that an id added anywhere fails here until it has its sentence.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tpu_studio.domain import sentences
from tpu_studio.domain.sentences import ERRORS, FINDINGS, NOTICES, say, say_finding, say_notice, say_reason, why_broken
from tpu_studio.domain.sentences import data as data_words
from tpu_studio.domain.sentences.sentence import Sentence, tell
from tpu_studio.wire.errors import (
    BadInput,
    CloudRefused,
    CloudUnclear,
    DataError,
    JobError,
    ModelError,
    NotReady,
    RunError,
    SignedOut,
    StudioError,
)
from tpu_studio.wire.reasons import Reason

SOURCE = Path(sentences.__file__).parents[2]
CLOUD_ERRORS = (CloudRefused, CloudUnclear, SignedOut)
OUR_ERRORS = {
    kind.__name__
    for kind in (StudioError, BadInput, JobError, DataError, ModelError, NotReady, RunError, *CLOUD_ERRORS)
}
DOCUMENTED = SOURCE.parent / "docs" / "cloud.md"


@cache
def calls() -> list[tuple[str, ast.Call, Path]]:
    return [
        (str(getattr(node.func, "id", getattr(node.func, "attr", ""))), node, path)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
    ]


def literals(node: ast.expr | None) -> Iterator[str]:
    """The texts that *node* can be: itself, or both sides of an `a if b else c`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


def ids_of(names: set[str]) -> dict[str, Path]:
    return {id: path for name, call, path in calls() if name in names and call.args for id in literals(call.args[0])}


def notice_ids() -> dict[str, Path]:
    found = {}
    for _, call, path in calls():
        if call.args and "notice" in literals(call.args[0]):
            found |= {id: path for word in call.keywords if word.arg == "id" for id in literals(word.value)}
    return found


def test_the_search_finds_what_it_looks_for():
    assert "job-file-missing" in ids_of(OUR_ERRORS)
    assert "class-imbalance" in ids_of({"Finding"})
    assert "input-bound" in notice_ids()


def test_a_file_with_a_line_end_in_its_name_is_one_line() -> None:
    """It forges no second sentence."""
    told = say(ModelError("model-no-consent", file="/x/net\n  Checked by TPU Studio.\u2028.py"))
    assert "net   Checked by TPU Studio. .py" in told.title and "\u2028" not in told.title


def test_every_error_that_is_raised_has_a_sentence():
    assert {id: str(path) for id, path in ids_of(OUR_ERRORS).items() if id not in ERRORS} == {}


def test_every_finding_and_every_check_has_a_sentence():
    found = ids_of({"Finding", "Check"})
    assert {id: str(path) for id, path in found.items() if id not in FINDINGS and id not in ERRORS} == {}


def test_every_notice_has_a_sentence():
    assert {id: str(path) for id, path in notice_ids().items() if id not in NOTICES} == {}


def test_every_reason_why_a_picture_is_left_out_has_words():
    found = ids_of({"BrokenImage"}) | {
        why: path for name, call, path in calls() if name == "breaks" for why in literals(call.args[1])
    }
    assert {"truncated", "fields"} <= set(found)
    assert {id for id in found if id not in data_words.WHY_BROKEN} == set()


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_title_meaning_and_action(reason: Reason):
    said = say_reason(reason, {})
    assert said.title
    assert said.meaning
    assert said.action


@pytest.mark.parametrize("id", sorted(ERRORS))
def test_every_error_says_what_happened_and_what_it_means_even_without_facts(id: str):
    said = say(StudioError(id))
    assert said.title
    assert said.meaning
    assert (
        "charged" in said.meaning or "charged" in said.action or "untouched" in said.meaning or "still" in said.meaning
    )


EVERYTHING = [*ERRORS.values(), *FINDINGS.values(), *NOTICES.values(), *sentences.REASONS.values()]


@pytest.mark.parametrize("number", range(len(EVERYTHING)))
def test_words_are_calm_whole_and_without_codes(number: int):
    said = tell(EVERYTHING[number], {})
    text = f"{said.title} {said.meaning} {said.action}"
    assert not said.title.endswith(".")
    assert said.title[0] == said.title[0].upper()
    assert "!" not in text
    assert not re.search(r"\bNone\b|\{|\}|Errno|Traceback|  ", text)
    for part in (said.meaning, said.action):
        assert not part or part.rstrip().endswith((".", "?")), part


def test_a_job_error_names_file_line_key_and_the_nearest_known_key():
    said = say(
        JobError(
            "job-unknown-key", file="/home/me/digits.tpujob", line=7, key="training.epoch", nearest="training.epochs"
        )
    )
    assert said.title == "digits.tpujob, line 7: there is no setting called “training.epoch”"
    assert said.action == "Did you mean “training.epochs”?"


def test_a_number_out_of_range_is_told_its_range():
    said = say(JobError("job-out-of-range", key="training.epochs", value=-3, minimum=0.0, maximum=100_000, above=True))
    assert said.title == "“Epochs” (training.epochs) cannot be -3"
    assert "more than 0, and at most 100,000" in said.meaning


def test_an_id_of_a_newer_version_still_gets_decent_words():
    said = say(RunError("moon-in-the-way", raw="x"))
    assert said == Sentence(
        "Moon in the way", "Nothing was charged.", "Try again; if it stays, the details help whoever looks into it."
    )
    assert say_notice("solar-wind", {}).title == "Solar wind"
    assert say_finding("purple-pictures", {}).title == "Purple pictures"
    assert why_broken("half-eaten") == "half eaten"


def test_findings_speak_of_the_data():
    said = say_finding("class-imbalance", {"most": "cats", "most_count": 900, "least": "dogs", "least_count": 90})
    assert said.title == "“cats” is 10 times as frequent as “dogs”"


def test_where_every_copy_is_damaged_no_older_one_is_promised():
    told = say_notice("checkpoint-damaged", {"step": 8}).meaning
    assert "from an older one, or from the beginning where there is none" in told


def test_a_disk_that_fills_up_while_it_is_written_names_no_need_that_nobody_knows():
    told = say(DataError("data-disk-full", path="/data/out"))
    assert told.meaning.startswith("More is needed in")
    assert say(DataError("data-disk-full", path="/data/out", needed=2_000_000)).meaning.startswith("About 2.0 MB is")


def test_broken_items_are_named_with_what_is_wrong_with_each():
    one = say_finding("broken-items", {"count": 1, "items": [["two/a.jpg", "empty-file"]]})
    assert str(one).startswith("1 broken item is left out. It is two/a.jpg: it is empty. Your data is untouched.")
    items = [["line 7", "fields"], ["line 9", "cell-too-long"]]
    told = "The first are line 7: it has more or fewer fields than the others; line 9: a field is far too long."
    assert told in say_finding("broken-items", {"count": 12, "items": items}).meaning
    assert told in say_notice("broken-items", {"count": 12, "items": items}).meaning
    assert say_finding("broken-items", {"count": 3}).meaning == "Your data is untouched."


def test_every_id_of_the_contract_with_the_cloud_has_a_sentence():
    section = DOCUMENTED.read_text("utf-8").partition("## Errors of the cloud")[2].partition("## ")[0]
    ids = set(re.findall(r"[a-z]+(?:-[a-z]+)+", section.partition("Ids:")[2]))
    assert {"quota-exceeded", "no-capacity", "client-gone"} <= ids
    assert {id for id in ids if id not in ERRORS} == set()


def test_quota_and_capacity_are_never_confused():
    quota, capacity = (
        say(CloudRefused("quota-exceeded", quota="TPUV6EPerProjectPerZone", limit=0)),
        say(CloudRefused("no-capacity", zone="us-east5-b")),
    )
    assert "not a shortage" in quota.meaning
    assert "not your quota" in capacity.meaning
    assert "wait" not in quota.action.lower()


def test_a_rented_run_says_what_it_cost_and_a_practice_run_that_it_was_pretended():
    assert "It cost $1.84." in say_reason(Reason.COMPLETED, {}, place="cloud", usd=1.84).meaning
    assert "practice dollars" in say_reason(Reason.TIME_LIMIT, {}, place="practice", usd=1.84).meaning
    assert "Nothing was charged." in say_reason(Reason.COMPLETED, {}).meaning


@pytest.mark.parametrize("reason", [Reason.GUARDIAN_GONE, Reason.TRAINER_KILLED, Reason.DISK_FULL])
def test_an_end_before_the_first_copy_promises_none(reason: Reason) -> None:
    with_copy, without = say_reason(reason, {"saved_step": 40}), say_reason(reason, {"saved_step": None})

    assert "The last checkpoint of the model is safe" in with_copy.meaning
    assert "No copy of the model had been saved yet" in without.meaning
    assert "last checkpoint" not in str(without)


def test_words_name_the_button_that_carries_on() -> None:
    assert "“Resume”" in say_reason(Reason.GUARDIAN_GONE, {}).action


def test_what_the_system_says_stands_without_its_number() -> None:
    said = say(BadInput("job-file-unreadable", file="a.tpujob", raw="[Errno 13] Permission denied: '/x/a.tpujob'"))
    assert "The system says: Permission denied: '/x/a.tpujob'." in said.meaning


def test_bold_letters_of_a_terminal_are_no_words() -> None:
    said = say_finding("model-raises", {"file": "m.py", "line": 7, "raw": "ValueError: \x1b[1mNo such shape\x1b[0m"})
    assert "It ended with: ValueError: No such shape." in said.meaning


@pytest.mark.parametrize(
    ("copies", "kept"),
    [({"saved_step": None}, "No copy of the model had been saved yet."), ({"saved_step": 40}, "The copy of step 40")],
)
@pytest.mark.parametrize("reason", [Reason.STOPPED_BY_USER, Reason.MACHINE_SILENT, Reason.TRAINER_FAILED])
def test_an_end_at_a_rented_place_promises_only_a_copy_that_is_there(reason: Reason, copies: dict, kept: str):
    said = say_reason(reason, {"result": False, **copies}, place="cloud", usd=0.1)
    assert kept in said.meaning


def test_nobody_is_told_to_free_space_on_a_rented_machine():
    there = say_reason(Reason.DISK_FULL, {"result": False}, place="cloud", usd=0.4)
    assert there.title == "The machine's disk is full"
    assert "Free" not in there.action and "start it again" in there.action
    assert "Free some space" in say_reason(Reason.DISK_FULL, {}).action


@pytest.mark.parametrize(
    ("said", "title", "meaning"),
    [
        (
            say_finding("op-padding", {"waste": 10.67, "sizes": [32, 128, 10], "unit": 128}),
            "91% of a TPU's work would be padding (10.7×)",
            "Its matrix units are 128 wide, and what does not fill them is filled with zeros; the worst product is "
            "32 × 128 × 10.",
        ),
        (say_finding("op-padding", {}), "Much of a TPU's work would be padding", "Its matrix units are 128 wide"),
        (
            say_finding("near-empty-class", {"classes": [["maybe", 1]], "count": 1}),
            "Only 1 of “maybe”",
            "With fewer than 10 of a class",
        ),
        (
            say_finding("near-empty-class", {"classes": [["a", 1], ["b", 2]], "count": 2}),
            "Very few of a and b",
            "With fewer than 10 of a class",
        ),
        (
            say_finding("mixed-sizes", {"image_size": 64}),
            "The pictures have different sizes",
            "All are resized to 64 × 64 pixels.",
        ),
        (
            say_finding("tiny-data", {"examples": 25}),
            "Only 25 to learn from",
            "It may memorise them (overfit). Judge it by its figures on unseen data only.",
        ),
        (
            say_finding("broken-items", {"count": 1, "items": [["a/b.jpg", "not-an-image"]]}),
            "1 broken item is left out",
            "It is a/b.jpg: it is not an image, or it is damaged.",
        ),
    ],
)
def test_findings_speak_the_terms_of_the_field(said: Sentence, title: str, meaning: str) -> None:
    assert said.title == title
    assert said.meaning.startswith(meaning)
