"""The proof of a mirror: both sides are read and compared, partition by partition."""

from collections.abc import Callable, Sequence

from kcli.commands._mirror_clusters import Side
from kcli.commands.shared.context import Invocation
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import ConfigError
from kcli.flows import ranges
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.verify import Comparison, Extent, Pair, compare
from kcli.flows.stop import Stop


def compare_copies(
    inv: Invocation,
    source: Side,
    target: Side,
    reader: Callable[[Side], Consumer],
    copies: Sequence[PartitionCopy],
    stop: Stop,
    *,
    whole: bool,
    to_end: bool,
) -> list[Comparison]:
    """Compares what the job has copied and the source still has; ``whole``: all of both topics.

    ``to_end``: records of the source that are not copied yet are a difference. ``reader`` makes a consumer of one
    side. ConfigError for a job that chooses partitions by key.
    """
    if any(copy.offsets is None for copy in copies):
        raise ConfigError(
            "partitions that were chosen by key cannot be compared one by one",
            why="the records of one partition are in several",
            do="leave --verify out",
        )
    left, right = reader(source), reader(target)
    for side, consumer in ((source, left), (target, right)):
        with inv.first_contact(side.servers):
            consumer.connect(inv.timeout)
    starts = ranges.bounds(left, [copy.source for copy in copies], inv.timeout).starts
    there = ranges.bounds(right, [copy.target for copy in copies], inv.timeout)
    pairs = [
        Pair(
            Extent(copy.source, starts[copy.source], copy.position if copy.stop is None else copy.stop),
            Extent(copy.target, there.starts[copy.target], there.ends[copy.target]),
        )
        if whole
        else _pair(copy, starts[copy.source], to_end=to_end)
        for copy in copies
        if copy.error is None
    ]
    with inv.progress("compared") as bar:
        return compare(
            left,
            right,
            pairs,
            timestamps=True,
            stop=stop,
            progress=lambda done: bar.update(
                min(done.source, done.target), 0, done.target / done.total if done.total else None
            ),
        )


def _pair(copy: PartitionCopy, source_start: int, *, to_end: bool) -> Pair:
    """What the offset map covers, from the first record on that the source still has.

    ``to_end``: on the side of the source up to its end, so that records that are not copied yet are a difference.
    """
    offsets = copy.offsets
    assert offsets is not None
    start, stop = max(offsets.start, source_start), copy.position
    first = offsets.translate(start) if start < stop else offsets.target_end
    assert isinstance(first, int)
    if to_end and copy.stop is not None:
        stop = max(stop, copy.stop)
    return Pair(Extent(copy.source, start, stop), Extent(copy.target, first, offsets.target_end))
