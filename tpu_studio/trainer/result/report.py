"""`report.html`: one page that tells the run to whoever it is sent to. Everything is inside it; nothing is fetched.

Plain words, the run's numbers and curves, its settings with their reasons. Looks like the window, in light and
dark. Whatever came from outside is escaped.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tpu_studio.trainer.result.curves import Line, picture
from tpu_studio.trainer.result.happenings import Happenings
from tpu_studio.trainer.result.page import PAGE
from tpu_studio.trainer.result.points import Points
from tpu_studio.wire import bases, metrics, places, tasks
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import whole
from tpu_studio.wire.schema import KEYS, concerns
from tpu_studio.wire.visible import visible

_ENDS = {
    "completed": ("Finished", "ok", "Training went through all planned steps."),
    "early-stopped": (
        "Finished early",
        "ok",
        "It no longer got better on unseen data, so training ended early, as asked. The best model was kept.",
    ),
    "stopped-by-user": (
        "Stopped, model kept",
        "neutral",
        "Training was stopped by hand; this is the model as it was then.",
    ),
}
_NOTICES = {
    "input-bound": "The processor waited for data a good part of the time.",
    "broken-items": "Some items of the data could not be read and were left out.",
    "rolled-back": "The loss was no longer a number; training went back to a good copy, with half the learning rate.",
    "recompiling": "The training step had to be compiled again.",
    "extended": "More training was asked for.",
    "checkpoint-damaged": "A checkpoint was damaged; an older one was used.",
    "trainer-restarted": "The training program died and was started again.",
    "events-lost": "Some reports could not be written down.",
    "savedmodel-failed": "TensorFlow's SavedModel could not be written; model.keras holds the same model.",
}
_SHARES = {
    "matrix": "multiplying matrices",
    "memory": "the rest of its program",
    "collectives": "between chips",
    "data": "waiting for data",
    "host": "waiting for the program",
    "compile": "waiting for a compiler",
}
_LABELS = """<section><h2>Labels on unseen data</h2><table>
<tr><th>Label<small>said from a probability of 50 % on</small></th>\
<th>Precision<small>of the pictures said to have it, how many do</small></th>\
<th>Recall<small>of the pictures that have it, how many are found</small></th>\
<th>Examples<small>unseen pictures that have it</small></th></tr>
{rows}</table></section>
"""
_PHASES = {
    "queued": "waiting",
    "setting-up": "setting up",
    "compiling": "compiling",
    "training": "training",
    "saving": "saving",
}


def page(plan: Plan, card: Mapping[str, Any], points: Points, happened: Happenings) -> str:
    title, tone, sentence = _ENDS.get(str(card["trained"]["ended"]), ("Ended", "neutral", ""))
    target = card["data"].get("target") or "a number"
    learned = tasks.by_id(plan.task).learned.format(classes=len(card["classes"]), target=target)
    return PAGE.format(
        title=_e(plan.job.name),
        pill=_e(title),
        tone=tone,
        lead=_e(f"{learned} {sentence}"),
        when=_e(_clock(happened.began)),
        numbers="".join(_number(*each) for each in _numbers(plan, card, points, happened)),
        curves="".join(_curves(plan, points)),
        labels=_labels(card["trained"].get("labels")),
        about=_rows(_about(plan, card, happened)),
        settings=_settings(plan),
        happened="".join(
            f'<li class="{_e(level)}"><time>{_e(_clock(t))}</time> {_e(text)}</li>'
            for t, level, text in _story(happened)
        ),
        use=_rows(
            [
                ("With Keras", card["use"]["keras"]),
                ("With TensorFlow", card["use"]["tensorflow"]),
                *([("Its text", card["use"]["text"])] if "text" in card["use"] else []),
                ("The curves", "metrics.csv, or tensorboard --logdir tensorboard"),
            ],
            code=True,
        ),
        app=_e(plan.app or "TPU Studio"),
    )


def _numbers(plan: Plan, card: Mapping[str, Any], points: Points, happened: Happenings) -> list[tuple[str, str, str]]:
    """(label, big number, one line of context), the main one first."""
    final = {name: value for name, value in card["trained"]["final"].items() if isinstance(value, (int, float))}
    found: list[tuple[str, str, str]] = []
    task = tasks.by_id(plan.task)
    for metric in map(metrics.by_id, (task.metric, *task.others)):
        if metric.id in final:
            found.append(_measured(metric, final[metric.id], points))
    loss, unseen = metrics.training_loss(), final.get(task.loss)
    if loss.id in final:
        context = f"validation {_short(unseen)}" if unseen is not None else "while training"
        found.append((loss.title, _short(final[loss.id]), context))
    trained = happened.phases.get("training", 0.0) or happened.training_s
    steps = int(card["trained"]["steps"])
    found.append(("Training time", duration(trained), f"{steps:,} steps, and the checks between them"))
    if len(found) < 4 and happened.examples_per_s:
        found.append(("Speed", f"{_short(happened.examples_per_s)} /s", "examples a second, checks not counted"))
    return found[:4]


def _measured(metric: metrics.Metric, value: float, points: Points) -> tuple[str, str, str]:
    """The big number of a metric on unseen data."""
    if metric.unit == "nats":
        return metric.report, f"{value:.3f}", f"{metric.row} {metrics.perplexity(value):.2f}"
    if metric.unit == "share":
        pick = max if metric.better == "higher" else min
        return metric.report, _percent(value), _best(points, metric.id, pick, _percent)
    return metric.report, f"{value:.4f}" if metric.unit == "score" else _short(value), metric.context


def _curves(plan: Plan, points: Points) -> list[str]:
    def line(name: str, metric: str, colour: str, style: str = "raw") -> Line:
        return Line(name, *points.metric(metric), colour, style)

    def drawn(title: str, ids: Sequence[str]) -> str:
        known = [metrics.by_id(name) for name in ids]
        lines = [
            line("validation", one.id, "s2", "dots") if one.unseen else line("training", one.id, "s1") for one in known
        ]
        return picture(title, lines, _percent if known[-1].unit == "share" else _short)

    task = tasks.by_id(plan.task)
    pictures = [drawn(metrics.training_loss().title, (metrics.training_loss().id, task.loss))]
    for shown in (task.quality, *((name,) for name in task.others)):
        if metrics.by_id(shown[-1]).unit != "nats":  # the curve of the loss shows it
            pictures.append(drawn(metrics.by_id(shown[-1]).title, shown))
    rate = metrics.learning_rate()
    course = [rate, *(metric for metric in metrics.all_metrics() if metric.course and metric != rate)]
    for metric, colour in zip(course, ("s3", "s4"), strict=False):
        style = "raw" if metric.noisy else "plain"
        if metric is rate or len([each for each in pictures if each]) % 2:  # two a row
            pictures.append(picture(metric.title, [line(metric.row, metric.id, colour, style)], _short))
    return [each for each in pictures if each]


def _labels(told: object) -> str:
    """The table that tells of each label how well the model finds it; "" where there are none."""
    rows = [
        f"<tr><th>{_e(one['name'])}</th><td>{_found(one['precision'])}</td><td>{_found(one['recall'])}</td>"
        f"<td>{one['examples']:,}</td></tr>"
        for one in (told if isinstance(told, list) else ())
    ]
    return _LABELS.format(rows="".join(rows)) if rows else ""


def _found(value: float | None) -> str:
    return "–" if value is None else _percent(value)


def _about(plan: Plan, card: Mapping[str, Any], happened: Happenings) -> list[tuple[str, str]]:
    look = plan.data
    rows = [
        ("Model", str(card["model"]) if card["own"] is None else "your own"),
        ("Weights", f"{card['params']:,}"),
        *_began(plan),
        (
            "Framework",
            f"{plan.framework} {card['versions'].get(plan.framework, '')}, Keras {card['versions']['keras']}",
        ),
        ("Place", f"{plan.place} ({plan.accelerator})"),
        *_chips(plan, happened),
        *_profile(happened),
        ("Data", str(plan.job.data.path or "built-in sample")),
    ]
    if look.get("train"):
        rows.append(("Examples", f"{whole(look['train']):,} training, {whole(look.get('validation')):,} validation"))
    if card["classes"]:
        shown = ", ".join(card["classes"][:12])
        rows.append(
            (
                "Labels" if tasks.by_id(plan.task).has_labels else "Classes",
                f"{shown} and {len(card['classes']) - 12} more" if len(card["classes"]) > 12 else shown,
            )
        )
    rows.append(("Run", plan.run or "–"))
    return rows


def _began(plan: Plan) -> list[tuple[str, str]]:
    """What it had learned before."""
    begins = plan.job.model.starts_from
    if bases.is_run(begins):
        return [("Begins from", f"the run {bases.run_of(begins)}")]
    return [("Begins from", Path(begins).name)] if begins else []


def _chips(plan: Plan, happened: Happenings) -> list[tuple[str, str]]:
    """How well the chips of this machine were used, how busy they were and how full their memory, as far as they told.
    In practice there are none."""
    if places.by_id(plan.place).rehearses:
        return []
    told = []
    if happened.mfu is not None:
        told.append(f"{happened.mfu:.0%} MFU (model FLOP utilisation): its model’s part of the chips’ bf16 peak")
    if happened.busy:
        told.append(f"computed {sum(happened.busy) / len(happened.busy):.0%} of the time")
    if happened.memory[1]:
        used, total = (f"{each / 1e9:.1f}" for each in happened.memory)
        told.append(f"at most {used} of {total} GB of a chip’s memory in use")
    return [("TPU", ", ".join(told))] if told else []


def _profile(happened: Happenings) -> list[tuple[str, str]]:
    """Where the time of a step went, if somebody asked."""
    told = [
        f"{share:.0%} {_SHARES[name]}" for name, share in happened.shares.items() if name in _SHARES and share >= 0.005
    ]
    return [("Time of a step", ", ".join(told))] if told else []


def _settings(plan: Plan) -> str:
    rows = []
    for key in KEYS:
        value = plan.job[key.path]
        if key.table not in ("data", "training", "model") or value in (None, {}, []) or key.kind == "path":
            continue
        if not concerns(key, plan.job.data.kind, plan.task):
            continue
        why = plan.reasons.get(key.path, "")
        shown = (
            ", ".join(f"{name} {inner}" for name, inner in value.items())
            if isinstance(value, Mapping)
            else _value(value)
        )
        rows.append(f"<tr><th>{_e(key.title or key.name)}</th><td>{_e(shown)}</td><td>{_e(why)}</td></tr>")
    return "".join(rows)


def _story(happened: Happenings) -> list[tuple[float, str, str]]:
    lines = [(t, "info", f"Went on from the copy saved at step {step:,}.") for t, step in happened.resumes]
    for t, name, level, facts in happened.notices:
        told = ", ".join(f"{key} {value}" for key, value in facts.items() if isinstance(value, (int, float, str)))
        lines.append((t, level, f"{_NOTICES.get(name, name.replace('-', ' '))}{f' ({told})' if told else ''}"))
    spent = [(name, happened.phases[name]) for name in _PHASES if happened.phases.get(name, 0.0) >= 0.5]
    if spent:
        told = ", ".join(f"{_PHASES[name]} {duration(seconds)}" for name, seconds in spent)
        lines.append((happened.last, "info", f"{told[0].upper()}{told[1:]}."))
    if happened.waited_share >= 0.01:
        lines.append(
            (
                happened.last,
                "info",
                f"{_percent(happened.waited_share)} of the training time went into waiting for data.",
            )
        )
    if happened.checkpoints:
        lines.append((happened.last, "info", _copies(happened.checkpoints)))
    if not lines:
        lines.append((happened.last, "info", "Nothing out of the ordinary."))
    return sorted(lines)


def _copies(count: int) -> str:
    return "One copy was saved along the way." if count == 1 else f"{count} copies were saved along the way."


def _best(points: Points, metric: str, pick: Any, show: Any) -> str:
    steps, values = points.metric(metric)
    finite = [
        (value, step) for step, value in zip(steps.tolist(), values.tolist(), strict=True) if math.isfinite(value)
    ]
    if not finite:
        return ""
    value, step = pick(finite, key=lambda pair: pair[0])
    return f"best {show(value)} at step {step:,}"


def _number(label: str, value: str, context: str) -> str:
    inside = f'<span>{_e(label)}</span><strong>{_e(value)}</strong><span class="more">{_e(context)}</span>'
    return f'<div class="number">{inside}</div>'


def _rows(pairs: Sequence[tuple[str, str]], *, code: bool = False) -> str:
    return "".join(
        f"<tr><th>{_e(name)}</th><td>{'<code>' if code else ''}{_e(value)}{'</code>' if code else ''}</td></tr>"
        for name, value in pairs
    )


def _e(text: object) -> str:
    return html.escape(visible(str(text)), quote=True)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %" if abs(100 * value - round(100 * value)) > 1e-6 else f"{100 * value:.0f} %"


def _short(value: float) -> str:
    """About three significant digits, thousands separated."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{round(value, 2 - math.floor(math.log10(abs(value)))):,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d}"


def _clock(t: float) -> str:
    local = time.localtime(t)
    return f"{local.tm_mday} {time.strftime('%b %Y, %H:%M', local)}" if t else ""
