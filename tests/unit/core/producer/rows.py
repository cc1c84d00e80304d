"""The rows of reports, one by one. Not a test."""

from collections.abc import Iterator, Sequence
from typing import Any

from kcli.core.producer.origins import OriginRows


def each_row(origins: Sequence[OriginRows]) -> Iterator[tuple[Any, int]]:
    """(origin, row) of every record that has an origin."""
    for _, origin, rows in origins:
        for row in rows:
            yield origin, row
