"""The manifest of an export: which files it has, and of which records. Its presence means that the export is complete.

It is one document, or a chain: a head that names the parts, one for each run that appended, with their digests. A part is
never replaced, and no number is used twice: who reads while files are merged finds a part gone, and reads the head again.

A plan has the same topics and partitions, and is there while their files are being written: a run that was killed reads
the same ranges again. All are JSON in the store of the export, replaced as a whole. Documented in ``docs/pipeline.md``.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from kcli.core.errors import ConfigError
from kcli.core.names import is_topic_name
from kcli.core.types import TopicPartition
from kcli.pipeline.store.store import ABSENT, ChangedError, Store, documents

API = "kcli/v1"
MANIFEST, PLAN, COMPACTION = "_kcli_manifest.json", "_kcli_plan.json", "_kcli_compaction.json"
TOPIC_ADDED, TOPIC_DELETED = "topic added", "topic deleted"
_PART = re.compile(r"_kcli_manifest-([1-9][0-9]{0,8})\.json")
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


class Gap(msgspec.Struct, frozen=True):
    """Offsets from ``start`` up to, not including, ``end`` that were removed before they were read."""

    start: int
    end: int


class ExportedPartition(msgspec.Struct, frozen=True, omit_defaults=True):
    """``files`` and ``gaps`` are each in the order of offsets, and cover the range together; an empty range has none."""

    partition: int
    start: int
    end: int
    records: int
    files: list[ExportedFile]
    gaps: list[Gap] = []

    @property
    def missing(self) -> int:
        """How many offsets are in gaps."""
        return sum(gap.end - gap.start for gap in self.gaps)


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


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was found to be different from what was exported before. ``change``: ``topic added``, ``topic deleted``,
    ``partition added`` or ``configuration changed``; ``at``: when it was found.
    """

    change: str
    topic: str
    at: str
    partition: int | None = None

    def __str__(self) -> str:
        at = "" if self.partition is None else f"-{self.partition}"
        return f"{self.topic}{at}: {self.change}"


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is exported, or in a part of a chain, what a run has added. ``created`` stays the same in later versions of
    the same export. ``times``: of ``--exact-times``, as they were when it began. ``appended``: of a part, when its run
    found out the ends. ``number``: the highest one of a part that was ever used.
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
    changes: list[Change] = []
    appended: str = ""
    number: int = 0

    @property
    def files(self) -> list[ExportedFile]:
        """All files."""
        return [file for _tp, one in self.partitions() for file in one.files]

    def partitions(self) -> Iterator[tuple[TopicPartition, ExportedPartition]]:
        """All partitions with their names."""
        return _partitions(self.topics)


class Part(msgspec.Struct, frozen=True):
    """A part of a chain: a document with a manifest."""

    path: str
    appended: str
    records: int
    sha256: str

    @property
    def number(self) -> int:
        """Its number."""
        return number_of(self.path)


class Chain(msgspec.Struct, frozen=True):
    """The head of a chain. ``parts`` are in the order in which they were appended."""

    api: str
    kind: str
    cluster: str
    format: str
    created: str
    parts: list[Part]


class Compaction(msgspec.Struct, frozen=True):
    """Files that are being merged: ``old`` into ``new``, by paths. It is there until one of both is removed."""

    api: str
    kind: str
    new: list[str]
    old: list[str]


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
    """What is being written. ``topics`` have the ranges, and no files yet; ``slices`` are the files to come. A plan
    for a table has an ``id``, which the table's commit names, and goes on from that of the plan ``after``.
    """

    api: str
    kind: str
    cluster: str
    format: str
    created: str
    request: Request
    topics: list[ExportedTopic]
    slices: list[PlannedSlice]
    times: ExactTimes | None = None
    changes: list[Change] = []
    appended: str = ""
    id: int = 0
    after: int = 0

    def partitions(self) -> Iterator[tuple[TopicPartition, ExportedPartition]]:
        """All partitions with their names."""
        return _partitions(self.topics)


def _partitions(topics: Iterable[ExportedTopic]) -> Iterator[tuple[TopicPartition, ExportedPartition]]:
    for topic in topics:
        for one in topic.partitions:
            yield TopicPartition(topic.topic, one.partition), one


def new_manifest(
    cluster: str,
    form: str,
    created: str,
    request: Request,
    topics: Iterable[ExportedTopic],
    times: ExactTimes | None = None,
    changes: Sequence[Change] = (),
    appended: str = "",
) -> Manifest:
    """A manifest."""
    return Manifest(
        API,
        "ExportManifest",
        cluster,
        form,
        created,
        True,
        request,
        list(topics),
        times,
        list(changes),
        appended,
    )


