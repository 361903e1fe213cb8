"""What was brought to the bucket, as records tell it: data, and the folder that a model begins from."""

from __future__ import annotations

from typing import Any

import pytest

from tpu_studio.workflow.cloudruns import brought


def part(name: str, size: object = 1) -> dict[str, Any]:
    return {"object": f"data/{name}", "sha256": "0" * 64, "bytes": size}


def file(*parts: object) -> dict[str, Any]:
    return {"name": "model.safetensors", "sha256": "0" * 64, "bytes": 2, "parts": list(parts)}


PIECES = {
    "bundle": {"object": "runs/x/job/b"},
    "data": [part("d")],
    "preset": [file(part("a"), part("b")), file(part("a"))],
}


def test_what_the_next_run_finds_there_is_told_once() -> None:
    assert [one["object"] for one in brought.shared(PIECES)] == ["data/d", "data/a", "data/b"]
    assert brought.shared(None) == brought.shared({"bundle": {}}) == []


def test_what_somebody_else_tells_is_as_large_as_the_bucket_says() -> None:
    told = {"data": [part("d", 10**18)], "preset": [file(part("a", -5), {"object": "data/b"})], "trust_code": True}
    found: Any = brought.measured(told, lambda name: len(name))
    assert [one["bytes"] for one in brought.shared(found)] == [6, 6, 6] and found["trust_code"] is True
    brought.check(found)


@pytest.mark.parametrize(
    "pieces",
    [
        {"data": {}, "preset": "x"},
        {"data": "x"},
        {"data": [part("d", -1)]},
        {"data": [part("d", None)]},
        {"data": [{"object": 7, "bytes": 1}]},
        {"preset": {"a": 1}},
        {"preset": [file(part("a")), "b"]},
        {"preset": [{"name": "x"}]},
        {"preset": [file("a")]},
        {"preset": [file(part("a", "many"))]},
    ],
)
def test_pieces_that_are_none_are_refused(pieces: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        brought.check(pieces)


def test_of_pieces_without_end_none_are_asked_after() -> None:
    asked: list[str] = []
    many: list[dict[str, object]] = [
        {"data": [part("d")] * 1001},
        {"preset": [file(*[part("d")] * 1001)]},
        {"preset": [file()] * 1001},
        {"preset": [file(*[part("d")] * 26)] * 40},
    ]
    for pieces in many:
        with pytest.raises(ValueError, match="more objects than 1000"):
            brought.measured(pieces, lambda name: asked.append(name) or 1)
    assert not asked
