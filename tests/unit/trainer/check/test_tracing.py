"""Messages of Keras and JAX about shapes, read into what came and what was expected."""

from __future__ import annotations

import pytest

from tpu_studio.trainer.check.tracing import mismatch
from tpu_studio.wire.padding import product_work


# Words of Keras 3.15 and JAX 0.10, as they came.
@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (
            'ValueError: Input 0 of layer "head" is incompatible with the layer: expected axis -1 of input shape to'
            " have value 64, but received input with shape (None, 32)",
            {"layer": "head", "axis": "-1", "wanted": "64", "got": "(None, 32)"},
        ),
        (
            "ValueError: Input 0 with name 'None' of layer 'head' is incompatible with the layer: expected axis -1 of"
            " input shape to have value 32, but received input with shape (None, 64)",
            {"layer": "head", "axis": "-1", "wanted": "32", "got": "(None, 64)"},
        ),
        (
            'ValueError: Input 0 of layer "conv" is incompatible with the layer: expected min_ndim=4, found ndim=2. '
            "Full shape received: (None, 10)",
            {"layer": "conv", "wanted": "min_ndim=4", "got": "(None, 10)"},
        ),
        (
            "TypeError: dot_general requires contracting dimensions to have the same shape, got (4,) and (5,).",
            {"wanted": "(5,)", "got": "(4,)"},
        ),
        (
            "TypeError: add got incompatible shapes for broadcasting: (8, 10), (8, 12).",
            {"wanted": "(8, 12)", "got": "(8, 10)"},
        ),
        (
            "TypeError: cannot reshape array of shape (8, 64) (size 512) into shape (8, 7, 9) (size 504)",
            {"wanted": "(8, 7, 9)", "got": "(8, 64)"},
        ),
        (
            "ValueError: Exception encountered when calling Reshape.call().\n\n\x1b[1mThe total size of the tensor must"
            " be unchanged. Received: input_shape=(12288,), target_shape=(33, 7)\x1b[0m",
            {"wanted": "(33, 7)", "got": "(12288,)"},
        ),
        (
            "InvalidArgumentError: {{function_node __wrapped__MatMul}} Matrix size-incompatible: In[0]: [4096,3], "
            "In[1]: [5,5] [Op:MatMul]",
            {"wanted": "[5,5]", "got": "[4096,3]"},
        ),
    ],
)
def test_a_mismatch_tells_layer_what_came_and_what_was_expected(raw: str, told: dict[str, str]) -> None:
    assert mismatch(raw) == told


def test_other_errors_are_no_mismatch() -> None:
    assert mismatch("KeyError: 'width'") is None


def test_padding_is_counted_in_the_blocks_of_the_matrix_unit() -> None:
    assert product_work((8, 128, 128), 128) == (8 * 128 * 128, 1.0)
    work, waste = product_work((8, 64, 10), 128)  # 64 of 128 and 10 of 128
    assert work == 8 * 64 * 10
    assert waste == pytest.approx(128 * 128 / (64 * 10))
