"""Batches that decompress to far more than they are, served to the command line. Not a test.

``python -m tests.hostile.bombs`` measures them in a child process per run, for each codec, both implementations, and
caps of 64 and 256 MiB: peak memory, and CPU time beyond that of a small batch; ``make bombs``.

They are put together from compressed pieces: nobody has to compress a gigabyte first.
"""

import argparse
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import IO, NamedTuple

import lz4.frame
from cramjam import snappy

from kcli.core.codecs.compression import compress
from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import CRC_START, HEADER, LENGTH_END
from kcli.core.types import Codec
from tests.fake.cluster import FakeCluster
from tests.parity.plain import record
from tests.run import KCLI, environment

MIB = 1 << 20
SIZE = 1 << 30
"""Bytes to which a bomb decompresses."""
DECLARED = 1 << 36
"""Bytes that it declares, where its format can: 64 GiB."""
SPARE = 64 * MIB
"""Bytes of memory besides the cap, the compressed batch and what kcli has at its start."""
OPTION = "max.decompressed.batch.bytes"
_MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stderr.write(f"MEASURED {used.ru_maxrss} {used.ru_utime + used.ru_stime}")
sys.exit(code)
"""
_STEP = bytes(MIB)


def _gzip(size: int) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = stream.compress(_STEP) + stream.flush(zlib.Z_FULL_FLUSH)
    step = stream.compress(_STEP) + stream.flush(zlib.Z_FULL_FLUSH)
    # The trailer is never reached. Its size is modulo 2^32: the largest that can be declared.
    return head + step * (size // MIB - 1) + stream.flush()[:-4] + b"\xff\xff\xff\xff"


def _gzip_members(size: int) -> bytes:
    return zlib.compress(_STEP, 9, 31) * (size // MIB)


def _snappy(size: int) -> bytes:
    block = bytes(snappy.compress_raw(_STEP))
    return (
        b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + (struct.pack(">i", len(block)) + block) * (size // MIB)
    )


def _snappy_raw(size: int) -> bytes:
    """A literal byte and copies of it, 64 bytes for three: no raw block is denser."""
    return _varint(size) + b"\0\0" + b"\xfe\1\0" * (size // 64 - 1) + b"\xfa\1\0"


def _varint(value: int) -> bytes:
    return (value & 0x7F | (value > 0x7F) << 7).to_bytes() + (_varint(value >> 7) if value > 0x7F else b"")


def _lz4(size: int, declared: int = 0) -> bytes:
    stream = lz4.frame.LZ4FrameCompressor(
        block_size=lz4.frame.BLOCKSIZE_MAX4MB, block_linked=False, auto_flush=True
    )
    begin = stream.begin(declared)
    return begin + stream.compress(bytes(4 * MIB)) * (size // (4 * MIB)) + bytes(4)


def _zstd(size: int, head: bytes = b"\0\x68") -> bytes:
    """Blocks of 128 KiB that are one byte, repeated (RFC 8878, 3.1.1.2). ``head`` is a window of 8 MiB without a size."""
    block = (1 << 17 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd" + head + block * (size >> 17) + last


def _zstd_frames(size: int) -> bytes:
    return bytes(compress(Codec.ZSTD, _STEP)) * (size // MIB)


class Bomb(NamedTuple):
    """``make`` returns compressed bytes; its argument is what they decompress to."""

    codec: int
    make: Callable[[int], bytes]


BOMBS = {
    "gzip": Bomb(Codec.GZIP, _gzip),
    "gzip, many members": Bomb(Codec.GZIP, _gzip_members),
    "snappy, xerial": Bomb(Codec.SNAPPY, _snappy),
    "snappy, raw": Bomb(Codec.SNAPPY, _snappy_raw),
    "lz4": Bomb(Codec.LZ4, _lz4),
    "lz4, 64 GiB declared": Bomb(Codec.LZ4, lambda size: _lz4(size, DECLARED)),
    "zstd": Bomb(Codec.ZSTD, _zstd),
    "zstd, many frames": Bomb(Codec.ZSTD, _zstd_frames),
    # 8 bytes of size and a window, or no window but the content.
    "zstd, 64 GiB declared": Bomb(
        Codec.ZSTD, lambda size: _zstd(size, b"\xc0\x68" + struct.pack("<Q", DECLARED))
    ),
    "zstd, window of 64 GiB": Bomb(
        Codec.ZSTD, lambda size: _zstd(size, b"\xe0" + struct.pack("<Q", DECLARED))
    ),
}
LIARS = {
    "snappy, raw, 4 GiB declared": Bomb(
        Codec.SNAPPY, lambda _: b"\xff\xff\xff\xff\x0f" + b"\0\0" + b"\xfe\1\0" * 9
    ),
    "snappy, raw, 64 GiB declared": Bomb(
        Codec.SNAPPY, lambda _: b"\x80\x80\x80\x80\x80\x02" + b"\xfe\1\0" * 9
    ),
}
"""A few bytes whose size cannot be true: they are damaged, whatever the cap."""
COMMANDS = ("consume", "mirror --until-caught-up --headers", "mirror --verify-only")
SMALL = {codec: f"small {codec.name.lower()}" for codec in Codec if codec}


@cache
def bomb(name: str, size: int = SIZE) -> bytes:
    """A batch that decompresses to ``size`` bytes, or claims to."""
    one = (BOMBS | LIARS)[name]
    return batch(one.codec, one.make(size))


def legal(codec: int, size: int, *, raw: bool = False) -> bytes:
    """A batch with one record that decompresses to exactly ``size`` bytes."""
    room = size - 16
    while len(data := record(None, bytes(room), b"\0", 0, 0)) < size:
        room += size - len(data)
    assert len(data) == size
    return batch(codec, bytes(snappy.compress_raw(data)) if raw else bytes(compress(codec, data)))


def batch(codec: int, payload: bytes) -> bytes:
    """One record of magic 2, as its header says."""
    raw = bytearray(
        HEADER.pack(0, HEADER.size - LENGTH_END + len(payload), 0, 2, 0, codec, 0, 0, 0, -1, 0, -1, 1)
    )
    raw += payload
    raw[CRC_START - 4 : CRC_START] = crc32c(raw[CRC_START:]).to_bytes(4, "big")
    return bytes(raw)


@contextmanager
def served(batches: Mapping[str, bytes], **settings: str) -> Iterator[FakeCluster]:
    """A cluster with a topic for each batch, and before the batch a plain record."""
    names = {name: topic_of(name) for name in batches}
    plain = batch(Codec.NONE, record(None, b"before", b"\0", 0, 0))
    with FakeCluster(1, topics=dict.fromkeys(names.values(), 1), **settings) as cluster:
        for name, raw in batches.items():
            cluster.append(names[name], 0, plain)
            cluster.append(names[name], 0, raw)
        yield cluster


def topic_of(name: str) -> str:
    """Letters and digits."""
    return "".join(one if one.isalnum() else "-" for one in name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a child did, its peak memory in bytes, and its CPU time with the start of Python."""

    code: int
    out: bytes
    err: str
    peak: int
    seconds: float


