"""From a user's range (offsets, times, the last N) to the offsets to be read in each partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from kcli.core.classes import dataclass
from kcli.core.cluster.metadata import no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo, not_tiered
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ConfigError, DataLossError, KcliError, NotInLogDirsError
from kcli.core.exit_codes import ExitCode
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer


Unread = Callable[[Mapping[TopicPartition, KcliError]], object]
"""Is told of the partitions whose leaders cannot be reached, while others can: these are left out."""

_OTHER_OFFSET = "choose another --offset, or --on-out-of-range earliest or latest"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The current start and end of each partition; the end is the last readable offset at this isolation level."""

    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


def choose_partitions(
    consumer: Consumer, topics: Iterable[str], wanted: Iterable[int] | None, timeout: float
) -> list[TopicPartition]:
    """The partitions to be read; NotFoundError names a topic or a partition that does not exist.

    Of log directories what they do not have is missing; NotInLogDirsError if nothing is left.
    """
    chosen: list[TopicPartition] = []
    absent: list[KcliError] = []
    numbers = None if wanted is None else list(dict.fromkeys(wanted))
    for topic, all_of_it in consumer.partitions(list(topics), timeout).items():
        missing = [number for number in numbers or () if number not in all_of_it]
        if missing:
            raise no_partition(TopicPartition(topic, missing[0]), len(all_of_it))
        for tp in (TopicPartition(topic, n) for n in (all_of_it if numbers is None else numbers)):
            error = absent_from_dirs(consumer, tp)
            if error is None:
                chosen.append(tp)
            else:
                absent.append(error)
    if absent and not chosen:
        raise absent[0]
    for error in absent:
        consumer.cluster.hooks.missing(error)
    return chosen


def absent_from_dirs(consumer: Consumer, tp: TopicPartition) -> KcliError | None:
    """The error for a partition that log directories do not have."""
    cluster = consumer.cluster
    if cluster.directories is None or cluster.view.leader(tp) is not None:
        return None
    return NotInLogDirsError(
        f"{tp} is not in {cluster.options.servers}",
        why="none of the directories has a folder of it",
        do="name the log directories of the other brokers as well",
    )


def bounds(
    consumer: Consumer,
    partitions: Iterable[TopicPartition],
    timeout: float,
    *,
    committed_only: bool | None = None,
    unread: Unread | None = None,
) -> Bounds:
    """Start and end of each partition, both pinned now. ``committed_only``: see ``Consumer.list_offsets``."""
    return _begin_bounds(consumer, list(partitions), timeout, committed_only, unread)()


def _begin_bounds(
    consumer: Consumer,
    wanted: list[TopicPartition],
    timeout: float,
    committed_only: bool | None = None,
    unread: Unread | None = None,
) -> Callable[[], Bounds]:
    """Together: a leader answers in this order, so that no end is older than its start."""
    starts = consumer.begin_list_offsets(dict.fromkeys(wanted, EARLIEST), timeout)
    ends = consumer.begin_list_offsets(dict.fromkeys(wanted, LATEST), timeout, committed_only=committed_only)

    def finish() -> Bounds:
        listed = starts(), ends()
        lost = {} if unread is None else _unreachable(*listed)
        if unread is not None and lost and len(lost) < len(wanted):
            unread(lost)
            for each in listed:
                for tp in lost:
                    each.pop(tp, None)
        found = Bounds(*map(offsets_in, listed))
        # One that was asked for again: records were deleted meanwhile, and there are no others before them.
        return Bounds(found.starts, {tp: max(end, found.starts[tp]) for tp, end in found.ends.items()})

    return finish


def spans(
    consumer: Consumer,
    partitions: Iterable[TopicPartition],
    asked: RangeSpec,
    *,
    until_end: bool,
    timeout: float,
    on_out_of_range: str = "fail",
    do: str = _OTHER_OFFSET,
    to_high_watermark: bool = False,
    from_its_start: bool = False,
    unread: Unread | None = None,
) -> dict[TopicPartition, Span]:
    """The offsets to be read in each partition. ``until_end`` limits them to the current ends. DataLossError, with the
    remedy ``do``, for a start beyond these; with ``from_its_start`` also for one that is not in the log any more.

    ``to_high_watermark``: where reading ends, uncommitted records count whatever the isolation level is. It begins
    before them in any case: what is in an open transaction now is read when it is committed.
    """
    wanted = list(partitions)
    begun = _begin_bounds(consumer, wanted, timeout, unread=unread)
    later = _begin_bounds(consumer, wanted, timeout, False, unread) if to_high_watermark else None
    now = begun()
    wanted = [tp for tp in wanted if tp in now.ends]
    start_spec = asked.start or OffsetSpec("earliest", 0)
    starts = _resolve(consumer, wanted, start_spec, now, timeout, on_missing=on_out_of_range)
    committed_only = None
    if later is not None:
        committed_only = False
        beyond = later()
        wanted = [tp for tp in wanted if tp in beyond.ends]
        now = Bounds(beyond.starts, {tp: max(beyond.ends[tp], now.ends[tp]) for tp in wanted})
    stops = _stops(
        consumer,
        wanted,
        asked.stop,
        now,
        until_end=until_end,
        timeout=timeout,
        committed_only=committed_only,
    )
    result = {}
    for tp in wanted:
        start = starts[tp]
        if (until_end and start > now.ends[tp]) or (from_its_start and start < now.starts[tp]):
            start = _outside(tp, start, now, on_out_of_range, do)
        result[tp] = Span(start, stops.get(tp))
    return result


