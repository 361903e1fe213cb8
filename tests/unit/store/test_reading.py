"""Lines that are parsed together are the lines that who reads them one by one takes for events."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.store.reading import records
from tpu_studio.wire.events import decode, encode, from_record

END = b'{"t":1.0,"kind":"end"}'


@pytest.mark.parametrize(
    "lines",
    [
        [b'{"x":[{}', b"{}]}", END + b"," + END],
        [END + b',"' + b"0" * 16 + b'",' + END, b'{"x":[{}', b"{}]}"],
        [b'{"t":1.0,"kind":"\\u0065nd"}', END],
        [b'{"t":1.0,"k\\u0069nd":"end"}'],
        [b"", END, b"  ", b"nothing", END],
        [b'{"t":2.0,"kind":"log","text":"\\u2026"}', END],
    ],
)
def test_no_line_is_more_in_company_than_alone(lines: list[bytes]) -> None:
    alone = [orjson.loads(line) for line in lines if decode(line) is not None]
    assert [one for one in records(lines) if isinstance(one, dict) and one.get("kind")] == alone


ODD_LINES = (
    encode({"t": 1.5, "kind": "end", "x": [1, 2.5e3, "é😀", None, True, -0.0], "n": 10**20}).strip(),
    b'{"t":1,"kind":"end","x":1e999}',
    b'{"t":1,"kind":"end","x":1E+0400}',
    b'{"t":1,"kind":"end","x":' + b"9" * 309 + b"}",
    b'{"t":1,"kind":"end","x":0.' + b"0" * 400 + b"1e710}",
    b'{"t":1,"kind":"end","x":"\\ud800"}',
    b'{"t":1,"kind":"end","x":"\xed\xa0\x80"}',
    b'\xef\xbb\xbf{"t":1,"kind":"end"}',
    b'{"t":1,"kind":"end","a":1,"a":2}',
)


@given(
    st.sampled_from(ODD_LINES),
    st.lists(st.tuples(st.integers(0, 500), st.sampled_from(b'{}[]",:\\u09eE+-.dD8a\x80\xff \t'))),
)
def test_who_acts_on_an_event_and_who_shows_it_read_the_same(line: bytes, edits: list[tuple[int, int]]) -> None:
    """The driver's parser is Python's, for the guardian has no other; the screens' is orjson, which takes less."""
    changed = bytearray(line)
    for place, letter in edits:
        changed.insert(place % (len(changed) + 1), letter)
    parsed = records([bytes(changed)])
    shown, acted_on = from_record(parsed[0]) if parsed else None, decode(bytes(changed))
    assert shown == acted_on


def test_a_whole_number_beside_letters_that_look_like_a_large_one_stays_whole() -> None:
    told = decode(b'{"t":1,"kind":"end","sha256":"3e45","bytes":9,"share":0.5}')
    assert told is not None and (repr(told.get("bytes")), told.get("share")) == ("9", 0.5)
