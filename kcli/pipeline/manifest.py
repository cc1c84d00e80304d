"""The manifest of an export: which files it has, and of which records. Its presence means that the export is complete.

It is one document, or a chain: a head that names the parts, one for each run that appended, with their digests. A part is
never replaced, and no number is used twice: who reads while files are merged finds a part gone, and reads the head again.

A plan has the same topics and partitions, and is there while their files are being written: a run that was killed reads
the same ranges again. All are JSON in the store of the export, replaced as a whole. Documented in ``docs/pipeline.md``.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import is_topic_name
from kcli.core.types import TopicPartition
from kcli.output.progress import counted
from kcli.pipeline.partition_by import NO_TIME, parse_partition_by
from kcli.pipeline.saved_state import SavedGroups, SavedSettings
from kcli.pipeline.store.store import ABSENT, ChangedError, Store, documents

API = "kcli/v1"
MANIFEST, PLAN, COMPACTION = "_kcli_manifest.json", "_kcli_plan.json", "_kcli_compaction.json"
TOPIC_ADDED, TOPIC_DELETED, TOPIC_RECREATED = "topic added", "topic deleted", "topic recreated"
COLUMNS_ADDED = "columns added"
_PART = re.compile(r"_kcli_manifest-([1-9][0-9]{0,8})\.json")
FORMATS = ("parquet", "ndjson", "csv", "raw")
_LAST = (1 << 63) - 1
_FOLDERS = rf"(?:date=(?:\d{{4}}-\d\d-\d\d|{NO_TIME})/)?(?:hour=(?:\d\d|{NO_TIME})/)?"
_FILE = re.compile(
    rf"topic=([^/]+)/({_FOLDERS})partition=(\d{{1,10}})/(\d{{20}})-(\d{{20}})(?:-([1-9]\d{{0,5}}))?\.(\w+)",
    re.ASCII,
)


class ForeignFileError(KcliError):
    """A file has the name of one of the export, and is none of it."""

    exit_code = ExitCode.REFUSED


class ExportedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The records at offsets from ``start`` up to, not including, ``end``; of a partitioned export those of its folder,
    from ``first`` to ``last``. ``path`` is relative to the folder, and has ``/``; ``sha256`` in hexadecimal digits.
    """

    path: str
    start: int
    end: int
    records: int
    bytes: int
    sha256: str
    first: int = -1
    last: int = -1


class EmptyRange(msgspec.Struct, frozen=True):
    """Offsets from ``start`` up to, not including, ``end`` that were read, and have no record to be exported."""

    start: int
    end: int


class Gap(msgspec.Struct, frozen=True):
    """Offsets from ``start`` up to, not including, ``end`` that were removed before they were read."""

    start: int
    end: int


class ExportedPartition(msgspec.Struct, frozen=True, omit_defaults=True):
    """``files`` and ``gaps`` are each in the order of offsets, and cover the range together; an empty range has none.
    Of a partitioned export several files have a range, and ``empty`` are ranges without a file.
    """

    partition: int
    start: int
    end: int
    records: int
    files: list[ExportedFile]
    gaps: list[Gap] = []
    empty: list[EmptyRange] = []

    @property
    def missing(self) -> int:
        """How many offsets are in gaps."""
        return sum(gap.end - gap.start for gap in self.gaps)


class TypedColumn(msgspec.Struct, frozen=True):
    """A column of a typed export; ``type``: in the words of Arrow."""

    name: str
    type: str


class TypedSchema(msgspec.Struct, frozen=True):
    """The typed columns of a topic. ``serdes`` and ``schemas`` by part: what decodes it, and all schemas of which it is.
    ``arrow``: the schema of the columns as Arrow's IPC has it, in base64.
    """

    serdes: dict[str, str]
    schemas: dict[str, list[str]]
    columns: list[TypedColumn]
    arrow: str


