"""Blocks of rows small enough that a block and its scratch space stay in the cache."""

from collections.abc import Iterator

BLOCK_ELEMENTS = 32_768
"""Doubles in a block (256 KiB): two or three such arrays fit in the second-level cache."""


def row_blocks(rows: int, width: int, elements: int = BLOCK_ELEMENTS) -> Iterator[slice]:
    """Yield consecutive slices over ``rows`` rows of ``width`` doubles, some ``elements`` each."""
    step = max(1, elements // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