def stops(
    consumer: Consumer,
    partitions: Iterable[TopicPartition],
    stop: OffsetSpec | None,
    *,
    until_end: bool,
    timeout: float,
    unread: Unread | None = None,
) -> dict[TopicPartition, int]:
    """Where reading ends in each partition, pinned now; omitted partitions have no end."""
    wanted = list(partitions)
    if stop is None and not until_end:
        return {}
    now = bounds(consumer, wanted, timeout, unread=unread)
    wanted = [tp for tp in wanted if tp in now.ends]
    return _stops(consumer, wanted, stop, now, until_end=until_end, timeout=timeout)


def starts(
    consumer: Consumer, partitions: Iterable[TopicPartition], start: OffsetSpec, timeout: float
) -> Mapping[TopicPartition, int]:
    """Where reading begins in each partition."""
    wanted = list(partitions)
    return _resolve(consumer, wanted, start, bounds(consumer, wanted, timeout), timeout)


def _stops(
    consumer: Consumer,
    wanted: list[TopicPartition],
    stop: OffsetSpec | None,
    now: Bounds,
    *,
    until_end: bool,
    timeout: float,
    committed_only: bool | None = None,
) -> dict[TopicPartition, int]:
    if stop is None:
        return dict(now.ends) if until_end else {}
    found = _resolve(consumer, wanted, stop, now, timeout, committed_only=committed_only)
    return {tp: min(found[tp], now.ends[tp]) if until_end else found[tp] for tp in wanted}


def in_log(tp: TopicPartition, start: int, log: Bounds, on_out_of_range: str) -> int:
    """``start``, or what is taken for it if it is beyond the end; DataLossError if nothing is."""
    return start if start <= log.ends[tp] else _outside(tp, start, log, on_out_of_range, _OTHER_OFFSET)


def _outside(tp: TopicPartition, start: int, now: Bounds, on_out_of_range: str, do: str) -> int:
    """The start if it is beyond the pinned end, where nothing could ever be read, or before the log."""
    if on_out_of_range == "earliest":
        return now.starts[tp]
    if on_out_of_range == "latest":
        return now.ends[tp]
    raise DataLossError(
        f"{tp}: offset {start} is out of range",
        why=f"the log goes from {now.starts[tp]} to {now.ends[tp]}",
        do=do,
    )


def _resolve(
    consumer: Consumer,
    wanted: list[TopicPartition],
    spec: OffsetSpec,
    now: Bounds,
    timeout: float,
    *,
    committed_only: bool | None = None,
    on_missing: str = "fail",
) -> Mapping[TopicPartition, int]:
    """The offset of ``spec`` in each partition. ``on_missing``: what is taken for one that is not there."""
    if spec.kind == "earliest":
        return now.starts
    if spec.kind == "latest":
        return now.ends
    if spec.kind == "offset":
        return dict.fromkeys(wanted, spec.value)
    if spec.kind == "from_start":
        return {tp: now.starts[tp] + spec.value for tp in wanted}
    if spec.kind == "from_end":
        return {tp: max(now.starts[tp], now.ends[tp] - spec.value) for tp in wanted}
    if spec.listed is not None:
        times = dict.fromkeys(wanted, spec.listed)
        found = offsets_in(consumer.list_offsets(times, timeout, committed_only=committed_only))
        missing = [error for tp in wanted if found[tp] < 0 and (error := not_tiered(tp, spec.listed))]
        if missing and on_missing == "fail":
            raise missing[0]
        other = now.starts if missing and on_missing == "earliest" else now.ends
        return {tp: found[tp] if found[tp] >= 0 else other[tp] for tp in wanted}
    raise ConfigError(
        f"the offset {spec.kind!r} needs a group", why="it means the group's committed offsets", do="give -g"
    )


def _unreachable(*listed: Mapping[TopicPartition, OffsetInfo | KcliError]) -> dict[TopicPartition, KcliError]:
    """The partitions whose leaders did not answer."""
    return {
        tp: result
        for results in listed
        for tp, result in results.items()
        if isinstance(result, KcliError) and result.exit_code == ExitCode.UNREACHABLE
    }


def offsets_in(results: Mapping[TopicPartition, OffsetInfo | KcliError]) -> dict[TopicPartition, int]:
    """The offsets of a ``list_offsets``; raises the error of a partition that has one."""
    found = {}
    for tp, result in results.items():
        if isinstance(result, KcliError):
            raise result
        found[tp] = result.offset
    return found
