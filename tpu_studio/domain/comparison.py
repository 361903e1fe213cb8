"""Runs laid beside each other: what differs, which is better, and whether that is more than chance.

Pure: made from what is known of each run, without clock, disk or window.

* Runs that differ in the seed alone, and went to their end, are *repeats* of one setting: a side of the comparison is
  a setting, with all its repeats. With three repeats a side and more, Welch's test at 95 % decides; with fewer nothing
  tells a difference from chance, and that is said.
* Runs that learn different things, predict different columns, are measured on different unseen data, or not known to be
  measured on the same get no verdict.
* Runs whose text is not known to be cut into the same tokens are judged by bits per byte, and not at all without it: a
  loss per token means another thing in each.
* A run that diverged has no figure that can be ranked, and that is said.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tpu_studio.domain import figures
from tpu_studio.domain.mark import Mark
from tpu_studio.domain.welch import welch
from tpu_studio.wire import brief, metrics, tasks
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.visible import one_line

AT_MOST = 20
REPEATS = 3  # of each side, before a test is worth anything
LEVEL = 0.05
SEED = "training.seed"
_NAMES_ONLY = ("name", "training.checkpoint_every")  # what differs and means nothing for what is learned
_UNSEEN = ("data.validation",)
_PATH = "data.path"
_ANSWERS = "data.target"
_CUT, _BYTES, _PRESET = "data.tokenizer", "bytes", "preset"
_NAMED, _NAME = 3, 40  # columns that are named, and letters of each
_CENT, _MOST_USD = 0.01, 1e9
ALIKE = 0.95  # of the dearest: what costs so much is as dear


@dataclass(frozen=True)
class Contender:
    """A run, as far as it is compared.

    Attributes:
        settings: `table.key` → value of its plan, every "auto" resolved.
        data: What its data is known by (``Look.fingerprint``), "" unknown.
        best: Each metric's best value so far.
        time_s: Of training. *usd*: What it cost so far; *usd_most*: at most.
        is_over: It has ended; its figures stay. *is_whole*: by itself, and not because it was stopped or interrupted.
        mark: What the person here has noted; it decides nothing.
        weights: sha256 of what it begins from; "" of nothing, or not known.
    """

    run: str
    name: str
    place: str
    accelerator: str
    task: str
    settings: Mapping[str, object]
    data: str = ""
    best: Mapping[str, float] = field(default_factory=dict)
    time_s: float = 0.0
    usd: float = 0.0
    usd_most: float = 0.0
    steps: int = 0
    is_over: bool = True
    is_whole: bool = True
    mark: Mark = field(default_factory=Mark)
    weights: str = ""


@dataclass(frozen=True)
class Side:
    """One setting and its repeats: *values* of the metric, the runs they are of, what one of them costs and takes.

    *independent*: values by seed, the mean of those of one: a run that was made again is no other sample.
    """

    runs: tuple[str, ...]
    name: str
    values: tuple[float, ...]
    usd: float
    time_s: float
    independent: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)


@dataclass(frozen=True)
class Judgement:
    """Attributes:
    title: What is better, by how much, for how much more money.
    text: How sure that is, and what would make it surer; or why there is no verdict.
    best: The run that the next one may be planned from, "" where there is none.
    p: Of Welch's test between the best two sides; None where it was not made.
    same_money: Which was ahead for the money that each had spent; "" where all spent alike, or nothing.
    """

    title: str
    text: str = ""
    best: str = ""
    p: float | None = None
    same_money: str = ""


@dataclass(frozen=True)
class Comparison:
    """Attributes:
    metric: By which it is judged: the task's own, measured on unseen data. "" for runs of different tasks.
    differing: Settings that are not the same in all, in the schema's order.
    sides: Best first.
    """

    contenders: tuple[Contender, ...]
    metric: str
    differing: tuple[str, ...]
    sides: tuple[Side, ...]
    finding: Judgement

    def value(self, contender: Contender) -> float | None:
        return contender.best.get(self.metric)


def compare(contenders: Sequence[Contender]) -> Comparison:
    """Raises BadInput ``compare-too-few``, ``compare-too-many``, ``compare-twice``."""
    if len(contenders) < 2:
        raise BadInput("compare-too-few", count=len(contenders))
    if len(contenders) > AT_MOST:
        raise BadInput("compare-too-many", count=len(contenders), most=AT_MOST)
    runs = [one.run for one in contenders]
    if twice := next((run for run in runs if runs.count(run) > 1), ""):
        raise BadInput("compare-twice", run=twice)
    different = _differing(contenders)
    if len({one.task for one in contenders}) > 1:
        named = " and ".join(sorted({tasks.by_id(one.task).doing for one in contenders}))
        finding = Judgement("These runs learn different things", f"They cannot be ranked: {named}.")
        return Comparison(tuple(contenders), "", different, (), finding)
    metric = _metric(contenders)
    sides = _sides(contenders, metric)
    finding = _finding(contenders, sides, metric)
    if metric != tasks.by_id(contenders[0].task).metric:
        words = "their text is not known to be cut into the same tokens, so no loss of a token compares."
        words = f"By {metrics.by_id(metric).row}: {words}"
        finding = replace(finding, text=f"{finding.text} {words}".strip())
    if diverged := [one.name for one in contenders if metric in one.best and not metrics.is_figure(one.best[metric])]:
        told = f"{diverged[0]} {'and others diverged: their' if len(diverged) > 1 else 'diverged: its'} figure"
        finding = replace(finding, text=f"{finding.text} {told} is beyond all that can be ranked.".strip())
    return Comparison(tuple(contenders), metric, different, sides, finding)


def same_money(
    found: Comparison, spent: Mapping[str, float], best_by: Callable[[str, float], float | None]
) -> Comparison:
    """*found*, with who was ahead for the same money: the side that cost more may be better for that alone.

    Args:
        spent: By run, US dollars up to which its figures are known; only runs that cost something.
        best_by: A run's best value of `Comparison.metric` by the time so many dollars were spent; None: it had none.
    """
    if not found.finding.best:
        return found
    sides = [side for side in found.sides if all(spent.get(run, 0.0) > 0.0 for run in side.runs)]
    totals = [min(spent[run] for run in side.runs) for side in sides]
    if len(sides) < 2 or min(totals) >= ALIKE * max(totals) or not _CENT <= min(totals) <= _MOST_USD:
        return found
    known, usd = metrics.by_id(found.metric), min(totals)
    means = []
    for side in sides:
        values = [value for run in side.runs if (value := best_by(run, usd)) is not None and known.may_be(value)]
        if len(values) == len(side.runs):
            means.append((statistics.fmean(values), side.name))
    means.sort(key=lambda one: -one[0] if known.better == "higher" else one[0])
    if len(means) < 2 or means[0][0] == means[1][0]:
        return found
    (first, ahead), (second, behind) = means[:2]
    figure, other = figures.metric(known.id, first), figures.metric(known.id, second)
    words = f"For the first {figures.money(usd)} that each of them cost, {ahead} was ahead: {figure}, {behind} {other}."
    return replace(found, finding=replace(found.finding, same_money=words))


def _metric(contenders: Sequence[Contender]) -> str:
    """By which they are judged; another than the task's own where their tokens are not known to be the same."""
    task = tasks.by_id(contenders[0].task)
    differs = len({_tokens(one) for one in contenders}) > 1
    return task.of_any_tokens if task.of_any_tokens and differs else task.metric