def new_plan(
    cluster: str,
    form: str,
    created: str,
    request: Request,
    topics: Sequence[ExportedTopic],
    slices: Sequence[PlannedSlice],
    times: ExactTimes | None = None,
    changes: Sequence[Change] = (),
    appended: str = "",
) -> ExportPlan:
    """A plan."""
    return ExportPlan(
        API,
        "ExportPlan",
        cluster,
        form,
        created,
        request,
        list(topics),
        list(slices),
        times,
        list(changes),
        appended,
    )


def new_compaction(new: Sequence[str], old: Sequence[str]) -> Compaction:
    """What is being merged."""
    return Compaction(API, "ExportCompaction", list(new), list(old))


def file_path(topic: str, partition: int, start: int, end: int, form: str) -> str:
    """Where the records of a range are, below the folder of the export: Hive's names of columns and values."""
    return f"topic={topic}/partition={partition}/{start:020}-{end:020}.{form}"


def part_path(number: int) -> str:
    """Where a part is."""
    return f"_kcli_manifest-{number}.json"


def number_of(name: str) -> int:
    """The number of a part; 0 for other names."""
    match = _PART.fullmatch(name)
    return int(match[1]) if match else 0


def merged(parts: Sequence[Manifest]) -> Manifest:
    """The manifest of all that the parts have; ValueError where one does not follow those before it."""
    topics: dict[str, ExportedTopic] = {}
    partitions: dict[str, dict[int, ExportedPartition]] = {}
    for part in parts:
        for topic in part.topics:
            known = topics.setdefault(topic.topic, topic)
            if known.topic_id != topic.topic_id:
                raise ValueError(f"topic {topic.topic} has two ids: {known.topic_id} and {topic.topic_id}")
            topics[topic.topic] = topic
            own = partitions.setdefault(topic.topic, {})
            for one in topic.partitions:
                own[one.partition] = _followed(topic.topic, own.get(one.partition), one)
    whole = [
        msgspec.structs.replace(topics[name], partitions=[own for _number, own in sorted(found.items())])
        for name, found in sorted(partitions.items())
    ]
    changes = [change for part in parts for change in part.changes]
    return msgspec.structs.replace(parts[0], topics=whole, changes=changes, appended="")


def _followed(topic: str, known: ExportedPartition | None, one: ExportedPartition) -> ExportedPartition:
    if known is None:
        return one
    if known.end != one.start:
        raise ValueError(f"{topic}-{one.partition} ends at offset {known.end}, and goes on at {one.start}")
    return ExportedPartition(
        one.partition,
        known.start,
        one.end,
        known.records + one.records,
        [*known.files, *one.files],
        [*known.gaps, *one.gaps],
    )


# --- in a store -----------------------------------------------------------------------------------------


_TABLES = {"_delta_log": "Delta Lake", "catalog.db": "Apache Iceberg"}
"""What such a folder has, by the format of its tables."""


def why_no_export(store: Store) -> str:
    """Why a store without a manifest is no complete export."""
    formats = [form for name, form in _TABLES.items() if name in set(store.names())]
    if formats:
        return f"it has a table of {formats[0]}, which tools for such tables read"
    return f"it has no {MANIFEST}, which an export writes at last"


AnyDocument = Manifest | Chain | ExportPlan | Compaction
_NAMES = {Manifest: MANIFEST, Chain: MANIFEST, ExportPlan: PLAN, Compaction: COMPACTION}


