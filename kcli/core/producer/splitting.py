"""Splits a batch that a broker refused: into halves, or at the records that it named (KIP-467). Pure.

The parts share the sequence numbers of the batch, of which the broker has stored nothing, so they are sent in its place
and before what follows. Records that were refused have no number: those that are sent again close the gap.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from kcli.core.error_codes import INVALID_RECORD, INVALID_TIMESTAMP
from kcli.core.kernels.shapes import Row
from kcli.core.producer.batch import BatchEvent, ProducerBatch
from kcli.core.producer.idempotence import SEQUENCES
from kcli.core.producer.origins import OriginRows, part_of
from kcli.core.protocol.messages.produce import PartitionProduceResponse

CODES_OF_RECORDS = frozenset({INVALID_RECORD, INVALID_TIMESTAMP})
"""With them a broker refuses single records of a batch."""

FIRST_WITH_RECORD_ERRORS = 8
"""The first version of Produce whose response names records."""

_ROOM = 1 << 31


def named_records(part: PartitionProduceResponse, count: int) -> dict[int, str]:
    """The records of the batch that the broker named, by index, with its reasons."""
    return {
        one.batch_index: one.batch_index_error_message or ""
        for one in part.record_errors
        if 0 <= one.batch_index < count
    }


def code_of_record(code: int, message: str) -> int:
    """The code of one record: that of the batch is INVALID_TIMESTAMP as soon as one of them has a wrong timestamp."""
    of_time = not message or message.lower().startswith(("timestamp", "invalid timestamp"))
    return code if code != INVALID_TIMESTAMP or of_time else INVALID_RECORD


def halves(batch: ProducerBatch) -> list[ProducerBatch]:
    """The batch in parts of half its size, numbered as it is. One record cannot be split."""
    room = max(1, batch.builder.size // 2)
    parts = [part for part, _ in _parts(batch, batch.builder.rows(), range(batch.count), room)]
    _number(parts, batch)
    batch.split_into(parts)
    return parts


def without(
    batch: ProducerBatch, refused: Mapping[int, str]
) -> tuple[list[ProducerBatch], list[tuple[ProducerBatch, str]]]:
    """What is left of the batch without the refused records; and these, adjacent ones with the same reason together."""
    rows = batch.builder.rows()
    left = list(_parts(batch, rows, [index for index in range(len(rows)) if index not in refused], _ROOM))
    culprits = [
        (part, refused[run.start])
        for _, indexes in groupby(sorted(refused), key=refused.__getitem__)
        for run in _runs(list(indexes))
        for part in _parts(batch, rows, run, _ROOM)
    ]
    _number([part for part, _ in left], batch)
    taken = [*left, *(part for part, _ in culprits)]
    batch.split_into([part for part, _ in taken], [runs for _, runs in taken])
    return [part for part, _ in left], [(part, reason) for (part, _), reason in culprits]


Part = tuple[ProducerBatch, list[range]]
"""A part of a batch, and which records of the batch it has."""


def _parts(batch: ProducerBatch, rows: Sequence[Row], indexes: Sequence[int], room: int) -> Iterator[Part]:
    """The rows at ``indexes`` as batches of at most ``room`` bytes."""
    done = 0
    for builder in batch.builder.batches_of([rows[index] for index in indexes], room):
        runs = _runs(indexes[done : done + builder.count])
        done += builder.count
        part = ProducerBatch(batch.tp, builder, batch.created, batch.deadline, batch.first + runs[0].start)
        part.origins = _origins(batch.origins, runs)
        part.attempts, part.sent_at, part.whole = batch.attempts, batch.sent_at, batch.whole
        part.cell.apply(BatchEvent.CLOSE)
        yield part, runs


def _number(parts: Sequence[ProducerBatch], batch: ProducerBatch) -> None:
    if not batch.numbered:
        return
    sequence = batch.sequence
    for part in parts:
        part.number(batch.producer_id, batch.epoch, sequence)
        part.transactional = batch.transactional
        sequence = (sequence + part.count) % SEQUENCES


def _origins(origins: Sequence[OriginRows], runs: Sequence[range]) -> list[OriginRows]:
    found: list[OriginRows] = []
    at = 0
    for run in runs:
        found += [one._replace(first=one.first + at) for one in part_of(origins, run.start, len(run))]
        at += len(run)
    return found


def _runs(indexes: Sequence[int]) -> list[range]:
    """Increasing indexes as ranges."""
    if isinstance(indexes, range):
        return [indexes]
    found: list[range] = []
    for index in indexes:
        if found and found[-1].stop == index:
            found[-1] = range(found[-1].start, index + 1)
        else:
            found.append(range(index, index + 1))
    return found
