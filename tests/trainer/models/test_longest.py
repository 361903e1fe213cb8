"""What the program has trained it opens, also the narrowest network at its longest texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.in_engine import ROOT, run_in_engine
from tests.trainer.training import planned, put

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PROGRAM = Path(__file__).with_name("program_longest.py")
NARROW = {"layers": 12, "width": 64, "heads": 4}
MODELS = {
    "nano": ("gpt-nano", {}, 8192),
    "mini": ("gpt-mini", {}, 8192),
    "narrow": ("gpt-nano", NARROW, 4096),
    "small": ("gpt-124m", {}, 2048),
}

PICTURES = {
    "name": "large",
    "model": {"name": "small-cnn"},
    "data": {"kind": "images", "path": str(ROOT / "resources" / "samples" / "sign-digits"), "image_size": 384},
}


def test_results_of_long_texts_are_opened(tmp_path: Path) -> None:
    """Those of gpt-nano at 3,072 tokens, trained and paid for, were “far more work than a model of its size”."""
    text = tmp_path / "play.txt"
    text.write_text("To be, or not to be: that is the question. " * 6000)
    for name, (model, options, length) in MODELS.items():
        tree = {
            "name": name,
            "model": {"name": model, "options": options},
            "data": {"kind": "text", "path": str(text), "sequence_length": length},
        }
        put(tmp_path / name, planned(tree, epochs=1, framework="jax"))
    put(tmp_path / "large", planned(PICTURES, epochs=1, framework="jax"))
    found = run_in_engine(PROGRAM, *(str(tmp_path / name) for name in [*MODELS, "large"]), backend="jax")
    assert "works far more" in found.pop("heaped")  # 117 kB took 2.6 GB where they were exported
    assert found == dict.fromkeys([*MODELS, "large"], "")
