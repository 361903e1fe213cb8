"""What the card of a result that somebody sent says of an example's size, held against the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tpu_studio.data import predicting
from tpu_studio.wire.errors import RunError

PICTURE = {"kind": "images", "image_size": 20, "channels": 3, "task": "classification"}
ROW = {"kind": "table", "input_shape": [7], "task": "classification"}
TEXT = {"kind": "text", "sequence_length": 64, "task": "generation"}


def check(data: dict[str, Any], shape: Any, takes: tuple[int | None, ...] | None) -> None:
    predicting.check_shape(data, shape, takes, Path("model.json"))


@pytest.mark.parametrize(
    ("data", "takes"),
    [(PICTURE, (20, 20, 3)), (PICTURE, (None, None, 3)), (ROW, (7,)), (TEXT, (64,)), (TEXT, (None,)), (PICTURE, None)],
)
def test_what_a_card_says_is_what_the_model_takes(data: dict[str, Any], takes: tuple[int | None, ...] | None) -> None:
    made = {"images": [20, 20, 3], "table": [7], "text": [64]}[data["kind"]]
    check(data, [None, *made], takes)


@pytest.mark.parametrize(
    ("data", "shape", "takes"),
    [
        (PICTURE | {"image_size": 16_000}, [None, 16_000, 16_000, 3], (20, 20, 3)),  # 2.5 GB of a small picture
        (PICTURE | {"image_size": 16_000}, [None, 16_000, 16_000, 3], (None, None, 3)),
        (PICTURE | {"image_size": 16_000}, [None, 16_000, 16_000, 3], None),
        (PICTURE, [None, 16_000, 16_000, 3], (20, 20, 3)),
        (PICTURE | {"image_size": "x"}, [None, 20, 20, 3], (20, 20, 3)),
        (PICTURE | {"image_size": float("inf")}, [None, 20, 20, 3], (20, 20, 3)),
        (ROW | {"input_shape": []}, [None, 7], (7,)),
        (TEXT | {"sequence_length": 10**9}, [None, 64], (64,)),
        (TEXT, None, (64,)),
    ],
)
def test_a_card_that_claims_another_size_is_no_card_of_the_model(
    data: dict[str, Any], shape: object, takes: tuple[int | None, ...] | None
) -> None:
    with pytest.raises(RunError) as caught:
        check(data, shape, takes)
    assert caught.value.id == "result-unreadable" and str(caught.value.facts["path"]).endswith("model.json")
