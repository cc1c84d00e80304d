"""The rows of reports, one by one. Not a test."""

from collections.abc import Iterator, Sequence
from typing import Any

from kcli.core.producer.origins import Origin


def each_row(origins: Sequence[Origin]) -> Iterator[tuple[Any, int]]:
    """(token, row) of every record that has an origin."""
    for _, token, rows in origins:
        for row in rows:
            yield token, row
