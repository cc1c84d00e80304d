"""``kcli segments restore``: what of log directories comes to a cluster, what does not, and what is said of it."""

import ast
import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored.group_records import OffsetCommitKey, OffsetCommitValue
from kcli.core.protocol.stored.metadata_records import PartitionRecord, RegisterBrokerRecord, TopicRecord
from kcli.core.records.batch import RecordBatch
from kcli.flows.segments.restore import rephrased
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch as fake_batch
from tests.fault.mirror_command import values
from tests.run import Done, kcli
from tests.segments import ABORT, COMMIT, marker
from tests.segments import batch as segment_batch
from tests.segments import write as write_segment
from tests.unit.core.offline.stored import batch as batch_of
from tests.unit.core.offline.stored import keyed, metadata_batch, write_log


def batch(offset: int, producer: int = -1, *, value: bytes = b"v", time_ms: int | None = None) -> bytes:
    """A batch of one record, in a transaction if it has a producer; its time is now, unless it is given."""
    times = [int(time.time() * 1000) if time_ms is None else time_ms]
    return segment_batch(offset, [value], times=times, producer=producer, transactional=producer >= 0)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"__consumer_offsets": 1}) as made:
        yield made


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """``t-0`` has a committed transaction, an aborted one, one that is open, and others; ``t-1`` one record."""
    batches = [
        batch(0, value=b"a"), batch(1, 7, value=b"b"), marker(2, 7, COMMIT), batch(3, 8, value=b"aborted"),
        marker(4, 8, ABORT), batch(5, 9, value=b"open"), batch(6, value=b"c"),
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


def committed(*rows: tuple[str, int, int]) -> list[RecordBatch]:
    """Batches of ``__consumer_offsets``: group, partition of ``t``, offset."""
    return [
        batch_of(
            at,
            [
                keyed(
                    OffsetCommitKey(group=group, topic="t", partition=number),
                    OffsetCommitValue(offset=offset, metadata="", commit_timestamp=1),
                )
            ],
        )
        for at, (group, number, offset) in enumerate(rows)
    ]


def registered(number: int) -> RegisterBrokerRecord:
    """A broker."""
    return RegisterBrokerRecord(broker_id=number, broker_epoch=1, end_points=[], features=[], rack=None)


def controllers(*, leader: int, isr: list[int]) -> list[RecordBatch]:
    """A metadata log: brokers 1 and 2, topics ``t`` and ``__consumer_offsets`` with replicas on both."""

    def topic(name: str, topic_id: bytes, partitions: int) -> list[Struct]:
        return [
            TopicRecord(name=name, topic_id=topic_id),
            *(
                PartitionRecord(
                    partition_id=number, topic_id=topic_id, replicas=[1, 2], isr=isr, removing_replicas=[],
                    adding_replicas=[], leader=leader, leader_epoch=0, partition_epoch=0,
                )
                for number in range(partitions)
            ),
        ]  # fmt: skip

    return [
        metadata_batch(
            0,
            registered(1),
            registered(2),
            *topic("t", b"t" * 16, 2),
            *topic("__consumer_offsets", b"o" * 16, 1),
        )
    ]


def damage(folder: Path) -> None:
    """Flips a bit of the first batch in a folder."""
    path = next(folder.glob("*.log"))
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)


def test_damage_of_the_brokers_own_topics_costs_what_they_say_and_nothing_else(
    cluster: FakeCluster, disk: Path, tmp_path: Path
) -> None:
    offsets = committed(("g", 0, 3), ("h", 0, 1))
    own = {
        "__consumer_offsets": offsets,
        "__transaction_state": [batch_of(at, [(b"\0\0\0\1a", None)]) for at in range(2)],
        "__cluster_metadata": [*controllers(leader=1, isr=[1, 2]), metadata_batch(7, registered(2))],
    }
    for number, (name, batches) in enumerate(own.items()):
        folder = disk / f"{name}-0"
        write_log(folder, batches)
        damage(folder)
        line = ["--map-topic", f"t=t{number}", "--job", name, "--with-groups", "-o", "json"]
        for more in ("--dry-run", "--yes"):
            done = restore(cluster, disk, *line, more)
            assert done.code == 6, done.err
            missing = [one["what"] for one in document(done)["missing"]]
            assert f"{name}-0" in missing
            assert f"{name}-0 is not read" in done.err
        assert values(cluster, f"t{number}", 0) == [b"a", b"b", b"c"]
        if name == "__consumer_offsets":
            assert restore(cluster, disk, *line[:4]).code == 0, "no groups are asked for"
        # a replica that is whole is read instead
        other = tmp_path / f"whole-{number}"
        write_log(other / f"{name}-0", batches)
        write_log(other / "__consumer_offsets-0", offsets)
        (other / "meta.properties").write_text("version=1\ncluster.id=gone\nnode.id=2\n")
        done = restore(cluster, disk, other, *line)
        assert (done.code, document(done)["missing"]) == (0, []), done.err
        assert f"{name}-0: read from {other}/{name}-0, since another replica is damaged" in done.err
        shutil.rmtree(folder)


