"""Errors that a person can meet, as an id and facts; the sentences stand in ``domain.sentences``.

    StudioError                 id, facts
      BadInput                  the job, the data, the model or the command is wrong        (exit code 2)
        JobError                file, line, key of a job file
        DataError               file or row of a data set
        ModelError              a model definition of the user's own
      NotReady                  engine, disk or account must be put in order first           (exit code 4)
        SignedOut               no usable credentials: sign in (again)
      RunError                  a run could not be started, read or changed                  (exit code 1)
        CloudRefused            the cloud said no, and nothing was made or changed
        CloudUnclear            no answer, or none that can be trusted: look before trying again

Raise the narrowest, chain with ``from``. An id is kebab-case, stays for ever, and has one sentence in
``domain/sentences.py`` (a test holds the two together). Facts are plain JSON values, and hold no credential: whatever
words they come from, what looks like one is cut out here, before a sentence, an event or a log has it.
"""

from __future__ import annotations

from functools import partial

from tpu_studio.wire.secrets import discreet, without_secrets


class StudioError(Exception):
    """What happened, as an id and the facts its sentence is made of.

    Args:
        id: Kebab-case name, for example ``data-folder-empty``.
        facts: JSON values: paths as strings, counts, the raw message of a library under ``raw``.
    """

    exit_code = 1

    def __init__(self, id: str, **facts: object) -> None:
        facts = discreet(facts)
        super().__init__(id, facts)
        self.id = id
        self.facts: dict[str, object] = facts

    def __str__(self) -> str:
        told = ", ".join(f"{key}={value!r}" for key, value in self.facts.items())
        return f"{self.id} ({told})" if told else self.id

    def __reduce__(self) -> tuple[object, ...]:
        """From another process (a shard's writer, a reader of pictures) as it was raised there."""
        return partial(type(self), self.id, **self.facts), ()

    def to_json(self) -> dict[str, object]:
        return {"id": self.id, "facts": self.facts}


def words_of(error: BaseException) -> str:
    """Its type and what it says; the type alone where a person's own error cannot say it. Without credentials."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001  whatever their own code raises while it is asked
        said = ""
    return without_secrets(f"{type(error).__name__}: {said}".strip().rstrip(":"))


class BadInput(StudioError):
    exit_code = 2


class JobError(BadInput):
    """Facts: ``file``, ``line`` (1-based, absent when unknown), ``key`` as ``table.key``."""


class DataError(BadInput):
    pass


class ModelError(BadInput):
    pass


class NotReady(StudioError):
    exit_code = 4


class RunError(StudioError):
    pass


class CloudRefused(RunError):
    """Facts: ``raw`` the cloud's own words, ``code``, and what the id needs (``quota``, ``limit``, ``zone`` …)."""


class CloudUnclear(RunError):
    """The call may have been carried out. Facts: ``raw``, ``code`` where there was one."""


class SignedOut(NotReady):
    """Facts: ``account`` where known, ``raw``."""
