"""What a short timing of real steps found out; made by the trainer's `time` mode, read by the estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpu_studio.wire.records import whole

_MOST = 1e12  # no time or rate is so large


@dataclass(frozen=True)
class Timing:
    """Measured on the machine that will train, with the plan's own model, batch and data.

    Attributes:
        step_time_s: Seconds one optimizer step takes once compiled, waiting for data included.
        compile_s: Seconds until the first step was done.
        setup_s: Seconds from the start of the program to its first step, without compiling.
        examples_per_s: Examples trained on per second (of text: sequences).
        params: Weights of the model; 0 when not told.
        peak_memory_bytes: Largest resident memory of the training program; None when not told.
        evaluation_s: Seconds for one check on all unseen data; None when not measured.
        checkpoint_s: Seconds for saving one copy; None when not measured.
        result_s: Seconds for writing the result of a run; None when not measured.
        waiting_share: Part of the time that steps waited for data, 0 to 1; 0 when not told.
    """

    step_time_s: float
    compile_s: float = 0.0
    setup_s: float = 0.0
    examples_per_s: float = 0.0
    params: int = 0
    peak_memory_bytes: int | None = None
    evaluation_s: float | None = None
    checkpoint_s: float | None = None
    result_s: float | None = None
    waiting_share: float = 0.0

    @classmethod
    def from_json(cls, tree: Mapping[str, object]) -> Timing:
        """The timing in the trainer's one JSON object.

        Raises:
            ValueError: No step time, or one that is no positive number.
        """
        step = _seconds(tree, "step_time_s")
        if not step:
            raise ValueError(f"a timing needs a step_time_s above 0, not {tree.get('step_time_s')!r}")
        peak = tree.get("peak_memory_bytes")
        return cls(
            step_time_s=step,
            compile_s=_seconds(tree, "compile_s") or 0.0,
            setup_s=_seconds(tree, "setup_s") or 0.0,
            examples_per_s=_seconds(tree, "examples_per_s") or 0.0,
            params=whole(tree.get("params")),
            peak_memory_bytes=whole(peak) or None,
            evaluation_s=_seconds(tree, "evaluation_s"),
            checkpoint_s=_seconds(tree, "checkpoint_s"),
            result_s=_seconds(tree, "result_s"),
            waiting_share=min(1.0, _seconds(tree, "waiting_for_data_share") or 0.0),
        )


def _seconds(tree: Mapping[str, object], name: str) -> float | None:
    value = tree.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _MOST:
        return None
    return float(value)