def test_a_group_whose_next_record_is_left_out_is_named(cluster: FakeCluster, disk: Path) -> None:
    path = write_segment(disk / "t-1", [batch(at, value=b"%d" % at) for at in range(5)])
    size = path.stat().st_size // 5
    data = bytearray(path.read_bytes())
    data[3 * size - 1] ^= 1  # the record at offset 2
    path.write_bytes(data)
    rows = [("before", 1, 1), ("there", 1, 2), ("behind", 1, 3), ("beyond", 1, 9)]
    write_log(disk / "__consumer_offsets-0", committed(*rows))
    for again in (False, True):
        done = restore(cluster, disk, "--yes", "--with-groups", "--on-corrupt", "skip", "-o", "json")
        assert done.code == 6, done.err
        account = {one["group"]: one for one in document(done)["groups"]}
        assert [account[group]["status"] for group, _, _ in rows] == [
            *["unchanged" if again else "done"] * 3,
            "missing",
        ]
        why = "offsets 2 to 2 are not restored: it goes on with the first record behind them"
        assert account["there"]["why"] == why
        assert f"group there, t-1: offset 2: {why}" in done.err
        assert account["there"]["target_offset"] == account["behind"]["target_offset"]
        assert why not in (account["before"]["why"], account["behind"]["why"])


def test_groups_of_a_coordinator_whose_disk_is_lost(cluster: FakeCluster, disk: Path) -> None:
    """Broker 1 led the partition of the groups; only the disk of broker 2, a follower in sync, is there."""
    (disk / "meta.properties").write_text("version=1\ncluster.id=gone\nnode.id=2\n")
    write_log(disk / "__cluster_metadata-0", controllers(leader=1, isr=[1, 2]))
    write_log(disk / "__consumer_offsets-0", committed(("g", 0, 3), ("g", 1, 1)))
    listed = kcli("groups", "list", "-X", f"log.dirs={disk}", "-o", "name")
    assert (listed.code, listed.out) == (0, "g\n"), listed.err
    done = restore(cluster, disk, "--yes", "--with-groups", "-o", "json")
    assert done.code == 0, done.err
    assert [one["status"] for one in document(done)["groups"]] == ["done", "done"]


def test_that_no_replica_was_in_sync_is_no_whole_restore(cluster: FakeCluster, disk: Path) -> None:
    write_log(disk / "__cluster_metadata-0", controllers(leader=2, isr=[2]))
    write_log(disk / "__consumer_offsets-0", committed(("g", 0, 3)))
    for more in ("--dry-run", "--yes", "--yes"):
        done = restore(cluster, disk, more, "--with-groups")
        assert done.code == 6, done.err
        for name in ("t-0", "t-1", "__consumer_offsets-0"):
            assert f"{name}: the last records that brokers acknowledged may be missing" in done.err
        assert "name the log directories of broker 2 as well" in done.err
    assert values(cluster, "t", 0) == [b"a", b"b", b"c"]


_NOT_IN_A_RESTORE = {
    "acls", "follow", "job", "promotion", "loops.py", "group_position.py", "last_values.py", "selection.py",
    "verification.py",
}  # fmt: skip
"""Parts of the mirror that no restore runs, or whose options it sets itself."""
_SET = {"--from", "--no-standby", "--offset", "--on-recreate", "--verify"}
"""Options of remedies for what no restore does: it has no such settings."""


def test_remedies_name_no_option_that_a_restore_lacks() -> None:
    """Of all sentences of the mirror: nobody can follow a remedy with an option of another command."""
    from kcli.commands.segments.restore import restore as made
    from kcli.flows import mirror

    own = {name for one in made.params for name in one.opts} | {"--timeout"}
    found = {}
    for path in Path(mirror.__file__).parent.rglob("*.py"):
        if _NOT_IN_A_RESTORE & {path.name, path.parent.name}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if "\n" not in text:
                options = set(re.findall(r"(?<![\w`-])--[a-z][a-z-]+", rephrased(text)))
                found |= dict.fromkeys(options - own - _SET, text)
    assert found == {}
