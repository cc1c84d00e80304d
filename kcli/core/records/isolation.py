"""Filters out the batches of a response that a read_committed consumer must not see. Pure.

The broker lists the aborted transactions in the response: producer id and first offset. From that offset on, the
batches of that producer are dropped, up to its abort marker. Sorted here, because not every broker sorts them. Source:
KIP-98; set semantics as in the Java client.
"""

from collections.abc import Iterable, Iterator, Sequence

from kcli.core.errors import CorruptRecordsError
from kcli.core.records.view import BatchView

_ABORT = b"\x00\x00\x00\x00"
_LARGEST_MARKER = (
    1 << 16
)  # a marker has some twenty bytes; one response may hold thousands of control batches


def visible_batches(
    batches: Iterable[BatchView], aborted: Sequence[tuple[int, int]], *, committed_only: bool
) -> Iterator[tuple[BatchView, bool]]:
    """Each batch with whether its records are visible; ``aborted`` has (producer id, first offset).

    A run of batches (``records/run.py``) has no marker and no aborted records: it is visible.
    """
    waiting = sorted([(first, producer) for producer, first in aborted], reverse=True) if aborted else []
    dropped: set[int] = set()
    for batch in batches:
        while waiting and waiting[-1][0] <= batch.last_offset:
            dropped.add(waiting.pop()[1])
        if batch.is_control:
            if committed_only and is_abort_marker(batch):
                dropped.discard(batch.producer_id)
            yield batch, False
        else:
            hidden = committed_only and batch.is_transactional and batch.producer_id in dropped
            yield batch, not hidden


def is_abort_marker(batch: BatchView) -> bool:
    """Whether a control batch is an abort marker: key version 0, type 0.

    CorruptRecordsError for one that is damaged, or decompresses to far more than a marker.
    """
    try:
        columns = batch.columns(min(batch.limit, _LARGEST_MARKER))
    except CorruptRecordsError as error:  # without the remedy for a batch of records, a higher limit
        raise CorruptRecordsError(error.what, why=error.why) from error
    if not columns.key_starts:
        return False
    key = bytes(batch.payload()[columns.key_starts[0] : columns.key_ends[0]])
    batch.forget_payload()
    return key[:4] == _ABORT
