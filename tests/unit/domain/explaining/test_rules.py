"""The rules that ship: each recognises its own text first, has its words and its source, and is read strictly."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_studio.domain.explaining import Rule, explain, log_text, rules
from tpu_studio.domain.explaining.rules import read_rules

CAUSES = [rule for rule in rules() if not rule.is_harmless]
HARMLESS = [rule for rule in rules() if rule.is_harmless]


def test_a_hundred_and_ninety_causes_are_known() -> None:
    assert len(CAUSES) >= 190


@pytest.mark.parametrize("rule", CAUSES, ids=lambda rule: rule.id)
def test_a_cause_is_named_first_in_its_own_text(rule: Rule) -> None:
    found = explain(log_text(rule.test.encode()).text)
    assert [cause.id for cause in found.causes][:1] == [rule.id]
    (first, *_) = found.causes
    assert first.lines and 0 < first.sure < 1
    assert "{" not in first.means


@pytest.mark.parametrize("rule", CAUSES, ids=lambda rule: rule.id)
def test_a_cause_says_what_it_means_and_what_to_do(rule: Rule) -> None:
    assert rule.means.endswith(".") and not rule.title.endswith(".")
    assert rule.do and all(step.endswith((".", "`")) for step in rule.do)
    assert rule.source.startswith("https://") or "#" in rule.source
    if rule.verb:
        assert rule.verb.startswith("tpu-studio ")


@pytest.mark.parametrize("rule", HARMLESS, ids=lambda rule: rule.id)
def test_what_is_no_error_is_told_as_such(rule: Rule) -> None:
    found = explain(log_text(rule.test.encode()).text)
    assert found.causes == ()
    assert rule.title in [one.why for one in found.harmless]


def _raw(**changes: Any) -> dict[str, Any]:
    rule = {
        "id": "some-cause",
        "title": "Some cause",
        "signs": ["some sign"],
        "source": "a/b#1",
        "test": "some sign",
        "sure": 0.9,
        "means": "It means.",
        "do": ["Do."],
        "money": "made",
    }
    return {"format": 1, "cause": [{**rule, **changes}]}


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "No Slug"},
        {"signs": []},
        {"signs": ["Capital"]},
        {"signs": ["ab"]},
        {"signs": ["some sign"], "besides": ["Big"]},
        {"strange": 1},
        {"money": "perhaps"},
        {"figures": "{used} of it", "reads": "(?P<other>x)"},
        {"pattern": "some .* sign"},
        {"pattern": r"network\w+ sign"},
        {"reads": "(?P<used>[^ +]{2,}) of it"},
    ],
)
def test_a_rule_that_is_wrong_is_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"rule (some-cause|No Slug)"):
        read_rules(_raw(**changes))


def test_a_star_among_letters_or_as_itself_repeats_nothing() -> None:
    (one,) = read_rules(_raw(pattern=r"some [*+a] \* \+ [^]*] sign{1,3}"))
    assert one.pattern is not None


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 2"):
        read_rules({"format": 2})
