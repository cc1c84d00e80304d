"""Reads the files of an export as Arrow tables that a producer sends. Nothing is lost: a null is not empty, and a record
without a timestamp gets none.

Imports pyarrow: the module is imported where files are read.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate, islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.flows.inputs.csv_rows import CsvParser
from kcli.flows.inputs.input_format import HeaderBlocks, InputFormat
from kcli.flows.inputs.item import BadInput, InputError, InputRow, Parser
from kcli.flows.inputs.lines import LineFormat
from kcli.flows.inputs.parsers import parser_of
from kcli.pipeline.manifest import ExportedFile, merged_since
from kcli.pipeline.store.store import Store
from kcli.pipeline.text_files import offset_in

_AGAIN = "compare the file with its copy, or export again"
_BATCH_ROWS = 20_000
_FEWEST_ROWS = 64
_BLOCK = 1 << 20
_COLUMNS = ["offset", "timestamp", "key", "value", "headers"]
_ROWS = pa.schema(
    [("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary()), ("headers_packed", pa.binary())]
)


class Records(NamedTuple):
    """Records in the order of their offsets, as a table for a producer. ``offsets``: of its rows."""

    table: Any
    offsets: Sequence[int]
    bytes: int

    @property
    def next_offset(self) -> int:
        """The offset after the last of them."""
        return self.offsets[-1] + 1


def in_units(files: Sequence[ExportedFile]) -> list[tuple[ExportedFile, ...]]:
    """Files of a partition, those together whose records may alternate, in the order of offsets. Pure."""
    units: list[tuple[ExportedFile, ...]] = []
    end = -1
    for file in sorted(files, key=lambda file: (file.start, file.end, file.first)):
        units[-1:] = [(*units[-1], file)] if file.start < end else [*units[-1:], (file,)]
        end = max(end, file.end)
    return units


def read_in_order(store: Store, files: Sequence[ExportedFile], form: str, start: int) -> Iterator[Records]:
    """The records of files of one partition at offsets from ``start`` on, in the order of offsets, whichever files they
    are in. A file is open while the records before its last one are read; the more there are, the smaller are batches.
    """
    if len(files) == 1:
        yield from read_file(store, files[0], form, start)
        return
    rows = max(_FEWEST_ROWS, _BATCH_ROWS // _most_at_once(files))
    waiting = deque(sorted((file for file in files if file.last >= start), key=lambda file: file.first))
    open_: list[tuple[Records, Generator[Records]]] = []
    with ExitStack() as stack:
        while waiting or open_:
            while waiting and (not open_ or waiting[0].first <= min(head.offsets[-1] for head, _ in open_)):
                more = read_records(store, waiting.popleft().path, form, start, rows)
                stack.callback(more.close)
                open_ += [(head, more) for head in islice(more, 1)]
            if not open_:
                continue
            # Up to here nothing of what is not read yet comes between; at least one batch is whole in it.
            last = min(head.offsets[-1] for head, _ in open_)
            parts, left = [], []
            for head, more in open_:
                before, after = _cut(head, last)
                parts += [before] if before is not None else []
                left += [(found, more) for found in ([after] if after is not None else islice(more, 1))]
            open_ = left
            yield _in_order(parts)


def _most_at_once(files: Sequence[ExportedFile]) -> int:
    """How many files may be open at a time."""
    steps = sorted([*((file.first, 1) for file in files), *((file.last + 1, -1) for file in files)])
    return max(accumulate(step for _offset, step in steps))


def _cut(records: Records, last: int) -> tuple[Records | None, Records | None]:
    """What is up to an offset, and what is after it."""
    count = bisect_right(records.offsets, last)
    parts = ((0, count), (count, len(records.offsets)))
    before, after = (
        None
        if begin == end
        else Records(
            table := records.table.slice(begin, end - begin), records.offsets[begin:end], table.nbytes
        )
        for begin, end in parts
    )
    return before, after


def _in_order(parts: Sequence[Records]) -> Records:
    if len(parts) == 1:
        return parts[0]
    offsets = [offset for part in parts for offset in part.offsets]
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    table = pa.concat_tables([part.table for part in parts]).take(pa.array(order))
    return Records(table.combine_chunks(), sorted(offsets), sum(part.bytes for part in parts))


def read_file(store: Store, file: ExportedFile, form: str, start: int) -> Iterator[Records]:
    """The records of a file at offsets from ``start`` on, also if ``--compact`` merges it with others meanwhile: an
    object store has it no more then, and what is left is read from the merged one. ConfigError as ``read_records``.
    """
    source, at = file, max(start, file.start)
    while True:
        try:
            for found in read_records(store, source.path, form, at):
                records = _up_to(found, file.end)
                if not records.offsets:
                    return
                at = records.next_offset
                yield records
            return
        except ConfigError:
            merged = merged_since(store, source) if store.size(source.path) is None else None
            if merged is None:
                raise
            source = merged


def _up_to(records: Records, end: int) -> Records:
    count = bisect_left(records.offsets, end)
    if count == len(records.offsets):
        return records
    table = records.table.slice(0, count)
    return Records(table, records.offsets[:count], table.nbytes)


def read_records(
    store: Store, path: str, form: str, start: int, rows: int = _BATCH_ROWS
) -> Generator[Records]:
    """The records of a file at offsets from ``start`` on, of Parquet up to ``rows`` at a time; ConfigError for one that
    cannot be read.
    """
    name = store.name(path)
    try:
        with store.open(path) as file:
            yield from _parquet(file, name, start, rows) if form == "parquet" else _text(file, form, start)
    except (pa.ArrowException, OSError, InputError) as error:
        raise ConfigError(f"{name} cannot be read", why=str(error), do=_AGAIN) from error


def _parquet(found: BinaryIO, name: str, start: int, rows: int) -> Iterator[Records]:
    with pq.ParquetFile(found) as file:
        missing = [column for column in _COLUMNS if column not in file.schema_arrow.names]
        if missing:
            raise ConfigError(f"{name} has no column {missing[0]}", why="an export has it", do=_AGAIN)
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(rows, row_groups=[group], columns=_COLUMNS):
                records = _records(batch, start)
                if len(records.offsets):
                    yield records


def _records(batch: Any, start: int) -> Records:
    """The rows of a batch at offsets from ``start`` on."""
    offsets = batch.column("offset")
    values = memoryview(offsets.buffers()[1]).cast("q")[offsets.offset : offsets.offset + len(offsets)]
    first = bisect_left(values, start)
    batch = batch.slice(first)
    table = pa.table(
        {
            "timestamp": pc.fill_null(batch.column("timestamp"), -1),
            **{name: batch.column(name) for name in ("key", "value", "headers")},
        }
    )
    return Records(table, values[first:], table.nbytes)


def _text(file: BinaryIO, form: str, start: int) -> Iterator[Records]:
    parser: Parser = (
        CsvParser(HeaderBlocks(), LineFormat()) if form == "csv" else parser_of(InputFormat(form))
    )
    while block := file.read(_BLOCK):
        yield from _rows(form, start, parser.feed(block))
    yield from _rows(form, start, parser.finish())


def _rows(form: str, start: int, items: Sequence[InputRow | BadInput]) -> Iterator[Records]:
    offsets: list[int] = []
    rows: list[InputRow] = []
    for item in items:
        if isinstance(item, BadInput):
            raise InputError(f"line {item.line}", why=item.reason, do=_AGAIN)
        offset = offset_in(item.raw or b"", form)
        if offset < 0:
            raise InputError(f"line {item.line}", why="it has no offset", do=_AGAIN)
        if offset >= start:
            offsets.append(offset)
            rows.append(item)
    if not rows:
        return
    table = pa.table(
        [
            [-1 if row.timestamp is None else row.timestamp for row in rows],
            [row.key for row in rows],
            [row.value for row in rows],
            [row.headers for row in rows],
        ],
        schema=_ROWS,
    )
    yield Records(table, offsets, table.nbytes)
