"""Rows of single partitions, gathered by topic."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
P = TypeVar("P")


def by_topic(rows: Iterable[tuple[T, P]]) -> Iterator[tuple[T, list[P]]]:
    """One entry a topic, in the order of first appearance."""
    found: dict[T, list[P]] = {}
    for topic, row in rows:
        found.setdefault(topic, []).append(row)
    yield from found.items()
