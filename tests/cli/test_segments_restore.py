"""``kcli segments restore``: what of log directories comes to a cluster, what does not, and what is said of it."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch as fake_batch
from tests.fault.mirror_command import values
from tests.run import Done, kcli
from tests.stored_log import batch, marker, write_segment


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"__consumer_offsets": 1}) as made:
        yield made


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """``t-0`` has a committed transaction, an aborted one, one that is open, and others; ``t-1`` one record."""
    batches = [
        batch(0, value=b"a"), batch(1, 7, value=b"b"), marker(2, 7, commit=True), batch(3, 8, value=b"aborted"),
        marker(4, 8, commit=False), batch(5, 9, value=b"open"), batch(6, value=b"c"),
    ]  # fmt: skip
    write_segment(tmp_path / "disk" / "t-0", batches)
    write_segment(tmp_path / "disk" / "t-1", [batch(0, value=b"d")])
    (tmp_path / "disk" / "meta.properties").write_text("version=1\ncluster.id=gone\nnode.id=1\n")
    return tmp_path / "disk"


def restore(cluster: FakeCluster, *words: object) -> Done:
    return kcli("segments", "restore", *map(str, words), "--to", cluster.bootstrap)


def document(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_what_readers_would_get_is_there_once_and_compared(cluster: FakeCluster, disk: Path) -> None:
    done = restore(cluster, disk, "--yes", "-o", "json")
    assert done.code == 0, done.err
    assert [values(cluster, "t", number) for number in (0, 1)] == [[b"a", b"b", b"c"], [b"d"]]
    report = document(done)
    assert (report["kind"], report["cluster"], report["job"]) == ("RestoreReport", "gone", "restore")
    first = report["items"][0]
    wanted = {
        "records": 3,
        "copied_to": 7,
        "source_end_seen": 7,
        "may_be_missing": 0,
        "gaps": [],
        "stored_beyond": 0,
    }
    assert first.items() >= wanted.items()
    assert all(one["digest_source"] == one["digest_target"] for one in report["items"])
    assert (
        "a transaction (producer 9) was open, in t-0 from offset 5: its records are not restored, what"
        in done.err
    )
    again = restore(cluster, disk)  # nobody is asked about what continues
    assert (again.code, values(cluster, "t", 0)) == (0, [b"a", b"b", b"c"]), again.err
    assert "everything was copied before" in again.err


def test_the_plan_comes_first_and_is_asked_about(cluster: FakeCluster, disk: Path) -> None:
    planned = restore(cluster, disk, "--dry-run")
    assert planned.code == 0
    assert f"Restore log directory {disk} (cluster gone) to" in planned.out
    assert "  2 of 2 partitions whole, all checksums compared" in planned.out
    assert "no metadata log is there" in planned.out
    refused = restore(cluster, disk)
    assert (refused.code, "Restore 1 topic?" in refused.err) == (2, True)
    assert not cluster.seen((ProduceRequest,))


def test_records_of_others_are_not_mixed_with(cluster: FakeCluster, disk: Path) -> None:
    cluster.create_topic("t", 2)
    cluster.append("t", 0, fake_batch(b"x"))
    for more in ((), ("--dry-run",)):
        done = restore(cluster, disk, "--yes", *more)
        assert done.code == 7
        assert "which are not of this restore" in done.err
        assert "--map-topic t=NAME" in done.err
    assert restore(cluster, disk, "--map-topic", "t=u", "--yes").code == 0
    assert values(cluster, "u", 0) == [b"a", b"b", b"c"]


def test_damage_ends_a_partition_or_is_left_out(cluster: FakeCluster, disk: Path) -> None:
    path = write_segment(disk / "t-1", [batch(at, value=b"%d" % at) for at in range(5)])
    data = bytearray(path.read_bytes())
    size = len(data) // 5
    data[3 * size - 1] ^= 1  # the record at offset 2
    path.write_bytes(data)
    for more, code in ((("--dry-run",), 5), (("--dry-run", "--on-corrupt", "skip"), 6), (("--yes",), 5)):
        done = restore(cluster, disk, *more)
        assert done.code == code, done.err
        assert f"{path} at byte {2 * size}" in done.out + done.err
    assert values(cluster, "t", 1) == [b"0", b"1"]
    assert "--on-corrupt skip restores what is left" in done.err
    for _ in range(2):
        done = restore(cluster, disk, "--on-corrupt", "skip", "-o", "json")
        assert (done.code, document(done)["items"][1]["gaps"]) == (6, [[2, 2]])
        assert "t-1: offsets 2 to 2" in done.err
    assert values(cluster, "t", 1) == [b"0", b"1", b"3", b"4"]
    assert values(cluster, "t", 0) == [b"a", b"b", b"c"]


def test_a_whole_replica_is_read_instead(cluster: FakeCluster, disk: Path, tmp_path: Path) -> None:
    batches = [batch(at, value=b"%d" % at) for at in range(5)]
    path = write_segment(disk / "t-1", batches)
    write_segment(tmp_path / "other" / "t-1", batches[:4])
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    (disk / "replication-offset-checkpoint").write_text("0\n1\nt 1 4\n")
    done = restore(cluster, disk, tmp_path / "other", "--yes")
    assert done.code == 0, done.err
    assert f"t-1: read from {tmp_path}/other/t-1, since {disk}/t-1 is damaged: {path} at byte" in done.err
    assert values(cluster, "t", 1) == [b"0", b"1", b"2", b"3"]


def test_what_no_folder_has_is_named(cluster: FakeCluster, disk: Path) -> None:
    write_segment(disk / "t-3", [batch(0, value=b"e"), batch(1, value=b"f")])
    write_segment(disk / "t-3", [batch(5, value=b"g")])
    for more in ("--dry-run", "--yes", "--yes"):
        done = restore(cluster, disk, more)
        assert done.code == 6, done.err
        assert "t-2 is missing: no folder has it" in done.err
        assert "t-3: offsets 2 to 4 are not restored" in done.err
    assert values(cluster, "t", 3) == [b"e", b"f", b"g"]
    write_segment(disk / "t-2", [batch(0, value=b"found")])
    done = restore(cluster, disk)
    assert ("t-2" in done.err, values(cluster, "t", 2)) == (False, [b"found"])


def test_what_the_target_would_delete_at_once_is_refused(cluster: FakeCluster, disk: Path) -> None:
    cluster.create_topic("t", 2, configs={"retention.ms": "86400000"})
    write_segment(disk / "t-1", [batch(0, value=b"old", time_ms=1)])
    done = restore(cluster, disk, "--yes")
    assert (done.code, "--config retention.ms=-1 keeps everything" in done.err) == (7, True), done.err
    assert restore(cluster, disk, "--yes", "--config", "retention.ms=-1").code == 0
    assert values(cluster, "t", 1) == [b"old"]


def test_a_broker_that_runs_is_no_wreck(cluster: FakeCluster, disk: Path) -> None:
    with (disk / ".lock").open("w") as file:
        pid = os.fork()
        if pid == 0:  # whoever asks sees no lock of its own process
            fcntl.lockf(file, fcntl.LOCK_EX)
            os.kill(os.getpid(), 19)
            os._exit(0)
        os.waitpid(pid, os.WUNTRACED)
        try:
            done = restore(cluster, disk, "--yes")
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
    assert (done.code, "a broker has" in done.err) == (7, True), done.err
    assert not cluster.seen((ProduceRequest,))
