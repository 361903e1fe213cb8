"""What the Run page and the command line say of a run's TPU chips: how well used (MFU), how busy, how full. Pure.

"" for a run whose chips tell nothing, as on this computer, and for one of the practice cloud: there this computer
computes, and how busy its processors are says nothing of a TPU.
"""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.chips import Chips, Memory
from tpu_studio.domain.run import RunView
from tpu_studio.wire import places

BUSY = 0.9  # from here on nothing is said of what keeps the TPU from computing
NONE_HERE = (  # in practice: what stands where a TPU's figures would, and what explains it
    "Simulated on this computer's CPU",
    "On a rented TPU this says how busy its chips are and how full their memory is, as the TPU itself tells.",
)
MFU = "MFU (model FLOP utilisation)"
MFU_MEANS = (
    f"{MFU} is the part of the chips’ peak arithmetic (bf16) that this model’s own formula takes up. Large models on "
    "full batches reach 40 to 60%, small ones far less; what the chips do besides, and all waiting, lowers it."
)
WAITS = 0.15  # of the time, for data: as much as the page warns of


def words(view: RunView, place: str, between: str = ", ") -> str:
    """`MFU 41%, TPU busy 71%, memory 9.1 of 17.2 GB`; over several machines `50–90%`; when over, of the whole run.

    *between* the two parts: a new line where there is little room.
    """
    if places.by_id(place).rehearses:
        return ""
    if view.over:
        busy = f"busy {figures.share(view.duty_cycle, 0)} on average" if view.duty_cycle is not None else ""
        memory = f"memory up to {filled(view.fullest)}" if view.fullest else ""
    else:
        busy, memory = _busy(view.chips), f"memory {filled(view.chips.fullest)}" if view.chips.fullest else ""
    told = [f"MFU {figures.share(view.mfu, 0)}"] if view.mfu is not None else []
    told += [f"TPU {busy}"] if busy else []
    memory = memory if busy or not memory else f"TPU {memory}"
    return between.join(part for part in (", ".join(told), memory) if part)


def explained(view: RunView, place: str, planned: tuple[float, float] | None = None) -> str:
    """What `words` means, for the hover: whose figures, of which machine, and what a low one comes from.

    *planned*: Between which the plan expects MFU.
    """
    if not words(view, place):
        return ""
    span = "while it trained" if view.over else "in the last seconds"
    said = [MFU_MEANS] if view.mfu is not None else []
    if said and planned is not None:
        low, high = (figures.share(one, 0) for one in planned)
        said.append(f"The plan expected {low if low == high else f'{low[:-1]}–{high}'}.")
    if view.chips.workers or view.duty_cycle is not None or view.fullest is not None:
        said += _counted(span)
    return " ".join([*said, *_spread(view), *_low(view)])


def _counted(span: str) -> list[str]:
    return [
        f"How much of the time the TPU computed {span}, the mean of its chips, as the TPU itself tells; “computing” in "
        "the plot of a step's time also counts what the chips idle inside a step.",
        "The memory is that of the fullest chip, which is the one that runs out first.",
    ]


def filled(memory: Memory) -> str:
    """`9.1 of 17.2 GB`, `640 MB of 17.2 GB`."""
    used, total = figures.size(memory.used), figures.size(memory.total)
    number, _, unit = used.partition(" ")
    return f"{number if total.endswith(f' {unit}') else used} of {total}"


def starving(view: RunView, place: str) -> str:
    """The TPU's own word on a run that waits for data: `The TPU computes 52% of the time.`; "" without one, and where
    it has enough to do all the same."""
    busy = None if places.by_id(place).rehearses else view.chips.duty_cycle
    return f"The TPU computes {figures.share(busy, 0)} of the time." if busy is not None and busy < BUSY else ""


def _busy(chips: Chips) -> str:
    least, most = chips.least, chips.most
    if least is None or most is None:
        return ""
    low, high = figures.share(least.duty_cycle, 0), figures.share(most.duty_cycle, 0)
    return f"busy {high}" if low == high else f"busy {low.removesuffix('%')}–{high}"


def _spread(view: RunView) -> list[str]:
    least, most = view.chips.least, view.chips.most
    if view.over or least is None or most is None or least.worker == most.worker:
        return []
    low, high = figures.share(least.duty_cycle, 0), figures.share(most.duty_cycle, 0)
    number = len(view.chips.workers)
    return [f"Of {number} machines worker {least.worker} is least busy, {low}, and worker {most.worker} most, {high}."]


def _low(view: RunView) -> list[str]:
    busy = view.duty_cycle if view.over else view.chips.duty_cycle
    if busy is None or busy >= BUSY:
        return []
    if (view.waiting_share or 0.0) >= WAITS:
        return ["The rest of the time it waits for data: the next examples are made ready too slowly."]
    if busy < 0.5:
        return ["Little waits for data, so the steps are short for this TPU: a larger batch keeps it busier."]
    return []
