"""Try the model: puts a person's questions to the program that has it, and gathers what comes back as a `Trial`.

The run page's view-model owns one; a question replaces the last. The program is started with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpu_studio.domain.sentences import Sentence, say
from tpu_studio.domain.sentences.result import unread_words
from tpu_studio.viewmodels.runports import Predictor, Trial
from tpu_studio.wire import turns
from tpu_studio.wire.errors import StudioError
from tpu_studio.workflow.ports import Tasks

Question = Mapping[str, object]
MOST_PICTURES = 20
_OF_A_PICTURE = ("data-", "predict-failed", "predict-not-finite")
"""How ids of errors begin that say nothing of the next picture."""


class _Program:
    """A program that has a model, started when it is first asked; one question at a time."""

    def __init__(self, make: Callable[[], Predictor], tasks: Tasks) -> None:
        self.make, self._tasks = make, tasks
        self._predictor: Predictor | None = None
        self._cancel: Callable[[], None] | None = None
        self._sent: Question | None = None

    def start(self) -> None:
        """Raises StudioError: there is no engine for it."""
        if self._predictor is None:
            self._predictor = self.make()

    def send(self, question: Question, on_answer: Callable[[Mapping[str, Any]], None]) -> None:
        """*on_answer* is called for each line of the answer, until another question is sent or it is hushed."""
        assert self._predictor is not None
        self._sent = question

        def answered(answer: Mapping[str, Any]) -> None:
            if self._sent is question:
                if answer.get("done", True):
                    self._sent = self._cancel = None
                on_answer(answer)

        cancel = self._predictor.ask(question, answered)
        if self._sent is question:  # else it was answered at once
            self._cancel = cancel

    def hush(self) -> None:
        cancel, self._cancel, self._sent = self._cancel, None, None
        if cancel is not None:
            cancel()

    def end(self) -> None:
        self.hush()
        if self._predictor is not None:
            predictor, self._predictor = self._predictor, None
            self._tasks.submit(predictor.close, failed=lambda _: None)


class Trying:
    """Args:
    make: Starts the program that has the model. Raises StudioError: there is no engine for it.
    make_before: Starts the one that has the model before training.
    show: Called with each new `Trial`.
    """

    def __init__(
        self,
        make: Callable[[], Predictor],
        make_before: Callable[[], Predictor],
        tasks: Tasks,
        show: Callable[[Trial], None],
    ) -> None:
        self.learned, self._before, self._show = _Program(make, tasks), _Program(make_before, tasks), show
        self._compares = False
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

    def ask_pictures(self, paths: Sequence[str]) -> None:
        """Each is a question of its own, the next one after the answer; one that cannot be read stops nothing."""
        self.cancel()
        taken = tuple(paths[:MOST_PICTURES])
        each = tuple(Trial({"image": path}, asking=True) for path in taken)
        if self._is_there(trial := Trial({"pictures": taken}, True, pictures=each, left_over=len(paths) - len(taken))):
            self._tell(trial)
            self._ask_next()

    def compare(self, on: bool) -> None:
        """The model before training answers beside: the question that stands there, and those that come."""
        self._compares = on
        if on and self.trial.question is not None:
            self._put_before(self.trial.question)
        elif not on:
            self._before.end()  # its memory is free again
            self._tell(replace(self.trial, before=None))

    def begin_anew(self) -> None:
        """Nothing was asked yet; the model stays loaded."""
        self.cancel()
        self._tell(Trial())

    def cancel(self) -> None:
        """Stop what is being written; what was written stays."""
        self.learned.hush()
        self._before.hush()
        before = self.trial.before
        if before is not None and before.asking:
            self._tell(replace(self.trial, before=replace(before, asking=False, stopped=True)))
        if self.trial.asking:
            self._tell(replace(_over(self.trial), stopped=True))

    def forget(self) -> None:
        """There is another model now."""
        self.begin_anew()
        self.close()

    def close(self) -> None:
        self.learned.end()
        self._before.end()

    def _is_there(self, trial: Trial) -> bool:
        """Whether there is a program to put *trial*'s question to; else it is told that there is none."""
        try:
            self.learned.start()
        except StudioError as error:
            self._tell(replace(_over(trial), problem=say(error)))
            return False
        return True

    def _put(self, trial: Trial) -> None:
        if self._is_there(trial):
            self._tell(trial)
            assert trial.question is not None
            self.learned.send(trial.question, lambda answer: self._tell(with_answer(self.trial, answer)))
            if self._compares:
                self._put_before(trial.question)

    def _put_before(self, question: Question) -> None:
        self._tell(replace(self.trial, before=Trial(question, asking=True)))
        try:
            self._before.start()
        except StudioError as error:
            self._tell(replace(self.trial, before=Trial(question, problem=say(error))))
            return

        def answered(answer: Mapping[str, Any]) -> None:
            if self.trial.before is not None:
                self._tell(replace(self.trial, before=with_answer(self.trial.before, answer)))

        self._before.send(question, answered)

    def _ask_next(self) -> None:
        """The next picture; when there is none, it is over."""
        pictures = self.trial.pictures
        place = next((place for place, one in enumerate(pictures) if one.asking), None)
        if place is None:
            self._tell(replace(self.trial, asking=False))
            return
        question = pictures[place].question
        assert question is not None

        def answered(answer: Mapping[str, Any]) -> None:
            one = with_answer(pictures[place], answer)
            told = replace(self.trial, pictures=(*pictures[:place], one, *pictures[place + 1 :]))
            if one.problem is not None and not str(answer["error"].get("id")).startswith(_OF_A_PICTURE):
                self._tell(replace(_over(told), problem=one.problem))  # the others would end alike
                return
            self._tell(told)
            self._ask_next()

        self.learned.send(question, answered)

    def _tell(self, trial: Trial) -> None:
        self.trial = trial
        self._show(trial)


def _over(trial: Trial) -> Trial:
    return replace(trial, asking=False, pictures=tuple(replace(one, asking=False) for one in trial.pictures))


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
