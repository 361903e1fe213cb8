from __future__ import annotations

import sys

from tpu_studio.trainer import leaving, predict

if __name__ == "__main__":
    leaving.run(lambda: predict.main(sys.argv[1:]))
