"""The bad input of the manual: tables that are not as they should be, each with its clear answer."""

from __future__ import annotations

import csv
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tpu_studio.data import csvfile, csvlines, stretches
from tpu_studio.data import table_encoding as encoding
from tpu_studio.data.look import Look, look
from tpu_studio.data.rows import RowTally, Sample
from tpu_studio.data.sources import open_data
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.domain.sentences import say, say_finding
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job

GOOD = "".join(f"{number},{number * 7 % 13},{'ab'[number % 2]}\n" for number in range(100))


@pytest.fixture
def table_job(job_of, tmp_path):
    def make(content: bytes | str, **data: object) -> Job:
        path = Path(tmp_path / "table.csv")
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return job_of("table", path, **data)

    return make


def both(job: Job) -> Look:
    """The look; opening must come to the same counts."""
    seen, opened = look(job), open_data(job)
    assert len(opened.train) + len(opened.validation) == seen.examples
    assert opened.train.spec["x"][0] == seen.input_shape
    assert opened.broken_count == seen.broken_count
    return seen


def refused(job: Job) -> DataError:
    with pytest.raises(DataError) as by_look:
        look(job)
    with pytest.raises(DataError) as by_opening:
        open_data(job)
    assert by_look.value.id == by_opening.value.id
    return by_look.value


def test_an_empty_file_and_one_with_a_header_only(table_job):
    assert refused(table_job("")).id == "data-empty"
    assert refused(table_job(" \n\n")).id == "data-empty"
    assert refused(table_job("a,b,label\n")).id == "data-empty"


def test_a_binary_file(table_job):
    assert refused(table_job(np.random.default_rng(0).bytes(5000))).id == "data-not-text"
    assert refused(table_job(b"\x89PNG\r\n\x1a\n" + b"x" * 100)).id == "data-not-text"
    assert refused(table_job(bytes(1000))).id in ("data-empty", "data-not-text")


def test_a_folder_in_place_of_a_file(job_of, tmp_path):
    assert refused(job_of("table", tmp_path)).id == "data-not-a-file"


def test_a_byte_order_mark_is_no_part_of_the_first_name(table_job):
    seen = both(table_job(b"\xef\xbb\xbf" + b"first,second,label\n" + GOOD.encode()))

    assert seen.columns[0].name == "first"


def test_a_table_without_a_header_gets_numbered_names(table_job):
    seen = both(table_job(GOOD))

    assert [item.name for item in seen.columns] == ["column_1", "column_2", "column_3"]
    assert seen.examples == 100
    assert "no-header" in {finding.id for finding in seen.findings}


def test_ragged_rows_are_counted_named_and_left_out(table_job):
    seen = both(table_job("x1,x2,label\n" + GOOD + "1,2\n1,2,3,4\n"))

    assert (seen.examples, seen.broken_count) == (100, 2)
    assert [(item.item, item.why) for item in seen.broken] == [("line 102", "fields"), ("line 103", "fields")]


def test_too_many_ragged_rows_stop_it(table_job):
    error = refused(table_job("x1,x2,label\n" + GOOD + "1,2\n" * 20))

    assert (error.id, error.facts["count"], error.facts["of"]) == ("data-too-broken", 20, 120)


def test_a_delimiter_at_the_end_of_each_row_is_no_column_of_its_own(table_job):
    seen = both(table_job("x1,x2,label\n" + GOOD.replace("\n", ",\n")))

    assert (len(seen.columns), seen.broken_count, seen.examples) == (3, 0, 100)


def test_one_column(table_job):
    assert refused(table_job("value\n" + "\n".join(map(str, range(100))))).id == "data-one-column"


def test_a_column_that_is_all_missing_is_left_out(table_job):
    rows = "".join(f"{number},NA,{'ab'[number % 2]}\n" for number in range(50))
    seen = both(table_job("x1,gone,label\n" + rows))

    assert [item.kind for item in seen.columns] == ["number", "ignore", "category"]
    assert "empty-column" in {finding.id for finding in seen.findings}


def test_a_target_that_is_all_missing(table_job):
    rows = "".join(f"{number},\n" for number in range(50))

    assert refused(table_job("x1,label\n" + rows, target="label")).id == "data-target-empty"


