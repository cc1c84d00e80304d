"""The record kernels of both implementations, and the codecs, in CPU time: ``python -m benchmarks kernels``.

Medians of three rounds, in one process, both twins in turn. A record counts with its key, value and headers; MB/s are
of these bytes. A C twin that is not built is left out. No broker and no socket.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from kcli.core.codecs.compression import compress, decompress
from kcli.core.kernels import arrow_ops
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.active import IMPLEMENTATION, encode_headers
from kcli.core.kernels.arrow_ops import ArrowPart
from kcli.core.kernels.shapes import NO_HEADERS, NO_RECORDS
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import CODEC_NAMES

RECORDS = 10_000
ROUNDS = 3
SECONDS = 0.1
NO_LIMIT = 1 << 40
PARTITIONS = 12
JAVA_BATCH = 16_384
EXPORTED = (
    arrow_ops.OFFSET,
    arrow_ops.TIMESTAMP,
    arrow_ops.TIMESTAMP_TYPE,
    arrow_ops.KEY,
    arrow_ops.VALUE,
    arrow_ops.HEADERS,
    arrow_ops.LEADER_EPOCH,
)
FACTS = (1_000_000, 1_700_000_000_000, 0, 0, -1, -1, -1)
FORMAT = (  # -f '%t %p %o %k %s\n'
    (op.LITERAL, b"topic 0 "),
    (op.NUMBER, op.OFFSET),
    (op.LITERAL, b" "),
    (op.BYTES, op.KEY, op.RAW, b"", b""),
    (op.LITERAL, b" "),
    (op.BYTES, op.VALUE, op.RAW, b"", b""),
    (op.LITERAL, b"\n"),
)
NDJSON = (
    (op.LITERAL, b'{"topic":"topic","partition":0,"offset":'),
    (op.NUMBER, op.OFFSET),
    (op.TIME, b',"timestamp":"', b'"', b',"timestamp":null'),
    (op.LITERAL, b',"key":'),
    (op.BYTES, op.KEY, op.JSON, b"null", b',"key_encoding":"base64"'),
    (op.LITERAL, b',"value":'),
    (op.BYTES, op.VALUE, op.JSON, b"null", b',"value_encoding":"base64"'),
    (op.LITERAL, b',"headers":'),
    (op.HEADERS, op.HEADERS_JSON),
    (op.LITERAL, b"}\n"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Records of one kind."""

    name: str
    keys: list[bytes | None]
    values: list[bytes]
    headers: bytes

    @property
    def size(self) -> float:
        """The mean number of bytes of key, value and headers."""
        total = sum(len(key or b"") for key in self.keys) + sum(map(len, self.values))
        return total / len(self.values) + (len(self.headers) if self.headers != NO_HEADERS else 0)


def shapes(seeded: random.Random) -> Iterator[Shape]:
    """What is measured: fixed and mixed lengths, long values, keys, headers."""
    nothing: list[bytes | None] = [None] * RECORDS
    keys: list[bytes | None] = [b"key-%d" % index for index in range(RECORDS)]
    hundred = [seeded.randbytes(100) for _ in range(RECORDS)]
    mixed = [seeded.randbytes(seeded.randrange(60, 141)) for _ in range(RECORDS)]
    kilobyte = [seeded.randbytes(1000) for _ in range(RECORDS)]
    two = encode_headers([("trace", b"0123456789abcdef"), ("source", b"web")])
    yield Shape("100 B", nothing, hundred, NO_HEADERS)
    yield Shape("60-140 B", nothing, mixed, NO_HEADERS)
    yield Shape("1 KB", nothing, kilobyte, NO_HEADERS)
    yield Shape("100 B, key", keys, hundred, NO_HEADERS)
    yield Shape("100 B, key, headers", keys, hundred, two)


