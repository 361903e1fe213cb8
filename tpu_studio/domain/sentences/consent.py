"""What a program of the person's own can reach, by the place where it runs: said before it is agreed to."""

from __future__ import annotations


def where(place: str) -> str:
    there = {"cloud": "on the rented machine", "colab": "in Colab"}.get(place)
    return f"on this computer and {there}" if there else "on this computer"


def reach(place: str) -> tuple[str, ...]:
    """What code that runs at *place* can get at, a sentence each."""
    here = "It can read your files and use the network, like any program."
    match place:
        case "cloud":
            return here, (
                "On the rented machine it shares that machine's Google account: it could read and replace other runs and "
                "data in your bucket, and delete TPUs and virtual machines of your project."
            )
        case "colab":
            return here, "In Colab it can reach what the notebook may: your Google Drive, if you allow it there."
    return (here,)
