"""A scan of ``source`` for DuckDB: an object of Arrow's stream interface, which reads ranges anew each time.

Threads read ranges, make columns (texts at paths of JSON, decoded values), and put batches into a queue of a few;
DuckDB's threads take them out. So fetching and decoding go on while DuckDB computes, and what waits is bounded.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress

from kcli.core.arrow.export import schema_capsule
from kcli.core.arrow.fields import Field, chosen_columns, table_schema
from kcli.core.arrow.table import ArrowBatch, BatchStream, fields_for
from kcli.core.arrow.texts import column_bytes, text_column
from kcli.core.classes import dataclass
from kcli.core.consumer.arrow_reader import ArrowReader, RecordFilter
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ClosedError, KcliError
from kcli.core.kernels.active import json_texts
from kcli.core.kernels.arrow_ops import Array
from kcli.core.options import ConsumerOptions
from kcli.core.types import TopicPartition
from kcli.pipeline.decoding import ByRange, Undecoded, decoded_texts, join_counts
from kcli.pipeline.duckdb.statement import PathColumn, Scan
from kcli.pipeline.plan import Slice
from kcli.serde.errors import DecodeError
from kcli.serde.opening import Serdes

_AHEAD = 2  # batches of a thread that wait for DuckDB
_TURN = 0.1  # seconds
_PATIENCE = 1.0  # seconds for a thread to end
_TEXT = "u"
_PACKED = "headers_packed"


@dataclass(frozen=True, slots=True)
class Reading:
    """How ranges are read. ``open_serdes`` is called once for each thread; ``readers``: how many threads read a scan;
    ``times``: see ``SourceSettings``.
    """

    options: ConsumerOptions
    open_serdes: Callable[[], Serdes]
    readers: int
    times: tuple[int | None, int | None] = (None, None)


@dataclass(slots=True)
class Counts:
    """What all scans of a query have read so far. Written by readers, under ``lock``."""

    lock: threading.Lock
    records: int = 0
    bytes: int = 0


class ScanStream:
    """``__arrow_c_stream__`` begins a reading of the ranges; ``close`` ends those that are under way, and allows no more.

    ``error`` is the first error of a reading, which DuckDB reports as a text only. ``undecoded``: see ``decoding.py``.
    """

    def __init__(
        self, scan: Scan, slices: Sequence[Slice], where: RecordFilter, reading: Reading, counts: Counts
    ) -> None:
        self._columns = ScanColumns(scan)
        self._slices, self._where, self._reading, self._counts = slices, where, reading, counts
        self._passes: list[_Pass] = []
        self._closed = False
        self.error: BaseException | None = None
        self.undecoded: ByRange = {}

    @property
    def offsets(self) -> int:
        """The number of offsets of the ranges."""
        return sum(each.offsets for each in self._slices)

    def __arrow_c_schema__(self) -> object:
        """The schema as a capsule; nothing is read for it."""
        return schema_capsule(table_schema(self._columns.fields))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of the ranges."""
        fields = fields_for(self._columns.fields, requested_schema)
        found = _Pass(self._columns, self._slices, self._where, self._reading, self._counts, self.undecoded)
        self._passes.append(found)
        if self._closed:
            found.close()
        return BatchStream(fields, found, on_error=self._note, on_close=found.close).capsule()

    def close(self) -> None:
        """Ends all readings, and waits a moment for their threads."""
        self._closed = True
        for each in self._passes:
            each.close()
        for each in self._passes:
            each.join()

    def _note(self, error: BaseException) -> None:
        if self.error is None and not isinstance(error, ClosedError):
            self.error = error


