"""The manifest of an export: which files it has, and of which records. Its presence means that the export is complete.

A plan has the same topics and partitions, and is there while their files are being written: a run that was killed reads
the same ranges again. Both are JSON in the store of the export, replaced as a whole. Documented in ``docs/pipeline.md``.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from kcli.core.errors import ConfigError
from kcli.core.names import is_topic_name
from kcli.core.types import TopicPartition
from kcli.pipeline.store.store import ABSENT, Store

API = "kcli/v1"
MANIFEST, PLAN = "_kcli_manifest.json", "_kcli_plan.json"
FORMATS = ("parquet", "ndjson", "csv", "raw")
_LAST = (1 << 63) - 1


class ExportedFile(msgspec.Struct, frozen=True):
    """The records at offsets from ``start`` up to, not including, ``end``. ``path`` is relative to the folder, and has
    ``/``; ``sha256`` in hexadecimal digits.
    """

    path: str
    start: int
    end: int
    records: int
    bytes: int
    sha256: str


class ExportedPartition(msgspec.Struct, frozen=True):
    """``files`` are in the order of offsets, and cover the range without gaps; an empty range has none."""

    partition: int
    start: int
    end: int
    records: int
    files: list[ExportedFile]


class ExportedTopic(msgspec.Struct, frozen=True):
    """``topic_id`` in Kafka's text form, empty for brokers before 2.8. ``config``: what was set on the topic, and
    ``cleanup.policy`` and ``max.message.bytes`` as they were in effect.
    """

    topic: str
    topic_id: str
    config: dict[str, str]
    partitions: list[ExportedPartition]


class Request(msgspec.Struct, frozen=True):
    """What the command line asked for, in its own words: the same words continue an export."""

    topics: list[str]
    partitions: str | None = None
    offset: str | None = None
    since: str | None = None
    until: str | None = None
    exact_times: bool = False


class ExactTimes(msgspec.Struct, frozen=True):
    """Only records with times from ``since`` up to, not including, ``until`` (ms since the epoch; None: no limit)."""

    since: int | None
    until: int | None


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is exported. ``created`` stays the same in later versions of the same export. ``times``: of
    ``--exact-times``, as they were when it began.
    """

    api: str
    kind: str
    cluster: str
    format: str
    created: str
    complete: bool
    request: Request
    topics: list[ExportedTopic]
    times: ExactTimes | None = None

    @property
    def files(self) -> list[ExportedFile]:
        """All files."""
        return [file for _tp, one in self.partitions() for file in one.files]

    def partitions(self) -> Iterator[tuple[TopicPartition, ExportedPartition]]:
        """All partitions with their names."""
        for topic in self.topics:
            for one in topic.partitions:
                yield TopicPartition(topic.topic, one.partition), one


class PlannedSlice(msgspec.Struct, frozen=True):
    """The range of a file."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


class ExportPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is being written. ``topics`` have the ranges, and no files yet; ``slices`` are the files to come."""

    api: str
    kind: str
    cluster: str
    format: str
    created: str
    request: Request
    topics: list[ExportedTopic]
    slices: list[PlannedSlice]
    times: ExactTimes | None = None


def new_manifest(
    cluster: str,
    form: str,
    created: str,
    request: Request,
    topics: Iterable[ExportedTopic],
    times: ExactTimes | None = None,
) -> Manifest:
    """A manifest."""
    return Manifest(API, "ExportManifest", cluster, form, created, True, request, list(topics), times)


def new_plan(
    cluster: str,
    form: str,
    created: str,
    request: Request,
    topics: Sequence[ExportedTopic],
    slices: Sequence[PlannedSlice],
    times: ExactTimes | None = None,
) -> ExportPlan:
    """A plan."""
    return ExportPlan(API, "ExportPlan", cluster, form, created, request, list(topics), list(slices), times)


def file_path(topic: str, partition: int, start: int, end: int, form: str) -> str:
    """Where the records of a range are, below the folder of the export: Hive's names of columns and values."""
    return f"topic={topic}/partition={partition}/{start:020}-{end:020}.{form}"


T = TypeVar("T", Manifest, ExportPlan)

# --- in a store -----------------------------------------------------------------------------------------


class Documents:
    """The manifest and the plan in a store. Each is replaced only as it was last seen here: of two runs at once, the
    second one's ``save`` is a ChangedError.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions = {MANIFEST: ABSENT, PLAN: ABSENT}

    def manifest(self) -> Manifest | None:
        """The manifest; None if there is none. ConfigError for one that cannot be understood."""
        found = self._load(MANIFEST, "ExportManifest", Manifest)
        if found is not None:
            _check(found, self._store.name(MANIFEST))
        return found

    def plan(self) -> ExportPlan | None:
        """The plan of a run that has not ended; None if there is none."""
        return self._load(PLAN, "ExportPlan", ExportPlan)

    def save(self, document: Manifest | ExportPlan) -> None:
        """Replaces the manifest or the plan, and returns when that is lasting."""
        name = MANIFEST if isinstance(document, Manifest) else PLAN
        text = json.dumps(msgspec.to_builtins(document), ensure_ascii=False, indent=1)
        self._versions[name] = self._store.put(name, text.encode() + b"\n", self._versions[name])

    def remove_plan(self) -> None:
        """Removes the plan, unless another run has replaced it."""
        found = self._store.read(PLAN)
        if found is not None and found.version == self._versions[PLAN]:
            self._store.delete(PLAN)
        self._versions[PLAN] = ABSENT

    def _load(self, name: str, kind: str, type_: type[T]) -> T | None:
        document = self._store.read(name)
        self._versions[name] = ABSENT if document is None else document.version
        if document is None:
            return None
        path = self._store.name(name)
        try:
            found: Any = msgspec.json.decode(document.data)
            if not isinstance(found, dict) or found.get("kind") != kind:
                raise _invalid(path, f"it is no {kind} of kcli")
            if found.get("api") != API:
                raise _invalid(path, f"it is of {found.get('api')}, and this version of kcli reads {API}")
            return msgspec.convert(found, type_)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise _invalid(path, str(error)) from None


def _check(found: Manifest, path: str) -> None:
    """What the names in a manifest lead to is inside its folder, and its ranges are as it says."""
    if found.format not in FORMATS:
        raise _invalid(path, f"there is no format {found.format!r}")
    if not found.complete:
        raise _invalid(path, "it says that the export is not complete")
    seen: set[TopicPartition] = set()
    for tp, one in found.partitions():
        if not is_topic_name(tp.topic) or not 0 <= tp.partition < 1 << 31 or tp in seen:
            raise _invalid(path, f"it has a partition {tp.topic!r} {tp.partition}, or has it twice")
        seen.add(tp)
        at = one.start
        for file in one.files:
            if file.start != at or not 0 <= file.start < file.end <= _LAST:
                raise _invalid(path, f"the files of {tp} do not follow each other: {file.path}")
            if file.path != file_path(tp.topic, tp.partition, file.start, file.end, found.format):
                raise _invalid(path, f"it names {file.path!r}, which is not the name of such a file")
            if min(file.records, file.bytes) < 0 or not re.fullmatch("[0-9a-f]{64}", file.sha256):
                raise _invalid(path, f"the size or the digest of {file.path} is not valid")
            at = file.end
        if at != one.end or one.records != sum(file.records for file in one.files):
            raise _invalid(path, f"the files of {tp} are not what the range says")


def _invalid(path: str, why: str) -> ConfigError:
    return ConfigError(
        f"{path} is not valid",
        why=why,
        do="it is written by `kcli pipeline export TOPIC DIR`, and not edited",
    )
