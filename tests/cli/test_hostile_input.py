"""Input of ``kcli produce`` that is made to exhaust it: nested too deeply, lines of gigabytes, sizes that lie.

What can be sent around it is sent, what cannot is named by its line and collected, and memory stays small.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake.cluster import FakeCluster
from tests.hostile.bombs import MIB, measured
from tests.run import kcli

pytestmark = pytest.mark.case("C7")

DEEP = b"[" * 100_000
CLOSED = DEEP + b"]" * 100_000
GOOD = {"ndjson": b'{"value":"good"}', "json values": b'"good"', "kcat": b'{"payload":"good"}'}
WAYS = {"ndjson": ["-i", "ndjson"], "json values": ["-s", "value=json"], "kcat": ["-i", "kcat"]}
NESTED = {
    "an array without end": ("ndjson", DEEP),
    "a value without end": ("ndjson", b'{"value":' + DEEP),
    "a value": ("ndjson", b'{"value":' + CLOSED + b"}"),
    "a field that nobody reads": ("ndjson", b'{"value":"x","other":' + CLOSED + b"}"),
    "headers": ("ndjson", b'{"value":"x","headers":' + CLOSED + b"}"),
    "objects": ("ndjson", b'{"value":' * 100_000),
    "an encoded value": ("json values", CLOSED),
    "an encoded value without end": ("json values", b'{"a":' * 100_000),
    "an envelope of kcat": ("kcat", CLOSED),
}
if sys.version_info >= (3, 14):  # which skips what nobody reads, as deep as it is
    del NESTED["a field that nobody reads"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as found:
        yield found


def stored(cluster: FakeCluster) -> list[bytes | None]:
    return cluster.log("t").values()


@pytest.mark.parametrize("name", NESTED)
def test_nested_input_is_one_bad_line(cluster: FakeCluster, tmp_path: Path, name: str) -> None:
    kind, bad = NESTED[name]
    file, failed, before = tmp_path / "in", tmp_path / "failed", len(stored(cluster))
    file.write_bytes(b"\n".join((GOOD[kind], bad, GOOD[kind], b"")))
    line = ["produce", "t", str(file), *WAYS[kind], "--failed", str(failed)]
    done = kcli(*line, bootstrap=cluster.bootstrap)
    kept = failed.read_text().splitlines() if failed.exists() else []
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert done.code == 6, done.err
    assert f"line 2 of {file}" in done.err
    assert "3 lines read, 1 failed" in done.err
    assert len(stored(cluster)) == before + 2
    assert [json.loads(one)["line"] for one in kept] == [2]


LARGE = (1 << 31) + MIB
LIMIT = 64 * MIB
"""Of memory, whatever a line has."""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory of a child as Linux counts it")
@pytest.mark.parametrize(
    ("size", "way", "good"),
    [
        (LARGE, ["-i", "ndjson"], GOOD["ndjson"]),
        (128 * MIB, ["-f", "%k=%v\\n"], b"k=good"),
        (128 * MIB, ["-s", "json"], b'"good"'),
        (128 * MIB, [], b"good"),
        (128 * MIB, ["-K", ":"], b"k:good"),
    ],
    ids=str,
)
def test_a_line_of_gigabytes_is_one_bad_line(
    cluster: FakeCluster, tmp_path: Path, size: int, way: list[str], good: bytes
) -> None:
    failed, before = tmp_path / "failed", len(stored(cluster))
    feed = f"echo '{good.decode()}'; head -c {size} /dev/zero; echo; echo '{good.decode()}'"
    line = ["produce", "t", *way, "--failed", str(failed)]
    with subprocess.Popen(["sh", "-c", feed], stdout=subprocess.PIPE) as feeder:
        assert feeder.stdout is not None
        done = measured(line, cluster.bootstrap, stdin=feeder.stdout)
    assert done.code == 6, done.err
    assert "line 2 of stdin is not a valid record: it has more than " in done.err
    assert "3 lines read, 1 failed" in done.err
    assert len(stored(cluster)) == before + 2
    assert done.peak < LIMIT
    (entry,) = failed.read_text().splitlines()
    assert json.loads(entry)["line"] == 2
    assert len(entry) < 10_000


@pytest.mark.parametrize("size", [b"\x7f\xff\xff\xff", b"\x00\x30\x00\x00"])
@pytest.mark.parametrize("way", [["-i", "raw"], ["-f", "%R%s"]], ids=str)
def test_a_size_that_lies_ends_the_input_there(
    cluster: FakeCluster, tmp_path: Path, way: list[str], size: bytes
) -> None:
    file, before = tmp_path / "in", len(stored(cluster))
    file.write_bytes(b"\0\0\0\4good" + size + b"xyz")
    done = kcli("produce", "t", str(file), *way, bootstrap=cluster.bootstrap)
    assert done.code == 6, done.err
    assert f"line 2 of {file}" in done.err
    assert f"{int.from_bytes(size):,} bytes" in done.err
    assert len(stored(cluster)) == before + 1


@pytest.mark.parametrize("way", [["-i", "raw"], ["-f", "%R%s"]], ids=str)
def test_a_negative_size_is_named(cluster: FakeCluster, tmp_path: Path, way: list[str]) -> None:
    file, before = tmp_path / "in", len(stored(cluster))
    file.write_bytes(b"\0\0\0\4good\x80\0\0\0xyz")
    done = kcli("produce", "t", str(file), *way, bootstrap=cluster.bootstrap)
    assert done.code == 6, done.err
    assert "record 2 of the input" in done.err
    assert "-2147483648" in done.err
    assert len(stored(cluster)) == before + 1
