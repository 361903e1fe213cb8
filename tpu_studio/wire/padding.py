"""What a TPU computes besides what was asked: arrays lie in tiles of 8 × 128, matrix units are 128 or 256 wide.

The check of a traced step (``trainer.check``) and the chapters of Learn count by it.
"""

from __future__ import annotations

TILE_ROWS = 8  # registers of a TPU are 8 × 128 (Cloud TPU performance guide)


def product_work(sizes: tuple[int, int, int], matrix_unit: int) -> tuple[float, float]:
    """Multiply-adds of one product, and how many times more the matrix unit does for its padding.

    Args:
        sizes: Rows, contracted and columns: rows × contracted by contracted × columns.
        matrix_unit: Its rows and columns.
    """
    rows, contracted, columns = sizes
    work = float(rows) * contracted * columns
    filled = float(filled_up(rows, TILE_ROWS)) * filled_up(contracted, matrix_unit) * filled_up(columns, matrix_unit)
    return work, filled / max(1.0, work)


def filled_up(size: int, unit: int) -> int:
    """The next multiple of *unit* from *size* on."""
    return -(-size // unit) * unit
