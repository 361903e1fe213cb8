"""`trainer.check` of a program as a model is written: no attention kernel, scores over the vocabulary in float32.

What `bench_chip` compares with; takes the same question.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tpu_studio.trainer.check import compiling

compiling.settle()

from tpu_studio.trainer.check.program import main  # noqa: E402
from tpu_studio.trainer.models import splash  # noqa: E402

splash.Splash = lambda *mesh: None  # type: ignore[misc, assignment]

if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[sys.argv.index("--question") + 1])))
