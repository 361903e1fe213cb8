"""What has happened in a run, a line each, newest first. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.domain.forecast import Forecast
from tpu_studio.domain.run import Happened, RunView
from tpu_studio.domain.sentences import say_notice, say_reason
from tpu_studio.domain.sentences.colab import WAITING
from tpu_studio.domain.sentences.profile import not_made
from tpu_studio.viewmodels import runpace, runrented
from tpu_studio.viewmodels.runfacts import RunFacts, Tone, main_metric
from tpu_studio.viewmodels.runstages import detail_words
from tpu_studio.wire import metrics
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.records import number

MOST_LINES = 40


@dataclass(frozen=True)
class Line:
    """One line of "what happened". *proof*: that something is gone."""

    t: float
    icon: str
    text: str
    tone: Tone = "neutral"
    more: str = ""
    proof: bool = False


def what_happened(
    facts: RunFacts, view: RunView, most: int = MOST_LINES, found: Forecast | None = None, *, copy: bool = False
) -> tuple[Line, ...]:
    """The *most* newest lines, newest first. *found*: what the measured steps foretell, once there are enough. *copy*:
    the run came here as files."""
    told: list[Line] = []
    told_kinds: set[str] = set()  # of checkpoints, and of bests, that follow one another the newest is told
    bests: set[str] = set()  # nor is a best told twice that reads the same
    for item in reversed(view.happened):
        if len(told) == most:
            break
        line = _line(facts, item, view.usd, copy)
        if line is None or item.kind in told_kinds:
            continue
        if item.kind not in _PROGRESS:
            told_kinds.clear()
        else:
            told_kinds.add(item.kind)
        if item.kind == "best":
            if line.text in bests:
                continue
            bests.add(line.text)
        told.append(line)
    if found is not None and (len(told) < most or told[-1].t < view.pace.known_t):
        tone: Tone = "warn" if found.compared == "slower" else "neutral"
        told.append(Line(view.pace.known_t, "gauge", f"Real steps are measured: {runpace.beside_plan(found)}", tone))
        told.sort(key=lambda line: -line.t)
    return tuple(told[:most])


_PROGRESS = ("best", "checkpoint")
_PHASE_LINES = {
    "queued": ("clock", "Waiting its turn"),
    "provisioning": ("cloud", "Getting the TPU"),
    "cleaning-up": ("refresh-cw", "Giving the TPU back"),
    "setting-up": ("cpu", "Setting up"),
    "compiling": ("cpu", "Compiling the model"),
    "training": ("play", "Training"),
    "saving": ("save", "Saving the model"),
    "done": ("circle-check", "Done"),
}


_END_MARKS: dict[str, tuple[str, Tone]] = {"finished": ("circle-check", "ok"), "stopped": ("square", "neutral")}


def _line(facts: RunFacts, item: Happened, view_usd: float, copy: bool) -> Line | None:
    told = item.facts
    match item.kind:
        case "phase":
            icon, text = _PHASE_LINES.get(str(told.get("phase")), ("info", str(told.get("phase"))))
            detail = str(told.get("detail") or "")
            if facts.rented and told.get("phase") == "queued":
                return Line(item.t, "clock", runrented.QUEUED.get(detail, "Asking for a TPU"))
            if detail == "waiting-for-colab":
                return Line(item.t, "clock", WAITING)
            if told.get("phase") == "queued":
                waits = detail == "waiting for its turn"
                return Line(item.t, icon, "Waiting until the run before it is over" if waits else "Started")
            detail = detail_words(facts, detail)
            return Line(item.t, icon, f"{text}: {detail}" if detail else text)
        case "first-step":
            return Line(item.t, "play", "First training step", "accent")
        case "best":
            name = str(told["metric"])
            if name != main_metric(facts)[0]:
                return None
            metric, value = metrics.by_id(name), number(told["value"])
            is_nats = metric.unit == "nats"  # told as the curve tells it
            said = figures.figure(metrics.perplexity(value)) if is_nats else figures.metric(name, value)
            return Line(item.t, "trending-up", f"New best {metric.best}: {said}", "ok")
        case "checkpoint":
            return Line(item.t, "save", f"Saved a checkpoint (step {figures.count(number(told['step']))})", "ok")
        case "resume":
            step = number(told["step"])
            return Line(
                item.t,
                "rotate-cw",
                f"Resumed from the checkpoint at step {figures.count(step)}"
                if step
                else "Started again from the beginning",
                "accent",
            )
        case "extended":
            return Line(item.t, "plus", f"Extended to {figures.count(number(told['steps']))} steps", "accent")
        case "asked":
            return Line(item.t, "cloud", f"Asked for a TPU in {told.get('zone')}")
        case "attempt-over":
            taken = f"{runrented.lender(facts.place)} took the TPU back"
            why = taken if told.get("reason") == "preempted" else "The TPU was lost"
            return Line(item.t, "rotate-cw", f"{why}; the run goes on with the next one", "warn")
        case "deleted":
            what = "The TPU is deleted" if told.get("created") is not None else "The request is gone"  # of a TPU unseen
            return Line(item.t, "circle-check", f"{what}, and that is verified", "ok", str(told.get("name")), True)
        case "control":
            return Line(item.t, "square", "You asked it to stop") if told.get("verb") == "stop" else None
        case "profile":
            if "why" in told:
                sentence = not_made(str(told["why"]), str(told.get("raw") or ""))
                return Line(item.t, "info", sentence.title, "neutral", f"{sentence.meaning} {sentence.action}".strip())
            return Line(item.t, "gauge", f"Profiled {figures.count(number(told['steps']))} steps", "accent")
        case "notice":
            sentence = say_notice(str(told.get("id")), {**told, "place": facts.place})
            tone: Tone = (
                "bad" if told.get("level") == "error" else "warn" if told.get("level") == "warning" else "neutral"
            )
            icon = "hourglass" if told.get("id") == "input-bound" else "triangle-alert" if tone != "neutral" else "info"
            return Line(item.t, icon, sentence.title, tone, f"{sentence.meaning} {sentence.action}".strip())
        case "end":
            try:
                reason = Reason(str(told.get("reason")))
                about = told.get("facts")
                about = about if isinstance(about, dict) else {}
                sentence = say_reason(reason, about, place=facts.place, usd=view_usd, copy=copy)
            except ValueError:
                return Line(item.t, "square", f"Ended: {told.get('reason')}")
            icon, tone = _END_MARKS.get(str(told.get("status")), ("circle-x", "bad"))
            return Line(item.t, icon, sentence.title, tone, f"{sentence.meaning} {sentence.action}".strip())
    return None
