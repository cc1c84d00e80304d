"""Counts what is in a range of a topic: keys, sizes, times, nulls, and the shape of a sample of JSON values."""

from typing import Any

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.consumer.arrow_reader import ArrowReader, RecordFilter
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.plan import Slice
from kcli.pipeline.profile.partition_profile import RangeProfile
from kcli.serde.errors import DecodeError
from kcli.serde.names import parse_serdes
from kcli.serde.opening import Serdes, open_serdes
from kcli.serde.serde import Serde, SerdeContext

_COLUMNS = ("timestamp", "key", "value", "headers_packed")


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """``stride``: of the values, each of this number is looked into, and the last one; 0: none. ``times``: only records
    with times from the first up to, not including, the second (ms since the epoch; None: no limit). ``serdes``: as
    ``-s``; what is looked into is what they decode, and keys are counted as they decode them.
    """

    source: ClusterRef
    stride: int
    times: tuple[int | None, int | None] | None = None
    serdes: tuple[str, ...] = ()


class _Last(NamedTuple):
    """A value that was not looked into, and its key."""

    value: bytes | None
    key: bytes | None


def run(settings: ProfileSettings, task: Slice, context: TaskContext) -> dict[str, Any]:
    """The item of the report; ``profiles`` has all counts."""
    profile = RangeProfile()

    def check() -> None:
        if context.stopped():
            raise StoppedTaskError(f"the job was stopped before {task.tp} was read")

    options = settings.source.options(
        ConsumerOptions, isolation_level="read_committed", max_poll_records=WHOLE_BATCHES, group_id=""
    )
    with (
        _serdes(settings) as serdes,
        Consumer(options) as consumer,
        ArrowReader(
            consumer,
            {task.tp: Span(task.start, task.end)},
            columns=_COLUMNS,
            where=RecordFilter(*(settings.times or (None, None))),
            utc_timestamps=False,
            on_poll=check,
        ) as reader,
    ):
        counting = _Counting(profile, task.topic, serdes, settings.stride)
        for batch in reader:
            check()
            counting.add(batch)
            context.progress(batch.count, batch.nbytes)
        counting.close()
    return {
        "topic": task.topic,
        "partition": task.partition,
        "start": task.start,
        "end": task.end,
        "records": profile.records,
        "bytes": profile.bytes,
        "profiles": [profile],
    }


def _serdes(settings: ProfileSettings) -> Serdes:
    if not settings.serdes:
        return Serdes()
    return open_serdes(parse_serdes(settings.serdes), settings.source.registry_options())


class _Counting:
    """Counts batches of one range; ``close`` looks into its last value, which no stride may hide."""

    def __init__(self, profile: RangeProfile, topic: str, serdes: Serdes, stride: int) -> None:
        self._profile = profile
        self._topic = topic
        self._key, self._value = serdes.key, serdes.value
        self._stride = stride
        self._last: _Last | None = None

    def add(self, batch: Any) -> None:
        """Counts a batch of Arrow with ``_COLUMNS``."""
        import pyarrow as pa  # an extra

        profile = self._profile
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
        found = distinct.field("values").to_pylist()
        profile.keys.add([self._key_text(key) for key in found], distinct.field("counts").to_pylist())
        if self._stride:
            rows = slice(-profile.records % self._stride, None, self._stride)
            for value, key in zip(values[rows].to_pylist(), keys[rows].to_pylist(), strict=True):
                self._look_into(value, key)
            is_last = (profile.records + batch.count - 1) % self._stride == 0
            self._last = None if is_last else _Last(values[-1].as_py(), keys[-1].as_py())
        profile.records += batch.count

    def close(self) -> None:
        """Ends the range."""
        if self._last is not None:
            self._look_into(*self._last)

    def _look_into(self, value: bytes | None, key: bytes | None) -> None:
        if value is None:
            return
        if self._value is None:
            self._profile.values.add(value)
            return
        decoded = _decoded(self._value, value, SerdeContext(self._topic, "value", (), key))
        if decoded is None:
            self._profile.values.add_undecoded()
        else:
            self._profile.values.add(decoded)

    def _key_text(self, key: bytes) -> bytes:
        """The key as its serde decodes it; its bytes where it cannot."""
        if self._key is None:
            return key
        decoded = _decoded(self._key, key, SerdeContext(self._topic, "key"))
        return key if decoded is None else decoded


def _decoded(serde: Serde, data: bytes, context: SerdeContext) -> bytes | None:
    """JSON of a value, the text of a key; None for what cannot be decoded."""
    try:
        text = serde.decode_text(data, context) if context.part == "key" else serde.decode_json(data, context)
    except DecodeError:
        return None
    return text.encode()


def _sizes(column: Any) -> list[tuple[int, int]]:
    from pyarrow import compute  # an extra

    return _counted(compute.binary_length(column))


def _counted(column: Any) -> list[tuple[int, int]]:
    """The values of a column and how often each occurs, without nulls."""
    found = column.drop_null().value_counts()
    return list(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True))
