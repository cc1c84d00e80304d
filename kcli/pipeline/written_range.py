"""Which files a range of a partitioned export has: a document of each range, from its last file until the manifest.

A file of a plain export is its range, so that the file alone says that the range is read. Of a partitioned one nobody
knows how many files there are to come: an attempt that was killed after some of them leaves no document, and the range is
read again. Its files have the same names, and those that are there are kept.
"""

import hashlib
import json
from collections.abc import Iterable

import msgspec

from kcli.core.errors import ConfigError
from kcli.pipeline.manifest import API, ExportedFile, PlannedSlice
from kcli.pipeline.store.store import ABSENT, ChangedError, Store

_KIND = "ExportRange"


class WrittenRange(msgspec.Struct, frozen=True):
    """The files of a range; none where no record was in it."""

    api: str
    kind: str
    files: list[ExportedFile]


def _path(one: PlannedSlice) -> str:
    words = json.dumps([one.topic, one.topic_id, one.partition, one.start, one.end])
    return f"_kcli_range-{hashlib.sha256(words.encode()).hexdigest()[:32]}.json"


def files_written(store: Store, one: PlannedSlice) -> list[ExportedFile] | None:
    """The files of the range; None if it is not written to its end."""
    found = store.read(_path(one))
    if found is None:
        return None
    try:
        return msgspec.json.decode(found.data, type=WrittenRange).files
    except msgspec.MsgspecError as error:
        raise ConfigError(
            f"{store.name(_path(one))} is not valid", why=str(error), do="remove it, and run the export again"
        ) from None


def note_written(store: Store, one: PlannedSlice, files: list[ExportedFile]) -> list[ExportedFile]:
    """Says that the range is written; returns its files, those of another attempt if that one was the first to say so."""
    document = WrittenRange(API, _KIND, files)
    data = json.dumps(msgspec.to_builtins(document), indent=1).encode() + b"\n"
    try:
        store.put(_path(one), data, ABSENT)
    except ChangedError:
        return files_written(store, one) or []
    return files


def forget_written(store: Store, slices: Iterable[PlannedSlice]) -> None:
    """Removes the documents of ranges that the manifest names."""
    for one in slices:
        store.delete(_path(one))
