"""Batches that decompress to far more than they are, through the command line: refused within the cap, and named.

Small ones: `make bombs` serves a gigabyte for each codec, under the default cap too.
"""

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.codecs.codec import codec_name
from kcli.core.codecs.compression import decompress
from kcli.core.errors import CorruptRecordsError
from kcli.core.records.batch import HEADER_SIZE
from kcli.core.types import Codec
from tests.fake.cluster import FakeCluster
from tests.hostile.bombs import (
    BOMBS,
    LIARS,
    MIB,
    OPTION,
    SPARE,
    Outcome,
    batch,
    bomb,
    consume,
    legal,
    measured,
    mirror,
    served,
    topic_of,
)
from tests.run import start

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from Linux's /proc"),
    pytest.mark.case("F6", "R13", "X6"),
]

CAP = 8 * MIB
SIZE = 256 * MIB
LEGAL = {
    "gzip": (Codec.GZIP, False),
    "snappy xerial": (Codec.SNAPPY, False),
    "snappy raw": (Codec.SNAPPY, True),
    "lz4": (Codec.LZ4, False),
    "zstd": (Codec.ZSTD, False),
}
ENDLESS = batch(
    Codec.ZSTD, b"\x28\xb5\x2f\xfd\0\x68" + ((1 << 20 | 2).to_bytes(3, "little") + b"\0") * (1 << 19)
)
"""64 GiB, in 2 MiB."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    batches = {name: bomb(name, SIZE) for name in BOMBS | LIARS}
    for name, (codec, raw) in LEGAL.items():
        batches |= {f"at the cap {name}": legal(codec, CAP, raw=raw)}
        batches |= {f"above it {name}": legal(codec, CAP + 1, raw=raw)}
    with served(batches | {"endless": ENDLESS, "small": legal(Codec.ZSTD, 100)}) as found:
        yield found


def names_all_of_it(name: str, said: str) -> bool:
    """The partition, the offsets, the codec and the cap."""
    codec = codec_name(BOMBS[name].codec)
    size = len(bomb(name, SIZE)) - HEADER_SIZE
    return (
        f"{topic_of(name)}-0: record batch at offsets 1 to 1" in said
        and f"{codec} data of {size} bytes: it decompresses to more than {CAP} bytes" in said
    )


@pytest.fixture(scope="module")
def peak(cluster: FakeCluster) -> int:
    """Of a run that reads a small batch."""
    return measured(consume("small", CAP), cluster.bootstrap).peak


@pytest.mark.parametrize("implementation", ["native", "pure"])
def test_bombs_of_all_codecs_are_skipped_within_the_cap(
    cluster: FakeCluster, peak: int, implementation: str
) -> None:
    """One after the other in one process: nothing of the earlier ones is kept."""
    line = [*consume("", CAP), *map(topic_of, BOMBS), "--on-corrupt", "skip"]
    done = measured([one for one in line if one], cluster.bootstrap, implementation=implementation)
    assert done.code == 0
    assert done.out.splitlines() == [b"before"] * len(BOMBS)
    assert all(names_all_of_it(name, done.err) for name in BOMBS), done.err
    compressed = sum(len(bomb(name, SIZE)) for name in BOMBS)
    assert done.peak <= peak + CAP + SPARE + compressed


def judge(done: Outcome, name: str) -> None:
    assert done.code == 5, done.err
    assert names_all_of_it(name, done.err), done.err
    assert f"if it is legitimate, raise {OPTION}" in done.err
    assert done.err.count("kcli: ") == 1


def test_a_bomb_ends_consume_after_the_records_before_it(cluster: FakeCluster) -> None:
    done = measured(consume("gzip", CAP), cluster.bootstrap)
    judge(done, "gzip")
    assert done.out == b"before\n"


@pytest.mark.parametrize("name", ["lz4", "zstd, 64 GiB declared"])
def test_a_bomb_ends_a_mirror_that_encodes_records_anew(cluster: FakeCluster, name: str) -> None:
    with served({}, cluster_id="target") as target:
        done = measured(mirror(cluster, target, topic_of(name), CAP, "--until-caught-up", "--headers"), "")
        judge(done, name)
        assert target.log(topic_of(name)).values() == [b"before"]


def test_a_bomb_ends_the_comparison_of_its_partition_alone(cluster: FakeCluster) -> None:
    raws = {"snappy, xerial": bomb("snappy, xerial", SIZE), "small": legal(Codec.ZSTD, 100)}
    with served(raws, cluster_id="target") as target:
        line = mirror(cluster, target, "small", CAP, "-t", topic_of("snappy, xerial"), "--verify-only")
        done = measured(line, "")
    judge(done, "snappy, xerial")
    assert "1 of 2 partitions equal" in done.err


def test_a_batch_of_exactly_the_cap_is_read(cluster: FakeCluster) -> None:
    topics = [topic_of(f"at the cap {name}") for name in LEGAL]
    done = measured([*consume(topics[0], CAP), *topics[1:], "-f", "%S\n"], cluster.bootstrap)
    assert (done.code, done.err) == (0, "")
    sizes = sorted(map(int, done.out.split()))
    assert sizes[: len(LEGAL)] == [len("before")] * len(LEGAL)
    assert all(CAP - 32 < size < CAP for size in sizes[len(LEGAL) :])


def test_a_batch_of_one_byte_more_is_refused(cluster: FakeCluster) -> None:
    topics = [topic_of(f"above it {name}") for name in LEGAL]
    done = measured([*consume(topics[0], CAP), *topics[1:], "--on-corrupt", "skip"], cluster.bootstrap)
    assert done.out.splitlines() == [b"before"] * len(LEGAL)
    assert done.err.count(f"it decompresses to more than {CAP} bytes") == len(LEGAL)


@pytest.mark.parametrize("command", ["consume", "mirror --headers", "mirror --verify-only"])
def test_many_legal_batches_in_one_fetch_are_open_one_at_a_time(peak: int, command: str) -> None:
    """Together they decompress to 280 MiB, from a few kilobytes."""
    raw = legal(Codec.ZSTD, CAP - MIB)
    with served({"many": raw}) as cluster, served({"many": raw}, cluster_id="target") as target:
        for one in (cluster, target):
            for _ in range(39):
                one.append("many", 0, raw)
        if command == "consume":
            line = [*consume("many", CAP), "-f", "%S\\n"]
        elif command == "mirror --headers":
            target.delete_topic("many")
            line = mirror(
                cluster, target, "many", CAP, "--headers", "--until-caught-up", "--map-topic", "many=copy"
            )
        else:
            line = mirror(cluster, target, "many", CAP, "--verify-only")
        done = measured(line, cluster.bootstrap if command == "consume" else "")
    assert done.code == 0, done.err
    assert done.peak <= peak + CAP + SPARE


@pytest.mark.parametrize("name", LIARS)
def test_a_size_that_cannot_be_true_is_damage_whatever_the_cap(cluster: FakeCluster, name: str) -> None:
    done = measured(consume(topic_of(name), 1 << 40), cluster.bootstrap)
    assert done.code == 5
    assert f"{topic_of(name)}-0: record batch at offsets 1 to 1" in done.err
    assert OPTION not in done.err


@pytest.mark.parametrize("command", ["consume", "mirror"])
def test_ctrl_c_ends_a_decompression(cluster: FakeCluster, command: str) -> None:
    """Under a cap of terabytes; what came before the batch is kept."""
    with served({}, cluster_id="target") as target:
        line = consume("endless", 1 << 40)
        if command == "mirror":
            line = mirror(cluster, target, "endless", 1 << 40, "--until-caught-up", "--headers")
        with start(*line, bootstrap=cluster.bootstrap if command == "consume" else "") as process:
            while resident(process.pid) < 128 * MIB:
                assert process.poll() is None
                time.sleep(0.005)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            try:
                out, err = process.communicate(timeout=120)
            finally:
                process.kill()
        assert process.returncode == 130, err
        assert time.monotonic() - began < 3  # on a busy machine; otherwise a tenth of a second
        if command == "consume":
            assert out == b"before\n"
        else:
            assert target.log("endless").values() == [b"before"]


def resident(pid: int) -> int:
    """The memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_what_it_says(name: str) -> None:
    """Under a cap that has room for it, it decompresses: what refuses it above is the cap."""
    payload = bomb(name, CAP)[HEADER_SIZE:]
    if "64 GiB" in name or name == "gzip":  # their declared sizes are lies
        with pytest.raises(CorruptRecordsError):
            decompress(BOMBS[name].codec, payload, 2 * CAP)
    else:
        assert len(decompress(BOMBS[name].codec, payload, CAP)) == CAP