def calls(kernels: ModuleType, shape: Shape) -> dict[str, Callable[[], object]]:
    """What is called for a shape; each call deals with all records."""
    rows = [
        (key, value, shape.headers, index // 50)
        for index, (key, value) in enumerate(zip(shape.keys, shape.values, strict=True))
    ]
    payload = kernels.encode_rows(rows, 0, 0, 0, NO_LIMIT)[0]
    found = {
        "encode_rows": partial(kernels.encode_rows, rows, 0, 0, 0, NO_LIMIT),
        "decode_values": partial(kernels.decode_values, payload, RECORDS, 0, RECORDS, b"\n", b""),
        "decode_columns": partial(kernels.decode_columns, payload, RECORDS),
    }
    part = ArrowPart(payload, RECORDS, 0, RECORDS - 1, 0, 0, 0, 0, 0, NO_LIMIT)
    for name, columns in (("value", (arrow_ops.VALUE,)), ("7 columns", EXPORTED)):
        predicates = (None, None, None, False, b"topic", 0)
        found[f"arrow_columns, {name}"] = partial(kernels.arrow_columns, [part], columns, *predicates)
    found["digest_records"] = partial(kernels.digest_records, part, True, NO_RECORDS, NO_LIMIT, NO_LIMIT)
    if shape.keys[0] is None:
        for name, room in (("1 MB", 1_000_000), ("16 KB", 16_384)):
            found[f"encode_lines, {name}"] = partial(fill, kernels, shape, room)
        return found
    found["encode_keyed"] = partial(
        kernels.encode_keyed, shape.keys, shape.values, 0, 0, 0, shape.headers, NO_LIMIT
    )
    found["partition_keys"] = partial(kernels.partition_keys, shape.keys, 12)
    if shape.headers != NO_HEADERS:
        found["decode_headers"] = partial(decode_all_headers, kernels, shape.headers)
    return found


def text_calls(kernels: ModuleType, shape: Shape) -> dict[str, Callable[[], object]]:
    """The kernels of the command line: text in, text out. Values are made printable, and keys part of the line."""
    values = [value.hex().encode()[: len(value)] for value in shape.values]
    key = b":" if shape.keys[0] is not None else None
    lines = [
        (b"" if own is None else own + b":") + value for own, value in zip(shape.keys, values, strict=True)
    ]
    text = b"\n".join(lines)
    region = (text, 0, len(text), b"\n", key)
    payload = kernels.encode_text(*region, None, NO_HEADERS, None, False, 0, 0, NO_LIMIT, NO_LIMIT)[0]
    render = partial(kernels.render_records, payload, RECORDS)
    rest = (FACTS, 0, RECORDS, -1, b"", ())
    found: dict[str, Callable[[], object]] = {
        "encode_text, 1 MB": partial(fill_text, kernels, region, 1_000_000),
        "encode_text, 16 KB": partial(fill_text, kernels, region, JAVA_BATCH),
        "find_in_records": partial(kernels.find_in_records, payload, RECORDS, False, b"7f", 0),
        "render_records, -f": partial(render, FORMAT, *rest),
        "render_records, ndjson": partial(render, NDJSON, *rest),
    }
    if key is not None:
        found["keyed text, 12 partitions"] = partial(spread_text, kernels, region)
        return found
    run = java_run(text)
    found["walk_batches, 16 KB"] = partial(kernels.walk_batches, run, 0, NO_LIMIT, False, True)
    found["decode_run, 16 KB"] = partial(kernels.decode_run, run, 0, NO_LIMIT, b"\n", b"")
    return found


def fill_text(kernels: ModuleType, region: tuple[Any, ...], room: int) -> None:
    """Batch after batch, as a producer does with the text of one read."""
    text, at, end, *how = region
    while at < end:
        tail = (None, NO_HEADERS, None, False, 0, 0, room, NO_LIMIT)
        at = kernels.encode_text(text, at, end, *how, *tail)[2]


def spread_text(kernels: ModuleType, region: tuple[Any, ...]) -> None:
    """Lines by their keys to partitions."""
    slices = kernels.index_text(*region, None, False, NO_LIMIT)[0]
    for _, own, _ in kernels.group_slices(region[0], slices, PARTITIONS, 0):
        kernels.encode_slices(region[0], own, 0, NO_HEADERS, 0, 0, NO_LIMIT)


def java_run(text: bytes) -> bytes:
    """The lines in neighbouring batches of 16 KB."""
    pieces: list[bytes] = []
    at = offset = 0
    while at < len(text):
        builder = BatchBuilder(room=JAVA_BATCH)
        taken, at = builder.append_text(text, at, len(text), 0, delimiter=b"\n", longest=NO_LIMIT)
        header, *rest = builder.wire()
        pieces += (offset.to_bytes(8, "big"), bytes(header)[8:], *map(bytes, rest))
        offset += taken
    return b"".join(pieces)


def fill(kernels: ModuleType, shape: Shape, room: int) -> None:
    """Batch after batch, as a producer does with the lines of one read."""
    done = 0
    while done < RECORDS:
        done += kernels.encode_lines(shape.values, done, 0, 0, None, shape.headers, room)[1]


def decode_all_headers(kernels: ModuleType, block: bytes) -> None:
    """One call per record, as there are headers only on request."""
    for _ in range(RECORDS):
        kernels.decode_headers(block, 0, len(block))


def cpu_seconds(call: Callable[[], object]) -> float:
    """The median CPU time of one call, each round long enough for the clock."""
    started = time.process_time()
    call()
    count = max(1, round(SECONDS / max(time.process_time() - started, 1e-6)))
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(count):
            call()
        rounds.append((time.process_time() - started) / count)
    return statistics.median(rounds)


def records(twins: list[ModuleType]) -> None:
    """The table of encoders and decoders."""
    print(f"\n{'':48}" + "".join(f"{twin.__name__.rpartition('_')[2]:>10} ns {'MB/s':>8}" for twin in twins))
    for shape in shapes(random.Random(1)):
        per_twin = [calls(twin, shape) | text_calls(twin, shape) for twin in twins]
        for name in per_twin[0]:
            spent = [cpu_seconds(each[name]) / RECORDS for each in per_twin]
            cells = "".join(f"{each * 1e9:13.0f} {shape.size / each / 1e6:8.0f}" for each in spent)
            print(f"{name:26} {shape.name:20} {cells}{spent[0] / spent[-1]:8.1f}x", flush=True)


def checksums(twins: list[ModuleType]) -> None:
    """The checksum of a batch of 1 MB, whole and patched."""
    data = random.Random(2).randbytes(1 << 20)
    short, old, new = data[:16_384], data[:14], data[14:28]
    for name, size, call in (
        ("crc32c, 1 MB", len(data), lambda twin: twin.crc32c(data)),
        ("crc32c, 16 KB", len(short), lambda twin: twin.crc32c(short)),
        ("crc32c_patch of 14 B before 1 MB", 0, lambda twin: twin.crc32c_patch(1, old, new, len(data))),
    ):
        spent = [cpu_seconds(partial(call, twin)) for twin in twins]
        cells = "".join(f"{each * 1e9:13.0f} {size / each / 1e6:8.0f}" for each in spent)
        print(f"{name:47} {cells}")


def codecs() -> None:
    """A megabyte of JSON lines through every codec."""
    seeded = random.Random(2)
    names = [f"user-{seeded.randrange(10_000)}" for _ in range(300)]
    text = "\n".join(
        f'{{"id":{index},"name":"{seeded.choice(names)}","amount":{seeded.random():.6f}}}'
        for index in range(17_000)
    )
    data = text.encode()[: 1 << 20]
    mega = len(data) / 1e6
    print()
    for codec, name in enumerate(CODEC_NAMES[1:], 1):
        packed = compress(codec, data)
        ratio = len(data) / len(packed)
        there = mega / cpu_seconds(partial(compress, codec, data))
        back = mega / cpu_seconds(partial(decompress, codec, packed))
        print(f"{name:8} 1:{ratio:.1f} {there:10.0f} MB/s in {back:10.0f} MB/s out")


def main() -> None:
    """All figures."""
    names = ["pure"] + ["_native"] * (find_spec("kcli.core.kernels._native") is not None)
    twins = [import_module(f"kcli.core.kernels.{name}") for name in names]
    print(f"kernels in use: {IMPLEMENTATION}")
    records(twins)
    checksums(twins)
    codecs()


if __name__ == "__main__":
    main()
