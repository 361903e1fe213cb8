"""Lines that are parsed together are the lines that who reads them one by one takes for events."""

from __future__ import annotations

import orjson
import pytest

from tpu_studio.store.reading import records
from tpu_studio.wire.events import decode

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
