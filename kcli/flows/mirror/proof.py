"""The proof of a mirror: both sides are read and compared, partition by partition."""

from collections.abc import Callable, Sequence

from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.ranges import Bounds
from kcli.core.errors import ConfigError
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.settings import Cluster, Observer
from kcli.flows.mirror.verify import Comparison, Extent, Pair, compare
from kcli.flows.stop import Stop


def compare_copies(
    observer: Observer,
    source: Cluster,
    target: Cluster,
    reader: Callable[[Cluster], Consumer],
    copies: Sequence[PartitionCopy],
    stop: Stop,
    timeout: float,
    *,
    whole: bool,
    to_end: bool,
    limited: bool,
) -> list[Comparison]:
    """Compares what the job has copied, and the source still has, with the target; ``whole``: all of both topics.

    ``to_end``: records of the source that are not copied yet are a difference. ``limited``: the range of source offsets
    has an end that the user named; otherwise records of the target after the copied ones are a difference. ``reader``
    makes a consumer of one side. ConfigError for a job that chooses partitions by key.
    """
    if any(copy.offsets is None for copy in copies):
        raise ConfigError(
            "partitions that were chosen by key cannot be compared one by one",
            why="the records of one partition are in several",
            do="leave --verify out",
        )
    copies = [copy for copy in copies if copy.error is None]
    left, right = reader(source), reader(target)
    for side, consumer in ((source, left), (target, right)):
        with observer.contact(side.servers):
            consumer.connect(timeout)
    # The target's ends are read first: what another run of the job copies meanwhile is no record too many.
    there = ranges.bounds(right, [copy.target for copy in copies], timeout)
    here = ranges.bounds(left, [copy.source for copy in copies], timeout)
    pairs = [
        Pair(
            Extent(copy.source, here.starts[copy.source], copy.position if copy.stop is None else copy.stop),
            Extent(copy.target, there.starts[copy.target], there.ends[copy.target]),
        )
        if whole
        else _pair(copy, here, there, to_end=to_end, limited=limited)
        for copy in copies
    ]
    with observer.progress("compared") as bar:
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


def _pair(copy: PartitionCopy, here: Bounds, there: Bounds, *, to_end: bool, limited: bool) -> Pair:
    """From the first record on that was to be copied and that the source still has; see ``compare_copies``.

    The end of the target may be before the last copied record, whose transaction is committed and not yet readable.
    """
    offsets, source, target = copy.offsets, copy.source, copy.target
    assert offsets is not None
    start, stop, target_stop = max(offsets.start, here.starts[source]), copy.position, offsets.target_end
    first = offsets.translate(start) if start < stop else target_stop
    assert isinstance(first, int)
    if to_end and copy.stop is not None:
        stop = max(stop, copy.stop if limited else here.ends[source])
    if not limited:
        target_stop = max(target_stop, there.ends[target])
    return Pair(Extent(source, start, stop), Extent(target, first, target_stop))
