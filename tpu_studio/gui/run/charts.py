"""The curves of the Run page: loss, quality on unseen data, speed, where a step's time goes, and cost where time has
a price.

Which curve stands where depends on what is learnt. Time of training runs across: where a run has been taken up again,
the hours in between, and the steps that were done anew, are left out, for they would push the curve into a corner.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tpu_studio.domain import figures
from tpu_studio.domain.course import Course
from tpu_studio.domain.learning import glossary
from tpu_studio.domain.spending import Spending
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.learn.termtext import explain_term
from tpu_studio.gui.plots.along import SCALES, along
from tpu_studio.gui.plots.plot import Plot
from tpu_studio.gui.plots.scale import COUNT, MONEY, PERCENT, PLAIN, TIME
from tpu_studio.gui.plots.source import Curve, CurveSource, Floats, Forecast, Gap, Limit, RunCurve
from tpu_studio.viewmodels import runchips
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runstate import RunPageState
from tpu_studio.wire import kinds, metrics, places, tasks
from tpu_studio.workflow.ports import Curve as StoredCurve

Cuts = tuple[tuple[float, float], ...]
INPUT_BOUND_FROM = 0.15
_WAITING = "Input wait: the part in which the next examples are not ready yet."
SPLIT_ON_CHIPS = (
    "Compute: the part of a step's time that goes by between handing it to the TPU and having its result, "
    "also where its chips are not busy all along.\n" + _WAITING + "\n" + runchips.MFU_MEANS
)
SPLIT_HERE = "Compute: the part of a step's time in which this computer works on the step itself.\n" + _WAITING


@dataclass(frozen=True)
class Perplexity:
    """e to the curve of nats: how many tokens the model still hesitates between."""

    inner: RunCurve

    def window(self, x_min: float, x_max: float, buckets: int) -> tuple[Floats, Floats, Floats]:
        x, low, high = self.inner.window(x_min, x_max, buckets)
        return x, np.exp(np.minimum(low, 50.0)), np.exp(np.minimum(high, 50.0))

    def last(self) -> tuple[float, float] | None:
        found = self.inner.last()
        return None if found is None else (found[0], float(np.exp(min(found[1], 50.0))))

    def start(self) -> float:
        return self.inner.start()


@dataclass(frozen=True)
class Wanted:
    """A curve that a plot shows as soon as its metric has points."""

    metric: str
    name: str
    tone: str
    kind: Literal["noisy", "line", "points"]
    perplexity: bool = False
    fill: bool = False


def _curve_of(metric: str, unseen: str, *, perplexity: bool = False) -> Wanted:
    """*unseen*: What the curve is called where the metric is one of unseen data."""
    if metrics.by_id(metric).unseen:
        return Wanted(metric, unseen, "s2", "points", perplexity)
    return Wanted(metric, "training", "s1", "noisy", perplexity)


AXES = (("time", "Time"), ("step", "Steps"), ("epoch", "Epochs"), ("examples", "Examples"))
BY_COST = ("cost", "Cost")  # where time has a price


class Charts:
    """Owns the plot cards, four or with a price five; `draw` brings them up to date with a state."""

    def __init__(self, model: RunViewModel) -> None:
        self._model = model
        facts = model.state.value.facts
        task = tasks.by_id(facts.task)
        unseen = "validation"
        soon = "Appears after the first step."
        later = "Appears after the first validation."
        main = metrics.by_id(task.metric)
        scale, top = PERCENT if main.percent else PLAIN, main.top
        self.loss = Plot(metrics.training_loss().title, TIME, PLAIN, waits_for=soon, log=True, explain=True)
        self.quality = Plot(main.title, TIME, scale, waits_for=later, y_top=top, log=top is None, explain=True)
        _explained(self.loss, metrics.training_loss())
        _explained(self.quality, main)
        self.speed = Plot("Speed", TIME, COUNT, waits_for=soon)
        self.split = Plot("Step time", TIME, PERCENT, waits_for=soon, y_top=1.0)
        self.split.set_explained(SPLIT_HERE if places.by_id(facts.place).on_this_computer else SPLIT_ON_CHIPS)
        as_perplexity = main.unit == "nats"
        if as_perplexity:  # it begins hundreds of times as high as where it ends
            self.quality.set_log(True)
        self._wanted: dict[Plot, tuple[Wanted, ...]] = {
            self.loss: (_curve_of(metrics.training_loss().id, unseen), _curve_of(task.loss, unseen)),
            self.quality: tuple(_curve_of(name, unseen, perplexity=as_perplexity) for name in task.quality),
            self.speed: (Wanted("examples_per_s", f"{facts.noun} a second", "s3", "noisy", fill=True),),
            self.split: (
                Wanted("device_share", "compute", "s1", "line"),
                Wanted("waiting_share", "input wait", "s2", "line"),
                Wanted("mfu", "MFU", "s3", "line"),
            ),
        }
        self.cost = Plot("Cost", TIME, MONEY, waits_for=soon) if facts.usd_per_hour else None
        if self.cost is not None:
            spent = "spent" if places.by_id(facts.place).charges else "would have cost"
            self._wanted[self.cost] = (Wanted("usd", spent, "s1", "line", fill=True),)
            if facts.usd_limit:
                stops = f"stops at {figures.money(facts.usd_limit)}"
                self.cost.set_limits([Limit(facts.usd_limit, stops, "bad", below=True)])
        self._axis = "time"
        self._spending: Spending | None = None
        self.cards: list[Card] = []
        for plot in self._wanted:
            card = Card(margins=(18, 12, 18, 12))
            card.setMinimumHeight(250)
            card.body.addWidget(plot, 1)
            self.cards.append(card)
        self._shown: dict[Plot, tuple[tuple[str, ...], float, Cuts, bool]] = {}
        self._versions: dict[Plot, tuple[int, ...]] = {}
        self._waiting = (-1, "")
        self._over = False
        self._waits = (soon, later)
        self._gaps: tuple[Gap, ...] = ()

    def set_axis(self, axis: str) -> None:
        """One of `domain.course.AXES` along all plots."""
        self._axis = axis
        self._shown.clear()
        for plot in self._wanted:
            plot.set_axis(SCALES[axis])
        self.draw(self._model.state.value)

    def draw(self, state: RunPageState) -> None:
        """Only what has changed is touched; a plot paints at most four times a second by itself."""
        origin = state.view.begun[0] if state.view.begun else 0.0
        cuts = self._cuts(state.view.begun)
        for plot, wanted in self._wanted.items():
            curves = [
                (one, curve) for one in wanted if (curve := self._model.curve(one.metric)) is not None and len(curve)
            ]
            if self._axis == "cost" and self._spent() is None:
                curves = []  # no price has come yet
            self._set(plot, curves, origin, cuts, state.over)
        view = state.view
        loss = metrics.training_loss().id
        self.loss.set_values({loss: view.last[loss]} if loss in view.last else {})  # as the big numbers say it
        if loss in view.last and any(one.metric == loss for one in self._wanted[self.quality]):
            self.quality.set_values({loss: metrics.perplexity(view.last[loss])})  # the same loss, as perplexity
        self.speed.set_values({"examples_per_s": view.examples_per_s} if view.examples_per_s else {})
        if self.cost is not None and state.facts.rented:  # saving and deleting are paid too, after the last step
            self.cost.set_values({"usd": view.usd_now(state.at)})
        self._badge(state)
        self._forecast(state, origin, cuts)
        self._mark_resumes(state, origin, cuts)
        if state.over != self._over:
            self._over = state.over
            for plot in self._wanted:
                words = self._waits[plot is self.quality]
                plot.set_waits_for("The run ended before there was anything to draw." if state.over else words)

    def _cuts(self, begun: tuple[float, ...]) -> Cuts:
        """From the last point that was kept to when training began again."""
        found = []
        losses = [curve for one in self._wanted[self.loss] if (curve := self._model.curve(one.metric)) is not None]
        for before, again in itertools.pairwise(begun):
            points = [float(curve.window(again, again, 1, "time")[0][0]) for curve in losses if len(curve)]
            found.append((max([before, *(t for t in points if t < again)]), again))
        return tuple(found)

    def _set(self, plot: Plot, curves: list[tuple[Wanted, StoredCurve]], origin: float, cuts: Cuts, over: bool) -> None:
        shown = (tuple(one.metric for one, _ in curves), origin, cuts, over)
        versions = tuple(curve.version for _, curve in curves)
        if shown != self._shown.get(plot):
            self._shown[plot] = shown
            plot.set_curves([self._curve(one, curve, origin, cuts, over) for one, curve in curves])
        if versions != self._versions.get(plot):
            self._versions[plot] = versions
            plot.touch()

    def _curve(self, one: Wanted, curve: StoredCurve, origin: float, cuts: Cuts, over: bool) -> Curve:
        facts = self._model.state.value.facts
        course = Course(origin, cuts, facts.steps_per_epoch or 1.0, facts.batch, self._spent())
        stood = along(curve, self._axis, course)
        source: CurveSource = Perplexity(stood) if one.perplexity else stood
        return Curve(one.metric, one.name, source, one.tone, one.kind, fill=one.fill, ended=over)

    def _spent(self) -> Spending | None:
        curve = self._model.curve("usd") if self._axis == "cost" else None
        if curve is None or not len(curve):
            return None
        if self._spending is None or self._spending.curve is not curve:
            self._spending = Spending(curve)
        return self._spending

    def _badge(self, state: RunPageState) -> None:
        """ "Input-bound 34%" and its plain sentence, while it is so."""
        waiting = state.view.waiting_share or 0.0
        percent = round(100 * waiting) if waiting >= INPUT_BOUND_FROM else 0
        starving = runchips.starving(state.view, state.facts.place) if percent else ""
        if (percent, starving) == self._waiting:
            return
        self._waiting = percent, starving
        if not percent:
            self.speed.set_badge(None)
            self.speed.set_finding("")
            return
        self.speed.set_badge(Pill(f"Input-bound {percent}%", "warn", icon="hourglass"))
        helps = (
            " Smaller pictures, or the data as TFRecord, help."
            if kinds.by_id(state.facts.kind).has_picture_files
            else ""
        )
        waits = f"It waits for {state.facts.noun} {figures.share(waiting)} of the time."
        self.speed.set_finding(f"{waits} {starving}".rstrip() + helps)

    def _forecast(self, state: RunPageState, origin: float, cuts: Cuts) -> None:
        """Where the cost is going: no narrower than a fifth to either side, for the pace changes."""
        if self.cost is None or not state.facts.rented:
            return
        view, left = state.view, state.view.time_left_s()
        middle = view.forecast_usd()
        curve = self._model.curve("usd")
        newest = RunCurve(curve, "time", origin, cuts=cuts).last() if curve is not None and len(curve) else None
        if state.over or left is None or middle is None or newest is None or left < 1 or self._axis != "time":
            self.cost.set_forecast(None)
            return
        x, y = newest
        more = max(middle - y, 0.0)
        low, high = y + 0.8 * more, y + 1.25 * more
        least, most = figures.money(low), figures.money(high)
        words = f"{least} – {most}" if least != most else f"about {most}"
        self.cost.set_forecast(Forecast(x, y, x + left, low, y + more, high, words))

    def _mark_resumes(self, state: RunPageState, origin: float, cuts: Cuts) -> None:
        why = "resumed with the next TPU" if state.facts.rented else "resumed from the checkpoint"
        short = "attempt {}" if state.facts.rented else "resumed"
        x = origin
        found = {}  # by their place: of attempts that kept nothing only the last is marked
        for number, (start, end) in enumerate(cuts if self._axis == "time" else (), 2):
            x += end - start
            found[end - x] = Gap(end - x, why, short.format(number))
        gaps = tuple(found.values())
        if gaps != self._gaps:
            self._gaps = gaps
            for plot in self._wanted:
                plot.set_gaps(gaps)

    def close(self) -> None:
        """Let go of the curves: their files may be deleted."""
        for plot in self._wanted:
            plot.set_curves([])


def _explained(plot: Plot, metric: metrics.Metric) -> None:
    """Its question mark, and F1 on it, lead to the glossary."""
    if (term := glossary.of_metric(metric.id)) is not None:
        plot.setProperty("term", term.id)
        plot.help_asked.connect(lambda: explain_term(term.id, plot.title))