class Documents:
    """The manifest and the plans in a store. Each is replaced only as it was last seen here: of two runs at once, the
    second one's ``save`` is a ChangedError.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions = dict.fromkeys((MANIFEST, PLAN, COMPACTION), ABSENT)
        self._chain: list[Part] = []
        self._number = 0

    def manifest(self) -> Manifest | None:
        """The manifest, of a chain that of all its parts; None if there is none. ConfigError for one that cannot be
        understood.
        """
        found: Manifest | None
        broken = ABSENT
        while True:
            head = self._load(MANIFEST, Manifest, Chain)
            if not isinstance(head, Chain):
                self._chain, self._number = [], 0 if head is None else head.number
                found = head
                break
            try:
                found = self._parts_of(head)
                break
            except ValueError as error:
                # Between the head and its parts another run may have merged them, and removed these.
                if self._versions[MANIFEST] == broken:
                    raise _invalid(self._store.name(MANIFEST), str(error)) from None
                broken = self._versions[MANIFEST]
        if found is not None:
            _check(found, self._store.name(MANIFEST))
        return found

    def plan(self) -> ExportPlan | None:
        """The plan of a run that has not ended; None if there is none."""
        found: ExportPlan | None = self._load(PLAN, ExportPlan)
        return found

    def compaction(self) -> Compaction | None:
        """The files that a run was merging when it was killed; None if there are none."""
        found: Compaction | None = self._load(COMPACTION, Compaction)
        return found

    def save(self, document: AnyDocument) -> None:
        """Replaces the manifest, whether it was a chain or not, or a plan, and returns when that is lasting."""
        if isinstance(document, Manifest):
            document = msgspec.structs.replace(document, number=self._number)
        name = _NAMES[type(document)]
        self._versions[name] = self._store.put(name, _text(document), self._versions[name])
        if isinstance(document, Manifest):
            self._chain = []

    def append(self, part: Manifest, before: Manifest | None) -> None:
        """Adds a part to the manifest ``before``, which becomes the first one if it is no chain yet."""
        parts = list(self._chain)
        if before is not None and not parts:
            parts.append(self._put_part(msgspec.structs.replace(before, number=0), self._number + 1))
        parts.append(self._put_part(part, max([self._number, *(one.number for one in parts)]) + 1))
        self.save(Chain(API, "ExportChain", part.cluster, part.format, part.created, parts))
        self._chain, self._number = parts, parts[-1].number

    def remove(self, name: str) -> None:
        """Removes a plan, unless another run has replaced it."""
        found = self._store.read(name)
        if found is not None and found.version == self._versions[name]:
            self._store.delete(name)
        self._versions[name] = ABSENT

    def remove_old_parts(self) -> None:
        """Removes the parts that the head does not name, as far as the store lists them. A run that lost its lease and
        goes on may make one that the head has not reached: its head is refused.
        """
        named = {one.path for one in self._chain}
        for name in list(self._store.names()):
            if 0 < number_of(name) <= self._number and name not in named:
                self._store.delete(name)

    def _put_part(self, part: Manifest, number: int) -> Part:
        """Makes a document of the first number that is free, or has these bytes already: of a run that was killed."""
        data = _text(part)
        while True:
            try:
                self._store.put(part_path(number), data, ABSENT)
                break
            except ChangedError:
                number += 1
        records = sum(one.records for _tp, one in part.partitions())
        return Part(part_path(number), part.appended, records, hashlib.sha256(data).hexdigest())

    def _parts_of(self, head: Chain) -> Manifest:
        """ValueError for parts that are not there, or are others."""
        parts = []
        for one, document in zip(
            head.parts, documents(self._store, [one.path for one in head.parts]), strict=True
        ):
            if not one.number:
                raise ValueError(f"{one.path!r} is no name of a part")
            if document is None or hashlib.sha256(document.data).hexdigest() != one.sha256:
                raise ValueError(f"its part {one.path} {'was changed' if document else 'is not there'}")
            parts.append(_decoded(self._store.name(one.path), document.data, Manifest))
        if not parts:
            raise ValueError("it has no part")
        self._chain, self._number = head.parts, max(one.number for one in head.parts)
        return merged(parts)

    def _load(self, name: str, *types: type[AnyDocument]) -> Any:
        document = self._store.read(name)
        self._versions[name] = ABSENT if document is None else document.version
        return None if document is None else _decoded(self._store.name(name), document.data, *types)


_KINDS: dict[type[AnyDocument], str] = {
    Manifest: "ExportManifest",
    Chain: "ExportChain",
    ExportPlan: "ExportPlan",
    Compaction: "ExportCompaction",
}


def _text(document: AnyDocument) -> bytes:
    return json.dumps(msgspec.to_builtins(document), ensure_ascii=False, indent=1).encode() + b"\n"


def _decoded(path: str, data: bytes, *types: type[AnyDocument]) -> Any:
    """One of these; ConfigError for what is none of these."""
    try:
        found: Any = msgspec.json.decode(data)
        kinds = {_KINDS[each]: each for each in types}
        if not isinstance(found, dict) or found.get("kind") not in kinds:
            raise _invalid(path, f"it is no {_KINDS[types[0]]} of kcli")
        if found.get("api") != API:
            raise _invalid(path, f"it is of {found.get('api')}, and this version of kcli reads {API}")
        return msgspec.convert(found, kinds[found["kind"]])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
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
        ranges = [
            *((file.start, file.end) for file in one.files),
            *((gap.start, gap.end) for gap in one.gaps),
        ]
        for start, end in sorted(ranges):
            if start != at or not 0 <= start < end <= _LAST:
                raise _invalid(path, f"the files of {tp} do not follow each other: at offset {start}")
            at = end
        for file in one.files:
            if file.path != file_path(tp.topic, tp.partition, file.start, file.end, found.format):
                raise _invalid(path, f"it names {file.path!r}, which is not the name of such a file")
            if min(file.records, file.bytes) < 0 or not re.fullmatch("[0-9a-f]{64}", file.sha256):
                raise _invalid(path, f"the size or the digest of {file.path} is not valid")
        if at != one.end or one.records != sum(file.records for file in one.files):
            raise _invalid(path, f"the files of {tp} are not what the range says")


def _invalid(path: str, why: str) -> ConfigError:
    return ConfigError(
        f"{path} is not valid",
        why=why,
        do="it is written by `kcli pipeline export TOPIC DIR`, and not edited",
    )
