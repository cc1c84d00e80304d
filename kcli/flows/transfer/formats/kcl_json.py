"""kcl's ``group seek --to-file``: a JSON list of objects with ``topic``, ``partition``, ``offset``. Pure.

It names no group, and kcl itself writes no such file: it is written by hand. Source: twmb/kcl,
commands/admin/group/seek.go.
"""

from typing import Any

from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset


def read_kcl(document: list[Any]) -> list[SavedOffset]:
    """The offsets; BrokenFileError names the invalid entry, counted from 1."""
    return [_saved(f"entry {number}", entry) for number, entry in enumerate(document, 1)]


def _saved(place: str, entry: Any) -> SavedOffset:
    if not isinstance(entry, dict):
        raise BrokenFileError(place, "it is no object with topic, partition and offset")
    missing = [key for key in ("topic", "partition", "offset") if key not in entry]
    if missing:
        raise BrokenFileError(place, f"it has no {missing[0]}")
    return SavedOffset(
        fields.topic(place, entry["topic"]),
        fields.partition(place, entry["partition"]),
        fields.offset(place, entry["offset"]),
        place=place,
    )
