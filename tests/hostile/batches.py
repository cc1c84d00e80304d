"""Targets: fetched bytes, from the cut into batches to what is shown of their records.

Magic 0, 1 and 2, each codec, whole sets of batches. A third of the inputs is damaged as a network or a disk does it. In
the others it is hidden behind right checksums and lengths, as a hostile producer or broker would: in the header, in the
compressed bytes, or inside them. Not a test.

The first byte of an input chooses how it is read: with or without checksums, compressed markers, joined batches.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from random import Random

from kcli.core.codecs.codec import codec_name
from kcli.core.codecs.compression import compress
from kcli.core.consumer.fetched import Cut, FetchedBatch, cut
from kcli.core.consumer.subscription import PartitionState, Span
from kcli.core.errors import ConfigError, CorruptRecordsError, ProtocolError
from kcli.core.kernels import arrow_ops
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.active import arrow_columns, crc32c
from kcli.core.kernels.arrow_ops import Array
from kcli.core.kernels.shapes import DIGEST_SIZE, NO_RECORDS
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.fetch import AbortedTransaction, PartitionData
from kcli.core.records.batch import CRC_START, HEADER, HEADER_SIZE, LENGTH_END
from kcli.core.records.passing import offsets_taken, take_over
from kcli.core.records.slice import cut_record
from kcli.core.records.view import BatchView
from kcli.core.types import Codec, TopicPartition
from tests.hostile.mutator import Mark, Sample, mutate, numbers, zigzag
from tests.hostile.target import Family, Target

CAP = 1 << 20
_TP = TopicPartition("t", 0)
_NOW = 1_700_000_000_000
_BASE = 100
_ABORTED = ((5, 90), (7, 100), (-1, -1))
_HOSTILE_HEADER = (
    "attributes",
    "count",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "base_offset",
)
_HEADER_AT = {
    "base_offset": (0, "q"),
    "attributes": (21, "h"),
    "last_offset_delta": (23, "i"),
    "base_timestamp": (27, "q"),
    "max_timestamp": (35, "q"),
    "producer_id": (43, "q"),
    "count": (57, "i"),
}
_EVERY_COLUMN = tuple(range(arrow_ops.PARTITION + 1))
_JSON_LINE = (
    (op.LITERAL, b'{"offset":'), (op.NUMBER, op.OFFSET),
    (op.TIME, b',"time":"', b'"', b""), (op.TIMESTAMP_TYPE, b"", b"C", b"A"),
    (op.LITERAL, b',"key":'), (op.BYTES, op.KEY, op.JSON, b"null", b""),
    (op.LITERAL, b',"value":'), (op.BYTES, op.VALUE, op.JSON_ESCAPED, b"null", b""),
    (op.HEADERS, op.HEADERS_JSON), (op.LITERAL, b"}\n"),
)  # fmt: skip
_FORMS = (
    (op.BYTES, op.KEY, op.HEX, b"-", b""), (op.BYTES, op.VALUE, op.BASE64, b"-", b""),
    (op.BYTES, op.VALUE, op.CSV, b"", b""), (op.BYTES, op.VALUE, op.NOT_TEXT, b"-", b""),
    (op.LENGTH, op.VALUE), (op.NUMBER, op.HEADER_COUNT), (op.NUMBER, op.TIMESTAMP),
    (op.HEADERS, op.HEADERS_CSV), (op.HEADERS, op.HEADERS_FLAT, b"", b""), (op.HEADERS, op.HEADERS_TEXT),
)  # fmt: skip

_Use = Callable[[BatchView, int, int], None]
Row = tuple[bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...], int]


def _rows(rng: Random) -> list[Row]:
    """Records of all shapes: equal ones (the kernels' fast path), nulls, headers, long values."""
    match rng.randrange(4):
        case 0:
            return [(None, b"%08d" % index, (), 3) for index in range(20)]
        case 1:
            return [(b"k%d" % index, bytes(index * 5), (), index * 40) for index in range(6)]
        case 2:
            headers = ((b"h", b"v"), (b"name", None), ("é".encode(), b""), (b"\xff", bytes(3)))
            return [(b"k", b"v" * index, headers[:index], -index << 34) for index in range(5)]
        case _:
            return [(rng.choice((None, b"", b"k")), rng.choice((None, b"", b"{}")), (), 0) for _ in range(3)]


class _Records:
    """The records of magic 2 and where their varints are."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.marks: list[Mark] = []

    def add(self, row: Row, delta: int) -> None:
        inner = _Records()
        key, value, headers, time = row
        inner.out.append(0)
        for number in (time, delta):
            inner._number(number)
        inner._bytes(key)
        inner._bytes(value)
        inner._number(len(headers))
        for name, content in headers:
            inner._bytes(name)
            inner._bytes(content)
        self._number(len(inner.out))
        self.marks += [Mark(mark.at + len(self.out), mark.kind) for mark in inner.marks]
        self.out += inner.out

    def _number(self, value: int) -> None:
        self.marks.append(Mark(len(self.out), "z"))
        self.out += zigzag(value)

    def _bytes(self, data: bytes | None) -> None:
        self._number(-1 if data is None else len(data))
        self.out += data or b""


@dataclass(frozen=True, slots=True)
class _Plain:
    """The records of one batch, before compression."""

    sample: Sample
    count: int
    last: int
    flags: int


def _plain(rng: Random) -> _Plain:
    records = _Records()
    if rng.random() < 0.15:  # the marker that ends a transaction
        kind = rng.choice((b"\0\0\0\0", b"\0\0\0\1", b"\0\0", b""))
        records.add((kind, b"\0\0\0\0\0\3", (), 0), 0)
        return _Plain(Sample(bytes(records.out), tuple(records.marks)), 1, 0, 0x30)
    step = rng.choice((1, 1, 1, 3))
    rows = _rows(rng)
    for index, row in enumerate(rows):
        records.add(row, index * step)
    flags = rng.choice((0, 0, 0, 0x08, 0x10))
    return _Plain(Sample(bytes(records.out), tuple(records.marks)), len(rows), (len(rows) - 1) * step, flags)


def _batch(
    plain: _Plain, payload: bytes, codec: int, base: int, changes: dict[str, int] | None = None
) -> bytes:
    raw = bytearray(
        HEADER.pack(
            base, HEADER_SIZE - LENGTH_END + len(payload), 3, 2, 0, codec | plain.flags, plain.last, _NOW, _NOW + 5,
            7 if plain.flags & 0x10 else -1, 0, -1, plain.count,
        )
        + payload
    )  # fmt: skip
    for name, value in (changes or {}).items():
        at, kind = _HEADER_AT[name]
        width = struct.calcsize(kind)
        raw[at : at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "big")
    raw[CRC_START - 4 : CRC_START] = crc32c(raw[CRC_START:]).to_bytes(4, "big")
    return bytes(raw)


@cache
def _whole(magic: int, codec: int) -> tuple[Sample, ...]:
    """Valid fetched bytes: some batches in a row, the last one perhaps cut off."""
    rng = Random(magic * 10 + codec)
    samples = []
    for _ in range(12):
        data, marks, offset = bytearray(), [], _BASE
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = len(data)
            if magic == 2:
                plain = _plain(rng)
                data += _batch(plain, bytes(compress(codec, plain.sample.data)), codec, offset)
                marks += [Mark(at + 8, "i"), *(Mark(at + where, kind) for where, kind in _HEADER_AT.values())]
                if not codec:
                    marks += [Mark(at + HEADER_SIZE + m.at, m.kind) for m in plain.sample.marks]
                offset += plain.last + 1
            else:
                inner, count = _legacy_set(rng, magic, codec, offset)
                data += _wrapped(inner.data, magic, codec, offset + count - 1) if codec else inner.data
                marks += [
                    Mark(at + 8, "i"),
                    Mark(at, "q"),
                    Mark(at + 17, "b"),
                    Mark(at + (26 if magic else 18), "i"),
                ]
                marks += [] if codec else [Mark(at + m.at, m.kind) for m in inner.marks]
                offset += count
        samples.append(Sample(bytes(data), tuple(marks)))
    return tuple(samples)


def _message(
    magic: int, offset: int, attributes: int, time: int, key: bytes | None, value: bytes | None
) -> bytes:
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", time) if magic else b"")
    for data in (key, value):
        body += struct.pack(">i", -1 if data is None else len(data)) + (data or b"")
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def _legacy_set(rng: Random, magic: int, codec: int, offset: int) -> tuple[Sample, int]:
    data, marks = bytearray(), []
    rows = _rows(rng)
    first = 0 if magic and codec else offset
    for index, (key, value, _, _) in enumerate(rows):
        at = len(data)
        data += _message(magic, first + index, 0, _NOW, key, value)
        field = at + (26 if magic else 18)
        marks += [Mark(at, "q"), Mark(at + 8, "i"), Mark(at + 16, "b"), Mark(at + 17, "b"), Mark(field, "i")]
        marks.append(Mark(field + 4 + len(key or b""), "i"))
    return Sample(bytes(data), tuple(marks)), len(rows)


def _wrapped(inner: bytes, magic: int, codec: int, last: int, flags: int = 0) -> bytes:
    return _message(magic, last, codec | flags, _NOW, None, bytes(compress(codec, inner)))


def _sign_set(data: bytes) -> bytes:
    """The messages of a set with the checksums that their bytes have now, as far as they can be told apart."""
    out = bytearray(data)
    at = 0
    while len(out) - at >= 26:
        end = at + 12 + int.from_bytes(out[at + 8 : at + 12], "big", signed=True)
        if not at + 16 < end <= len(out):
            break
        out[at + 12 : at + 16] = zlib.crc32(out[at + 16 : end]).to_bytes(4, "big")
        at = end
    return bytes(out)


def _make(magic: int, codec: int, rng: Random) -> bytes:
    how = rng.randrange(256)
    if rng.random() < 0.35:
        samples = _whole(magic, codec)
        data = mutate(rng.choice(samples), rng, samples)
    elif magic == 2:
        data = _hostile_batch(codec, rng)
    else:
        data = _hostile_set(magic, codec, rng)
    if rng.random() < 0.2:
        data += rng.choice(_whole(rng.randrange(3), 0)).data
    return bytes((how,)) + data


def _hostile_batch(codec: int, rng: Random) -> bytes:
    plain = _plain(rng)
    payload, where = plain.sample.data, rng.randrange(4)
    changes: dict[str, int] = {}
    if where in (0, 3):
        payload = mutate(plain.sample, rng)
    payload = bytes(compress(codec, payload))
    if where == 1:
        payload = mutate(Sample(payload, (Mark(0, "q"), Mark(4, "u"), Mark(16, "i"))), rng)
    if where >= 2:
        for name in rng.sample(_HOSTILE_HEADER, rng.randrange(1, 3)):
            changes[name] = numbers(rng, len(payload)) if name != "attributes" else rng.randrange(1 << 16)
    return _batch(plain, payload, codec, _BASE, changes)


def _hostile_set(magic: int, codec: int, rng: Random) -> bytes:
    inner, count = _legacy_set(rng, magic, codec, _BASE)
    data = mutate(inner, rng)
    if rng.random() < 0.8:
        data = _sign_set(data)
    if not codec:
        return data
    last = _BASE + count - 1 if rng.random() < 0.8 else numbers(rng, len(data))
    if rng.random() < 0.2:  # a set within a set
        data = _wrapped(data, magic, codec, last)
    wrapper = _wrapped(data, magic, codec, last & (1 << 63) - 1, rng.choice((0, 8)))
    if rng.random() < 0.2:
        wrapper = _sign_set(mutate(Sample(wrapper, (Mark(8, "i"), Mark(0, "q"), Mark(17, "b"))), rng))
    return wrapper


def _run(data: bytes) -> None:
    """As the consumer cuts it, then everything that is done with a batch; the first errors do not hide later ones."""
    if not data:
        return
    how = data[0]
    options = _options(bool(how & 1), bool(how & 2), bool(how & 4), bool(how & 8))
    state = PartitionState(_TP, Span(_BASE, None), 0, lambda _state: None)
    aborted = [AbortedTransaction(producer_id=p, first_offset=o) for p, o in _ABORTED] if how & 16 else None
    part = PartitionData(records=memoryview(data)[1:], aborted_transactions=aborted)
    found = cut(state, part, options, joins=1 << 20 if how & 32 else 0)
    _check_cut(found)
    for fetched in found.batches:
        assert fetched.first < fetched.stop
        for use in _USES:
            error = _error_of(use, fetched)
            if isinstance(error, CorruptRecordsError):
                assert str(error.in_partition(_TP)).startswith("t-0: ")
            else:  # what cannot be copied, in words of take_over
                assert error is None or use is _copied, error
        fetched.batch.forget_payload()
    if found.damage is not None:
        raise found.damage


def _error_of(use: _Use, fetched: FetchedBatch) -> CorruptRecordsError | ConfigError | None:
    try:
        use(fetched.batch, fetched.first, fetched.stop)
    except (CorruptRecordsError, ConfigError) as error:
        return error
    return None


def _check_cut(found: Cut) -> None:
    assert found.position >= _BASE
    if found.damage is not None:
        assert found.damage.tp == _TP
    if found.skipped is not None:
        assert isinstance(found.skipped[1], ProtocolError)
        assert found.skipped[0].extent  # what is logged of it


@cache
def _options(check: bool, skip: bool, committed: bool, markers: bool) -> ConsumerOptions:
    return ConsumerOptions(
        check_crcs=check,
        on_corrupt="skip" if skip else "fail",
        isolation_level="read_committed" if committed else "read_uncommitted",
        show_control_batches=markers,
        max_decompressed_batch_bytes=CAP,
    )


def _columns(batch: BatchView, _first: int, _stop: int) -> None:
    columns = batch.columns()
    assert len(columns.offset_deltas) == batch.count
    if batch.count and columns.offset_deltas:
        kept = cut_record(batch, columns, batch.count - 1)
        assert list(kept.records())


def _values(batch: BatchView, first: int, stop: int) -> None:
    _, count = batch.values(first, stop - 1, b"\n", b"")
    assert count <= batch.count


def _objects(batch: BatchView, _first: int, _stop: int) -> None:
    for record in batch.records("t", 0):
        assert batch.base_offset <= record.offset < batch.next_offset


def _rendered(batch: BatchView, first: int, stop: int) -> None:
    for program in (_JSON_LINE, _FORMS):
        _, count, _ = batch.render(program, first, stop - 1)
        assert count <= batch.count


def _searched(batch: BatchView, _first: int, _stop: int) -> None:
    batch.holding(b"v", in_key=False)
    batch.holding(b"k", in_key=True)


def _copied(batch: BatchView, first: int, stop: int) -> None:
    offsets_taken(batch, first, stop)
    take_over(batch)
    take_over(batch, first, stop)


def _as_arrow(batch: BatchView, first: int, stop: int) -> None:
    """Every column, as the table is checked by its readers: offsets that rise to the size of the data."""
    part = batch.arrow_part(first, stop)
    try:
        found = arrow_columns([part], _EVERY_COLUMN, None, None, None, False, b"t", 0)
    except UnicodeError:  # a header name, as documented
        columns = tuple(code for code in _EVERY_COLUMN if code != arrow_ops.HEADERS)
        found = arrow_columns([part], columns, None, None, None, False, b"t", 0)
    rows, seen, start, end, arrays = found
    assert rows == seen <= max(0, batch.count)
    assert rows == 0 or first <= start <= end < stop
    for array in arrays:
        assert array[0] == rows
        _check_array(array)


def _digested(batch: BatchView, first: int, stop: int) -> None:
    for piece in batch.digest(first, stop, NO_RECORDS, room=2, chunk=3, timestamps=True):
        assert len(piece[0]) == DIGEST_SIZE
        assert 0 < piece[1] <= 3
        assert first <= piece[2] <= piece[3] < stop


def _check_array(array: Array) -> None:
    length, nulls, buffers, children = array
    assert 0 <= nulls <= length
    assert (buffers[0] is None) == (nulls == 0)
    if len(buffers) == 3:
        ends = memoryview(bytes(buffers[1] or b"")).cast("i").tolist()
        assert len(ends) == length + 1
        assert ends == sorted(ends)
        assert (ends[0], ends[-1]) == (0, len(bytes(buffers[2] or b"")))
    for child in children:
        _check_array(child)


_USES: tuple[_Use, ...] = (
    _columns,
    _values,
    _objects,
    _rendered,
    _searched,
    _copied,
    _as_arrow,
    _digested,
)


def family() -> Family:
    """Each magic with the codecs that it has."""
    targets = [
        Target(f"fetched-magic{magic}-{codec_name(codec)}", "batches", partial(_make, magic, codec), _run)
        for magic in (0, 1, 2)
        for codec in Codec
        if magic == 2 or codec <= Codec.LZ4
    ]
    return Family("batches", 0.35, tuple(targets), spare=4 * CAP, per_kernel=True)
