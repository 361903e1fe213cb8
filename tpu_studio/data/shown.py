"""Which pictures of a data set are shown and offered to try: kept-aside ones first, the classes in turn. Pure."""

from __future__ import annotations

from collections.abc import Collection

from tpu_studio.data.arrays import Array, Bools

PICTURES = 24


def to_show(labels: Array, kept: Bools, without: Collection[int] = (), at_most: int = PICTURES) -> list[int]:
    """Row numbers; *kept*: the model never learns from these, so they are an honest test."""
    lanes: dict[tuple[bool, int], list[int]] = {}
    for index, label in enumerate(labels.tolist()):
        if index in without:
            continue
        lane = lanes.setdefault((not kept[index], int(label)), [])
        if len(lane) < at_most:
            lane.append(index)
    turn = sorted((late, number, label) for (late, label), lane in lanes.items() for number in range(len(lane)))
    return [lanes[late, label][number] for late, number, label in turn[:at_most]]
