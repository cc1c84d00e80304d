"""What ``segments dump`` shows: batches, records, entries of indexes and snapshots, as rows. Damage is passed by."""

import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.codecs.codec import codec_name
from kcli.core.errors import CorruptRecordsError, DamagedFileError, UnreadableFileError
from kcli.core.logdir.aborted_index import Aborted, read_aborted_index
from kcli.core.logdir.folders import read_file
from kcli.core.logdir.index_entries import IndexEntries
from kcli.core.logdir.offset_index import IndexEntry, OffsetIndex
from kcli.core.logdir.producer_snapshot import ProducerState, parse_producer_snapshot
from kcli.core.logdir.time_index import TimeEntry, TimeIndex
from kcli.core.records.segment import Segment
from kcli.core.records.view import BatchView
from kcli.core.types import Record
from kcli.flows.segments.dumped_files import Dumped
from kcli.flows.segments.secrets import is_secret, without_secrets
from kcli.output.tables import Column
from kcli.serde.errors import DecodeError
from kcli.serde.internal.metadata_serde import MetadataSerde
from kcli.serde.internal.serde import InternalTopicSerde
from kcli.serde.serde import Serde, SerdeContext

_FILE = Column("file", values="string", meaning="Name of the file.")
_PATH = Column("path", wide=True, values="string", meaning="The file with its folder.")
_POSITION = Column("position", "number", values="count", meaning="Where it begins in the file, in bytes.")
_TIMES = ("NoTimestampType", "CreateTime", "LogAppendTime")
_TIMESTAMP_TYPE = Column(
    "timestamp_type", wide=True, values=_TIMES, meaning="What its timestamps are; the oldest format has none."
)
_ENCODING = (
    "How that is written: null is text, base64 bytes that are no UTF-8, otherwise the name of the serde."
)
BATCHES = (
    _FILE,
    _POSITION,
    Column("base_offset", "number", values="count", meaning="Its first offset."),
    Column("last_offset", "number", values="count", meaning="Its last offset."),
    Column("records", "number", values="count", meaning="Number of records that its header has."),
    Column("size_bytes", "size", values="count", meaning="Its size with the header."),
    Column("codec", values="string", meaning="The codec that its records are compressed with, or none."),
    Column("max_timestamp", "time", meaning="Its highest timestamp; null without one."),
    _TIMESTAMP_TYPE,
    Column("leader_epoch", "id", values="integer", meaning="Epoch of the leader that wrote it; -1 in old formats."),
    Column("producer_id", "id", values="integer", meaning="Id of its producer; -1 without idempotence."),
    Column("producer_epoch", "id", wide=True, values="integer", meaning="Epoch of its producer; -1 without one."),
    Column("base_sequence", "id", wide=True, values="integer", meaning="Sequence number of its first record, or -1."),
    Column("transactional", wide=True, values="boolean", meaning="Whether it belongs to a transaction."),
    Column("control", wide=True, values="boolean", meaning="Whether it is a control batch: the end of a transaction."),
    Column("magic", "id", wide=True, values="count", meaning="Version of its format."),
    Column("crc", "id", wide=True, values="count", meaning="The checksum in its header."),
    Column("valid", values="boolean", meaning="Whether the checksum is that of its bytes."),
    _PATH,
)  # fmt: skip
RECORDS = (
    _FILE,
    Column(
        "batch_position", "number", wide=True, values="count", meaning="Where its batch begins in the file."
    ),
    Column("offset", "number", values="count", meaning="Its offset."),
    Column("timestamp", "time", meaning="Its timestamp; null without one."),
    _TIMESTAMP_TYPE,
    Column("key", values="json", meaning="Its key; of internal topics decoded. Null is null."),
    Column("key_encoding", wide=True, values="string?", meaning=_ENCODING),
    Column("value", "prose", values="json", meaning="Its value; of internal topics decoded. Null is null."),
    Column("value_encoding", wide=True, values="string?", meaning=_ENCODING),
    Column("headers", wide=True, values="any", meaning="Its headers: pairs of name and value."),
    Column("control", wide=True, values="boolean", meaning="Whether it is of a control batch."),
    _PATH,
)
ENTRIES = (
    _FILE,
    _POSITION,
    Column("offset", "number", values="integer?", meaning="The offset that the entry names; of a transaction its last."),
    Column("log_position", "number", values="integer?", meaning="The position in the log, of .index; otherwise null."),
    Column("timestamp", "time", meaning="The timestamp, of .timeindex and of producers; otherwise null."),
    Column("producer_id", "id", values="integer?", meaning="The producer, of .txnindex and .snapshot; otherwise null."),
    Column("first_offset", "number", values="integer?", meaning="First offset of the transaction; null without one."),
    Column("last_stable_offset", "number", wide=True, values="integer?", meaning="Last stable offset, of .txnindex."),
    Column("producer_epoch", "id", wide=True, values="integer?", meaning="Epoch of the producer, of .snapshot."),
    Column("last_sequence", "id", wide=True, values="integer?", meaning="Its last sequence number, of .snapshot."),
    Column("coordinator_epoch", "id", wide=True, values="integer?", meaning="Epoch of its coordinator, of .snapshot."),
    _PATH,
)  # fmt: skip

