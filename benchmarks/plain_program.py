"""`trainer.check` of a program as a model is written: no attention kernel, scores over the vocabulary in float32.

What `bench_chip` compares with; takes the same question.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tpu_studio.trainer import backend
from tpu_studio.trainer.check.program import main
from tpu_studio.wire.plan import Plan

_begin = backend.begin


def begin(plan: Plan, workers: int = 1) -> None:
    """Keras may be imported from here on, and the kernel with it."""
    _begin(plan, workers)
    from tpu_studio.trainer.models import splash

    splash.Splash = lambda *mesh: None  # type: ignore[misc, assignment]


if __name__ == "__main__":
    backend.begin = begin
    sys.exit(main(Path(sys.argv[sys.argv.index("--question") + 1])))
