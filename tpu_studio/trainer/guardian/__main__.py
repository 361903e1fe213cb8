"""``python -m tpu_studio.trainer.guardian --run FOLDER --attempt N -- TRAINER ARGV…``"""

import sys

from tpu_studio.trainer.guardian.main import main

if __name__ == "__main__":
    sys.exit(main())