_SERDES: dict[str, Callable[[], Serde]] = {
    "__consumer_offsets": lambda: InternalTopicSerde("consumer_offsets"),
    "__transaction_state": lambda: InternalTopicSerde("transaction_state"),
    "__share_group_state": lambda: InternalTopicSerde("share_group_state"),
    "__cluster_metadata": MetadataSerde,
}

Damaged = Callable[[DamagedFileError], object]
Entry = IndexEntry | TimeEntry | Aborted | ProducerState
E = TypeVar("E")


class Batch(NamedTuple):
    """A batch, where it is, and whether its checksum is right."""

    position: int
    batch: BatchView
    valid: bool


class Part(NamedTuple):
    """A key or value as it is shown, and the name of its encoding; None for text."""

    shown: Any
    encoding: str | None


def batches_of(file: Dumped, damaged: Damaged) -> Iterator[Batch | int]:
    """The batches of a segment or snapshot, then, where there are some, the number of bytes that are none.

    ``damaged`` is called for what is no batch though one follows; the reading continues there.
    """
    with Segment.open(file.path, base_offset=file.base_offset if file.suffix == ".log" else 0) as segment:
        at = 0
        while at < segment.size:
            try:
                for placed in segment.batches(at):
                    yield Batch(placed.position, placed.batch, _is_valid(placed.batch))
                    at = placed.position + placed.batch.size
                break
            except DamagedFileError as error:
                damaged(error)
                follows = segment.resync(error.position + 1, error.offset)
                if follows is None:
                    return
                at = follows.position
        if at < segment.size:
            yield segment.size - at


def _is_valid(batch: BatchView) -> bool:
    try:
        batch.verify_crc()
    except CorruptRecordsError:
        return False
    return True


def batch_row(file: Dumped, one: Batch) -> dict[str, Any]:
    """A batch as a row."""
    batch = one.batch
    return {
        "file": os.path.basename(file.path),
        "path": file.path,
        "position": one.position,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "records": batch.count,
        "size_bytes": batch.size,
        "codec": codec_name(batch.codec),
        "max_timestamp": batch.max_timestamp if batch.max_timestamp >= 0 else None,
        "timestamp_type": _TIMES[batch.timestamp_type + 1],
        "leader_epoch": batch.leader_epoch,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "magic": batch.magic,
        "crc": batch.crc,
        "valid": one.valid,
    }


class RecordText:
    """Keys and values as they are shown: decoded where the topic is an internal one, without secrets unless wanted."""

    def __init__(self, topic: str, *, show_secrets: bool) -> None:
        make = _SERDES.get(topic)
        self._topic = topic
        self._serde = make() if make else None
        self._show_secrets = show_secrets
        self._hide = topic == "__cluster_metadata" and not show_secrets

    def key(self, record: Record) -> Part:
        """The key; the metadata log has none."""
        if self._serde is None or record.key is None or self._topic == "__cluster_metadata":
            return _plain(record.key)
        return self._decoded(record.key, SerdeContext(self._topic, "key"))

    def value(self, record: Record) -> Part:
        """The value."""
        if self._serde is None or record.value is None:
            secret = not self._show_secrets and is_secret(record)
            return Part(None, "hidden") if secret else _plain(record.value)
        return self._decoded(record.value, SerdeContext(self._topic, "value", key=record.key))

    def _decoded(self, data: bytes, context: SerdeContext) -> Part:
        assert self._serde is not None
        try:
            found: Any = self._serde.decode(data, context)
        except DecodeError:
            return Part(None, "hidden") if self._hide else _plain(data)
        return Part(without_secrets(found) if self._hide else found, self._serde.name)