def test_a_constant_target(table_job):
    rows = "".join(f"{number},7\n" for number in range(50))

    error = refused(table_job("x1,label\n" + rows, target="label"))

    assert (error.id, error.facts["value"]) == ("data-target-constant", "7")


def test_nothing_to_predict_from(table_job):
    rows = "".join(f"5,{number % 2}\n" for number in range(50))

    error = refused(table_job("always,label\n" + rows))

    assert (error.id, error.facts["left_out"]) == ("data-no-inputs", [["always", "constant"]])


def test_words_cannot_be_a_regression_and_ids_cannot_be_classes(table_job):
    assert refused(table_job("x1,x2,label\n" + GOOD, task="regression")).id == "data-target-not-number"
    rows = "".join(f"{number % 7},word{number}\n" for number in range(100))
    assert refused(table_job("x1,name\n" + rows, target="name")).id == "data-too-many-classes"


def test_too_few_rows(table_job):
    error = refused(table_job("x1,label\n1,a\n2,b\n3,a\n"))

    assert (error.id, error.facts["count"]) == ("data-too-few", 3)


def test_unknown_columns_and_kinds_in_the_job(table_job):
    error = refused(table_job("x1,x2,label\n" + GOOD, columns={"lable": "number"}))
    assert (error.id, error.facts["nearest"]) == ("data-column-unknown", "label")
    assert refused(table_job("x1,x2,label\n" + GOOD, columns={"x1": "colour"})).id == "data-column-kind"


def test_a_field_of_ten_million_characters_is_a_broken_row(table_job):
    seen = both(table_job("x1,x2,label\n" + GOOD + "1," + "x" * 10_000_000 + ",a\n"))

    assert seen.examples == 100
    assert [(item.item, item.why) for item in seen.broken] == [("line 102", "cell-too-long")]


def test_a_row_of_very_many_cells_is_passed_over_in_little_memory(table_job):
    """A line of 60 MB took 1.9 GB in a plan, one of 250 MB 6.9 GB in training."""
    job = table_job("x1,x2,label\n" + GOOD + "ab," * 3_000_000 + "\n" + GOOD)
    tracemalloc.start()
    seen = look(job)
    opened = open_data(job)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000_000  # of 9 MB
    assert seen.duplicates == 100 and len(opened.train) + len(opened.validation) == 200
    for one in (seen, opened):
        assert ([item.why for item in one.broken], one.broken_count) == (["cell-too-long"], 1)


