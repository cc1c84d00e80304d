"""``kcli.read_topic``: ``kcli.core.read_topic`` with profiles, typed columns, a head and a progress line."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kcli.core import classes
from kcli.core.arrow.fields import RECORD_COLUMNS
from kcli.core.consumer.arrow_reader import BATCH_BYTES, BATCH_ROWS
from kcli.core.consumer.subscription import Span
from kcli.core.consumer.topic_records import (
    AskedRange,
    Instant,
    Key,
    TopicRecords,
    Watcher,
    asked_range,
    check_has_effect,
)
from kcli.core.errors import ConfigError
from kcli.core.kernels.active import decode_headers
from kcli.core.options import ConsumerOptions
from kcli.core.types import Header, TopicPartition
from kcli.flows.time_limits import time_warnings
from kcli.frames.head import ShowsHead
from kcli.frames.progress import progress_line
from kcli.frames.settings import check_registry_used, serdes_of, settings_of, warn
from kcli.frames.stream import TableStream
from kcli.output.progress import counted
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.pipeline.decoding import ByRange, undecoded_warnings
from kcli.serde.registry.options import RegistryOptions

if TYPE_CHECKING:
    from kcli.core.arrow.table import ArrowBatch
    from kcli.core.consumer.consumer import Consumer
    from kcli.pipeline.typed.columns import Decoder, TypedParts

_EXACT = "exact_times=True reads past the limits and chooses each record by its time"
_PACKED = "headers_packed"
_LOOKED = 1000
"""Offsets of each partition that a head looks at."""
_HEAD_BYTES = 1 << 20
_HEAD_SECONDS = 5.0


def read_topic(
    topic: str,
    options: ConsumerOptions | None = None,
    *,
    profile: str | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    exact_times: bool = False,
    offsets: str | None = None,
    partitions: int | Iterable[int] | None = None,
    columns: Iterable[str] = RECORD_COLUMNS,
    key: Key | Sequence[Key] = None,
    key_serde: str | None = None,
    value_serde: str | None = None,
    undecodable: str = "fail",
    follow: bool = False,
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    timeout: float | None = None,
    progress: bool | None = None,
    **values: Any,
) -> TopicFrame:
    """As ``kcli.core.read_topic``, which describes the range: an object for pyarrow, polars, pandas, DuckDB, Ibis.

    ``profile`` names a profile (``kcli profile list``); its options, then the ``KCLI_*`` variables, are weaker than the
    keywords, which name options of the client or of the registry (``schema_registry_url=…``). Without a profile only the
    keywords count, so that a program does not depend on who runs it.

    ``key_serde`` and ``value_serde`` are written as after ``-s`` (``"avro"``, ``"protobuf:file=shop.proto"``): the column
    has the type of the schema. ``undecodable``: what does not become a value of it is an error (``fail``), or null and
    counted (``null``). ``progress``: a line on stderr; by default in IPython, or on a terminal.
    """
    check_has_effect(values)
    check_registry_used(values, serdes_of(key_serde, value_serde), "read_topic")
    client = settings_of(ConsumerOptions, options, profile, values)
    asked = asked_range(
        topic,
        client.options,
        since=since,
        until=until,
        exact_times=exact_times,
        offsets=offsets,
        partitions=partitions,
        columns=columns,
        key=key,
        follow=follow,
        batch_rows=batch_rows,
        batch_bytes=batch_bytes,
        timeout=timeout,
        values={},
    )
    typed = typed_parts(topic, key_serde, value_serde, asked.columns, client.registry, undecodable)
    return TopicFrame(asked, typed, undecodable=undecodable, progress=progress)


def typed_parts(
    topic: str,
    key_serde: str | None,
    value_serde: str | None,
    columns: Sequence[str],
    registry: RegistryOptions,
    undecodable: str,
) -> TypedParts | None:
    """The typed columns that are asked for; None: none. ConfigError for a serde of a column that is not there."""
    given = {part: serde for part, serde in (("key", key_serde), ("value", value_serde)) if serde is not None}
    if not given:
        if undecodable != "fail":
            raise ConfigError(
                f"undecodable={undecodable!r} without a serde",
                why="nothing is decoded",
                do="add key_serde or value_serde, or leave it out",
            )
        return None
    for part in given:
        if part not in columns:
            raise ConfigError(
                f"{part}_serde without the column {part}",
                why=f"the columns are {', '.join(columns)}",
                do=f"add {part} to columns, or leave {part}_serde out",
            )
    check_pyarrow("typed columns need it", extra="lake")
    from kcli.pipeline.typed.columns import TypedParts, check_undecodable  # pyarrow: an extra

    check_undecodable(undecodable)
    return TypedParts(serdes_of(key_serde, value_serde), registry, topic)


class TopicFrame(ShowsHead, TopicRecords):
    """What ``read_topic`` returns. Each iteration and each ``__arrow_c_stream__`` reads the whole range again: iterating
    gives batches of Arrow (with typed columns ``pyarrow.RecordBatch``).

    ``undecoded`` counts what could not be decoded in the last reading, by part, topic, partition and first offset.
    """

    def __init__(
        self, asked: AskedRange, typed: TypedParts | None, *, undecodable: str, progress: bool | None
    ) -> None:
        self.columns = asked.columns
        self.undecoded: ByRange = {}
        self._typed, self._undecodable, self._progress = typed, undecodable, progress
        self._counts_rows = asked.keys is None and not asked.exact_times and not asked.follow
        if typed is not None:
            parts = [part for part in typed.types if part in asked.columns]
            needed = [*asked.columns, "offset", "key", *parts, *([_PACKED] if typed.names_schemas else [])]
            asked = classes.replace(asked, columns=tuple(dict.fromkeys(needed)))
        self._needed = asked.columns
        super().__init__(asked)

    def _pinned(self, consumer: Consumer, asked: AskedRange, limit: float) -> Mapping[TopicPartition, Span]:
        spans = super()._pinned(consumer, asked, limit)
        if not asked.exact_times:
            for text in time_warnings(consumer, asked.range, spans, limit, _EXACT):
                warn(text)
        return spans

    def _watcher(self) -> Watcher:
        bar = progress_line("read", self._progress, self.most_rows if self._counts_rows else None)
        sums = [0, 0]

        def watch(batch: ArrowBatch | None) -> None:
            if batch is None:
                bar.close()
                return
            sums[0] += batch.count
            sums[1] += batch.nbytes
            bar.update(*sums)

        return watch

    # --- typed columns ----------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        return super().__iter__() if self._typed is None else self._typed_batches(self._typed)

    @property
    def _schema(self) -> Any:
        import pyarrow as pa  # an extra

        raw = pa.schema(_OfCapsule(super().__arrow_c_schema__()))
        types = {} if self._typed is None else self._typed.types
        return pa.schema(
            [pa.field(name, types[name]) if name in types else raw.field(name) for name in self.columns]
        )

    def __arrow_c_schema__(self) -> object:
        return super().__arrow_c_schema__() if self._typed is None else self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self._typed is None:
            return super().__arrow_c_stream__(requested_schema)
        return TableStream(self._schema, self._typed_batches(self._typed), on_error=self._note).capsule()

    def _typed_batches(self, typed: TypedParts) -> Generator[Any]:
        import pyarrow as pa  # an extra

        schema = self._schema
        try:
            with typed.open() as serdes, closing(super().__iter__()) as batches:  # type: ignore[type-var]
                decoder = typed.decoder(serdes, undecodable=self._undecodable)
                for batch in batches:
                    arrays = self._columns_of(batch, decoder, typed)
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
                self._report(decoder, typed)
        except Exception as error:
            self._note(error)
            raise

    def _columns_of(self, batch: ArrowBatch, decoder: Decoder, typed: TypedParts) -> list[Any]:
        import pyarrow as pa  # an extra

        raw = dict(zip(self._needed, pa.record_batch(batch).columns, strict=True))
        offsets, keys = raw["offset"].to_pylist(), raw["key"].to_pylist()
        blocks = raw[_PACKED].to_pylist() if _PACKED in raw else None

        def headers(row: int) -> tuple[Header, ...]:
            block = None if blocks is None else blocks[row]
            return () if block is None else decode_headers(block, 0, len(block))

        for part in typed.types:
            data = keys if part == "key" else raw[part].to_pylist()
            raw[part] = decoder.column(part, batch.tp, data, keys, headers, offsets)
        return [raw[name] for name in self.columns]

    def _report(self, decoder: Decoder, typed: TypedParts) -> None:
        found = decoder.undecoded
        self.undecoded = {(part, *tp, self.spans[tp].start or 0): each for (part, tp), each in found.items()}
        for text in (*undecoded_warnings(self.undecoded, typed.names), *dropped_warnings(typed)):
            warn(text)

    # --- the head ---------------------------------------------------------------------------------------

    def _first(self, rows: int) -> tuple[Any, str]:
        import pyarrow as pa  # an extra

        schema = self._schema
        if self.follow:
            return schema.empty_table(), "without an end: iterating gives what is there and what arrives"
        small = copy.copy(self)
        small.spans = {
            tp: Span(start := span.start or 0, min(span.stop or 0, start + _LOOKED))
            for tp, span in self.spans.items()
        }
        small._readings, small._progress, small._grows = [], False, False
        small._options = classes.replace(
            self._options, fetch_max_bytes=_HEAD_BYTES, max_partition_fetch_bytes=_HEAD_BYTES // 4
        )
        small._how = {**self._how, "batch_rows": rows, "timeout": _HEAD_SECONDS}
        found: list[Any] = []
        count = 0
        with closing(iter(small)) as batches:  # type: ignore[type-var]
            for batch in batches:
                found.append(pa.record_batch(batch).slice(0, rows - count))
                count += found[-1].num_rows
                if count >= rows:
                    break
        looked = "" if count or not self.most_rows else f"none among {counted(small.most_rows, 'offset')}"
        return pa.Table.from_batches(found, schema), looked


def dropped_warnings(typed: TypedParts) -> Iterator[str]:
    """What values had and the types have not."""
    if typed.dropped:
        yield f"left out, since the schema of the column does not have it: {', '.join(sorted(typed.dropped)[:20])}"


class _OfCapsule:
    """A schema for pyarrow."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> object:
        return self._capsule