class ExportedTopic(msgspec.Struct, frozen=True, omit_defaults=True):
    """``topic_id`` in Kafka's text form, empty for brokers before 2.8. ``config``: what was set on the topic, and
    ``cleanup.policy`` and ``max.message.bytes`` as they were in effect. ``folder``: what follows ``topic=`` in the paths
    of its files, if that is not the name: of a topic that was created again, ``full_name``. ``typed``: as of its latest
    files; earlier ones may lack columns.
    """

    topic: str
    topic_id: str
    config: dict[str, str]
    partitions: list[ExportedPartition]
    typed: TypedSchema | None = None
    folder: str = ""

    @property
    def full_name(self) -> str:
        """The name that no other topic of this name has, before or after it. No topic has ``@`` in its name."""
        return f"{self.topic}@{self.topic_id}"


class Request(msgspec.Struct, frozen=True):
    """What the command line asked for, in its own words: the same words continue an export. ``partition_by``: with its
    zone; ``serdes``: those of ``--typed``.
    """

    topics: list[str]
    partitions: str | None = None
    offset: str | None = None
    since: str | None = None
    until: str | None = None
    exact_times: bool = False
    partition_by: str | None = None
    typed: bool = False
    serdes: list[str] = []


class ExactTimes(msgspec.Struct, frozen=True):
    """Only records with times from ``since`` up to, not including, ``until`` (ms since the epoch; None: no limit)."""

    since: int | None
    until: int | None


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was found to be different from what was exported before. ``change``: ``topic added``, ``topic deleted``,
    ``topic recreated``, ``partition added``, ``configuration changed`` or ``columns added``; ``at``: when it was found.
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
    found out the ends. ``number``: the highest one of a part that was ever used. ``earlier``: topics that were deleted
    and created again, as they were exported before, the oldest first. ``topics`` and ``partitions`` are without them:
    the offsets of two topics of one name are never mixed. ``settings`` and ``groups``: of a run with ``--with-config``
    and ``--with-groups``.
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
    earlier: list[ExportedTopic] = []
    settings: SavedSettings | None = None
    groups: SavedGroups | None = None

    @property
    def files(self) -> list[ExportedFile]:
        """All files, also of ``earlier``."""
        return [file for _tp, one in _partitions([*self.topics, *self.earlier]) for file in one.files]

    def partitions(self) -> Iterator[tuple[TopicPartition, ExportedPartition]]:
        """All partitions with their names."""
        return _partitions(self.topics)

    def with_earlier(self, full_names: Collection[str]) -> "Manifest":
        """With those topics of ``earlier``, by their full names."""
        chosen = [
            msgspec.structs.replace(topic, topic=topic.full_name, folder=topic.folder or topic.topic)
            for topic in self.earlier
            if topic.full_name in full_names
        ]
        return msgspec.structs.replace(self, topics=[*self.topics, *chosen])


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


class PlannedSlice(msgspec.Struct, frozen=True, omit_defaults=True):
    """The range of a file. ``folder``: see ``ExportedTopic``."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    folder: str = ""

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    def path(self, form: str, folder: str = "", number: int = 1) -> str:
        """The file; ``folder`` and ``number``: see ``FilePlace``."""
        topic = self.folder or self.topic
        return file_path(topic, self.partition, self.start, self.end, form, folder, number)


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
    settings: SavedSettings | None = None
    groups: SavedGroups | None = None
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


class FilePlace(NamedTuple):
    """What the path of a file says. ``topic``: its name, or what stands for it in paths. ``folder``: of a partitioned
    export, with its ``/``; ``number``: where the records of a range have several files in it.
    """

    topic: str
    folder: str
    partition: int
    start: int
    end: int
    number: int
    form: str

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


def file_path(
    topic: str, partition: int, start: int, end: int, form: str, folder: str = "", number: int = 1
) -> str:
    """Where the records of a range are, below the folder of the export: Hive's names of columns and values."""
    name = f"{start:020}-{end:020}" + (f"-{number}" if number > 1 else "")
    return f"topic={topic}/{folder}partition={partition}/{name}.{form}"


