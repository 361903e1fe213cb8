"""A loaded model that answers: classes with probabilities, a value in its own unit, or text.

Shapes are fixed, so that each way of asking compiles once and is fast from then on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data import continuing, instructing, predicting, tokens
from tpu_studio.trainer.frameworks import running
from tpu_studio.trainer.predict.generating import generate
from tpu_studio.trainer.result import files, loading
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import BadInput, RunError, StudioError
from tpu_studio.wire.pretrained.template import Turn

TOP = 10
SAID_FROM = 0.5  # the probability from which on an example is said to have a label

Answer = dict[str, object]


@dataclass(frozen=True)
class Writing:
    """*pieces* of a text, as they are made; *left_out*: earlier questions with answers that there was no room for."""

    pieces: Iterator[str]
    left_out: int = 0


class Asked:
    """A model that is loaded and ready (`opened`), asked as the *result* with that *card* is. For one thread.

    Raises:
        RunError: ``result-unreadable``.
    """

    def __init__(self, result: Path, card: dict[str, Any], model: Any) -> None:
        self._card, self._model = card, model
        self._data: dict[str, Any] = {**card["data"], "folder": str(result)}
        if self.reads_text:
            # a tokenizer of another model is told before the first question
            (continuing.of_result if self.writes else tokens.of_description)(self._data)
        inputs = getattr(model, "inputs", None)  # a subclass of a person's own has none
        claimed = card["input"].get("shape") if isinstance(card.get("input"), dict) else None
        predicting.check_shape(self._data, claimed, inputs[0].shape[1:] if inputs else None, result / files.CARD)
        self._run = running().compiled(model)

    def answer(self, items: Sequence[Any], at_once: int = 1) -> list[Answer]:
        """One answer for each picture, row or text; ``{"error": …}`` for one that cannot be read.

        Args:
            items: At most *at_once*; fewer are filled up with zeros.
        """
        if self.writes:
            raise BadInput("predict-wrong-kind", wanted="prompt")
        inputs, errors = self._encode(items)
        if not inputs:
            return errors
        x = np.stack(list(inputs.values()))
        padded = np.zeros((max(at_once, len(x)), *x.shape[1:]), x.dtype)
        padded[: len(x)] = x
        outputs = np.asarray(self._run(padded))[: len(x)]
        if not np.isfinite(outputs).all():
            raise RunError("predict-not-finite")
        for place, told in zip(
            inputs, predicting.decode_outputs(self._data, outputs, logits=True, top=TOP), strict=True
        ):
            errors[place] = _plain(told)
            if kinds.by_id(self._data["kind"]).has_rows and (unread := predicting.unread_in(self._data, items[place])):
                errors[place]["unread"] = unread
        return errors

    @property
    def writes(self) -> bool:
        """Whether a prompt is gone on from; else it is a text to tell the kind of."""
        return tasks.by_id(self._card["task"]).has_tokens

    @property
    def reads_text(self) -> bool:
        return kinds.by_id(self._data["kind"]).has_text

    def write(
        self,
        prompt: str,
        *,
        tokens: int,
        temperature: float,
        seed: int,
        turns: Sequence[Turn] = (),
        stopped: Callable[[], bool] = lambda: False,
    ) -> Writing:
        """What comes after *prompt*, or answers it; *turns*: what was said before, of a model that answers.

        Raises:
            BadInput: ``predict-wrong-kind``; ``predict-bad-question``: turns for a model that goes on with a text.
            DataError, RunError: as ``data.instructing.question``.
        """
        if not self.writes:
            raise BadInput("predict-wrong-kind", wanted=kinds.by_id(self._data["kind"]).question)
        length, cutter = int(self._card["input"]["shape"][1]), continuing.of_result(self._data)
        if tasks.by_id(self._card["task"]).has_chats:
            asked = instructing.question(self._data, prompt, turns)
            start = np.array(asked.tokens, np.int32)
            told = generate(self._run, length, start, tokens, temperature, seed, stopped, cutter, asked.ends)
            return Writing(instructing.without_blanks(told, asked.blanks), asked.left_out)
        if turns:
            raise BadInput("predict-bad-question", raw="turns: this model goes on with a text, it does not answer")
        encoded = predicting.encode_inputs(self._data, [prompt or "\n"])
        start = encoded["x"][0][: int(encoded["length"][0])]
        return Writing(generate(self._run, length, start, tokens, temperature, seed, stopped, cutter))

    def warm_up(self) -> None:
        """Compile before the first question comes."""
        shape = (1, *self._card["input"]["shape"][1:])
        np.asarray(self._run(np.zeros(shape, self._card["input"]["dtype"])))

    def _encode(self, items: Sequence[object]) -> tuple[dict[int, Any], list[Answer]]:
        """Encoded inputs by their place, and answers with the errors of the others."""
        inputs: dict[int, object] = {}
        answers: list[Answer] = []
        for place, item in enumerate(items):
            answers.append({})
            try:
                inputs[place] = predicting.encode_inputs(self._data, [item])["x"][0]
            except StudioError as error:
                answers[place] = {"error": error.to_json()}
            except OSError as error:
                answers[place] = {"error": {"id": "data-missing", "facts": {"path": str(item), "raw": str(error)}}}
        return inputs, answers


def opened(run: Path, result: Path, card: dict[str, Any], *, consent: str = "", before: bool = False) -> Asked:
    """The model of *run*, ready to be asked.

    Args:
        consent: See ``result.loading.load``.
        before: As it was before training, see ``before.load``.

    Raises:
        RunError: ``result-unreadable``; and as ``result.loading.load`` or ``before.load``.
    """
    if before:
        from tpu_studio.trainer.predict.before import load  # builds models, which a result needs not

        return Asked(result, card, load(run, result, card))
    return Asked(result, card, loading.load(result, consent=consent))


def _plain(told: dict[str, Any]) -> Answer:
    if "value" in told:
        if not math.isfinite(told["value"]):
            raise RunError("predict-not-finite")
        return {"value": told["value"], "target": told["target"]}
    if "labels" in told:
        return {
            "labels": [
                {"name": str(name), "probability": share, "yes": share >= SAID_FROM} for name, share in told["labels"]
            ]
        }
    return {"classes": [{"name": str(name), "probability": share} for name, share in told["top"]]}
