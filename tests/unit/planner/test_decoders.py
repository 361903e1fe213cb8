"""A language model is guessed by its description, until the engine has counted it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpu_studio.planner import decoders
from tpu_studio.planner.modelwork import _GUESS
from tpu_studio.wire.pretrained import decoder, known


@pytest.mark.parametrize("name", ["openai-community/gpt2", "Qwen/Qwen3-4B", "google/gemma-3-1b-pt"])
def test_its_weights_are_those_that_are_published(name: str) -> None:
    """Of GPT-2 three weights are parts of one tensor, which counts once."""
    one = known.by_preset(f"hf:{name}")
    assert one is not None
    assert decoder.describe(one.config).numbers == one.parameters


def test_beside_matrices_of_a_rank_the_weights_stay_and_less_is_worked(tmp_path: Path) -> None:
    one = known.by_preset("hf:Qwen/Qwen3-4B")
    assert one is not None
    whole = decoders.guess(one.config, 512, 0, _GUESS)
    lora = decoders.guess(one.config, 512, 8, _GUESS)
    assert (whole.params, whole.frozen, lora.frozen) == (one.parameters, 0, one.parameters)
    assert 10e6 < lora.params < 20e6 and lora.flops == pytest.approx(whole.flops * 4 / 6)
    assert whole.is_guess and lora.activation_bytes == whole.activation_bytes > 1e9
