"""Pages of earlier tests are really deleted: with no event loop running Qt keeps them, and each restyle visits all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent


@pytest.fixture(autouse=True)
def delete_what_is_closed() -> Iterator[None]:
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
