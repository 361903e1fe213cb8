"""Events as lines: nothing is lost, torn lines wait, strange values travel."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.store.reading import records
from tpu_studio.wire.brief import TEXT_LETTERS
from tpu_studio.wire.events import LINE_BYTES, complete_lines, decode, encode, event, from_record, lines_in

numbers = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(2**53), 2**53)


def same(a: Any, b: Any) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


@given(st.lists(numbers, min_size=1, max_size=20))
def test_numbers_that_json_does_not_know_come_back_as_they_were(values: list[float]):
    line = encode(event("metric", t=1.0, step=list(range(len(values))), loss=values))
    json.loads(line, parse_constant=lambda word: (_ for _ in ()).throw(AssertionError(word)))
    seen = decode(line)
    assert seen is not None
    assert all(same(a, b) for a, b in zip(seen.get("loss"), values, strict=True))


@given(st.text())
def test_any_text_of_a_log_stays_on_one_line(text: str):
    line = encode(event("log", t=1.0, stream="stderr", text=text))
    assert line.count(b"\n") == 1
    seen = decode(line)
    assert seen is not None and seen.get("text") == text


@given(
    st.lists(st.binary(max_size=20).filter(lambda b: b"\n" not in b and b"\r" not in b), max_size=6),
    st.integers(0, 200),
)
def test_reading_in_two_pieces_gives_the_same_lines_as_reading_at_once(lines: list[bytes], cut: int):
    whole = b"".join(line + b"\n" for line in lines)
    first, taken = complete_lines(whole[:cut])
    second, _ = complete_lines(whole[taken:])
    assert [*first, *second] == complete_lines(whole)[0]


NESTED = b'{"t":1.0,"kind":"notice","facts":%s}' % (b'{"a":' * 50_000 + b"1" + b"}" * 50_000)
"""Deeper than `json` follows; guardians of rented machines read such lines, too."""


def test_what_is_no_event_is_no_event():
    for line in (b"", b"{", b"[]", b'{"kind":"x"}', b'{"t":true,"kind":"x"}', b'{"t":1}', b"\xff\xfe", NESTED):
        assert decode(line) is None


def test_fields_of_a_newer_version_are_kept():
    seen = decode(b'{"t":1,"kind":"novelty","more":{"a":[1]}}')
    assert seen is not None and seen.kind == "novelty" and seen.get("more") == {"a": [1]}


def test_a_text_of_millions_of_letters_is_cut_wherever_it_stands_in_an_event():
    long = "ab cd " * 500_000
    line = encode(event("notice", t=1.0, id=long, facts={"raw": long, "items": [[long, 3]], long: 1}))
    seen = decode(line)
    assert seen is not None and len(str(seen.fields)) < 5 * TEXT_LETTERS
    assert seen.get("facts")["raw"] == long[: TEXT_LETTERS - 1] + "…"


def test_a_kind_that_is_not_spelled_out_and_a_number_that_is_none_are_no_event() -> None:
    """Who looks for the letters of a kind, and who parses all, find the same events."""
    line = encode(event("end", t=1.0, reason="caf\u00e9 \u2026"))
    assert b"\\u" in line and decode(line) is not None
    assert decode(line.replace(b'"end"', b'"\\u0065nd"')) is None
    assert decode(line.replace(b'"kind"', b'"k\\u0069nd"')) is None
    assert decode(b'{"t":1.0,"kind":"end","x":NaN}') is None
    assert complete_lines(b'{"t":1.0,\r"kind":"end"}\n')[0] == [b'{"t":1.0,\r"kind":"end"}']


@pytest.mark.parametrize("part", [b"[],", b'{"":1},', b"1,"])
def test_a_line_of_lists_or_values_without_end_is_no_event_to_anybody(part: bytes) -> None:
    """Sixteen megabytes of empty lists took a gigabyte in the list of runs."""
    line = b'{"t":1.0,"kind":"end","x":[' + part * 2_100_000 + b"1]}"
    assert decode(line) is None and decode(line.decode()) is None and records([line]) == []
    assert decode(b'{"t":1.0,"kind":"metric","step":[' + b"1," * 100_000 + b"1]}") is not None


def test_a_list_without_end_stands_in_no_event_but_those_of_many_points() -> None:
    """Two million steps of a notice became words, at each drawing of the Run page anew: four seconds."""
    many: list[object] = [1] * 20_001
    for fields in ({"steps": many}, {"facts": {"steps": many}}, {"facts": dict.fromkeys(map(str, range(20_001)))}):
        assert from_record({"t": 1.0, "kind": "notice", **fields}) is None
    assert from_record({"t": 1.0, "kind": "notice", "steps": many[1:]}) is not None
    assert from_record({"t": 1.0, "kind": "speed", "steps": many}) is not None


def test_a_line_longer_than_any_event_is_passed_over() -> None:
    long = b"x" * (2 * LINE_BYTES + 5) + b"\n"
    assert list(lines_in(io.BytesIO(b"a\n" + long + b"b\n" + b"y" * LINE_BYTES))) == [b"a\n", b"b\n"]


def test_a_line_of_long_numbers_is_read_as_the_quick_parser_reads_it() -> None:
    """Numbers of 299 digits, which are any, by the hundred thousand; and one of 310, which is none."""
    many = ",".join(["9" * 299] * 10_000)
    known = decode(f'{{"t":1,"kind":"log","text":[{many}]}}')
    assert known is not None and known.get("text")[0] == int("9" * 299)
    assert decode(f'{{"t":1,"kind":"log","text":[{many},{"9" * 310}]}}') is None
