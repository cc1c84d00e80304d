"""The producers of a partition and their open transactions: its newest snapshot, and the batches behind it."""

import os
from collections.abc import Iterable, Iterator
from struct import Struct

from kcli.core.classes import dataclass
from kcli.core.errors import KcliError
from kcli.core.logdir.folders import read_file
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.logdir.producer_snapshot import SUFFIX, ProducerState, parse_producer_snapshot
from kcli.core.offline.stored_values import keys_and_values
from kcli.core.records.view import BatchView

_MARKER = Struct(">hi")
_SEQUENCES = 1 << 31


@dataclass(slots=True)
class Producer:
    """A producer as a partition's leader keeps it; ``first_offset`` −1: it has no open transaction here."""

    producer_id: int
    epoch: int
    last_sequence: int = -1
    timestamp: int = -1
    coordinator_epoch: int = -1
    first_offset: int = -1


def producers_of(log: PartitionLog) -> list[Producer]:
    """By producer id. Producers that the snapshot does not have, and that wrote before it, have expired."""
    start, snapshot = _newest_snapshot(log)
    batches = (
        batch
        for _segment, (_position, batch) in log.batches(start, log.end_offset)
        if batch.base_offset >= start
    )
    return replayed(snapshot, batches)


def replayed(snapshot: Iterable[ProducerState], batches: Iterable[BatchView]) -> list[Producer]:
    """The producers of a snapshot as these batches changed them."""
    found = {
        one.producer_id: Producer(
            one.producer_id,
            one.epoch,
            one.last_sequence,
            one.timestamp,
            one.coordinator_epoch,
            one.first_offset,
        )
        for one in snapshot
    }
    for batch in batches:
        if batch.producer_id < 0:
            continue
        producer = found.setdefault(batch.producer_id, Producer(batch.producer_id, batch.producer_epoch))
        producer.epoch, producer.timestamp = batch.producer_epoch, batch.max_timestamp
        if batch.is_control:
            producer.first_offset = -1
            producer.coordinator_epoch = _coordinator_epoch(batch, producer.coordinator_epoch)
            continue
        producer.last_sequence = (batch.base_sequence + batch.last_offset_delta) % _SEQUENCES
        if batch.is_transactional and producer.first_offset < 0:
            producer.first_offset = batch.base_offset
    return [found[number] for number in sorted(found)]


def _coordinator_epoch(batch: BatchView, known: int) -> int:
    for _offset, _key, value in keys_and_values(batch):
        if value is not None and len(value) >= _MARKER.size:
            return int(_MARKER.unpack_from(value)[1])
    return known


def _newest_snapshot(log: PartitionLog) -> tuple[int, tuple[ProducerState, ...]]:
    for offset, path in _snapshots(log):
        try:
            return offset, parse_producer_snapshot(read_file(path) or b"", path)
        except KcliError:
            continue  # an older one says the same, with more batches behind it
    return log.start_offset, ()


def _snapshots(log: PartitionLog) -> Iterator[tuple[int, str]]:
    """Those that are within the log, the newest first."""
    names = [name for name in os.listdir(log.folder.path) if name.endswith(SUFFIX)]
    offsets = {int(name[: -len(SUFFIX)]): name for name in names if name[: -len(SUFFIX)].isdecimal()}
    for offset in sorted(offsets, reverse=True):
        if log.start_offset <= offset <= log.end_offset:
            yield offset, os.path.join(log.folder.path, offsets[offset])
