from __future__ import annotations

import csv
import io
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tpu_studio.data import csvfile
from tpu_studio.data.csvfile import Dialect
from tpu_studio.data.rows import RowTally
from tpu_studio.data.watching import Watch

CELL = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029\x85"), max_size=12)
TABLES = st.integers(2, 5).flatmap(
    lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=12)
)


@given(
    rows=TABLES,
    delimiter=st.sampled_from(csvfile.DELIMITERS),
    mark=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-16"]),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=150)
def test_what_was_written_is_what_is_read(tmp_path: Path, rows, delimiter, mark, encoding, line_end):
    assume(not any(row[0].startswith("#") for row in rows))
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if mark else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerows(rows)
    path = tmp_path / "table.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    names = tuple(f"n{place}" for place in range(len(rows[0])))
    tally = RowTally()

    read = list(csvfile.read_rows(path, Dialect(encoding, delimiter, '"', names, False), tally, Watch()))

    assert read == rows
    assert (tally.rows, tally.broken_count) == (len(rows), 0)


NUMBERS = st.lists(st.tuples(st.integers(-999, 999), st.floats(-1e6, 1e6, allow_nan=False)), min_size=12, max_size=30)


@given(numbers=NUMBERS, delimiter=st.sampled_from(csvfile.DELIMITERS), header=st.booleans())
@settings(max_examples=60)
def test_the_dialect_of_a_table_with_numbers_is_found(tmp_path: Path, numbers, delimiter, header):
    rows = [[str(one), repr(other), "one, two; three | four"] for one, other in numbers]
    path = tmp_path / "table.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(
            [*([["first", "second", "words"]] if header else []), *rows]
        )

    dialect = csvfile.sniff(path)

    assert (dialect.delimiter, dialect.header, len(dialect.names)) == (delimiter, header, 3)
    assert list(csvfile.read_rows(path, dialect, RowTally(), Watch())) == rows
