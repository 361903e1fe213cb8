"""A program that is forked from a warm engine behaves as one that was started: the tests beside this one rest on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import Program, begin, engine_python, environment, run_in_engine, warm
from tests.trainer.warm import Forked

pytestmark = [pytest.mark.engine, pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")]
TELLS = """
import json, os, sys, threading
from multiprocessing import get_context

import keras
import jax
import numpy as np

if __name__ == "__main__":
    drawn = float(np.random.random())
    print(json.dumps({
        "argv": sys.argv[1:], "folder": os.getcwd(), "path": sys.path[0] == os.path.dirname(os.path.abspath(__file__)),
        "environment": dict(os.environ), "stdin": sys.stdin.read(), "drawn": drawn,
        "backend": keras.backend.backend(), "devices": jax.device_count(),
        "sum": float(jax.jit(lambda x: x @ x.T)(np.ones((64, 64), np.float32)).sum()),
        "other": get_context("spawn").Pool(1).map(abs, [-3]),
        "files": [os.readlink(f"/proc/self/fd/{fd}").split("#")[0].split(":")[0] for fd in (0, 1, 2)],
    }))
"""
ENDS = """
import os, sys
how = sys.argv[1]
print("warned", file=sys.stderr)
print("said", flush=True)
if how == "raises":
    raise ValueError("of its own")
if how == "waits":
    sys.stdin.read()
sys.exit(int(how))
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "tells.py").write_text(TELLS)
    (tmp_path / "ends.py").write_text(ENDS)
    return tmp_path


def told(program: Program, given: bytes = b"") -> tuple[int, bytes]:
    assert program.stdin is not None and program.stdout is not None
    with program.stdin, program.stdout:
        program.stdin.write(given)
        program.stdin.close()
        return program.wait(), program.stdout.read()


def test_it_has_arguments_environment_folder_and_files_as_a_program_that_was_started(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(programs)
    around = environment("jax") | {"XLA_FLAGS": "--xla_force_host_platform_device_count=3", "SOMEBODY": "é"}
    found: list[dict[str, Any]] = []
    for cold in (False, True):
        with tempfile.TemporaryFile() as stderr:
            program = begin([str(programs / "tells.py"), "one", "--two"], around, "jax", stderr, cold=cold)
            assert isinstance(program, Forked) is not cold
            code, said = told(program, b"given")
            stderr.seek(0)
            assert code == 0, stderr.read().decode()
        found.append(json.loads(said))
    forked, started = found
    assert forked.pop("drawn") != started.pop("drawn")
    assert forked == started
    assert (forked["environment"]["SOMEBODY"], forked["devices"], forked["stdin"]) == ("é", 3, "given")


def test_no_two_draw_the_same_numbers(programs: Path) -> None:
    (programs / "draws.py").write_text("import numpy, random\nprint(f'[{numpy.random.random()}, {random.random()}]')")
    one, other = (run_in_engine(programs / "draws.py", backend="jax") for _ in range(2))
    assert one[0] != other[0] and one[1] != other[1]


@pytest.mark.parametrize(("how", "code"), [("0", 0), ("3", 3), ("raises", 1), ("waits", -9)])
def test_its_end_is_told_as_of_one_that_was_started(programs: Path, how: str, code: int) -> None:
    ends: list[tuple[int, bytes, bytes]] = []
    for cold in (False, True):
        with tempfile.TemporaryFile() as stderr:
            program = begin([str(programs / "ends.py"), how], environment("jax"), "jax", stderr, cold=cold)
            if how == "waits":
                assert program.stdout is not None and program.stdout.readline() == b"said\n"
                assert program.poll() is None
                os.kill(program.pid, 9)
            ended, said = told(program)
            assert program.poll() == program.returncode == ended == code
            stderr.seek(0)
            ends.append((ended, said, stderr.read().strip().splitlines()[-1]))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("framework", ["jax", "tensorflow"])
def test_nothing_runs_and_no_device_is_open_where_it_begins(programs: Path, framework: str) -> None:
    looks = "import os, sys, json\nfrom jax._src import xla_bridge\n"
    looks += "opened = [str(one) for one in xla_bridge._backends]\n"
    if framework == "tensorflow":
        looks += "from tensorflow.python.eager import context\nopened += [str(context.context()._context_handle)]\n"
    looks += "print(json.dumps([len(os.listdir('/proc/self/task')), 'keras.src' in sys.modules, opened]))"
    (programs / "looks.py").write_text(looks)
    nothing = [] if framework == "jax" else ["None"]
    assert run_in_engine(programs / "looks.py", backend=framework) == [1, True, nothing]


def test_another_backend_than_the_one_that_is_there_is_refused(programs: Path) -> None:
    (programs / "other.py").write_text("import os\nos.environ['KERAS_BACKEND'] = 'tensorflow'\nimport keras")
    with tempfile.TemporaryFile() as stderr:
        assert told(begin([str(programs / "other.py")], environment("jax"), "jax", stderr))[0] == 1
        stderr.seek(0)
        assert b"Keras is there with jax, not tensorflow" in stderr.read()


def test_where_imports_would_have_read_something_else_it_is_started(programs: Path) -> None:
    around = environment("jax") | {"JAX_ENABLE_X64": "1"}
    assert warm("jax").serves(environment("tensorflow")) and not warm("jax").serves(around)
    (programs / "wide.py").write_text("import jax\nprint(jax.config.jax_enable_x64)")
    with tempfile.TemporaryFile() as stderr:
        program = begin([str(programs / "wide.py")], around, "jax", stderr)
        assert isinstance(program, subprocess.Popen) and told(program) == (0, b"True\n")


def test_the_server_ends_with_who_can_ask(tmp_path: Path) -> None:
    asks = (
        "import sys\nfrom pathlib import Path\nfrom tests.trainer.in_engine import environment\n"
        "from tests.trainer.warm import Server\n"
        "server = Server(Path(sys.argv[1]), 'jax', environment('jax'))\nprint(server._process.pid, flush=True)\n"
        "sys.stdin.read()"
    )
    argv = [sys.executable, "-c", asks, str(engine_python())]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asker:
        assert asker.stdout is not None
        server = int(asker.stdout.readline())
        asker.kill()
    from tests.fakes.processes import alive
    from tests.fakes.waiting import eventually

    eventually(lambda: not alive(server))
