"""Bombs are refused in little time and memory, and a legal batch just below the cap is not.

Each case runs in a process of its own, whose peak memory is the verdict (``VmHWM``: ``ru_maxrss`` counts the parent,
from before the exec).
"""

import json
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux's /proc"),
    pytest.mark.case("F6", "R13"),
]

CAP = 64 << 20
SPARE = 64 << 20

CHILD = """
import json, re, sys, time
from pathlib import Path
from kcli.core.errors import CorruptRecordsError
from kcli.core.codecs.compression import decompress

codec, cap = int(sys.argv[1]), int(sys.argv[2])
data = sys.stdin.buffer.read()
started = time.process_time()
try:
    size, error = len(decompress(codec, data, cap)), ""
except CorruptRecordsError as caught:
    size, error = 0, f"{caught} {caught.do}"
print(json.dumps({
    "size": size,
    "error": error,
    "seconds": time.process_time() - started,
    "peak": int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024,
    "input": len(data),
}))
"""

MAKE = """
import struct, sys, zlib
name, size = sys.argv[1], int(sys.argv[2])
step = bytes(1 << 20)
out = sys.stdout.buffer
if name == "gzip":
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    for _ in range(size >> 20): out.write(stream.compress(step))
    out.write(stream.compress(bytes(size % (1 << 20))) + stream.flush())
elif name == "gzip members":
    member = zlib.compress(step, 9, 31)
    for _ in range(size >> 20): out.write(member)
    out.write(zlib.compress(bytes(size % (1 << 20)), 9, 31))
elif name.startswith("lz4"):
    import lz4.frame
    stream = lz4.frame.LZ4FrameCompressor(block_size=7, block_linked=False)
    out.write(stream.begin(size if name == "lz4 sized" else 0))
    for _ in range(size >> 20): out.write(stream.compress(step))
    out.write(stream.compress(bytes(size % (1 << 20))) + stream.flush())
elif name.startswith("zstd"):
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    if name == "zstd frames":
        for _ in range(size >> 20): out.write(zstd.compress(step))
        out.write(zstd.compress(bytes(size % (1 << 20))))
    else:
        stream = zstd.ZstdCompressor(level=19)
        if name == "zstd sized": stream.set_pledged_input_size(size)
        for _ in range(size >> 20): out.write(stream.compress(step))
        out.write(stream.compress(bytes(size % (1 << 20))) + stream.flush())
else:
    from cramjam import snappy
    if name == "snappy raw":
        out.write(bytes(snappy.compress_raw(bytes(size))))
    else:
        out.write(b"\\x82SNAPPY\\0" + struct.pack(">ii", 1, 1))
        block = bytes(snappy.compress_raw(step))
        for _ in range(size >> 20): out.write(struct.pack(">i", len(block)) + block)
        block = bytes(snappy.compress_raw(bytes(size % (1 << 20))))
        out.write(struct.pack(">i", len(block)) + block)
"""

BOMBS = {
    "gzip": 1,
    "gzip members": 1,
    "snappy": 2,
    "snappy raw": 2,
    "lz4": 3,
    "lz4 sized": 3,
    "zstd": 4,
    "zstd sized": 4,
    "zstd frames": 4,
}


def judge(codec: int, data: bytes) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(codec), str(CAP)], input=data, capture_output=True, check=True
    )
    verdict: dict[str, object] = json.loads(done.stdout)
    print(verdict)
    return verdict


def make(name: str, size: int) -> bytes:
    done = subprocess.run([sys.executable, "-c", MAKE, name, str(size)], capture_output=True, check=True)
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_of_a_gigabyte_is_refused(name: str) -> None:
    data = make(name, (256 << 20) if name == "snappy raw" else (1 << 30))
    verdict = judge(BOMBS[name], data)

    assert "max.decompressed.batch.bytes" in str(verdict["error"])
    assert int(str(verdict["peak"])) - len(data) <= CAP + SPARE
    assert float(str(verdict["seconds"])) <= 2


@pytest.mark.parametrize("name", BOMBS)
def test_a_legal_batch_below_the_cap_is_accepted(name: str) -> None:
    data = make(name, CAP - 1)
    verdict = judge(BOMBS[name], data)

    assert (verdict["size"], verdict["error"]) == (CAP - 1, "")
    assert int(str(verdict["peak"])) - len(data) <= CAP + SPARE
