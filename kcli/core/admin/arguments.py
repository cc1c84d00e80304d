"""Validates the arguments of admin calls before anything is sent. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.names import check_partition
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition


def several(names: Iterable[str]) -> list[str]:
    """Each name once. A bare string is rejected: its letters would be taken for names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ConfigError(
            f"{names!r} is not a list of names", why="each name is text in a list", do=f"[{str(names)!r}]"
        )
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise ConfigError(
                f"{name!r} is not a name", why="each name is text", do='["orders"], for example'
            )
    return list(dict.fromkeys(found))


def check_partitions(rows: Any) -> None:
    """Rejects anything but a collection of TopicPartitions or a mapping from them; also one-shot iterators."""
    if isinstance(rows, str | TopicPartition) or not isinstance(rows, Collection):
        raise ConfigError(
            f"{rows!r} is not a list of partitions",
            why="each partition is a TopicPartition in a list",
            do='[TopicPartition("orders", 0)]',
        )
    for where in rows:
        check_partition(where)


def check_numbers(rows: Any, what: str) -> None:
    """Rejects anything but a mapping from TopicPartitions to integers."""
    _check_mapping(rows, f"partitions to {what}s")
    check_partitions(rows)
    for where, number in rows.items():
        if type(number) is not int:
            raise ConfigError(f"{where}: {number!r} is not a {what}", why="it must be a whole number")


def check_offsets(wanted: Any) -> None:
    """Rejects anything but a mapping from groups to offsets."""
    _check_mapping(wanted, "groups to the offsets of partitions")
    for group, rows in wanted.items():
        if not isinstance(group, str | GroupMetadata):
            raise ConfigError(f"{group!r} is not a group", why="it must be a name, or a GroupMetadata")
        _check_mapping(rows, "partitions to offsets")
        check_partitions(rows)
        for where, offset in rows.items():
            if not isinstance(offset, OffsetAndMetadata) or type(offset.offset) is not int:
                raise ConfigError(
                    f"{where}: {offset!r} is not an offset",
                    why="it must be an OffsetAndMetadata with a whole number",
                    do="OffsetAndMetadata(5), for example",
                )


def check_groups(wanted: Any, *, all_of: bool = False) -> None:
    """Rejects anything but a mapping from groups to partitions."""
    _check_mapping(wanted, "groups to partitions")
    several(wanted)
    for rows in wanted.values():
        if rows is not None or not all_of:
            check_partitions(rows)


def _check_mapping(rows: Any, of: str) -> None:
    if not isinstance(rows, Mapping):
        raise ConfigError(f"{rows!r} is not a mapping", why=f"it must map {of}", do="give a dict")