def measured(
    arguments: list[str],
    bootstrap: str,
    *,
    implementation: str = "",
    stdin: IO[bytes] | int = subprocess.DEVNULL,
) -> Outcome:
    """Runs kcli in a child of a small process: the peak of a child of this one would count this one's memory."""
    more = {"KCLI_IMPL": implementation} if implementation else {}
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *KCLI, *arguments],
        stdin=stdin,
        capture_output=True,
        env=environment(bootstrap) | more,
        timeout=120,
        check=False,
    )
    err, _, figures = done.stderr.decode().rpartition("MEASURED ")
    peak, seconds = figures.split()
    return Outcome(done.returncode, done.stdout, err, int(peak) << 10, float(seconds))


def consume(topic: str, cap: int) -> list[str]:
    """The command line that reads a topic under this cap."""
    return ["consume", topic, "-e", "-X", f"{OPTION}={cap}"]


def mirror(cluster: FakeCluster, target: FakeCluster, topic: str, cap: int, *more: str) -> list[str]:
    """The command line that copies a topic under this cap, and re-encodes it."""
    clusters = ["--from", cluster.bootstrap, "--to", target.bootstrap]
    return ["mirror", *clusters, "-t", topic, *more, "-X", f"{OPTION}={cap}"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.bombs")
    parser.add_argument("--caps", default="64,256", help="in MiB")
    given = parser.parse_args()
    raws = {name: bomb(name) for name in BOMBS}
    raws |= {name: legal(codec, 1 << 14) for codec, name in SMALL.items()}
    failures = 0
    print(
        f"{'batch':24} {'command':20} {'kernels':8} {'cap':>5} {'compressed':>10} {'memory':>7} {'seconds':>7}"
    )
    with served(raws) as cluster:
        for cap in (int(one) * MIB for one in given.caps.split(",")):
            for implementation in ("native", "pure"):
                for name in BOMBS:
                    for command in COMMANDS:
                        failures += _row(cluster, raws, name, command, implementation, cap)
    print(
        f"memory: MiB besides the cap and the compressed batch, at most {SPARE // MIB}; {failures} failures"
    )
    return 1 if failures else 0


def _row(
    cluster: FakeCluster, raws: Mapping[str, bytes], name: str, command: str, implementation: str, cap: int
) -> int:
    def run(batch: str) -> Outcome:
        verb, *more = command.split()
        if verb == "consume":
            return measured(consume(topic_of(batch), cap), cluster.bootstrap, implementation=implementation)
        same = {batch: raws[batch]} if command == "mirror --verify-only" else {}
        with served(same, cluster_id="target") as target:
            arguments = mirror(cluster, target, topic_of(batch), cap, *more)
            return measured(arguments, "", implementation=implementation)

    small = SMALL[Codec(BOMBS[name].codec)]
    key = (small, command, implementation, cap)
    if key not in _STARTS:
        _STARTS[key] = run(small)
    start, done = _STARTS[key], run(name)
    size = len(bomb(name)) * (
        2 if command == "mirror --verify-only" else 1
    )  # that reads it from both clusters
    besides = done.peak - start.peak - cap - size
    spent = done.seconds - start.seconds
    good = start.code == 0 and done.code == 5 and OPTION in done.err
    good = good and besides <= SPARE and (cap > 64 * MIB or spent <= 2)
    row = f"{name:24} {command[:20]:20} {implementation:8} {cap // MIB:5} {size:10,} {besides / MIB:7.1f} {spent:7.2f}"
    print(row if good else f"{row}  FAILED: exit {done.code}: {done.err}", flush=True)
    return 0 if good else 1


_STARTS: dict[object, Outcome] = {}
"""The same command on a small batch of the codec."""


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