def _tokens(one: Contender) -> tuple[str, ...]:
    """What its tokens are known by. Bytes are the same everywhere; learned pieces are as many as its vocabulary, and
    pieces of pretrained weights are those weights'."""
    cut = str(one.settings.get(_CUT))
    if cut == _BYTES:
        return (cut,)
    begins = (str(one.settings.get("model.preset")), one.weights) if cut == _PRESET else ()
    return (cut, str(one.settings.get("model.options.vocabulary")), *begins)


def _differing(contenders: Sequence[Contender]) -> tuple[str, ...]:
    first = contenders[0].settings
    paths = dict.fromkeys(path for one in contenders for path in one.settings)
    return tuple(
        path
        for path in paths
        if path not in _NAMES_ONLY and any(one.settings.get(path) != first.get(path) for one in contenders)
    )


def _sides(contenders: Sequence[Contender], metric: str) -> tuple[Side, ...]:
    groups: list[list[Contender]] = []
    for one in contenders:
        if metric not in one.best or not metrics.by_id(metric).may_be(one.best[metric]):
            continue
        same = next((group for group in groups if _is_repeat(group[0], one)), None)
        if same is None:
            groups.append([one])
        else:
            same.append(one)
    sides = [_side(group, metric) for group in groups]
    higher = metrics.by_id(metric).better == "higher"
    return tuple(sorted(sides, key=lambda side: -side.mean if higher else side.mean))


def _is_repeat(one: Contender, other: Contender) -> bool:
    """The same in all but the seed, and both trained to their end."""
    if not (one.is_whole and other.is_whole):
        return False
    ignored = {SEED, *_NAMES_ONLY}
    paths = (set(one.settings) | set(other.settings)) - ignored
    return one.data == other.data and all(one.settings.get(path) == other.settings.get(path) for path in paths)


def _side(group: Sequence[Contender], metric: str) -> Side:
    name = group[0].name if len(group) == 1 else f"{group[0].name} and its {len(group) - 1} repeats"
    if len(group) == 2:
        name = f"{group[0].name} and its repeat"
    by_seed: dict[str, list[float]] = {}
    for one in group:
        by_seed.setdefault(str(one.settings.get(SEED)), []).append(one.best[metric])
    return Side(
        tuple(one.run for one in group),
        name,
        tuple(one.best[metric] for one in group),
        sum(one.usd / len(group) for one in group),  # so that no sum of them overflows
        sum(one.time_s / len(group) for one in group),
        tuple(map(statistics.fmean, by_seed.values())),
    )


