"""The rows of an export: what ``read_export`` returns, read file by file.

Imports pyarrow: the module is imported where an export is opened.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kcli.core.arrow.export import schema_capsule
from kcli.core.arrow.fields import chosen_columns, table_schema
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, KcliError
from kcli.core.kernels.active import decode_headers
from kcli.core.types import Header, TopicPartition
from kcli.frames.head import ShowsHead
from kcli.frames.progress import counted_by, progress_line
from kcli.frames.settings import warn
from kcli.frames.stream import TableStream
from kcli.frames.topic import dropped_warnings
from kcli.output.progress import counted
from kcli.pipeline.decoding import ByRange, undecoded_warnings
from kcli.pipeline.exported_records import read_records
from kcli.pipeline.kernels.check_files import CHANGED, check_digest, check_sizes
from kcli.pipeline.manifest import Documents, ExportedFile, Gap, Manifest, merged_since
from kcli.pipeline.store.store import Store

if TYPE_CHECKING:
    from kcli.pipeline.typed.columns import Decoder, TypedParts

_TEXT_OF = {"key_text": "key", "value_text": "value"}


class Limits(NamedTuple):
    """Of each file: offsets from ``start`` up to ``stop``, times (ms) from ``since`` up to ``until``; None: no limit."""

    start: int | None
    stop: int | None
    since: int | None
    until: int | None


class Piece(NamedTuple):
    """What is read of a file."""

    tp: TopicPartition
    file: ExportedFile
    limits: Limits


class ExportFrame(ShowsHead):
    """What ``read_export`` returns: ``pyarrow.RecordBatch`` by ``pyarrow.RecordBatch``, from the beginning with each
    iteration and each ``__arrow_c_stream__``.

    The records are those of the files that the manifest named when it was opened, also where ``--compact`` has merged
    these since. ``most_rows`` is their number; fewer may be wanted. ``gaps`` are the ranges of offsets that were removed
    before they were exported. ``error`` is the last error of a reading;
    ``undecoded``: see ``TopicFrame``.
    """

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        files: Sequence[tuple[TopicPartition, ExportedFile]],
        gaps: Mapping[TopicPartition, Sequence[Gap]],
        columns: Sequence[str],
        limits: Limits,
        typed: TypedParts | None,
        *,
        undecodable: str,
        verify: bool,
        batch_rows: int,
        progress: bool | None,
    ) -> None:
        self.url = store.url
        self.gaps = gaps
        self.columns = tuple(columns)
        self.error: BaseException | None = None
        self.undecoded: ByRange = {}
        self._store, self._form, self._limits = store, manifest.format, limits
        self._created = manifest.created
        self._wanted = tuple(Piece(tp, file, limits) for tp, file in files if _overlaps(file, limits))
        self.most_rows = sum(piece.file.records for piece in self._wanted)
        self._typed, self._undecodable = typed, undecodable
        self._verify, self._batch_rows, self._progress = verify, batch_rows, progress
        self.schema = self._made_schema()

    def __repr__(self) -> str:
        files = counted(len(self._wanted), "file")
        return f"ExportFrame({self.url!r}, {files}, at most {counted(self.most_rows, 'record')})"

    def __arrow_c_schema__(self) -> object:
        """The schema as a capsule."""
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of all records."""
        del requested_schema  # whoever wants other types casts
        return TableStream(self.schema, self._reading(), on_error=self._note).capsule()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """One reading."""
        return self._reading()

    def _reading(self) -> Generator[pa.RecordBatch]:
        plain = self._limits == Limits(None, None, None, None)
        bar = progress_line("read", self._progress, self.most_rows if plain else None)
        return counted_by(self._batches(self._batch_rows), bar, lambda one: (one.num_rows, one.nbytes))

    def _note(self, error: BaseException) -> None:
        self.error = error

    def _made_schema(self) -> Any:
        raw = pa.schema(_Schema(self.columns))
        types = {} if self._typed is None else self._typed.types
        return pa.schema([pa.field(f.name, types[f.name]) if f.name in types else f for f in raw])

    # --- reading ----------------------------------------------------------------------------------------

    def _batches(self, batch_rows: int) -> Generator[pa.RecordBatch]:
        try:
            if self._typed is None:
                for piece in self._pieces():
                    for table in self._rows(piece, batch_rows):
                        yield self._chosen(piece.tp, table, None)
                return
            with self._typed.open() as serdes:
                decoder = self._typed.decoder(serdes, undecodable=self._undecodable)
                for piece in self._pieces():
                    for table in self._rows(piece, batch_rows):
                        yield self._chosen(piece.tp, table, decoder)
                self._report(decoder, self._typed)
        except Exception as error:
            self.error = error
            raise

    def _pieces(self) -> Iterator[Piece]:
        """What is read, in its order; each file is there, and has its size, unless it is merged in that instant."""
        pieces = list(self._wanted)
        at = 0
        while at < len(pieces):
            file = pieces[at].file
            if self._store.size(file.path) != file.bytes:
                merged = self._merged(pieces[at:])
                if merged:
                    pieces[at:] = merged
                    continue
                check_sizes(self._store, [file], self._created)
            yield pieces[at]
            at += 1
        self._wanted = tuple(pieces)

    def _merged(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The same records in the files that the manifest names now: a compaction merges files that follow each other,
        names what they became, and then removes them. Empty if the first file should be there, or something is missing.
        """
        manifest = Documents(self._store).manifest()
        now: dict[str, list[ExportedFile]] = {}
        if manifest is None or manifest.created != self._created:
            return []
        for file in manifest.files:
            now.setdefault(os.path.dirname(file.path), []).append(file)
        if pieces[0].file in now.get(os.path.dirname(pieces[0].file.path), ()):
            return []
        found: list[Piece] = []
        count = 0
        for folder, several in groupby(pieces, key=lambda piece: os.path.dirname(piece.file.path)):
            group = list(several)
            for file in now.get(folder, ()):
                inside = [one for one in group if file.start <= one.file.start and one.file.end <= file.end]
                if inside:
                    found.append(Piece(inside[0].tp, file, _joined(inside)))
                    count += len(inside)
        return found if count == len(pieces) else []

    def _rows(self, piece: Piece, batch_rows: int) -> Iterator[Any]:
        """The columns that are needed, of the records that are wanted. A file that is merged and removed while it is read
        is read on in the merged one, after the rows that were there already.
        """
        source, passed = piece, 0
        while True:
            skipped = 0
            try:
                for batch in self._stored(source, batch_rows):
                    rest = batch.slice(min(batch.num_rows, passed - skipped))
                    skipped += batch.num_rows
                    if rest.num_rows:
                        passed += rest.num_rows
                        yield rest
                return
            except ConfigError:
                path = source.file.path
                gone = self._store.size(path) is None
                merged = merged_since(self._store, source.file, self._created) if gone else None
                if merged is None:
                    raise
                source = Piece(piece.tp, merged, _joined([piece]))

    def _stored(self, piece: Piece, batch_rows: int) -> Iterator[Any]:
        file, limits = piece.file, piece.limits
        name = self._store.name(file.path)
        records = 0
        try:
            if self._verify:
                check_digest(self._store, file)
            for batch in (
                self._parquet(piece, name, batch_rows) if self._form == "parquet" else self._text(file)
            ):
                records += batch.num_rows
                found = batch if _is_within(file, limits) else _filtered(batch, limits)
                if found.num_rows:
                    yield found
        except (pa.ArrowException, OSError) as error:
            raise ConfigError(f"{name} cannot be read", why=str(error), do=CHANGED) from error
        if self._form != "parquet" and records != file.records:
            raise _other_number(name, records, file)

    def _parquet(self, piece: Piece, name: str, batch_rows: int) -> Iterator[Any]:
        file, limits = piece.file, piece.limits
        needed = self._needed(limits)
        with self._store.open(file.path) as found, pq.ParquetFile(found) as parquet:
            if parquet.metadata.num_rows != file.records:
                raise _other_number(name, parquet.metadata.num_rows, file)
            missing = [column for column in needed if column not in parquet.schema_arrow.names]
            if missing:
                raise ConfigError(f"{name} has no column {missing[0]}", why="an export has it", do=CHANGED)
            for group in range(parquet.num_row_groups):
                if _may_have(parquet.metadata.row_group(group), limits):
                    yield from parquet.iter_batches(batch_rows, row_groups=[group], columns=needed)

    def _text(self, file: ExportedFile) -> Iterator[Any]:
        for records in read_records(self._store, file.path, self._form, file.start):
            table = records.table
            headers = [
                [{"key": name, "value": value} for name, value in decode_headers(block, 0, len(block))]
                for block in table["headers_packed"].to_pylist()
            ]
            kind = pa.schema(_Schema(["headers"])).field(0).type
            yield pa.RecordBatch.from_pydict(
                {
                    "offset": pa.array(records.offsets, pa.int64()),
                    "headers": pa.array(headers, kind),
                    **{name: table[name].combine_chunks() for name in ("timestamp", "key", "value")},
                }
            )

    def _needed(self, limits: Limits) -> list[str]:
        """The columns of a file."""
        found = [_TEXT_OF.get(name, name) for name in self.columns if name not in ("topic", "partition")]
        if self._typed is not None:
            found += ["offset", "key", *(["headers"] if self._typed.names_schemas else [])]
        if limits.start is not None or limits.stop is not None or not found:
            found.append("offset")
        if limits.since is not None or limits.until is not None:
            found.append("timestamp")
        return list(dict.fromkeys(found))

    def _chosen(self, tp: TopicPartition, batch: Any, decoder: Decoder | None) -> pa.RecordBatch:
        """The columns of the frame."""
        if not self.columns:
            return batch.select([])  # made of no arrays it would have no rows
        found = {} if decoder is None else self._decoded(tp, batch, decoder)
        arrays = [
            found[field.name] if field.name in found else _column(field, tp, batch) for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _decoded(self, tp: TopicPartition, batch: Any, decoder: Decoder) -> dict[str, Any]:
        assert self._typed is not None
        offsets, keys = batch.column("offset").to_pylist(), batch.column("key").to_pylist()
        blocks = batch.column("headers").to_pylist() if self._typed.names_schemas else None

        def headers(row: int) -> tuple[Header, ...]:
            pairs = None if blocks is None else blocks[row]
            return tuple((pair["key"], pair["value"]) for pair in pairs or ())

        return {
            part: decoder.column(
                part, tp, keys if part == "key" else batch.column(part).to_pylist(), keys, headers, offsets
            )
            for part in self._typed.types
        }

    def _report(self, decoder: Decoder, typed: TypedParts) -> None:
        self.undecoded = {(part, *tp, 0): each for (part, tp), each in decoder.undecoded.items()}
        for text in (*undecoded_warnings(self.undecoded, typed.names), *dropped_warnings(typed)):
            warn(text)

    def _first(self, rows: int) -> tuple[Any, str]:
        found: list[Any] = []
        count = 0
        with closing(self._batches(rows)) as batches, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for batch in batches:
                found.append(batch.slice(0, rows - count))
                count += found[-1].num_rows
                if count >= rows:
                    break
        return pa.Table.from_batches(found, self.schema), ""


# --- rows and columns -----------------------------------------------------------------------------------


class _Schema:
    """The schema of chosen columns, for pyarrow."""

    def __init__(self, columns: Iterable[str]) -> None:
        self._columns = columns

    def __arrow_c_schema__(self) -> object:
        return schema_capsule(table_schema(chosen_columns(self._columns).fields))


def _joined(pieces: Sequence[Piece]) -> Limits:
    """The limits of pieces that follow each other, in one file."""
    first, last = pieces[0], pieces[-1]
    start, stop = first.limits.start or 0, last.limits.stop
    return first.limits._replace(
        start=max(start, first.file.start),
        stop=last.file.end if stop is None else min(stop, last.file.end),
    )


def _filtered(batch: Any, limits: Limits) -> Any:
    conditions = []
    for name, low, high in (
        ("offset", limits.start, limits.stop),
        ("timestamp", limits.since, limits.until),
    ):
        if low is not None:
            conditions.append(pc.greater_equal(batch.column(name), low))
        if high is not None:
            conditions.append(pc.less(batch.column(name), high))
        if name == "timestamp" and (low is not None or high is not None):
            conditions.append(pc.greater_equal(batch.column(name), 0))
    mask = conditions[0]
    for other in conditions[1:]:
        mask = pc.and_(mask, other)
    return batch.filter(mask)


def _overlaps(file: ExportedFile, limits: Limits) -> bool:
    return (limits.start is None or file.end > limits.start) and (
        limits.stop is None or file.start < limits.stop
    )


def _is_within(file: ExportedFile, limits: Limits) -> bool:
    """Whether all records of a file are wanted."""
    return (
        limits.since is None
        and limits.until is None
        and (limits.start is None or file.start >= limits.start)
        and (limits.stop is None or file.end <= limits.stop)
    )


def _may_have(group: Any, limits: Limits) -> bool:
    """Whether a row group may have records that are wanted, by its statistics."""
    statistics = {
        group.column(n).path_in_schema: group.column(n).statistics for n in range(group.num_columns)
    }
    for name, low, high in (
        ("offset", limits.start, limits.stop),
        ("timestamp", limits.since, limits.until),
    ):
        found = statistics.get(name)
        if found is None or not found.has_min_max:
            continue
        if (low is not None and found.max < low) or (high is not None and found.min >= high):
            return False
    return True


def _column(field: Any, tp: TopicPartition, batch: Any) -> Any:
    name, kind = field.name, field.type
    if name in ("topic", "partition"):
        value = tp.topic if name == "topic" else tp.partition
        return pa.array([value], kind).take(pa.repeat(0, batch.num_rows))
    if name in _TEXT_OF:
        return _text(batch.column(_TEXT_OF[name]))
    if (
        name not in batch.schema.names
    ):  # the formats of text have neither types of timestamps nor leader epochs
        return pa.nulls(batch.num_rows, kind)
    column = batch.column(name)
    if name == "timestamp":
        column = pc.if_else(pc.less(column, 0), pa.scalar(None, pa.int64()), column)
    return column if column.type == kind else column.cast(kind)


def _text(column: Any) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:  # some are not UTF-8
        return pa.array([_utf8(value) for value in column.to_pylist()], pa.string())


def _utf8(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _other_number(name: str, records: int, file: ExportedFile) -> KcliError:
    return ConfigError(
        f"{name} has {counted(records, 'record')}", why=f"the manifest says {file.records}", do=CHANGED
    )
