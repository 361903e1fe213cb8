"""Try the model: puts a person's questions to the program that has it, and gathers what comes back as a `Trial`.

The run page's view-model owns one; a question replaces the last. The program is started with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tpu_studio.domain.sentences import Sentence, say
from tpu_studio.domain.sentences.result import unread_words
from tpu_studio.viewmodels.runports import Predictor, Trial
from tpu_studio.wire import turns
from tpu_studio.wire.errors import StudioError
from tpu_studio.workflow.ports import Tasks

Question = Mapping[str, object]


class Trying:
    """Args:
    make: Starts the program. Raises StudioError: there is no engine for it.
    show: Called with each new `Trial`.
    """

    def __init__(self, make: Callable[[], Predictor], tasks: Tasks, show: Callable[[Trial], None]) -> None:
        self.make, self._tasks, self._show = make, tasks, show
        self._predictor: Predictor | None = None
        self._cancel: Callable[[], None] | None = None
        self.trial = Trial()

    def ask(self, question: Question) -> None:
        """Put a question to the model: {"image": path}, {"row": {…}} or {"prompt": text, …}."""
        self.cancel()
        self._put(Trial(question, asking=True))

    def say(self, words: str, **wishes: object) -> None:
        """Go on with the conversation; *wishes*: tokens, temperature, seed."""
        self.cancel()
        talk = [one for one in self.trial.talk if one.ended != "failed" or one.answer][-turns.MOST_PAIRS :]
        known = [(one.asked, one.answer) for one in talk if one.goes_along]
        before = turns.sent(known)
        question = {"prompt": words, **wishes, **({"turns": before} if before else {})}
        self._put(Trial(question, asking=True, earlier=tuple(talk), left_out=len(known) - len(before) // 2))

    def begin_anew(self) -> None:
        """Nothing was asked yet; the model stays loaded."""
        self.cancel()
        self._tell(Trial())

    def cancel(self) -> None:
        """Stop what is being written; what was written stays."""
        if self.trial.asking:
            self._hush()
            self._tell(replace(self.trial, asking=False, stopped=True))

    def forget(self) -> None:
        """There is another model now."""
        self.begin_anew()
        self._end()

    def close(self) -> None:
        if self.trial.asking:
            self._hush()
        self._end()

    def _hush(self) -> None:
        if self._cancel is not None:
            self._cancel()
            self._cancel = None

    def _end(self) -> None:
        if self._predictor is not None:
            predictor, self._predictor = self._predictor, None
            self._tasks.submit(predictor.close, failed=lambda _: None)

    def _put(self, trial: Trial) -> None:
        question = trial.question
        assert question is not None
        if self._predictor is None:
            try:
                self._predictor = self.make()
            except StudioError as error:
                self._tell(replace(trial, asking=False, problem=say(error)))
                return
        self._tell(trial)

        def answered(answer: Mapping[str, Any]) -> None:
            if self.trial.question is question and self.trial.asking:  # else an older one's, or it was stopped
                self._tell(with_answer(self.trial, answer))

        cancel = self._predictor.ask(question, answered)
        self._cancel = cancel if self.trial.asking else None

    def _tell(self, trial: Trial) -> None:
        self.trial = trial
        self._show(trial)


def with_answer(trial: Trial, answer: Mapping[str, Any]) -> Trial:
    """*trial* with one line of `predict --serve`."""
    if "error" in answer:
        return replace(trial, asking=False, problem=_said(answer["error"]))
    labels = answer.get("labels", ())
    classes = tuple((str(row["name"]), float(row["probability"])) for row in labels or answer.get("classes", ()))
    value = answer.get("value")
    return replace(
        trial,
        asking=not answer.get("done", True),
        classes=classes or trial.classes,
        several=bool(labels),
        text=trial.text + str(answer.get("text", "")),
        value=float(value) if value is not None else trial.value,
        unread=unread_words(answer["unread"]) if answer.get("unread") else "",
        left_out=trial.left_out + int(answer.get("left_out", 0)),
    )


def _said(error: Mapping[str, Any]) -> Sentence:
    return say(StudioError(str(error.get("id")), **dict(error.get("facts", {}))))
