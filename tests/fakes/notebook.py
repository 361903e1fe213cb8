"""Executes a notebook from a clean kernel, in a process of its own: ``python notebook.py NOTEBOOK OUT``.

OUT is the executed notebook, outputs and all, also when a cell failed (exit code 1).
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(notebook: Path, out: Path) -> int:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    tree = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(tree)
    code = 0
    try:
        NotebookClient(tree, timeout=1200, kernel_name="python3").execute()
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        code = 1
    finally:
        nbformat.write(tree, out)  # type: ignore[no-untyped-call]
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
