from __future__ import annotations

import sys

from tpu_studio.trainer.predict import main

sys.exit(main(sys.argv[1:]))
