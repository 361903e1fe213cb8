"""What `estimate` makes of a workload file: unknown is a notice, impossible is an error, nothing is a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.sentences import ERRORS, NOTICES, say, say_notice
from tpu_studio.planner.throughput import estimate, load, parse
from tpu_studio.planner.throughput.workload import KEYS, Workload, precision_of, stack_of
from tpu_studio.wire.errors import BadInput

GPT = {
    "generation": "v6e",
    "chips": 8,
    "family": "llm-dense",
    "params": 1.24e8,
    "flops_per_unit_train": 8.6e8,
    "precision": "bf16",
    "unit": "token",
    "sequence_length": 1024,
    "image_size": None,
    "global_batch": 64,
    "framework": "MaxText (JAX)",
}


def ids(record: Any) -> set[str]:
    workload, notices = parse(record, catalogue())
    return {notice.id for notice in estimate(workload, catalogue(), notices=notices).notices}


def test_a_complete_workload_raises_no_notice():
    assert ids(GPT) == set()


def test_what_is_absent_or_null_is_unknown_and_said():
    workload, notices = parse({**GPT, "global_batch": None}, catalogue())
    assert workload.global_batch is None
    assert [notice.id for notice in notices] == ["workload-values-absent"]
    assert notices[0].facts["keys"] == ["global_batch"]


def test_an_empty_object_is_a_workload_of_which_nothing_is_known():
    workload, _ = parse({}, catalogue())
    assert workload == Workload()


@pytest.mark.parametrize("key", ["generation", "family", "precision", "unit", "framework"])
def test_a_word_nobody_knows_is_unknown_with_a_notice(key: str):
    workload, notices = parse({**GPT, key: "qwertz"}, catalogue())
    assert getattr(workload, key) is None
    assert [notice.facts["value"] for notice in notices] == ["qwertz"]


@pytest.mark.parametrize(
    "key", ["chips", "params", "flops_per_unit_train", "sequence_length", "image_size", "global_batch"]
)
@pytest.mark.parametrize("value", [-1, 0, 1e30, float("nan"), float("inf"), 10**400, True, [8], {"n": 8}])
def test_a_number_that_cannot_be_is_an_error_with_its_limits(key: str, value: Any):
    with pytest.raises(BadInput) as told:
        parse({**GPT, key: value}, catalogue())
    assert told.value.id == "workload-number"
    said = say(told.value)
    assert key in said.title
    assert len(str(said)) < 400


@pytest.mark.parametrize("key", ["chips", "global_batch"])
def test_half_a_chip_is_an_error(key: str):
    with pytest.raises(BadInput) as told:
        parse({**GPT, key: 2.5}, catalogue())
    assert "whole number" in say(told.value).meaning


def test_a_number_in_quotation_marks_is_a_number():
    assert parse({**GPT, "chips": "8"}, catalogue())[0].chips == 8
    assert parse({**GPT, "chips": "a few"}, catalogue())[1][0].id == "workload-value-unknown"


def test_chips_that_make_no_slice_are_estimated_and_said():
    assert "workload-not-a-slice" in ids({**GPT, "chips": 3})


@pytest.mark.parametrize(("generation", "chips"), [("v5e", 512), ("v6e", 3072), ("v5e", 8192), ("v5p", 6144)])
def test_several_whole_slices_are_fine(generation: str, chips: int):
    assert "workload-not-a-slice" not in ids({**GPT, "generation": generation, "chips": chips})


def test_a_format_that_the_chip_has_no_faster_units_for_is_said():
    assert ids({**GPT, "generation": "v4", "precision": "fp8"}) == {"workload-precision-not-faster"}


@pytest.mark.parametrize(
    ("content", "id"),
    [
        (b"", "workload-file-broken"),
        (b"   \n", "workload-file-broken"),
        (b"{", "workload-file-broken"),
        (bytes(range(256)), "workload-file-broken"),
        (b"[1, 2]", "workload-not-an-object"),
        (b"7", "workload-not-an-object"),
        (b"null", "workload-not-an-object"),
        (b'{"chips": 1e999}', "workload-number"),
        (b'{"generation": 6}', "workload-word"),
        (b"[" * 100_000, "workload-file-broken"),
        (b'{"a":"' + b"x" * (2 << 20) + b'"}', "workload-file-too-large"),
    ],
)
def test_a_broken_file_is_told_in_words(tmp_path: Path, content: bytes, id: str):
    path = tmp_path / "workload.json"
    path.write_bytes(content)
    with pytest.raises(BadInput) as told:
        load(path, catalogue())
    assert told.value.id == id
    assert say(told.value).title


def test_a_missing_file_a_folder_and_a_pipe_are_told_without_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for name, id in (
        ("none.json", "workload-file-missing"),
        (".", "workload-file-unreadable"),
        ("pipe", "workload-file-unreadable"),
    ):
        with pytest.raises(BadInput) as told:
            load(tmp_path / name, catalogue())
        assert told.value.id == id


def test_a_file_saved_by_a_windows_editor_is_read(tmp_path: Path):
    path = tmp_path / "workload.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GPT).encode())
    assert load(path, catalogue())[0].chips == 8


def test_every_error_and_notice_of_this_package_has_its_own_words():
    source = Path(__file__).parents[4] / "tpu_studio" / "planner" / "throughput"
    text = "".join(path.read_text("utf-8") for path in source.glob("*.py"))
    for id in [*ERRORS, *NOTICES]:
        if id.startswith("workload-"):
            assert f'"{id}"' in text
    for id in ("workload-values-absent", "workload-keys-ignored", "workload-chips-assumed"):
        assert say_notice(id, {}).title


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(record=st.dictionaries(st.sampled_from([*KEYS, "more"]), ANYTHING))
def test_whatever_is_in_the_file_ends_in_a_range_or_in_words(record: dict[str, Any]):
    try:
        workload, notices = parse(record, catalogue())
    except BadInput as error:
        assert say(error).title
        return
    answer = estimate(workload, catalogue(), notices=notices)
    assert 0 < answer.mfu.low <= answer.mfu.expected <= answer.mfu.high
    assert 0 < answer.units_per_s.low <= answer.units_per_s.expected <= answer.units_per_s.high


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("bf16", "bf16"),
        ("int8 AQT + bf16", "int8"),
        ("bf16 (fp32 params)", "bf16"),
        ("mixed_bfloat16", "bf16"),
        ("fp8", "fp8"),
        ("FP32", "fp32"),
        ("float32", "fp32"),
        ("posit", None),
        (None, None),
    ],
)
def test_number_formats_are_read_as_people_write_them(written: str | None, read: str | None):
    assert precision_of(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("MaxText (JAX)", "maxtext"),
        ("JAX/Flax", "flax"),
        ("TensorFlow 2.0", "tensorflow"),
        ("PyTorch/XLA", "pytorch"),
        ("Keras 3 on JAX", "jax"),
        ("JAX (big_vision)", "bigvision"),
        ("fortran", ""),
    ],
)
def test_frameworks_are_read_as_people_write_them(written: str, read: str):
    assert stack_of(written) == read
