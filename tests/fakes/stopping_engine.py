"""The trainer, frozen for ever right after its first saved copy: ``stopping_engine.py -P -m tpu_studio.trainer …``.

So a test can take the runtime away at a moment that no speed decides.
"""

import os
import signal
import sys
from typing import Any

from tpu_studio.trainer import leaving, words
from tpu_studio.trainer.__main__ import main

if __name__ == "__main__":
    send = words.Events.send

    def sending(self: words.Events, kind: str, **fields: Any) -> None:
        send(self, kind, **fields)
        if kind == "checkpoint":
            self.flush()
            os.kill(os.getpid(), signal.SIGSTOP)

    words.Events.send = sending  # type: ignore[method-assign]
    leaving.run(lambda: main(sys.argv[sys.argv.index("tpu_studio.trainer") + 1 :]))