class _Pass(Iterator[ArrowBatch]):
    """One reading of all ranges. Iterated by one thread at a time; threads of its own read."""

    def __init__(
        self,
        columns: ScanColumns,
        slices: Sequence[Slice],
        where: RecordFilter,
        reading: Reading,
        counts: Counts,
        undecoded: ByRange,
    ) -> None:
        self._columns, self._where, self._how, self._counts = columns, where, reading, counts
        self._undecoded = undecoded
        shares = [slices[number :: reading.readers] for number in range(reading.readers)]
        self._shares = [share for share in shares if share]
        self._queue: queue.Queue[ArrowBatch | BaseException | None] = queue.Queue(
            _AHEAD * max(1, len(self._shares))
        )
        self._left = len(self._shares)
        self._threads: list[threading.Thread] = []
        self._closed = threading.Event()

    def __next__(self) -> ArrowBatch:
        if not self._threads and not self._closed.is_set():
            self._begin()
        while self._left:
            self._check_open()
            try:
                found = self._queue.get(timeout=_TURN)
            except queue.Empty:
                continue
            if isinstance(found, BaseException):
                self._closed.set()  # DuckDB 1.4 asks again
                raise found
            if found is not None:
                return found
            self._left -= 1
        raise StopIteration

    def close(self) -> None:
        """Ends the threads with their next batch."""
        self._closed.set()

    def join(self) -> None:
        """Waits a moment for the threads."""
        for thread in self._threads:
            thread.join(_PATIENCE)

    def _begin(self) -> None:
        for share in self._shares:
            thread = threading.Thread(target=self._run, args=(share,), name="kcli-scan", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self, slices: Sequence[Slice]) -> None:
        end: BaseException | None = None
        try:
            self._read(slices)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for batches
            end = error
        self._put(end)

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClosedError("the reading was closed")

    def _put(self, found: ArrowBatch | BaseException | None) -> None:
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._queue.put(found, timeout=_TURN)
                return

    def _read(self, slices: Sequence[Slice]) -> None:
        with ExitStack() as stack:
            serdes = stack.enter_context(self._how.open_serdes())
            consumer = stack.enter_context(Consumer(self._how.options))
            consumer.connect(self._how.options.default_api_timeout_ms / 1000)
            rows = RowColumns(self._columns, serdes)
            spans = {each.tp: Span(each.start, each.end) for each in slices}
            reader = stack.enter_context(
                ArrowReader(consumer, spans, columns=rows.needed, where=self._where, on_poll=self._check_open)
            )
            seen = size = 0
            try:
                for batch in reader:
                    self._put(rows.batch(batch))
                    if self._closed.is_set():
                        return
                    with self._counts.lock:
                        self._counts.records += reader.seen - seen
                        self._counts.bytes += reader.bytes_read - size
                    seen, size = reader.seen, reader.bytes_read
            finally:
                starts = {each.tp: each.start for each in slices}
                with self._counts.lock:
                    join_counts(
                        self._undecoded,
                        {(part, *tp, starts[tp]): each for (part, tp), each in rows.undecoded.items()},
                    )


class ScanColumns:
    """The columns of a scan: their fields, and what they are made of."""

    def __init__(self, scan: Scan) -> None:
        self.made: Mapping[str, str | PathColumn] = scan.columns or {"partition": "partition"}
        self.fields: tuple[Field, ...] = tuple(
            Field(_TEXT, name)
            if isinstance(what, PathColumn) or what in ("key_json", "value_json")
            else chosen_columns([what]).fields[0]
            for name, what in self.made.items()
        )
        used = [what.column if isinstance(what, PathColumn) else what for what in self.made.values()]
        self.read = [name for name in used if not name.endswith("_json")]
        self.decoded = [part for part in ("key", "value") if f"{part}_json" in used]


class RowColumns:
    """Makes batches for DuckDB of batches as they are read. ``needed`` are the columns that have to be read;
    ``undecoded`` counts by part and partition.
    """

    def __init__(self, columns: ScanColumns, serdes: Serdes) -> None:
        self._columns = columns
        self._serdes = {"key": serdes.key, "value": serdes.value}
        needed = list(columns.read)
        for part in columns.decoded:
            serde = self._serdes[part]
            assert serde is not None
            needed += ["offset", part, "key", *([_PACKED] if serde.names_schemas else [])]
        self.needed = tuple(dict.fromkeys(needed))
        self.undecoded: dict[tuple[str, TopicPartition], Undecoded] = {}

    def batch(self, batch: ArrowBatch) -> ArrowBatch:
        """The same rows in the columns of the scan."""
        read = dict(zip(self.needed, batch.columns, strict=True))
        for part in self._columns.decoded:
            read[f"{part}_json"] = self._decoded(part, batch.tp, read)
        found = [
            json_texts(read[what.column], what.steps) if isinstance(what, PathColumn) else read[what]
            for what in self._columns.made.values()
        ]
        return ArrowBatch(
            batch.tp, self._columns.fields, tuple(found), batch.count, batch.first_offset, batch.last_offset
        )

    def _decoded(self, part: str, tp: TopicPartition, read: Mapping[str, Array]) -> Array:
        serde = self._serdes[part]
        assert serde is not None
        blocks = [block or b"" for block in column_bytes(read[_PACKED])] if serde.names_schemas else None
        keys, data = column_bytes(read["key"]), column_bytes(read[part])
        failed: list[tuple[int, DecodeError]] = []
        found = text_column(decoded_texts(serde.decode_json, part, tp.topic, keys, data, blocks, failed))
        if failed:
            row, error = failed[0]
            offsets = memoryview(read["offset"][2][1] or b"").cast("B").cast("q")
            first = self.undecoded.get((part, tp)) or Undecoded(0, offsets[row], str(error))
            self.undecoded[part, tp] = first._replace(failed=first.failed + len(failed))
        return found


def first_error(streams: Sequence[ScanStream]) -> KcliError | None:
    """What ended the reading, if it was an error of kcli."""
    for stream in streams:
        if isinstance(stream.error, KcliError):
            return stream.error
    return None
