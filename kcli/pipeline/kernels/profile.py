"""Counts what is in a range of a topic: keys, sizes, times, nulls, and the shape of a sample of JSON values."""

from dataclasses import dataclass
from typing import Any

from kcli.core.consumer.arrow_reader import ArrowReader, RecordFilter
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.plan import Slice
from kcli.pipeline.profile.partition_profile import RangeProfile

_COLUMNS = ("timestamp", "key", "value", "headers_packed")


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """``stride``: of the values, each of this number is looked into; 0: none. ``times``: only records with times from the
    first up to, not including, the second (ms since the epoch; None: no limit).
    """

    source: ClusterRef
    stride: int
    times: tuple[int | None, int | None] | None = None


def run(settings: ProfileSettings, task: Slice, context: TaskContext) -> dict[str, Any]:
    """The item of the report; ``profiles`` has all counts."""
    profile = RangeProfile()
    options = settings.source.options(
        ConsumerOptions, isolation_level="read_committed", max_poll_records=WHOLE_BATCHES, group_id=""
    )
    with (
        Consumer(options) as consumer,
        ArrowReader(
            consumer,
            {task.tp: Span(task.start, task.end)},
            columns=_COLUMNS,
            where=RecordFilter(*(settings.times or (None, None))),
            utc_timestamps=False,
        ) as reader,
    ):
        for batch in reader:
            if context.stopped():
                raise StoppedTaskError(f"the job was stopped before {task.tp} was read")
            _count(profile, batch, settings.stride)
            context.progress(batch.count, batch.nbytes)
    return {
        "topic": task.topic,
        "partition": task.partition,
        "start": task.start,
        "end": task.end,
        "records": profile.records,
        "bytes": profile.bytes,
        "profiles": [profile],
    }


def _count(profile: RangeProfile, batch: Any, stride: int) -> None:
    import pyarrow as pa  # an extra

    times, keys, values, headers = pa.record_batch(batch).columns
    profile.null_keys += keys.null_count
    profile.null_values += values.null_count
    profile.without_time += times.null_count
    profile.with_headers += sum(count for size, count in _sizes(headers) if size > len(NO_HEADERS))
    profile.times.add(_counted(times))
    profile.key_sizes.add(_sizes(keys))
    sizes = _sizes(values)
    profile.value_sizes.add(sizes)
    profile.empty_values += sum(count for size, count in sizes if not size)
    distinct = keys.drop_null().value_counts()
    profile.keys.add(distinct.field("values").to_pylist(), distinct.field("counts").to_pylist())
    first = -profile.records % stride if stride else len(values)
    for value in values[first :: stride or 1].to_pylist():
        if value is not None:
            profile.values.add(value)
    profile.records += batch.count


def _sizes(column: Any) -> list[tuple[int, int]]:
    from pyarrow import compute  # an extra

    return _counted(compute.binary_length(column))


def _counted(column: Any) -> list[tuple[int, int]]:
    """The values of a column and how often each occurs, without nulls."""
    found = column.drop_null().value_counts()
    return list(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True))