def place_of(path: str) -> FilePlace | None:
    """The inverse of ``file_path``; None for other paths."""
    match = _FILE.fullmatch(path)
    if match is None:
        return None
    topic, folder, partition, start, end, number, form = match.groups()
    found = FilePlace(topic, folder, int(partition), int(start), int(end), int(number or 1), form)
    same = file_path(
        found.topic, found.partition, found.start, found.end, found.form, found.folder, found.number
    )
    return found if same == path else None


def part_path(number: int) -> str:
    """Where a part is."""
    return f"_kcli_manifest-{number}.json"


def number_of(name: str) -> int:
    """The number of a part; 0 for other names."""
    match = _PART.fullmatch(name)
    return int(match[1]) if match else 0


def merged(parts: Sequence[Manifest]) -> Manifest:
    """The manifest of all that the parts have; ValueError where one does not follow those before it. Of settings and
    groups the last ones count.
    """
    topics: dict[str, ExportedTopic] = {}
    partitions: dict[str, dict[int, ExportedPartition]] = {}
    earlier: list[ExportedTopic] = []

    def whole(name: str) -> ExportedTopic:
        found = [own for _number, own in sorted(partitions[name].items())]
        return msgspec.structs.replace(topics[name], partitions=found)

    for part in parts:
        earlier += part.earlier
        recreated = {change.topic for change in part.changes if change.change == TOPIC_RECREATED}
        for topic in part.topics:
            known = topics.setdefault(topic.topic, topic)
            if known.topic_id != topic.topic_id:
                if topic.topic not in recreated:
                    raise ValueError(
                        f"topic {topic.topic} has two ids: {known.topic_id} and {topic.topic_id}"
                    )
                earlier.append(whole(topic.topic))
                del partitions[topic.topic]
            topics[topic.topic] = topic
            own = partitions.setdefault(topic.topic, {})
            for one in topic.partitions:
                own[one.partition] = _followed(topic.topic, own.get(one.partition), one)
    changes = [change for part in parts for change in part.changes]
    settings = next((part.settings for part in reversed(parts) if part.settings is not None), None)
    groups = next((part.groups for part in reversed(parts) if part.groups is not None), None)
    return msgspec.structs.replace(
        parts[0],
        topics=[whole(name) for name in sorted(topics)],
        changes=changes,
        appended="",
        earlier=earlier,
        settings=settings,
        groups=groups,
    )


def left_out(topic: ExportedTopic) -> str:
    """Says that an earlier topic is not read."""
    records = counted(sum(one.records for one in topic.partitions), "record")
    return f"topic {topic.topic} was deleted and created again: {records} of the deleted one are left out"


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
        [*known.empty, *one.empty],
    )


# --- in a store -----------------------------------------------------------------------------------------


_TABLES = {"_delta_log": "Delta Lake", "catalog.db": "Apache Iceberg"}
"""What such a folder has, by the format of its tables."""


def why_no_export(store: Store) -> str:
    """Why a store without a manifest is no complete export."""
    there = set(store.names())
    formats = [form for name, form in _TABLES.items() if name in there]
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


def merged_since(store: Store, file: ExportedFile, created: str = "") -> ExportedFile | None:
    """The file that has the records of one that is gone, among others: ``--compact`` has merged it since its manifest was
    read. None if the manifest of now has no such file, or is of an export that was not begun at ``created``, if given.
    """
    found, folder = Documents(store).manifest(), os.path.dirname(file.path)
    if found is None or created not in ("", found.created):
        return None
    for one in found.files:
        if os.path.dirname(one.path) == folder and one.start <= file.start and file.end <= one.end:
            return None if one.path == file.path else one
    return None


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
    columns: tuple[str, ...] = ()
    if found.request.partition_by is not None:
        try:
            columns = parse_partition_by(found.request.partition_by).columns
        except ConfigError as error:
            raise _invalid(path, error.what) from None
    names = [topic.topic for topic in found.topics]
    if len(set(names)) < len(names):
        raise _invalid(path, "it has a topic twice")
    seen: set[TopicPartition] = set()
    for topic in (*found.topics, *found.earlier):
        if not is_topic_name(topic.topic) or topic.folder not in ("", topic.full_name) or "/" in topic.folder:
            raise _invalid(path, f"it has a topic {topic.topic!r} in a folder {topic.folder!r}")
        for one in topic.partitions:
            _check_partition(
                TopicPartition(topic.folder or topic.topic, one.partition),
                one,
                found.format,
                columns,
                seen,
                path,
            )
    _check_saved(found, path)


