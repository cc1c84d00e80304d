"""The lines of ``kafka-dump-log.sh`` of Kafka 4.4.0, for ``segments dump -o kafka``. Pure."""

import os

from kcli.core.codecs.codec import codec_name
from kcli.core.logdir.aborted_index import Aborted
from kcli.core.logdir.offset_index import IndexEntry
from kcli.core.logdir.producer_snapshot import ProducerState
from kcli.core.logdir.time_index import TimeEntry
from kcli.core.records.view import BatchView
from kcli.core.types import Record
from kcli.flows.segments.kafka_json import Decoded, control_text
from kcli.flows.segments.snapshots import BOOTSTRAP

_DELETE_HORIZON = 0x40
_MARKERS = {0: "ABORT", 1: "COMMIT"}
_TIMES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
_SEQUENCES = 1 << 31


def file_lines(path: str, suffix: str, base_offset: int) -> str:
    """What the script prints before the batches of a file."""
    head = f"Dumping {path}\n"
    if suffix == ".log":
        return f"{head}Log starting offset: {base_offset}\n"
    if suffix == ".checkpoint":
        if os.path.basename(path) == BOOTSTRAP:
            return f"{head}KRaft bootstrap snapshot\n"
        epoch = int(path.rpartition("-")[2].removesuffix(suffix))
        return f"{head}Snapshot end offset: {base_offset}, epoch: {epoch}\n"
    return head


def batch_line(batch: BatchView, position: int, *, valid: bool) -> str:
    """A batch."""
    times = _TIMES[batch.timestamp_type]
    rest = (
        f" position: {position} {times}: {batch.max_timestamp} size: {batch.size} magic: {batch.magic}"
        f" compresscodec: {codec_name(batch.codec)} crc: {batch.crc} isvalid: {_word(valid)}\n"
    )
    if batch.magic < 2:
        return f"offset: {batch.last_offset}{rest}"
    horizon = batch.attributes & _DELETE_HORIZON
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.count}"
        f" baseSequence: {batch.base_sequence} lastSequence: {_sequence(batch, batch.last_offset_delta)}"
        f" producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch}"
        f" partitionLeaderEpoch: {batch.leader_epoch} isTransactional: {_word(batch.is_transactional)}"
        f" isControl: {_word(batch.is_control)}"
        f" deleteHorizonMs: {f'OptionalLong[{batch.base_timestamp}]' if horizon else 'OptionalLong.empty'}{rest}"
    )


def record_line(batch: BatchView, record: Record, shown: Decoded) -> str:
    """A record, with its key and payload as text."""
    line = (
        f"| offset: {record.offset} {_TIMES[record.timestamp_type]}: {record.timestamp}"
        f" keySize: {_size(record.key)} valueSize: {_size(record.value)}"
    )
    if batch.magic >= 2:
        names = ",".join(map(_name, (header[0] for header in record.headers)))
        line += f" sequence: {_sequence(batch, record.offset - batch.base_offset)} headerKeys: [{names}]"
    if batch.is_control:
        return line + _control(record) + "\n"
    if shown.key is not None:
        line += f" key: {shown.key}"
    if shown.payload is not None:
        line += f" payload: {shown.payload}"
    return line + "\n"


def invalid_bytes_line(size: int, name: str) -> str:
    """What is behind the last batch."""
    return f"Found {size} invalid bytes at the end of {name}\n"


def offset_entry_line(entry: IndexEntry) -> str:
    """An entry of .index."""
    return f"offset: {entry.offset} position: {entry.position}\n"


def time_entry_line(entry: TimeEntry) -> str:
    """An entry of .timeindex."""
    return f"timestamp: {entry.timestamp} offset: {entry.offset}\n"


def aborted_line(one: Aborted) -> str:
    """An entry of .txnindex."""
    return (
        f"version: 0 producerId: {one.producer_id} firstOffset: {one.first_offset} lastOffset: {one.last_offset}"
        f" lastStableOffset: {one.last_stable_offset}\n"
    )


def producer_line(one: ProducerState) -> str:
    """A producer of a .snapshot."""
    open_since = f"OptionalLong[{one.first_offset}]" if one.first_offset >= 0 else "OptionalLong.empty"
    line = (
        f"producerId: {one.producer_id} producerEpoch: {one.epoch} coordinatorEpoch: {one.coordinator_epoch}"
        f" currentTxnFirstOffset: {open_since} lastTimestamp: {one.timestamp}"
    )
    if one.last_offset >= 0:
        first = one.last_sequence - one.offset_delta
        line += (
            f" firstSequence: {first if first >= 0 else first + _SEQUENCES} lastSequence: {one.last_sequence}"
            f" lastOffset: {one.last_offset} offsetDelta: {one.offset_delta} timestamp: {one.timestamp}"
        )
    return line + "\n"


def _sequence(batch: BatchView, delta: int) -> int:
    """The sequence number of a record; they begin again at 0 behind the largest int32."""
    return -1 if batch.base_sequence == -1 else (batch.base_sequence + delta) % _SEQUENCES


def _control(record: Record) -> str:
    key, value = record.key or b"", record.value or b""
    kind = int.from_bytes(key[2:4], "big") if len(key) >= 4 else -1
    if kind in _MARKERS and len(value) >= 6:
        epoch = int.from_bytes(value[2:6], "big", signed=True)
        return f" endTxnMarker: {_MARKERS[kind]} coordinatorEpoch: {epoch}"
    return f" {control_text(kind, value)}"


def _name(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "replace")


def _size(part: bytes | None) -> int:
    return -1 if part is None else len(part)


def _word(true: bool) -> str:
    return "true" if true else "false"
