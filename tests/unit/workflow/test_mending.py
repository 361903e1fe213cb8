"""`doctor --fix all`, where somebody else sets up the same project at the same moment."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_studio.wire.errors import CloudRefused, NotReady
from tpu_studio.workflow.account.mending import Mending
from tpu_studio.workflow.account.ports import Choices, ProjectSeen, Result


class Doctor:
    """Google says that the id is taken. *shared*: by a project that this person sees, too."""

    def __init__(self, shared: bool) -> None:
        self._shared, self._taken = shared, False

    def check(self, choices: Choices) -> list[Result]:
        return [Result("project", "pass")] if choices.project and self._taken else [_ABSENT]

    def projects(self) -> list[ProjectSeen]:
        return [ProjectSeen("tpu-together", "tpu-together")] if self._shared and self._taken else []

    def create_project(self, id: str, name: str, *, say: Any) -> ProjectSeen:
        self._taken = True
        raise CloudRefused("exists", raw="Requested entity already exists")


class Agrees:
    def to_make(self, id: str) -> bool:
        return True


_ABSENT = Result("project", "fail", fix="choose-project")


def mending(doctor: Doctor) -> Mending:
    ignore: Any = lambda *_: None  # noqa: E731
    made: Any = Mending(doctor, Agrees(), ignore, ignore, ignore, ignore)  # type: ignore[arg-type]
    return made  # type: ignore[no-any-return]


def test_a_project_that_somebody_else_has_made_meanwhile_is_taken_when_the_person_sees_it() -> None:
    assert mending(Doctor(shared=True)).run(Choices(project="tpu-together")).project == "tpu-together"


def test_one_that_is_a_strangers_is_refused_with_a_free_id() -> None:
    with pytest.raises(NotReady) as refused:
        mending(Doctor(shared=False)).run(Choices(project="tpu-together"))
    assert refused.value.id == "project-taken" and refused.value.facts["free"] != "tpu-together"
