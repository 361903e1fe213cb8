"""What an installation step says, as it is kept and shown: never the name and password of a proxy or an index."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tpu_studio.local.engine import processes


@pytest.mark.parametrize("password", ["planted-secret", "planted/secret", "planted#sec@ret"])
def test_no_login_of_an_address_is_kept_or_told(tmp_path: Path, password: str) -> None:
    script = tmp_path / "pip.py"
    said = f"InvalidURL: Failed to parse: http://mina:{password}@proxy.example:3128"
    script.write_text(f"import sys; print({said!r}); print('six @ https://a.example/six'); sys.stdout.write({said!r})")
    told: list[str] = []
    code, tail = processes.run(
        [sys.executable, script],
        env=processes.clean_environment(),
        log=tmp_path / "install.log",
        on_line=told.append,
        cancelled=lambda: False,
    )
    cut = "InvalidURL: Failed to parse: http://proxy.example:3128"
    assert (code, told) == (0, [cut, "six @ https://a.example/six", cut])
    assert tail.splitlines() == told
    assert (tmp_path / "install.log").read_text().splitlines()[1:] == told  # after the command
