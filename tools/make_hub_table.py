"""`tpu-studio check` of language models of the Hugging Face Hub, none of them here: the table in docs/hub-models.md.

    python tools/make_hub_table.py [--only TEXT] [--slices v5litepod-1,v6e-1]

Of each the plan of a LoRA of rank 8 on Shakespeare, as a person would type it. Answers are kept as `check` keeps them.
"""

from __future__ import annotations

import argparse
import sys

from make_check_table import ROOT, SLICES, keep, row_of

from tpu_studio.wire.pretrained.known import all_known

PAGE = ROOT / "docs" / "hub-models.md"
JOB = ROOT / "resources" / "examples" / "shakespeare.tpujob"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="models that have this in their name")
    parser.add_argument("--slices", default=",".join(SLICES), help="with commas between them")
    asked = parser.parse_args()
    for one in all_known():
        if not one.is_read or asked.only not in one.name:
            continue
        for accelerator in asked.slices.split(","):
            try:
                row = row_of(JOB, accelerator, one.name, _settings(one.preset))
            except RuntimeError as error:
                print(error, file=sys.stderr)
                continue
            print(row, end="", flush=True)
            keep(row, PAGE)
    return 0


def _settings(preset: str) -> dict[str, object]:
    return {"model.name": "pretrained-lm", "model.preset": preset, "model.lora_rank": 8, "where.place": "cloud"}


if __name__ == "__main__":
    sys.exit(main())
