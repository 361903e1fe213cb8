"""The account's checklist in words: every check has them in every state, calm and whole."""

from __future__ import annotations

import itertools

import pytest

from tpu_studio.domain.sentences.account import FIXES, NAMES, TITLES, say_account

FACTS = {
    "signed-in": {"email": "ada@example.com"},
    "project": {"project": "flowers-lab", "name": "Flowers lab"},
    "services": {"missing": ["tpu.googleapis.com", "iam.googleapis.com"], "count": 9},
    "permissions": {"missing": ["tpu.nodes.create"] * 5, "roles": ["roles/tpu.admin"], "unsure": ["x"]},
    "bucket": {"bucket": "b", "region": "us-west4", "wanted": "us-east5", "elsewhere": True},
    "quota": {"left": 8, "unit": "chips", "generation": "v5e", "tier": "spot", "zone": "us-west4-a"},
    "alert": {"usd": 25},
    "outside-stop": {"region": "us-west4"},
}
STATES = ("pass", "fail", "unknown", "waiting", "optional")


@pytest.mark.parametrize(
    ("id", "state"),
    [*itertools.product(TITLES, STATES[:4]), *itertools.product(("alert", "test-loan", "outside-stop"), STATES[4:])],
)
@pytest.mark.parametrize("full", [False, True])
def test_every_check_has_words_in_every_state(id: str, state: str, full: bool):
    said = say_account(id, state, {**(FACTS.get(id, {}) if full else {}), "after": "billing", "why": "network-down"})
    assert said.title and said.meaning
    assert said.meaning.rstrip(")").endswith((".", "com", "lab", "are", "chosen")), said.meaning
    assert "!" not in said.title + said.meaning + said.action and "None" not in said.meaning
    assert state != "fail" or said.action or id == "alert"


def test_every_repair_has_a_verb_and_every_check_a_name():
    assert all(label[0].isupper() and not label.endswith(".") for label in FIXES.values())
    assert set(NAMES) == set(TITLES)


@pytest.mark.parametrize(
    ("why", "says"), [("network-down", "Google cannot be reached"), ("permission-missing", "may not do that")]
)
def test_what_cannot_be_told_says_why(why: str, says: str):
    assert says in say_account("billing", "unknown", {"why": why}).meaning


def test_no_quota_is_usual_for_on_demand_and_a_new_project_often_has_some_for_spot():
    said = say_account("quota", "fail", {"region": "us-west4"})
    assert "For on-demand that is usual for a new project; for spot it often has some." in said.meaning
