"""What two runs do not have in common besides their figures: configuration, versions, host, and what failed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcli.core.classes import NamedTuple

_PARTS = ("configuration", "versions", "host")
_ALONE = ("topic", "group", "processes", "warmup_records")
_FAILED = ("errors", "unconfirmed", "lost", "duplicated", "reordered")
_LOAD = "host.load_1m"


class Unlike(NamedTuple):
    """A value that differs; ``what`` is where it is in the report, as ``configuration.acks``."""

    what: str
    before: Any
    after: Any


def unlike(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Unlike]:
    """Of the items of two runs, in the order of the report.

    The load of the host is never the same twice: it counts where it differs by more than half of the processors.
    """
    one, other = dict(_values(before)), dict(_values(after))
    found = [Unlike(name, one.get(name), other.get(name)) for name in {**one, **other}]
    cpus = min(one.get("host.cpus") or 1, other.get("host.cpus") or 1)
    return [
        row
        for row in found
        if (row.what != _LOAD and row.before != row.after)
        or (row.what == _LOAD and abs((row.before or 0) - (row.after or 0)) > cpus / 2)
    ]


def _values(item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in _ALONE:
        yield name, item.get(name)
    for name in _FAILED:
        yield name, item.get(name) or 0  # what was not checked is not known to be another
    if item.get("records") and item.get("bytes") is not None:
        yield "bytes of a record", round(item["bytes"] / item["records"])
    for part in _PARTS:
        for key, value in (item.get(part) or {}).items():
            yield f"{part}.{key}", value
