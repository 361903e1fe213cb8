"""Which pictures of a data set are shown and offered to try: kept-aside ones first, the classes in turn. Pure."""

from __future__ import annotations

from collections.abc import Collection

from tpu_studio.data.arrays import Array, Bools

PICTURES = 24


def to_show(labels: Array, kept: Bools, without: Collection[int] = (), at_most: int = PICTURES) -> list[int]:
    """Row numbers; *kept*: the model never learns from these, so they are an honest test. Each class has one at least,
    as far as there is room, also where none of it is kept aside."""
    lanes: dict[int, tuple[list[int], list[int]]] = {}  # of each class those that are kept aside, and the others
    for index, label in enumerate(labels.tolist()):
        if index in without:
            continue
        lane = lanes.setdefault(int(label), ([], []))[0 if kept[index] else 1]
        if len(lane) < at_most:
            lane.append(index)
    turn = sorted(
        (number > 0 and number >= len(aside), number, label, index)
        for label, (aside, others) in lanes.items()
        for number, index in enumerate([*aside, *others][:at_most])
    )
    return [index for *_, index in turn[:at_most]]
