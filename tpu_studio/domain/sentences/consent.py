"""What a program of the person's own can reach, by the place where it runs: said before it is agreed to."""

from __future__ import annotations

from tpu_studio.wire import places


def where(place: str) -> str:
    known = places.by_id(place)
    there = " and on the rented machine" if known.charges else " and in Colab" if known.notebook else ""
    return f"on this computer{there}"


def reach(place: str) -> tuple[str, ...]:
    """What code that runs at *place* can get at, a sentence each."""
    here = "It can read your files and use the network, like any program."
    known = places.by_id(place)
    if known.charges:
        return (
            here,
            (
                "On the rented machine it shares that machine's Google account: it could read and replace other runs and "
                "data in your bucket, delete TPUs and virtual machines of your project, and read what is set on all of its "
                "virtual machines (metadata), where passwords may stand."
            ),
        )
    if known.notebook:
        return here, "In Colab it can reach what the notebook may: your Google Drive, if you allow it there."
    return (here,)
