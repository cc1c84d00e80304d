"""Records that one side of a mirror has and the other side never got: the way back lists them, and does not mix them in.

A promotion knows up to where a partition is copied. At least once, a mirror that was killed may have stored more, and the
target has a tail of which it is not known how far it reaches. Now both sides can be read: the tail is compared with the
records of the source that follow (``repetition.tell_apart``).
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.hooks import Hooks
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.records.passing import offsets_taken, rows_taken
from kcli.core.types import TopicPartition
from kcli.files.atomic import naming, sync_folder
from kcli.flows.mirror.job.state import StrandedRange
from kcli.flows.mirror.proof.proof import Log, logs
from kcli.flows.mirror.proof.repetition import not_removed, tell_apart
from kcli.flows.mirror.settings import Cluster
from kcli.flows.stop import Stop
from kcli.output.record_data import NdjsonFormatter
from kcli.output.records import ALL

_POLL = 0.2  # seconds


class NotReadError(KcliError):
    """Not all stranded records could be read."""

    exit_code = ExitCode.PARTLY


class Reach(NamedTuple):
    """``copied_to``: the source offset up to which the target has the records. ``foreign``: the first target offset of a
    record that is not of the source; None: there is none.
    """

    copied_to: int
    foreign: int | None


class Stranded(NamedTuple):
    """How many committed records are in each range, and why that is not known of others."""

    records: Mapping[TopicPartition, int]
    errors: Mapping[TopicPartition, KcliError]


class Sides(NamedTuple):
    """The old source, and its copy."""

    source: Cluster
    copy: Cluster
    hooks: Hooks


def reach(
    sides: Sides, tp: TopicPartition, rest: Log, copied_to: int, copy: TopicPartition, tail: Span, most: int
) -> Reach:
    """How far the ``tail`` of the copy, of ``most`` records, reaches into the source from ``copied_to`` on.

    Retention may have removed the first of these from the source meanwhile: what the tail has of them is not compared.
    """
    first = max(copied_to, rest.start)
    surplus = list(_digests(sides.copy, sides.hooks, copy, tail, most))
    source = (
        list(_digests(sides.source, sides.hooks, tp, Span(first, rest.stable), most))
        if first < rest.stable
        else []
    )
    told = tell_apart(surplus, [digest for _, digest in source])
    at = source[told.reach - 1][0] + 1 if told.reach else copied_to
    others = set(told.foreign)
    foreign = not_removed((row for row in surplus if row[0] in others), first - copied_to)
    return Reach(at, min(foreign, default=None))


def _digests(
    cluster: Cluster, hooks: Hooks, tp: TopicPartition, span: Span, most: int
) -> Iterator[tuple[int, bytes]]:
    """Offset and digest of at most so many committed records."""
    with _reader(cluster, hooks) as reader:
        reader.assign({tp: span})
        left = most
        while left and not reader.done:
            for fetched in reader.poll(_POLL):
                offsets = offsets_taken(fetched.batch, fetched.first, fetched.stop)
                rows = rows_taken(fetched.batch, fetched.first, fetched.stop)
                for at, row in list(zip(offsets, rows, strict=True))[:left]:
                    yield at, blake2b(repr(row).encode(), digest_size=16).digest()
                    left -= 1


def _reader(cluster: Cluster, hooks: Hooks) -> Consumer:
    options = cluster.options(
        ConsumerOptions,
        isolation_level="read_committed",
        max_poll_records=WHOLE_BATCHES,
        on_out_of_range="fail",
    )
    return Consumer(options, hooks=hooks)


def read_stranded(
    cluster: Cluster,
    admin: Admin,
    hooks: Hooks,
    ranges: Mapping[TopicPartition, StrandedRange],
    path: str | None,
    patience: float,
    stop: Stop,
) -> Stranded:
    """Counts the records of the ranges; with ``path`` they are written there, as lines of ``consume -o ndjson``: the
    file is replaced when all are written. A range that ends in an open transaction is waited for, ``patience`` seconds.
    """
    found = {tp: one for tp, one in ranges.items() if one.first < one.stop}
    records, errors = dict.fromkeys(ranges, 0), {}
    spans = {}
    for tp, log in logs(admin, found).items():
        if isinstance(log, KcliError):
            errors[tp] = log
        elif max(log.start, found[tp].first) < min(found[tp].stop, log.high):
            spans[tp] = Span(max(log.start, found[tp].first), min(found[tp].stop, log.high))
    with _new_file(path) as file:
        for fetched in _batches(cluster, hooks, spans, patience, stop):
            if isinstance(fetched, TopicPartition):
                errors[fetched] = _not_read(fetched, patience)
                continue
            records[fetched.tp] += len(offsets_taken(fetched.batch, fetched.first, fetched.stop))
            if file is not None:
                file.write(NdjsonFormatter().batch(fetched, None, ALL).data)
    return Stranded({tp: count for tp, count in records.items() if tp not in errors}, errors)


def _batches(
    cluster: Cluster, hooks: Hooks, spans: Mapping[TopicPartition, Span], patience: float, stop: Stop
) -> Iterator[FetchedBatch | TopicPartition]:
    """The batches of the spans, and then the partitions that were not read to their end."""
    if not spans:
        return
    with _reader(cluster, hooks) as reader:
        reader.assign(spans)
        heard = time.monotonic()
        while not reader.done and not stop and time.monotonic() < heard + patience:
            for fetched in reader.poll(_POLL):
                heard = time.monotonic()
                yield fetched
        for tp, span in spans.items():
            state = reader.assigned(tp)
            if not reader.done and (state is None or span.stop is None or state.position < span.stop):
                yield tp


def _not_read(tp: TopicPartition, patience: float) -> KcliError:
    return NotReadError(
        f"the stranded records of {tp} were not read to their end",
        why=f"nothing was read for {patience:.0f} s: a transaction is open, or the partition has no leader",
        do="run the same command again",
    )


@contextmanager
def _new_file(path: str | None) -> Iterator[BinaryIO | None]:
    """A file that has its name when the block ends in order."""
    if path is None:
        yield None
        return
    temporary = Path(f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with naming(path):
            file = temporary.open("xb")
        with file:
            yield file
            with naming(path):
                file.flush()
                os.fsync(file.fileno())
        with naming(path):
            temporary.replace(path)
            sync_folder(os.path.dirname(os.path.abspath(path)))
    finally:
        temporary.unlink(missing_ok=True)
