"""How far the times of records are out of order around the limits of a range that was asked for by time.

A range by time is one of offsets: from the first record that is not older than its start up to the first one that is
not older than its end (ListOffsets, KIP-79). So no record before a limit is on its wrong side, but each record that
follows may be: one record of a clock that is ahead ends all later ranges before itself, for as long as it is kept. Here
the records that follow a limit are looked at, at most about one MiB of each partition, and those that are older are
counted: the count is exact for what was looked at, and the words say how many offsets were not. ``--exact-times`` filters
by times instead (``RangeSpec.times``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from kcli.core.admin.first_records import Stretch, times_after
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.offsets import MAX_TIMESTAMP, OffsetInfo, list_offsets
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError
from kcli.core.positions import RangeSpec
from kcli.core.types import TopicPartition
from kcli.output.progress import counted
from kcli.output.tables import time_text

SECONDS = 5.0
"""Limits what is read to count; partitions without a response by then are named."""
EXACT = "--exact-times reads past the limits and chooses each record by its time"
_MOST_NAMED = 5


class TimeLimit(NamedTuple):
    """A limit at ``time`` (ms since the epoch), which is ``offset`` in a partition. ``end``: the range ends there, else
    it begins. Of the records from ``offset`` up to, not including, ``stop`` those that are not older are on the right
    side; where the range ends, also those that are older than its start, ``since`` (−1: it has none).
    """

    tp: TopicPartition
    time: int
    offset: int
    stop: int
    end: bool = False
    since: int = -1


class Astray(NamedTuple):
    """Of the ``seen`` records that follow a limit, ``records`` are on its wrong side; ``unseen``: further offsets that
    were not looked at. ``error``: why nothing was.
    """

    limit: TimeLimit
    records: int
    seen: int
    unseen: int
    error: KcliError | None = None


class Newest(NamedTuple):
    """The newest time of a partition, and the offset of the first record that has it."""

    tp: TopicPartition
    offset: int
    time: int


def limits_of(
    spec: RangeSpec, spans: Mapping[TopicPartition, Span], ends: Mapping[TopicPartition, int]
) -> list[TimeLimit]:
    """The limits by time that records follow. ``ends``: of the logs, now."""
    since, until = spec.times
    found = []
    for tp, span in spans.items():
        stop = ends[tp] if span.stop is None else min(span.stop, ends[tp])
        start = span.start or 0
        if since is not None and start < stop:
            found.append(TimeLimit(tp, since, start, stop))
        if until is not None and span.stop is not None and max(start, stop) < ends[tp]:
            low = -1 if since is None else since
            found.append(TimeLimit(tp, until, max(start, stop), ends[tp], end=True, since=low))
    return found


def judged(limit: TimeLimit, stretch: Stretch | KcliError | None) -> Astray:
    """What the records that follow say of a limit; None: there was no response in time."""
    if not isinstance(stretch, Stretch):
        return Astray(limit, 0, 0, limit.stop - limit.offset, stretch)
    own = [
        time
        for offset, time in zip(stretch.offsets, stretch.times, strict=True)
        if offset < limit.stop and time >= 0
    ]
    wrong = sum(limit.since <= time < limit.time for time in own)
    return Astray(limit, wrong, len(own), max(0, limit.stop - max(stretch.next_offset, limit.offset)))


def look(
    cluster: Cluster, limits: Sequence[TimeLimit], timeout: float, *, committed_only: bool
) -> list[Astray]:
    """What the records that follow each limit say of it. Errors of partitions are in the results."""
    if not limits:
        return []
    positions = dict.fromkeys((one.tp, one.offset) for one in limits)
    deadline = cluster.deadline(min(timeout, SECONDS))
    found = times_after(cluster, positions, deadline, committed_only=committed_only)
    return [judged(one, found.get((one.tp, one.offset))) for one in limits]


def time_warnings(
    consumer: Consumer, spec: RangeSpec, spans: Mapping[TopicPartition, Span], timeout: float, do: str = EXACT
) -> list[str]:
    """What has to be said of the limits of a range by time, if times are not in order around them. ``do``: the remedy."""
    if spec.times == (None, None) or not spans:
        return []
    ends = ranges.bounds(consumer, spans, timeout).ends
    committed_only = consumer.options.isolation_level == "read_committed"
    found = look(consumer.cluster, limits_of(spec, spans, ends), timeout, committed_only=committed_only)
    return list(sentences(found, newest_of(consumer.cluster, found, timeout), do))


def newest_of(cluster: Cluster, found: Iterable[Astray], timeout: float) -> Newest | None:
    """A record with a time in the future, of a partition with records on a wrong side: what has caused it."""
    wanted = dict.fromkeys((one.limit.tp for one in found if one.records), MAX_TIMESTAMP)
    if not wanted:
        return None
    listed = list_offsets(cluster, wanted, cluster.deadline(min(timeout, SECONDS)))
    ahead = [
        Newest(tp, info.offset, info.timestamp)
        for tp, info in listed.items()
        if isinstance(info, OffsetInfo) and info.offset >= 0 and info.timestamp > wall_ms()
    ]
    return max(ahead, key=lambda one: one.time, default=None)


# --- in words --------------------------------------------------------------------------------------------


def sentences(found: Sequence[Astray], newest: Newest | None, do: str) -> Iterator[str]:
    """A warning for each topic and limit with records on its wrong side, and one for what could not be looked at."""
    astray = sorted((one for one in found if one.records), key=lambda one: (one.limit.end, one.limit.tp))
    for (topic, end), some in groupby(astray, key=lambda one: (one.limit.tp.topic, one.limit.end)):
        yield _sentence(topic, list(some), newest, do, end=end)
    unknown = [one.limit.tp for one in found if not one.seen and one.unseen and one.error is None]
    if unknown:
        yield (
            f"whether times are in order around the limits is not known of {counted(len(unknown), 'partition')} "
            f"({_named(unknown)}): brokers took too long"
        )


def _sentence(topic: str, found: Sequence[Astray], newest: Newest | None, do: str, *, end: bool) -> str:
    limit = found[0].limit
    parts = [
        f"{one.records:,} in partition {one.limit.tp.partition} from offset {one.limit.offset:,} on"
        for one in found
    ]
    more = len(parts) - _MOST_NAMED
    named = ", ".join(parts[:_MOST_NAMED]) + (f", and {counted(more, 'partition')} more" if more > 0 else "")
    text = (
        f"{topic}: times are not in order around {time_text(limit.time)}, where the range "
        f"{'ends' if end else 'begins'}: {bound_text(found)} are older and "
        f"{'left out, though their times are within the range' if end else 'read as well'} ({named})"
    )
    if newest is not None and newest.tp.topic == topic:
        text += f"; {newest_text(newest)}"
    return f"{text}; {do}" if do else text


def bound_text(found: Sequence[Astray]) -> str:
    """How many records are on the wrong side, and of how many that is known: ``at least 37 of the 40 …``."""
    total, seen, unseen = (
        sum(values) for values in zip(*((o.records, o.seen, o.unseen) for o in found), strict=True)
    )
    text = f"{total:,} of the {counted(seen, 'record')} that follow"
    return f"at least {text} ({counted(unseen, 'further offset')} were not looked at)" if unseen else text


def disorder_text(found: Astray, newest: Newest | None) -> str:
    """Of one partition, in a few words."""
    text = f"times are not in order: {bound_text([found])} are older"
    ahead = newest is not None and newest.tp == found.limit.tp
    return f"{text}; {newest_text(newest)}" if ahead and newest is not None else text


def newest_text(newest: Newest) -> str:
    """The record whose clock was ahead."""
    return f"the record of {newest.tp} at offset {newest.offset:,} has a time in the future, {time_text(newest.time)}"


def _named(partitions: Sequence[TopicPartition]) -> str:
    more = len(partitions) - _MOST_NAMED
    return ", ".join(map(str, partitions[:_MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")
