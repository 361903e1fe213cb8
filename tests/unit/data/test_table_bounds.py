"""Tables that are more than they seem: classes beyond the part that is looked at first, long names, a full disk."""

from __future__ import annotations

import tempfile

import pytest

from tests.fakes.disks import small_disk
from tests.unit.data.test_bad_tables import refused, table_job
from tpu_studio.data import columns, csvfile, stretches, tables
from tpu_studio.data.look import look
from tpu_studio.data.rows import unique_names
from tpu_studio.data.sources import open_data
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import DataError

__all__ = ["table_job"]


def test_classes_beyond_the_sample_are_counted_too(table_job, monkeypatch):
    """Each was looked for among all of them: a file of megabytes took minutes."""
    monkeypatch.setattr(csvfile, "SMALL", 1000)
    monkeypatch.setattr(columns, "MOST_CLASSES", 40)
    monkeypatch.setattr(stretches, "SIZE", 200)
    rows = [f"{number % 7},{'ab'[number % 2]}\n" for number in range(40_000)]
    rows[20_000:20_060] = [f"{number % 7},c{number}\n" for number in range(60)]
    job = table_job("x,label\n" + "".join(rows), target="label")
    assert len(look(job).classes) < 40
    with pytest.raises(DataError) as caught:
        open_data(job)
    assert caught.value.id == "data-too-many-classes"
    assert (caught.value.facts["count"], caught.value.facts["allowed"]) == (62, 40)


def test_a_class_of_a_whole_text_is_none(table_job):
    """It was learned, and the result, each of whose answers would hold it, could not be read."""
    rows = "".join(f"{number % 7},{'ab'[number % 2]}{'x' * 1_000}\n" for number in range(100))
    error = refused(table_job("x1,label\n" + rows))
    assert (error.id, error.facts["letters"], error.facts["allowed"]) == ("data-class-too-long", 1_001, 1_000)
    assert "texts, not classes" in say(error).title


def test_the_name_of_a_column_is_a_thousand_letters_at_most():
    names = unique_names(["x" * 12_000, "x" * 13_000, "a  b", ""])
    assert names == ("x" * 1_000, "x" * 1_000 + "_2", "a b", "column_4")


def test_a_table_that_the_disk_has_no_room_for_is_refused_before_it_is_written(tmp_path, monkeypatch):
    """It was laid out with holes, and the process ended where the disk was full, without a word."""
    with small_disk(tmp_path / "disk", 16) as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        small = tables._matrix(1_000, 1_000, in_memory=False)
        small[:] = 1.0
        with pytest.raises(DataError) as caught:
            tables._matrix(8_000, 1_000, in_memory=False)
        assert (caught.value.id, caught.value.facts["needed"]) == ("data-disk-full", 32_000_000)
