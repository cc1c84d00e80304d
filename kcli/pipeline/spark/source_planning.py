"""The ranges that ``format("kcli")`` reads, as the cluster has them now: which topics, which partitions, from where to
where. Runs on the driver.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence

from kcli.core.classes import replace
from kcli.core.cluster.metadata import no_partition
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import ConfigError, DataLossError, NotFoundError
from kcli.core.options import ConsumerOptions
from kcli.core.positions import OffsetSpec
from kcli.core.types import TopicPartition
from kcli.pipeline.plan import Slice, pin
from kcli.pipeline.spark.source_range import Positions
from kcli.pipeline.spark.source_settings import SourceSettings

_LOG = logging.getLogger("kcli.spark")
_NO_LOSS = '.option("failOnDataLoss", "false") reads what is there'


def open_consumer(settings: SourceSettings) -> Consumer:
    """A consumer without a group."""
    options = settings.cluster.options(ConsumerOptions)
    return Consumer(replace(options, group_id="", enable_auto_commit=False))


def say_loss(text: str) -> None:
    """A warning for what ``failOnDataLoss=false`` leaves out: on stderr of the process, unless logging says else."""
    _LOG.warning("%s; it is left out, as failOnDataLoss=false says", text)


def pinned(settings: SourceSettings, consumer: Consumer) -> list[Slice]:
    """The range of each partition, as it is now."""
    limit = consumer.options.default_api_timeout_ms / 1000
    consumer.connect(limit)
    return pinned_topics(settings, consumer, topics_of(settings, consumer), limit)


def pinned_topics(
    settings: SourceSettings, consumer: Consumer, topics: Sequence[str], limit: float
) -> list[Slice]:
    """The range of each partition of these topics, as it is now; DataLossError for one that is not in the log, unless
    that is no failure.
    """
    found = pin(
        consumer,
        topics,
        settings.range,
        limit,
        partitions=settings.partitions,
        on_out_of_range="fail" if settings.fail_on_loss else "latest",
        do='choose another .option("offset", …)',
    )
    found = _assigned(settings, found)
    if settings.starts or settings.stops or settings.no_record_fails or not settings.fail_on_loss:
        now = ranges.bounds(consumer, [each.tp for each in found], limit)
        found = _positioned(settings, consumer, found, now, limit)
    return found


def partitions_of(
    settings: SourceSettings, consumer: Consumer, topics: Sequence[str], limit: float
) -> list[TopicPartition]:
    """The partitions that are read."""
    found = ranges.choose_partitions(consumer, topics, settings.partitions, limit)
    return [tp for tp in found if tp in settings.assigned] if settings.assigned else found


def _assigned(settings: SourceSettings, slices: list[Slice]) -> list[Slice]:
    if not settings.assigned:
        return slices
    there = {each.tp for each in slices}
    for tp in settings.assigned:
        if tp not in there:
            raise no_partition(tp, sum(each.topic == tp.topic for each in there))
    return [each for each in slices if each.tp in settings.assigned]


def _positioned(
    settings: SourceSettings, consumer: Consumer, slices: list[Slice], now: ranges.Bounds, limit: float
) -> list[Slice]:
    """The slices between the positions that are given for each partition."""
    tps = [each.tp for each in slices]
    starts = _offsets("startingOffsets", settings.starts, consumer, tps, now, limit)
    stops = _offsets("endingOffsets", settings.stops, consumer, tps, now, limit)
    if settings.no_record_fails:
        _check_times(settings, consumer, tps, limit)
    found = []
    for each in slices:
        first, last = now.starts[each.tp], now.ends[each.tp]
        start, stop = starts.get(each.tp, each.start), stops.get(each.tp, each.end)
        for name, offset in (("begins", start), ("ends", stop)):
            if first <= offset <= last:
                continue
            text = f"{each.tp}: the range {name} at offset {offset}, and the log goes from {first} to {last}"
            if settings.fail_on_loss:
                raise DataLossError(
                    text, why="retention or a deletion removed records, or they never were", do=_NO_LOSS
                )
            say_loss(text)
        start, stop = min(max(start, first), last), min(max(stop, first), last)
        found.append(each._replace(start=start, end=max(start, stop)))
    return found


def _offsets(
    name: str,
    positions: Positions,
    consumer: Consumer,
    tps: Sequence[TopicPartition],
    now: ranges.Bounds,
    limit: float,
) -> Mapping[TopicPartition, int]:
    """The positions as offsets; ConfigError unless they are those of all partitions that are read."""
    if not positions:
        return {}
    given = dict(positions)
    for missing, why in (
        (set(tps) - given.keys(), "it is read"),
        (given.keys() - set(tps), "it is not read"),
    ):
        if missing:
            raise ConfigError(
                f"{name}: {min(missing)} is {'missing' if why == 'it is read' else 'too many'}",
                why=f"{why}, and positions name all partitions that are read, and no others",
                do="name them all: -2 is the earliest offset, -1 the latest",
            )
    times = {tp: spec.value for tp, spec in given.items() if spec.kind == "timestamp"}
    at = ranges.offsets_in(consumer.list_offsets(times, limit)) if times else {}
    return {tp: _offset(tp, spec, at, now) for tp, spec in given.items()}


def _offset(
    tp: TopicPartition, spec: OffsetSpec, at: Mapping[TopicPartition, int], now: ranges.Bounds
) -> int:
    if spec.kind == "timestamp":
        return at[tp] if at[tp] >= 0 else now.ends[tp]
    if spec.kind == "offset":
        return spec.value
    return now.starts[tp] if spec.kind == "earliest" else now.ends[tp]


def _check_times(
    settings: SourceSettings, consumer: Consumer, tps: Iterable[TopicPartition], limit: float
) -> None:
    """ConfigError for a partition that has no record from the time on at which it shall begin."""
    start = settings.range.start
    times = {tp: spec.value for tp, spec in settings.starts}
    if not times and start is not None:
        times = dict.fromkeys(tps, start.value)
    found = ranges.offsets_in(consumer.list_offsets(times, limit)) if times else {}
    for tp, offset in sorted(found.items()):
        if offset < 0:
            raise ConfigError(
                f"{tp} has no record from {times[tp]} on",
                why="reading shall begin at the first one with such a timestamp",
                do='.option("startingOffsetsByTimestampStrategy", "latest") begins at its end',
            )


def existing_topics(settings: SourceSettings, consumer: Consumer) -> list[str]:
    """The topics that are read and are there: none of them need be."""
    try:
        named = topics_of(settings, consumer)
    except NotFoundError:
        return []
    limit = consumer.options.default_api_timeout_ms / 1000
    there = consumer.cluster.all_topics(consumer.cluster.deadline(limit)).topics
    return [name for name in named if name in there and there[name].partitions]


def topics_of(settings: SourceSettings, consumer: Consumer) -> list[str]:
    """The topics that are read; NotFoundError if there are none, ConfigError if none is named."""
    if not settings.pattern:
        if not settings.topics:
            raise ConfigError(
                "no topic is named",
                why="a topic is read or written",
                do='.option("topic", "orders"), "pattern", "subscribe", "subscribePattern" or "assign"',
            )
        return list(settings.topics)
    cluster = consumer.cluster
    views = cluster.all_topics(cluster.deadline(consumer.options.default_api_timeout_ms / 1000)).topics
    hidden = consumer.options.exclude_internal_topics
    found = [
        name
        for name, view in sorted(views.items())
        if view.partitions and not (hidden and view.internal) and re.match(settings.pattern, name)
    ]
    if not found:
        raise NotFoundError(
            f"no topic matches {settings.pattern}",
            why="the cluster has no topic with such a name, apart from internal ones",
            do="`kcli topics list` lists the topics",
        )
    return found
