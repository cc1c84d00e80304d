"""The C twin of ``pure``, built from ``native/*.c`` where there is a compiler. Arguments are positional only."""

from collections.abc import Iterable, Sequence
from typing import Any

from kcli.core.kernels.arrow_ops import Array, ArrowPart, Converted, Parts
from kcli.core.kernels.pure.fill import Cells
from kcli.core.kernels.render_ops import Facts, Program
from kcli.core.kernels.shapes import (
    BytesColumn,
    Columns,
    DigestPiece,
    Headers,
    LogState,
    MarkedRecords,
    NumberColumn,
    RecordColumns,
    Row,
    Text,
)
from kcli.core.kernels.varint import Buffer
from kcli.core.types import Header

def arrow_columns(
    parts: Parts,
    columns: Sequence[int],
    since: int | None,
    until: int | None,
    keys: Sequence[bytes | None] | None,
    not_null: bool,
    topic: bytes,
    partition: int,
    /,
) -> Converted: ...
def _arrow_array(column: Array, /) -> object:
    """A capsule ``arrow_array``, which shares the buffers of ``arrow_columns`` and copies others."""

def _arrow_schema(field: object, /) -> object:
    """A capsule ``arrow_schema`` of a field: format, name, flags, children."""

def _arrow_stream(source: object, /) -> object:
    """A capsule ``arrow_array_stream`` that calls ``schema``, ``next`` and, once, ``close`` of the source."""

def check_log(
    data: Buffer,
    origin: int,
    state: LogState,
    entries: bytes,
    times: bytes,
    base: int,
    contiguous: bool,
    interval: int,
    /,
) -> LogState: ...
def crc32c(data: Buffer, value: int = 0, /) -> int: ...
def crc32c_patch(crc: int, old: Buffer, new: Buffer, tail: int, /) -> int: ...
def crc32c_tables(data: Buffer, value: int = 0, /) -> int:
    """``crc32c`` as processors without instructions for it compute it; for tests."""

def decode_columns(payload: Buffer, count: int, /) -> Columns: ...
def decode_headers(payload: Buffer, start: int, end: int, /) -> tuple[Header, ...]: ...
def decode_run(
    data: Buffer, first_offset: int, last_offset: int, delimiter: bytes, null: bytes, /
) -> tuple[bytes, int]: ...
def decode_values(
    payload: Buffer, count: int, first_delta: int, last_delta: int, delimiter: bytes, null: bytes, /
) -> tuple[bytes, int]: ...
def digest_records(
    part: ArrowPart, timestamps: bool, digest: bytes, room: int, chunk: int, /
) -> list[DigestPiece]: ...
def encode_columns(
    columns: RecordColumns,
    rows: Buffer | None,
    start: int,
    stop: int,
    first_delta: int,
    base_timestamp: int | None,
    now: int,
    room: int,
    /,
) -> tuple[bytes, int, int, int, int]: ...
def encode_headers(headers: Sequence[Header], /) -> bytes: ...
def encode_keyed(
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    start: int,
    first_delta: int,
    timestamp_delta: int,
    headers: bytes,
    room: int,
    /,
) -> tuple[bytes, int, int]: ...
def encode_lines(
    lines: Sequence[bytes],
    start: int,
    first_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    headers: bytes,
    room: int,
    /,
) -> tuple[bytes, int, int]: ...
def encode_record(
    key: bytes | None, value: bytes | None, headers: bytes, offset_delta: int, timestamp_delta: int, /
) -> bytes: ...
def encode_rows(
    rows: Sequence[Row], start: int, first_delta: int, base_timestamp: int, room: int, /
) -> tuple[bytes, int, int]: ...
def encode_slices(
    text: Text,
    slices: bytes,
    start: int,
    headers: bytes,
    first_delta: int,
    timestamp_delta: int,
    room: int,
    /,
) -> tuple[bytes, int, int]: ...
def encode_text(
    text: Text,
    start: int,
    end: int,
    delimiter: bytes,
    key_delimiter: bytes | None,
    key: bytes | None,
    headers: bytes,
    null_marker: bytes | None,
    empty_is_null: bool,
    first_delta: int,
    timestamp_delta: int,
    room: int,
    longest: int,
    /,
) -> tuple[bytearray, int, int]: ...
def fill_lines(pieces: Sequence[bytes], columns: Sequence[Cells], refused: bytes, /) -> bytes | None: ...
def find_in_records(
    payload: Buffer, count: int, in_key: bool, needle: bytes, at: int, /
) -> tuple[bytes, bytes]: ...
def group_columns(
    columns: RecordColumns,
    own: NumberColumn | None,
    rows: Buffer | None,
    start: int,
    stop: int,
    partitions: int,
    sticky: int,
    /,
) -> list[tuple[int, bytes]]: ...
def group_slices(
    text: Text, slices: bytes, partitions: int, sticky: int, /
) -> list[tuple[int, bytes, bytes]]: ...
def group_values(
    column: BytesColumn, count: int, rows: Buffer | None, start: int, stop: int, /
) -> list[tuple[bytes | None, bytes]]: ...
def index_text(
    text: Text,
    start: int,
    end: int,
    delimiter: bytes,
    key_delimiter: bytes | None,
    null_marker: bytes | None,
    empty_is_null: bool,
    longest: int,
    /,
) -> tuple[bytes, int, int]: ...
def mark_lines(text: bytearray, starts: bytes, first: int, stop: int, at: int, sequence: int, /) -> None: ...
def mark_runs(part: ArrowPart, magic: bytes, head: int, /) -> MarkedRecords: ...
def measure_columns(
    columns: RecordColumns, rows: Buffer | None, start: int, stop: int, room: int, longest: int, /
) -> tuple[int, int]: ...
def murmur2(key: bytes, /) -> int: ...
def partition_keys(keys: Sequence[bytes] | Iterable[bytes], partitions: int, /) -> list[int]: ...
def read_rows(
    data: memoryview, start: int, count: int, shape: str, /
) -> tuple[list[tuple[Any, ...]], int] | None: ...
def render_records(
    payload: Buffer,
    count: int,
    program: Program,
    facts: Facts,
    first_delta: int,
    last_delta: int,
    limit: int,
    selected: bytes | bytearray,
    extras: Sequence[Sequence[bytes | None]],
    /,
) -> tuple[bytes, int, int]: ...
def join_run(data: Buffer, /) -> tuple[bytes, int, int, int]: ...
def json_texts(column: Array, path: Sequence[bytes | int], /) -> Array: ...
def scan_batches(
    data: Buffer, start: int, limit: int, after: int, until: int, since: int, verify: bool, /
) -> Headers: ...
def walk_batches(
    data: Buffer, start: int, limit: int, transactional: bool, verify: bool, /
) -> tuple[int, int, int, int]: ...
