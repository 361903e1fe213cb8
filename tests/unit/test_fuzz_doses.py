"""A small dose of every target of `make fuzz`, from a seed: FUZZ_TIMES and FUZZ_SEED make it more, or others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fakes.fuzz.registry import TARGETS
from tests.fakes.fuzz.target import dose

TIMES = int(os.environ.get("FUZZ_TIMES", "25"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))


@pytest.mark.filterwarnings("ignore:.*:UserWarning:PIL")
@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    dose(TARGETS[name](tmp_path), name, SEED, TIMES)