def _check_saved(found: Manifest, path: str) -> None:
    committed = set()
    for group, tp, commit in found.groups.commits() if found.groups is not None else ():
        if (group, tp) in committed or not 0 <= commit.offset <= _LAST or not 0 <= tp.partition < 1 << 31:
            raise _invalid(
                path, f"it has a position {commit.offset} of group {group!r} in {tp}, or has it twice"
            )
        committed.add((group, tp))
    for one_topic in found.settings.topics if found.settings is not None else ():
        if min(one_topic.partitions, one_topic.replication_factor) < 1:
            raise _invalid(path, f"topic {one_topic.topic!r} has no partitions or replicas")


def _check_partition(
    tp: TopicPartition,
    one: ExportedPartition,
    form: str,
    columns: tuple[str, ...],
    seen: set[TopicPartition],
    path: str,
) -> None:
    """``tp``: the folders of its files, which no other partition has. ``columns``: those of the folders between."""
    if not 0 <= tp.partition < 1 << 31 or tp in seen:
        raise _invalid(path, f"it has a partition {tp.topic!r} {tp.partition}, or has it twice")
    seen.add(tp)
    at = one.start
    ranges = [
        *((file.start, file.end) for file in one.files),
        *((gap.start, gap.end) for gap in one.gaps),
        *((empty.start, empty.end) for empty in one.empty),
    ]
    for start, end in sorted(ranges):
        if (start > at if columns else start != at) or not 0 <= start < end <= _LAST:
            raise _invalid(path, f"the files of {tp} do not follow each other: at offset {start}")
        at = max(at, end)
    if columns and (twice := _overlap(one.files)):
        raise _invalid(path, f"the files of {tp} overlap: {twice}")
    for file in one.files:
        place = place_of(file.path)
        named = None if place is None else (*place.tp, place.start, place.end, place.form, _columns(place))
        if named != (*tp, file.start, file.end, form, columns):
            raise _invalid(path, f"it names {file.path!r}, which is not the name of such a file")
        if columns and not file.start <= file.first <= file.last < file.end:
            raise _invalid(path, f"{file.path} has records from {file.first} to {file.last}")
        if min(file.records, file.bytes) < 0 or not re.fullmatch("[0-9a-f]{64}", file.sha256):
            raise _invalid(path, f"the size or the digest of {file.path} is not valid")
    if at != one.end or one.records != sum(file.records for file in one.files):
        raise _invalid(path, f"the files of {tp} are not what the range says")


def _columns(place: FilePlace) -> tuple[str, ...]:
    return tuple(step.partition("=")[0] for step in place.folder.split("/")[:-1])


def _overlap(files: Iterable[ExportedFile]) -> str:
    """The file of a folder whose records may be in another one too; empty: there is none."""
    lasts: dict[str, int] = {}
    for file in sorted(files, key=lambda each: each.first):
        folder = file.path.rpartition("/")[0]
        if file.first <= lasts.get(folder, -1):
            return file.path
        lasts[folder] = file.last
    return ""


def _invalid(path: str, why: str) -> ConfigError:
    return ConfigError(
        f"{path} is not valid",
        why=why,
        do="it is written by `kcli pipeline export TOPIC DIR`, and not edited",
    )
