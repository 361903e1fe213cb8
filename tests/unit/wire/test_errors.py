"""Errors that come out of other processes: writers of shards, readers of pictures."""

from __future__ import annotations

import pickle

import pytest

from tpu_studio.wire.errors import DataError, StudioError


def test_an_error_of_another_process_arrives_as_it_was_raised_there():
    raised = DataError("data-shard-damaged", path="a.tfrecord", offset=12, why="content")

    arrived = pickle.loads(pickle.dumps(raised))  # noqa: S301 - our own bytes

    with pytest.raises(DataError):
        raise arrived
    assert isinstance(arrived, StudioError)
    assert (arrived.id, arrived.facts) == (raised.id, raised.facts)