def _plain(data: bytes | None) -> Part:
    if data is None:
        return Part(None, None)
    try:
        return Part(data.decode(), None)
    except UnicodeDecodeError:
        return Part(b64encode(data).decode(), "base64")


def record_row(file: Dumped, one: Batch, record: Record, text: RecordText) -> dict[str, Any]:
    """A record as a row."""
    plain = one.batch.is_control
    key = _plain(record.key) if plain else text.key(record)
    value = _plain(record.value) if plain else text.value(record)
    return {
        "file": os.path.basename(file.path),
        "path": file.path,
        "batch_position": one.position,
        "offset": record.offset,
        "timestamp": record.timestamp if record.timestamp >= 0 else None,
        "timestamp_type": _TIMES[record.timestamp_type + 1],
        "key": key.shown,
        "key_encoding": key.encoding,
        "value": value.shown,
        "value_encoding": value.encoding,
        "headers": [[name, _plain(content).shown] for name, content in record.headers],
        "control": plain,
    }


def entries_of(file: Dumped, damaged: Damaged, *, zeros: bool = False) -> Iterator[tuple[int, Entry]]:
    """The entries of an index or a snapshot, with their positions; as many as make sense. ``zeros``: the first of an
    index also where it is all zeros, because the broker had not closed the file.
    """
    data = read_file(file.path)
    if data is None:
        raise UnreadableFileError(file.path, why="there is no such file")
    if file.suffix == ".index":
        yield from _index_entries(OffsetIndex(data, file.base_offset, file.path), zeros)
    elif file.suffix == ".timeindex":
        yield from _index_entries(TimeIndex(data, file.base_offset, file.path), zeros)
    elif file.suffix == ".txnindex":
        entries, error = read_aborted_index(data, file.path)
        yield from ((34 * number, entry) for number, entry in enumerate(entries))
        if error is not None:
            damaged(error)
    else:
        try:
            producers = parse_producer_snapshot(data, file.path)
        except DamagedFileError as error:
            damaged(error)
            return
        yield from ((10 + 50 * number, entry) for number, entry in enumerate(producers))


def _index_entries(index: IndexEntries[E], zeros: bool) -> Iterator[tuple[int, E]]:
    if zeros and not index and index.first is not None:
        yield 0, index.first
    yield from ((index.shape.size * number, entry) for number, entry in enumerate(index))


def entry_row(file: Dumped, position: int, entry: Entry) -> dict[str, Any]:
    """An entry as a row; what its file does not have is null."""
    row: dict[str, Any] = {column.key: None for column in ENTRIES}
    row.update(file=os.path.basename(file.path), path=file.path, position=position)
    if isinstance(entry, IndexEntry):
        row.update(offset=entry.offset, log_position=entry.position)
    elif isinstance(entry, TimeEntry):
        row.update(offset=entry.offset, timestamp=entry.timestamp)
    elif isinstance(entry, Aborted):
        row.update(
            offset=entry.last_offset,
            producer_id=entry.producer_id,
            first_offset=entry.first_offset,
            last_stable_offset=entry.last_stable_offset,
        )
    else:
        row.update(
            offset=entry.last_offset,
            timestamp=entry.timestamp if entry.timestamp >= 0 else None,
            producer_id=entry.producer_id,
            first_offset=entry.first_offset if entry.first_offset >= 0 else None,
            producer_epoch=entry.epoch,
            last_sequence=entry.last_sequence,
            coordinator_epoch=entry.coordinator_epoch,
        )
    return row
