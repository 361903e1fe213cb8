"""What a data set of the Hugging Face Hub is, in words, for the window and the command line."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.wire.hubdata import Dataset, Split, Subset

_COLUMNS = 12


def licence_words(found: Dataset) -> str:
    """With where a person reads of it."""
    page = f"https://huggingface.co/datasets/{found.name}"
    return f"licence {found.licence} ({page})" if found.licence else f"its card states no licence ({page})"


def split_words(split: Split) -> str:
    """`train: 25,000 rows, 21.0 MB`."""
    rows = f"{split.rows:,} rows, " if split.rows is not None and not split.partial else ""
    files = f" in {len(split.parts):,} files" if len(split.parts) > 1 else ""
    part = ", a first part only: the Hub converts 5 GB" if split.partial else ""
    return f"{split.name}: {rows}{figures.size(split.size)}{files}{part}"


def columns_words(subset: Subset) -> str:
    """`columns text, label`."""
    names = list(subset.columns)
    if not names:
        return "its columns are seen once it is here"
    more = f" and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else ""
    return f"columns {', '.join(names[:_COLUMNS])}{more}"


def unread_words(subset: Subset) -> str:
    """That columns hold what no table does; "" where none does."""
    names = subset.unread
    return (
        f"Pictures and sound in Parquet are not read: {', '.join(names[:_COLUMNS])} will be left out." if names else ""
    )