def small_rows(monkeypatch, letters: int) -> None:
    monkeypatch.setattr(csvlines, "LONGEST_ROW", letters)
    monkeypatch.setattr(csvlines, "_BLOCK", letters // 10)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("wide", "why"), [(980, "fields"), *((wide, "cell-too-long") for wide in (1000, 1100, 2500))])
def test_a_row_that_is_too_long_costs_itself_alone(tmp_path, monkeypatch, wide, why, end):
    small_rows(monkeypatch, 1000)
    good = [f"{number},{number * 7 % 13},a" for number in range(300)]
    (tmp_path / "t.csv").write_text(end.join(["x1,x2,label", *good, "a," * (wide // 2), *good, ""]), newline="")
    dialect, tally = csvfile.sniff(tmp_path / "t.csv"), RowTally()
    rows = [",".join(row) for row in csvfile.read_rows(tmp_path / "t.csv", dialect, tally, Watch())]
    assert rows == good * 2
    assert [(item.item, item.why) for item in tally.broken] == [("line 302", why)]
    assert tally.line == 602


def test_a_row_of_lines_without_end_is_passed_over_as_well(tmp_path, monkeypatch):
    """Each of its lines is short, and none of its cells is long."""
    small_rows(monkeypatch, 1000)
    good = [f"{number},{number * 7 % 13},a" for number in range(300)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x1,x2,label", *good, '1,"c', *['b","c'] * 5000, 'b"', *good, ""]))
    dialect, tally = csvfile.Dialect("utf-8", ",", '"', ("x1", "x2", "label"), True), RowTally()
    assert [",".join(row) for row in csvfile.read_rows(path, dialect, tally, Watch())] == good * 2
    lines = [int(item.item.removeprefix("line ")) for item in tally.broken]
    assert lines[0] == 302 and all(0 < later - line < 250 for line, later in pairwise(lines))
    assert tally.broken_count > 4800 and {item.why for item in tally.broken[:-1]} == {"quote-not-closed"}


def test_a_stretch_that_is_looked_at_begins_behind_the_one_before(table_job, monkeypatch):
    """Behind a line of 60 MB the same rows were read seven times, and told to be there twice."""
    monkeypatch.setattr(csvfile, "SMALL", 10_000)
    monkeypatch.setattr(csvfile, "_LONGEST_LINE", 4_000)
    monkeypatch.setattr(stretches, "SIZE", 4_000)
    small_rows(monkeypatch, 1000)
    rows = "".join(f"{number},{number * 7 % 13},{'ab'[number % 2]}\n" for number in range(1000))
    seen = look(table_job("x1,x2,label\n" + rows[:6000] + "ab," * 60_000 + "\n" + rows[6000:]))
    assert (seen.sampled, seen.duplicates) == (True, 0)
    assert {item.why for item in seen.broken} <= {"cell-too-long", "fields"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_large_table_is_looked_at_in_stretches_whatever_it_is_written_in(table_job, monkeypatch, encoding, end):
    """One in UTF-16 was read whole: 66 MB took 24 s."""
    monkeypatch.setattr(csvfile, "SMALL", 10_000)
    monkeypatch.setattr(stretches, "SIZE", 4_000)
    rows = "".join(f"{n},\u0a0a{n % 13},{'first' if n < 4000 else 'last'}{end}" for n in range(8000))
    job = table_job((f"x1,x2,label{end}" + rows).encode(encoding))
    seen, opened = look(job), open_data(job)
    assert (seen.sampled, seen.duplicates, seen.broken_count) == (True, 0, 0)
    assert seen.examples == pytest.approx(8000, rel=0.06)
    assert {name for name, _ in seen.classes} == {"first", "last"}  # from its begin and from its end
    assert len(opened.train) + len(opened.validation) == 8000


def test_lines_in_which_there_is_nothing_hear_a_cancel(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n" + "\n" * 2_000_000 + "1,2\n")
    asked = iter([False] * 3)
    with pytest.raises(Cancelled):
        list(csvfile.read_rows(path, csvfile.sniff(path), RowTally(), Watch(cancelled=lambda: next(asked, True))))


def test_a_quotation_mark_that_is_never_closed_counts_every_line_it_swallows(table_job):
    error = refused(table_job("x1,x2,label\n" + GOOD + '1,"2,a\n' + GOOD))

    assert (error.id, error.facts["count"]) == ("data-too-broken", 101)
    assert error.facts["first"] == [["line 102", "quote-not-closed"]]


def test_344_rows_with_dates_and_comment_lines(table_job):
    lines = ["# measured by hand, with a pen", "day,length,species"]
    for number in range(344):
        lines.append(f"2007-11-{number % 28 + 1:02d},{30 + number % 20}.5,{('Adelie', 'Gentoo')[number % 2]}")
        if number == 100:
            lines.append("# the second day, of three, begins")
    seen = both(table_job("\n".join(lines)))

    assert (seen.examples, seen.broken_count, seen.numbers["comments"]) == (344, 0, 2)
    assert [(item.name, item.kind) for item in seen.columns] == [
        ("day", "date"),
        ("length", "number"),
        ("species", "category"),
    ]


def test_a_header_that_is_written_as_a_comment(table_job):
    seen = both(table_job("#x1,x2,label\n" + GOOD))

    assert ([item.name for item in seen.columns], seen.examples) == (["x1", "x2", "label"], 100)


def test_hash_signs_in_values_are_no_comments(table_job):
    rows = "".join(f"#{number % 5}ff00a,{number},{'ab'[number % 2]}\n" for number in range(50))
    seen = both(table_job("colour,x2,label\n" + rows))

    assert (seen.examples, seen.columns[0].kind) == (50, "category")


def test_commas_quotes_and_line_ends_inside_quotes_belong_to_the_value(table_job):
    rows = "".join(f'"a, ""{number % 4}""\nsecond line",{number},{"ab"[number % 2]}\n' for number in range(50))
    seen = both(table_job("note,x2,label\n" + rows))

    assert (seen.examples, seen.columns[0].distinct) == (50, 4)
    assert seen.columns[0].examples[0] == 'a, "0"\nsecond line'


def test_names_that_occur_twice_or_not_at_all_are_made_unique(table_job):
    seen = both(table_job("x,x,,label\n" + "".join(f"{n},{n % 5},{n % 3},{'ab'[n % 2]}\n" for n in range(50))))

    assert [item.name for item in seen.columns] == ["x", "x_2", "column_3", "label"]


def test_row_names_without_a_name_of_their_own_as_r_writes_them(table_job):
    rows = "".join(f"{number + 1},{number * 7 % 13},{'ab'[number % 2]}\n" for number in range(60))
    seen = both(table_job("x2,label\n" + rows))

    assert [item.name for item in seen.columns] == ["column_1", "x2", "label"]
    assert seen.columns[0].leak == "row-number"


def test_a_number_column_with_a_few_words_in_it_stays_one_and_the_words_count_as_missing(table_job):
    rows = "".join(f"{'oops' if number == 50 else number * 3 % 101},{'ab'[number % 2]}\n" for number in range(100))
    seen = both(table_job("x1,label\n" + rows))

    assert seen.columns[0].kind == "number"
    assert [finding.facts["count"] for finding in seen.findings if finding.id == "unreadable-cells"] == [1]


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "nan%"])
def test_a_number_that_no_mean_can_be_made_of_is_named_with_its_row_and_counts_as_missing(table_job, cell):
    """It used to be found by the loss, after minutes of training, which then blamed the learning rate."""
    rows = "".join(f"{cell if number == 50 else number * 3 % 101},{'ab'[number % 2]}\n" for number in range(100))
    job = table_job("x1,label\n" + rows)
    finding = next(one for one in both(job).findings if one.id == "unreadable-cells")

    assert (finding.facts["column"], finding.facts["row"], finding.facts["cell"]) == ("x1", 51, cell)
    assert f"The first is “{cell}” in row 51." in say_finding(finding.id, finding.facts).meaning
    opened = open_data(job)
    assert all(np.isfinite(side.arrays["x"]).all() for side in (opened.train, opened.validation))


def test_an_answer_that_is_no_number_is_named_and_its_row_left_out(table_job):
    rows = "".join(f"{number * 7 % 13},{'much' if number == 50 else number * 1.5}\n" for number in range(100))
    seen = both(table_job("x1,price\n" + rows))
    finding = next(one for one in seen.findings if one.id == "unreadable-cells")

    assert (seen.task, seen.examples) == ("regression", 99)
    assert (finding.facts["column"], finding.facts["row"], finding.facts["answer"]) == ("price", 51, True)


@pytest.mark.parametrize("cell", ["1e40", "-3.5e38", "1e308", "-1e400", "1" + "0" * 39])
@pytest.mark.parametrize("column", ["x1", "price"])
def test_a_number_that_training_cannot_count_with_is_refused_with_its_file_line_and_column(table_job, cell, column):
    """As an answer kept aside it became an infinite loss; as an input it pressed all others of its column together."""

    def row(number: int) -> str:
        odd = {column: cell} if number == 50 else {}
        return f"{odd.get('x1', number * 7 % 13)},{odd.get('price', number * 1.5)}\n"

    error = refused(table_job('note,x1,price\n"two\nlines",1,2\n' + "".join("ok," + row(n) for n in range(100))))
    assert (error.id, error.facts["line"], error.facts["column"]) == ("data-number-too-large", 54, column)
    said = say(error)
    assert "table.csv" in said.title and said.meaning.startswith(f"Line 54, column “{column}”, holds “{cell}”; ")


def test_a_number_beyond_the_rows_that_are_looked_at_is_refused_when_the_file_is_opened(table_job, monkeypatch):
    monkeypatch.setattr(csvfile, "SMALL", 1000)
    monkeypatch.setattr(stretches, "SIZE", 200)
    rows = "".join(f"{n * 7 % 13},{'1e40' if n == 311 else n * 1.5}\n" for n in range(2000))
    job = table_job("x1,price\n" + rows)
    assert look(job).sampled
    with pytest.raises(DataError, match="data-number-too-large") as caught:
        open_data(job)
    assert (caught.value.facts["line"], caught.value.facts["cell"]) == (313, "1e40")


def test_answers_of_hundreds_of_digits_are_refused_as_numbers_and_are_no_kinds(table_job):
    rows = "".join(f"{n * 7 % 13},{n}{'0' * 400}\n" for n in range(1, 100))
    assert refused(table_job("x1,price\n" + rows)).id == "data-number-too-large"
    assert refused(table_job("x1,price\n" + rows, task="classification")).id == "data-target-empty"


def test_a_number_of_forty_digits_that_nothing_counts_with_is_let_be(table_job):
    """A column that only names its row, and one that is ignored."""
    rows = "".join(f"{10**39 + n},{n * 7 % 13},1e40,{'ab'[n % 2]}\n" for n in range(100))
    seen = both(table_job("id,x1,old,label\n" + rows, columns={"old": "ignore"}))
    assert [column.kind for column in seen.columns] == ["ignore", "number", "ignore", "category"]


def test_an_answer_kept_aside_far_from_a_narrow_spread_stays_a_number():
    scaled = encoding.transform(np.array([1e38]), {"log": False, "mean": 0.0, "std": 1e-11})
    assert np.isfinite(scaled).all()


def test_lines_that_end_as_on_an_old_mac_are_lines(table_job):
    seen = both(table_job(("a,b,c\n" + GOOD).replace("\n", "\r")))

    assert (seen.examples, [column.name for column in seen.columns]) == (100, ["a", "b", "c"])


@pytest.mark.parametrize("column", [["e4", "d5", "c3", "g7"], ["E1", "E2", "E3", "E8"], ["1", "2", "e3", "4"]])
def test_squares_of_a_chessboard_and_codes_are_words_and_no_numbers_without_digits(table_job, column):
    rows = "".join(f"{column[number % 4]},{number % 7},{'ab'[number % 2]}\n" for number in range(100))
    seen = both(table_job("first,reply,result\n" + rows))

    assert seen.columns[0].kind in ("category", "text") or column[0] == "1"
    assert seen.examples == 100


@pytest.mark.parametrize("text", [",,\n,,\n", ";" * 262_144, "\t\t\n" * 50, '"",""\n"",""\n'])
def test_an_empty_sheet_is_said_to_be_empty(table_job, text):
    with pytest.raises(DataError, match="data-empty"):
        look(table_job(text))


def test_a_line_within_a_cell_that_begins_as_a_comment_does_is_of_the_cell(tmp_path: Path) -> None:
    """Hashtags at the end of what somebody says."""
    path = tmp_path / "said.csv"
    rows = [(f"Nice day {number}, really\n#sun, #sea", "good" if number % 2 else "bad") for number in range(60)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
    dialect = csvfile.sniff(path)
    assert dialect.names == ("text", "label")
    tally = RowTally()
    assert [tuple(row) for row in csvfile.read_rows(path, dialect, tally, Watch())] == rows and not tally.broken_count


def test_of_more_rows_than_somebody_waits_for_a_sample_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,2\n" * 4_000 + "1,2,3,4\n" + "1,2\n" * 4_000)
    monkeypatch.setattr(csvfile, "SMALL", 1_000)
    monkeypatch.setattr(csvfile, "_MOST_ROWS", 500)
    monkeypatch.setattr(csvfile, "_of_stretches", lambda *_, **__: Sample([], 0, True, broken()))
    assert csvfile.sample_rows(path, csvfile.sniff(path), Watch()).sampled


def broken() -> RowTally:
    tally = RowTally()
    tally.breaks(1, "fields")
    return tally


def _read_back(path: Path, rows: list[tuple[str, str]]) -> bool:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    tally = RowTally()
    dialect = csvfile.sniff(path)
    return [tuple(row) for row in csvfile.read_rows(path, dialect, tally, Watch())] == rows and not tally.broken_count


def test_texts_that_begin_as_a_comment_does_are_rows(tmp_path: Path) -> None:
    """Markdown's headings, Python's own comments; quoted or not."""
    documents = [(f"# How to do {number}, in short\n\nTake care.", "howto") for number in range(40)]
    short = [(f"# Title number {number} of many", "title") for number in range(30)]
    others = [(f"/* the module {number} */\nint main(void) {{}}", "c") for number in range(60)]
    assert _read_back(tmp_path / "t.csv", [*others, *documents, *short])
    assert _read_back(tmp_path / "signs.csv", [("#", "hash"), ("@", "at"), ("!", "mark")] * 20)


def test_a_comment_that_a_sheet_has_filled_up_with_delimiters_is_one(table_job):
    seen = both(table_job("# measured by hand,,\nx1,x2,label\n" + GOOD))
    assert ([item.name for item in seen.columns], seen.examples) == (["x1", "x2", "label"], 100)


@pytest.mark.parametrize("count", [300, 1_000, 2_000, 5_000])
def test_a_head_that_ends_within_a_cell_says_nothing_of_quotation_marks(tmp_path: Path, count: int) -> None:
    """Captions that end in hashtags: of a long file the first lines are looked at, wherever these end."""
    rows = [
        (f"A day {number} at the beach\n#sun #sea {'#long ' * (number % 7)}", "ab"[number % 2])
        for number in range(count)
    ]
    assert _read_back(tmp_path / "t.csv", rows)
    rows = [(f"Said {number}\n#one\n#two\n#three, or four" * 3, "ab"[number % 2]) for number in range(count)]
    assert _read_back(tmp_path / "u.csv", rows)


@pytest.mark.parametrize(
    "above",
    ["sep=,\n", '"SEP=,"\r\n', "Sensor log\n", "Sensor log,,\n\nexported 2026,,\n", "# by hand\nSensor log\n"],
)
def test_lines_above_the_names_are_no_rows(table_job, above):
    seen = both(table_job(above + "x1,x2,label\n" + GOOD))
    assert ([item.name for item in seen.columns], seen.examples) == (["x1", "x2", "label"], 100)
    assert seen.broken_count == 0 and dict(seen.classes).keys() == {"a", "b"}


def test_a_separator_that_the_file_names_is_taken_also_for_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sep=;\nheat;label\n" + "".join(f"{n},5;{'ab'[n % 2]}\n" for n in range(40)) + "1;2;3\n")
    dialect, tally = csvfile.sniff(path), RowTally()
    assert (dialect.names, dialect.delimiter, dialect.above) == (("heat", "label"), ";", 1)
    rows = list(csvfile.read_rows(path, dialect, tally, Watch()))
    assert len(rows) == 40 and rows[0] == ["0,5", "a"]
    assert [(one.item, one.why) for one in tally.broken] == [("line 43", "fields")]


def test_a_table_without_names_has_no_titles(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,,\n" + "red,large,old\nblue,small,new\n" * 30)
    assert csvfile.sniff(path).above == 0


def test_comments_above_the_names_are_comments_in_a_table_of_texts_too(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [(f"What a nice day number {number}", "ab"[number % 2]) for number in range(40)]
    path.write_text("# Collected by hand, 2024\ntext,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    dialect, tally = csvfile.sniff(path), RowTally()
    assert dialect.names == ("text", "label") and dialect.texts
    assert [tuple(row) for row in csvfile.read_rows(path, dialect, tally, Watch())] == rows and tally.comments == 1


@pytest.mark.parametrize("above", ["Sensor log\x0c2\n", "Sensor\u2028log\n", "sep=,\nSensor log\n"])
def test_a_title_is_one_line_as_the_csv_module_has_lines(table_job, above):
    seen = both(table_job(above + "x1,x2,label\n" + GOOD))
    assert ([item.name for item in seen.columns], seen.examples) == (["x1", "x2", "label"], 100)


def test_nothing_but_comments_is_empty(table_job):
    with pytest.raises(DataError, match="data-empty"):
        look(table_job("# one\n# two\n#\n"))


def test_comments_above_a_table_without_names_are_no_rows(table_job):
    rows = "".join(f"{n * 5 % 17},{n * 7 % 13}.5,{'ab'[n % 2]}\n" for n in range(60))
    seen = both(table_job("# by hand, at noon, 3.5 times\n" + rows))
    assert (seen.examples, [one.kind for one in seen.columns[:2]]) == (60, ["number", "number"])


@pytest.mark.parametrize("first", ['screen ("),size,label\n', '5" red,small,a\n'])
def test_a_quotation_mark_alone_in_the_first_line_is_a_letter(tmp_path: Path, first: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(first + "".join(f"{n}.5,{n},{'ab'[n % 2]}\n" for n in range(60)))
    assert len(csvfile.sniff(path).names) == 3


def test_a_table_whose_first_row_is_half_empty_has_no_title(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a nice long text,\n" + "".join(f"another text of number {n},{'ab'[n % 2]}\n" for n in range(60)))
    assert csvfile.sniff(path).above == 0