def _finding(contenders: Sequence[Contender], sides: Sequence[Side], metric: str) -> Judgement:
    known = metrics.by_id(metric)
    unseen = {tuple(str(one.settings.get(path)) for path in _UNSEEN) for one in contenders}
    if len(unseen) > 1 or len({one.data for one in contenders} - {""}) > 1:
        return Judgement(
            "Measured on different unseen data",
            "The runs kept other examples aside, so their figures cannot be ranked. Train them on the same data to "
            "compare them.",
        )
    if unknown := _of_unknown_data(contenders):
        named = f"“{one_line(brief.cut(unknown[0].name, _NAME))}”"
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        return Judgement(
            "Not known to be measured on the same data",
            f"Nothing tells which data {named}{more} learned from, so it is not known whether the same examples were "
            "kept aside, and the figures cannot be ranked. Train them on the same data to compare them.",
        )
    if len(targets := {str(one.settings.get(_ANSWERS) or "") for one in contenders}) > 1:
        named = " and ".join(
            f"“{one_line(brief.cut(one, _NAME))}”" if one else "none" for one in sorted(targets)[:_NAMED]
        )
        more = f" and {len(targets) - _NAMED} more" if len(targets) > _NAMED else ""
        return Judgement(
            "These runs learn to predict different columns",
            f"Their answers are in {named}{more} (target column), so their figures mean different things and cannot be "
            "ranked. Compare runs of one target column.",
        )
    if len(sides) < 2:
        if sides and len(sides[0].values) > 1:
            return _spread(sides[0], known, contenders)
        return Judgement(
            "Nothing to rank yet", f"Fewer than two of them have a figure of {known.row} on unseen data so far."
        )
    best, second = sides[0], sides[1]
    if best.mean == second.mean:
        return Judgement(f"{best.name} and {second.name} are equally good{_price(best, second)}", "", best.runs[0])
    verb = "are" if len(best.runs) > 1 else "is"
    by_how_much = f"{_by_how_much(best, second, known)} than {second.name}{_price(best, second)}"
    running = [one.name for one in contenders if not one.is_over]
    still = f" {running[0]} still goes on." if running else ""
    short = [one.name for one in contenders if one.is_over and not one.is_whole]
    if short:
        still += f" {' and '.join(short[:2])} ended before the last step, which counts beside the settings."
    if min(len(best.independent), len(second.independent)) < REPEATS:
        again = " Runs of one seed count as one." if _are_again(best) or _are_again(second) else ""
        return Judgement(
            f"{best.name} {verb} ahead: {by_how_much}.",
            "That can't be told from chance: it takes three runs of each, which differ in the seed alone."
            f"{again}{still}",
            best.runs[0],
        )
    p = welch(best.independent, second.independent)
    if p < LEVEL:
        title = f"{best.name} {verb} the best: {by_how_much}."
        return Judgement(title, f"More than chance (Welch's test, p = {p:.2g}).{still}", best.runs[0], p)
    return Judgement(
        f"{best.name} and {second.name} can't be told apart",
        f"They differ by {_distance(best, second, known)} on average, no more than chance does (Welch's test, "
        f"p = {p:.2g}).{still}",
        best.runs[0],
        p,
    )


def _of_unknown_data(contenders: Sequence[Contender]) -> list[Contender]:
    """Those of which nothing tells the data; none where all come from one path."""
    unknown = [one for one in contenders if not one.data]
    paths = {str(one.settings.get(_PATH)) for one in contenders}
    return unknown if len(unknown) < len(contenders) or len(paths) > 1 else []


def _are_again(side: Side) -> bool:
    return len(side.independent) < len(side.values)


def _spread(side: Side, known: metrics.Metric, contenders: Sequence[Contender]) -> Judgement:
    low, high = min(side.values), max(side.values)
    between = f"{figures.metric(known.id, low)} to {figures.metric(known.id, high)}"
    seeds = {str(one.settings.get(SEED)) for one in contenders if one.run in side.runs}
    if len(seeds) == 1:
        return Judgement(
            f"{side.name} are alike in every setting, the seed too: {between}",
            "What is left is the machine: its threads add in another order. Other seeds show what chance makes.",
            side.runs[0],
        )
    return Judgement(
        f"{side.name} differ in the seed alone: {between}",
        "So much does chance make. A change of settings shows where it makes more.",
        side.runs[0],
    )


def _by_how_much(best: Side, second: Side, known: metrics.Metric) -> str:
    return f"{_distance(best, second, known)} {'better' if known.better == 'higher' else 'lower'}"


def _distance(best: Side, second: Side, known: metrics.Metric) -> str:
    apart = abs(best.mean - second.mean)
    if known.percent:
        points = figures.figure(100 * apart, 2)
        return f"{points} {'point' if points == '1' else 'points'}"
    return figures.figure(apart, 2)


def _price(best: Side, second: Side) -> str:
    """With a blank before it; "" where nobody is charged."""
    more = best.usd - second.usd
    if not best.usd and not second.usd:
        return ""
    if not abs(more) <= _MOST_USD:  # a damaged run says so
        return ""
    if abs(more) < 0.005:
        return " for the same price"
    return f" for {figures.money(abs(more))} {'more' if more > 0 else 'less'}"
