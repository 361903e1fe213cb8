"""Looks into a `.keras` file before Keras builds what it describes: a few bytes may ask for a terabyte, or for ever.

Standard library only. What safe mode refuses is Keras's own business (``loading``).
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

CONFIG, WEIGHTS = "config.json", "model.weights.h5"
_CONFIG_BYTES = 32_000_000
_DEEPEST = 100
_SIZES = ("units", "filters", "input_dim", "output_dim", "key_dim", "num_heads", "depth_multiplier")


def check(path: Path) -> None:
    """Do nothing for a file that describes a model whose weights it can hold; one of another format is left to Keras.

    Raises:
        ValueError, RecursionError, KeyError, OSError, zipfile.BadZipFile: It does not.
    """
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo(CONFIG).file_size > _CONFIG_BYTES:
            raise ValueError(f"its {CONFIG} is larger than any model's")
        tree = json.loads(archive.read(CONFIG))
        _walk(tree, archive.getinfo(WEIGHTS).file_size, 0)


def _walk(tree: Any, weights: int, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("its layers are nested deeper than any model's")
    if isinstance(tree, dict):
        for name in _SIZES:
            size = tree.get(name)
            if isinstance(size, int) and size > 8 * weights:  # a bias alone has that many numbers
                raise ValueError(f"a layer of {size:,} {name}, and {weights:,} bytes of weights")
    for inner in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        _walk(inner, weights, depth + 1)
