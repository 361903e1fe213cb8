"""Whether what a training keeps aside is what the run that it begins from has learned: its figure would be too good.

What is kept aside is a function of the data, of the seed and of the share (``data.split``). So a training takes the
seed of the run that it begins from, where the data is the same and the person gave none; and where they keep other
examples aside all the same, that is said. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpu_studio.data.looked import Look
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner.paths import whole_path
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.bases import Base, Learned
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Check
from tpu_studio.wire.presets import Preset

ID = "base-saw-unseen"
SEED, SHARE = "training.seed", "data.validation"
SEED_OF_BASE = "As of the run that it begins from: the same examples are kept aside, so that they stay unseen."
_FIXED = "fixed-split"  # a finding: folders say what is kept aside


def seed_of(job: Job, look: Look, preset: Preset | None) -> int | None:
    """The seed by which the same is kept aside as by what it begins from; None where the person's counts, or none."""
    if preset is None or preset.base is None or SEED in job.given or not _by_seed(look):
        return None
    return next((one.seed for one in _on_this(preset.base, job, look)), None)


def checks(asked: Job, seed: int, base: Base, look: Look) -> Iterator[Check]:
    """*seed*: of the plan, where *asked* may have none."""
    share, before = float(asked.data.validation), _on_this(base, asked, look)
    for one in before:
        if why := _differs(one, seed, share, look):
            facts: dict[str, object] = {"base": one.run, "why": why}
            fix = _mended(before, seed, share, look)
            if fix:
                facts["settings"] = ", ".join(f"{path} = {value:g}" for path, value in fix.items())
            yield Check(ID, "warning", say_finding(ID, facts).title, fix or None, facts)
            return


def _on_this(base: Base, job: Job, look: Look) -> list[Learned]:
    """Of what it begins from, and what that began from, who has learned from this data, or what it was then."""
    path = look.rows_file or whole_path(job.data.path or "", job.base)
    return [one for one in base.lineage if _is_same(one, look, path)]


def _is_same(one: Learned, look: Look, path: str) -> bool:
    if kinds.by_id(look.kind).is_built_in:
        return one.kind == look.kind
    return bool((path and one.path == path) or (look.fingerprint and one.fingerprint == look.fingerprint))


def _by_seed(look: Look) -> bool:
    """Whether the seed chooses what is kept aside. Of a text to continue it is the end; folders, and data that was
    converted, say it themselves."""
    return not (tasks.by_id(look.task).continues or kinds.by_id(look.kind).is_converted or _is_fixed(look))


def _is_fixed(look: Look) -> bool:
    return any(finding.id == _FIXED for finding in look.findings)


def _differs(one: Learned, seed: int, share: float, look: Look) -> list[str]:
    """Why some of what is kept aside may be what *one* has learned. A smaller share is a part of a larger one."""
    if one.fixed and _is_fixed(look):
        return []
    changed = one.fingerprint and look.fingerprint and one.fingerprint != look.fingerprint
    found = ["data"] if changed else []
    if kinds.by_id(look.kind).is_converted:
        return found
    if _by_seed(look) and one.seed != seed:
        found.append("seed")
    if share > one.validation and not _is_fixed(look):
        found.append("share")
    if one.task != look.task or (_by_seed(look) and one.target != look.target):
        found.append("answers")
    return found


def _mended(before: Sequence[Learned], seed: int, share: float, look: Look) -> dict[str, float]:
    """Settings by which nothing that was learned is kept aside; none where there are none."""
    wanted = before[0].seed if _by_seed(look) else seed
    less = min(share, *(one.validation for one in before))
    if any(_differs(one, wanted, less, look) for one in before):
        return {}
    return ({SEED: wanted} if wanted != seed else {}) | ({SHARE: less} if less < share else {})
