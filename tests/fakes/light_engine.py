"""The trainer, whose results have no SavedModel: ``light_engine.py train --run …``.

A JAX run writes one by starting TensorFlow, which takes longer than all the training of a test.
"""

import sys
from pathlib import Path
from typing import Any

from tpu_studio.trainer import result
from tpu_studio.trainer.__main__ import main

if __name__ == "__main__":
    write = result.write

    def writing(*args: Any, **more: Any) -> dict[str, Any]:
        from tpu_studio.trainer.result import savedmodel  # it imports Keras, which the trainer does first

        def nothing(result: Path, to: Path, model: Any) -> dict[str, Any]:
            to.mkdir()
            return {}

        savedmodel.write_saved_model = nothing
        return write(*args, **more)

    result.write = writing
    sys.exit(main(sys.argv[1:]))
