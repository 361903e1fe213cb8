"""The axes that the curves of a run stand along, the same on the Run page and in Compare. No Qt here."""

from __future__ import annotations

from tpu_studio.domain.course import Course
from tpu_studio.gui.plots.scale import EPOCHS, EXAMPLES, MONEY, STEPS, TIME, Scale
from tpu_studio.gui.plots.source import RunCurve, SteppedCurve

SCALES: dict[str, Scale] = {"time": TIME, "step": STEPS, "epoch": EPOCHS, "examples": EXAMPLES, "cost": MONEY}


def along(curve: SteppedCurve, axis: str, course: Course) -> RunCurve:
    """*curve* along *axis*, one of `domain.course.AXES`.

    Raises:
        ValueError: along the cost of a run of which nothing is known to be spent.
    """
    if axis == "cost":
        if course.spent is None:
            raise ValueError("nothing is known to be spent")
        return RunCurve(curve, "time", spent=course.spent)
    if axis == "time":
        return RunCurve(curve, "time", course.origin, cuts=course.cuts)
    factors = {"step": 1.0, "epoch": 1.0 / course.steps_per_epoch, "examples": float(course.batch)}
    return RunCurve(curve, "step", x_factor=factors[axis])
