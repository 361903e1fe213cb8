"""Writes docs/live-checks.md, what only a live account can settle, from the one table (``resources/doubts.json``).

python tools/make_doubts.py            write it
python tools/make_doubts.py --check    exit 1 when it is not what the table says (a test does this)
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.domain.doubts import Doubt, doubts  # noqa: E402

PAGE = ROOT / "docs" / "live-checks.md"

HEAD = """# What only a live account can settle

*Made by `tools/make_doubts.py` from `resources/doubts.json`; do not edit by hand.*

Google Cloud was not reachable while this was built. Each line is a *doubt*: something that the program assumes of
Google and that nobody outside of this project has shown, with what else may be true, where it is used, and how to check
it in the first live hour. The practice cloud follows the same assumption, and answers the other way on request
(`tpu-studio practice --doubt ID[=other]`); `make doubts` plays all that it can. Add an entry with each new assumption.

Lines that say “also by `tpu-studio live-check`” it settles by itself, on the account that is signed in: it names each
call and its price, reads first, and rents one v5litepod-1 spot for minutes only after a yes, below $1 or `--max-usd`.
*Played by*: `practice` answers it the other way on request, `fake` is a stand-in of a test, and after `no` stands why.

What `tpu-studio live-check` has seen of an account holds for it, its project and this version for 30 days. It chooses
which of two safe ways is tried first in three places (`workflow/livecheck/ways.py`; `doctor` says which are in use):
`partial-answers` refused: machines are read whole at once; `list-all-zones` refused: lists are asked zone by zone at
once; `date-header` not on errors: the time is asked for signed in at once. The way that was assumed and the other stand
behind each other as before. The other automatic doubts have no two safe ways: the program asks Google each time (zones,
images, machine types, quota, prices), or keeps to the safe side whatever was seen (no task's name is used twice, stops
are read back, a machine is looked for by name after each unclear call, a stop is tried before a launch). There an
observation changes only what people know.

"""


def page() -> str:
    head = ["| doubt | assumed | or else | where | how to check | played by |", "| --- " * 6 + "|"]
    return HEAD + "\n".join([*head, *map(_row, doubts().values())]) + "\n"


def _row(doubt: Doubt) -> str:
    ways = "<br>".join(f"`{way}`: {doubt.ways[way]}" for way in doubt.others) or "–"
    settled = f"{doubt.settled_by}; also by `tpu-studio live-check`" if doubt.automatic else doubt.settled_by
    assumed = f"{doubt.assumed} ({doubt.source})" if doubt.source else doubt.assumed
    return f"| `{doubt.id}` | {assumed} | {ways} | {doubt.used_in} | {settled} | {doubt.playable} |"


def main(arguments: list[str]) -> int:
    made = page()
    if "--check" in arguments:
        current = PAGE.read_text("utf-8") if PAGE.exists() else ""
        if current != made:
            print("docs/live-checks.md is not what the table says: python tools/make_doubts.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(made, "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
