"""``kcli consume`` against the fake cluster: what is read, filtered, committed, and how it ends."""

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core import Consumer, Producer
from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    INCONSISTENT_GROUP_PROTOCOL,
    TOPIC_AUTHORIZATION_FAILED,
)
from kcli.core.errors import CorruptRecordsError
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.types import ProducerRecord, Record, TopicPartition
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.run import MEASURE, environment, kcli, kcli_process, ok, shell, start

STAMP = 1_700_000_000_000
PROMPT = ("-X", "fetch.max.wait.ms=50")
NEW_PROTOCOL = (*PROMPT, "-X", "auto.commit.interval.ms=50", "-X", "group.protocol=consumer")
QUICK = (*PROMPT, "-X", "auto.commit.interval.ms=50", "-X", "heartbeat.interval.ms=50")


def put(
    cluster: FakeCluster, topic: str, partition: int, *records: tuple[bytes | None, bytes | None]
) -> None:
    """A batch of (key, value); times go up by a second over all partitions of the topic."""
    end = cluster.log(topic, partition).end_offset
    rows = [
        Record(
            topic,
            partition,
            end + n,
            STAMP + 1000 * (10 * (end + n) + partition),
            0,
            key,
            value,
            (("n", b"%d" % n),),
        )
        for n, (key, value) in enumerate(records)
    ]
    cluster.append(topic, partition, bytes(batch_of(rows).raw))


def fill(
    cluster: FakeCluster, topic: str = "t", partitions: int = 3, batches: int = 4, each: int = 5
) -> None:
    """Values are ``partition:offset``, keys ``k`` and the offset."""
    for partition in range(partitions):
        for number in range(batches):
            rows = [
                (b"k%d" % n, b"%d:%d" % (partition, n)) for n in range(number * each, number * each + each)
            ]
            put(cluster, topic, partition, *rows)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 3}) as found:
        fill(found)
        yield found


def lines(cluster: FakeCluster, *arguments: str, codes: tuple[int, ...] = (0,)) -> list[str]:
    """Of a process: they are written to a descriptor."""
    return ok(kcli_process("consume", *arguments, bootstrap=cluster.bootstrap), codes).decode().splitlines()


def committed(cluster: FakeCluster, group: str = "g") -> dict[int, int]:
    return {tp.partition: offset for tp, offset in cluster.committed_offsets(group).items()}


# --- what is read ------------------------------------------------------------------------------------


def test_patterns_match_what_there_is_and_never_internal_topics(cluster: FakeCluster) -> None:
    cluster.create_topic("t2", 1)
    cluster.create_topic("other", 1)
    put(cluster, "t2", 0, (None, b"two"))
    put(cluster, "other", 0, (None, b"three"))
    assert len(lines(cluster, "^t.*", "-e")) == 61
    assert sorted(lines(cluster, "^t2", "other", "-e")) == ["three", "two"]
    assert lines(cluster, "^t2$", "-t", "t2", "-e", "-f", "%t\\n") == ["t2"]


def test_a_shell_pattern_is_a_pattern(cluster: FakeCluster) -> None:
    """As a name, for -t, and for a group's subscription."""
    for name in ("o-a", "o-b", "xo-c"):
        cluster.create_topic(name, 1)
        put(cluster, name, 0, (None, name.encode()))
    assert sorted(lines(cluster, "o-*", "-e")) == ["o-a", "o-b"]
    assert lines(cluster, "-t", "o-[!a]", "-e") == ["o-b"]
    assert sorted(lines(cluster, "?o-*", "o-a", "-e")) == ["o-a", "xo-c"]
    assert sorted(lines(cluster, "o-?", "-g", "members", "-e")) == ["o-a", "o-b"]
    done = kcli("consume", "none-*", "-e", bootstrap=cluster.bootstrap)
    assert (done.returncode, b"no topic matches none-*" in done.stderr) == (1, True)


def test_an_unmatched_pattern_exits_with_1_and_an_invalid_one_with_2(cluster: FakeCluster) -> None:
    done = kcli("consume", "^x", "-e", bootstrap=cluster.bootstrap)
    assert (done.returncode, b"no topic matches ^x" in done.stderr) == (1, True)
    done = kcli("consume", "^(", "-e", bootstrap=cluster.bootstrap)
    assert (done.returncode, b"not a regular expression" in done.stderr) == (2, True)


@pytest.mark.case("B10")
def test_topics_and_partitions_that_come_later_are_read(cluster: FakeCluster) -> None:
    with start(
        "consume",
        "^t",
        "-n",
        "63",
        "-X",
        "metadata.max.age.ms=200",
        *PROMPT,
        bootstrap=cluster.bootstrap,
        bufsize=0,
    ) as process:
        assert process.stdout is not None
        found = [process.stdout.readline() for _ in range(60)]
        cluster.create_topic("t-new", 1)
        put(cluster, "t-new", 0, (None, b"of a new topic"))
        cluster.add_partitions("t", 4)
        put(cluster, "t", 3, (None, b"of a new partition"), (None, b"the end"))
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert sorted(out.splitlines()) == [b"of a new partition", b"of a new topic", b"the end"]
    assert len(set(found)) == 60


def test_merged_records_are_in_one_order_of_time(cluster: FakeCluster) -> None:
    found = lines(cluster, "t", "--merge", "-e", "-f", "%T %v\\n")
    assert [line.split()[1] for line in found] == [f"{p}:{n}" for n in range(20) for p in range(3)]
    assert lines(cluster, "t", "--merge", "-n", "4") == ["0:0", "1:0", "2:0", "0:1"]


def test_merged_records_do_not_wait_indefinitely(cluster: FakeCluster) -> None:
    """Without an end, a record waits a second for those of partitions that have nothing more."""
    assert len(lines(cluster, "t", "--merge", "--idle-timeout", "3s")) == 60


def test_ends_that_are_times_to_come_are_waited_for(cluster: FakeCluster) -> None:
    soon = int((time.time() + 3) * 1000)
    with start(
        "consume", "t", "--until", str(soon), *PROMPT, bootstrap=cluster.bootstrap, bufsize=0
    ) as process:
        assert process.stdout is not None
        for _ in range(60):
            process.stdout.readline()
        put(cluster, "t", 0, (None, b"in time"))
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"in time\n"), err


@pytest.mark.case("C15")
def test_times_are_echoed_in_utc_and_local(cluster: FakeCluster) -> None:
    words = ["consume", "t", "-e", "--since", "2026-10-25T02:30", "--until", "2026-10-25T04:00"]
    done = kcli_process(*words, bootstrap=cluster.bootstrap, TZ="Europe/Berlin")
    assert done.returncode == 0
    assert b"from 2026-10-25T00:30:00.000Z (2026-10-25 02:30:00.000+02:00)" in done.stderr
    assert b"until 2026-10-25T03:00:00.000Z (2026-10-25 04:00:00.000+01:00)" in done.stderr
    done = kcli_process(*words, bootstrap=cluster.bootstrap, TZ="UTC")
    assert b"from 2026-10-25T02:30:00.000Z\nuntil 2026-10-25T04:00:00.000Z\n" in done.stderr


@pytest.mark.case("C15")
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--since 2025-10-26T02:30", "2025-10-26 02:30:00 is there twice"),
        ("--until 2026-03-29T02:30", "2026-03-29 02:30:00 does not exist"),
        ("--offset @2025-10-26T02:30..@2026-03-29T02:30", "2026-03-29 02:30:00 does not exist"),
        ("--offset @2025-10-26T02:30..@2026-03-29T02:30 -q", "2025-10-26 02:30:00 is there twice"),
        ("--where \"timestamp > '2026-03-29T02:30'\"", "2026-03-29 02:30:00 does not exist"),
    ],
)
def test_a_local_time_that_clocks_repeat_or_skip_is_said(cluster: FakeCluster, flags: str, said: str) -> None:
    words = ["consume", "t", "-e", "--on-out-of-range", "latest", *shlex.split(flags)]
    done = kcli_process(*words, bootstrap=cluster.bootstrap, TZ="Europe/Berlin")
    assert done.returncode == 0, done.stderr
    assert said.encode() in done.stderr
    done = kcli_process(*words, bootstrap=cluster.bootstrap, TZ="UTC")
    assert b"twice" not in done.stderr
    assert b"does not exist" not in done.stderr


def test_headers_are_printed_by_name_and_produced_again(cluster: FakeCluster) -> None:
    cluster.create_topic("named", 1)
    lines = b"a b\n\xff NULL\n"
    made = kcli(
        "produce", "named", "-f", "%h{src} %h{to}|%v\\n", "--null-marker", "NULL", bootstrap=cluster.bootstrap,
        stdin=lines.replace(b"\n", b"|x\n"),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    done = kcli(
        "consume",
        "named",
        "-e",
        "-f",
        "%h{src} %h{to}\\n",
        "--null-marker",
        "NULL",
        bootstrap=cluster.bootstrap,
    )
    assert (done.returncode, done.stdout) == (0, lines), done.stderr
    done = kcli(
        "consume", "named", "-e", "-f", "%h{nothing}%h{src}%k,", "-n", "1", bootstrap=cluster.bootstrap
    )
    assert done.stdout == b"a,"


def test_ends_are_behind_markers_and_records_that_are_gone(cluster: FakeCluster) -> None:
    cluster.create_topic("txn", 1)
    with RawClient(cluster.address(1)) as client:
        transaction = RawTransaction(client, topic="txn")
        assert transaction.init() == 0
        assert transaction.produce(0, b"a", b"b") == 0
        assert transaction.end(commit=True) == 0
        assert transaction.produce(0, b"gone") == 0
        assert transaction.end(commit=False) == 0
    assert lines(cluster, "txn", "-e") == ["a", "b"]
    assert lines(cluster, "txn", "-e", "--isolation-level", "read_uncommitted") == ["a", "b", "gone"]
    shown = [json.loads(line) for line in lines(cluster, "txn", "-e", "--print-control", "-o", "ndjson")]
    assert [(row["offset"], row.get("control")) for row in shown] == [
        (0, None),
        (1, None),
        (2, "COMMIT"),
        (4, "ABORT"),
    ]
    assert "COMMIT" in lines(cluster, "txn", "-e", "--print-control", "-o", "table")[3]
    for ways in (
        ["-e"],
        ["-e", "--expect", "2"],
        ["--tail", "2", "--expect", "2"],
        ["-n", "3", "--idle-timeout", "1s"],
    ):
        assert lines(cluster, "txn", "--print-control", *ways) == ["a", "b", "COMMIT", "ABORT"], ways
    assert lines(cluster, "txn", "-e", "--print-control", "-n", "2") == ["a", "b"]
    assert lines(cluster, "txn", "-g", "g", "-e", "-n", "9") == ["a", "b"]
    assert committed(cluster) == {0: 5}


def test_what_an_open_transaction_hides_at_the_pinned_end_is_reported(cluster: FakeCluster) -> None:
    cluster.create_topic("txn", 2)
    with RawClient(cluster.address(1)) as client:
        transaction = RawTransaction(client, topic="txn")
        assert transaction.init() == 0
        assert transaction.produce(0, b"a") == 0
        assert transaction.end(commit=True) == 0
        assert transaction.produce(0, b"b", b"c", b"d") == 0
        for ways in (["-e"], ["-e", "-p", "0", "--offset", "2"], ["--tail", "5"], ["-g", "g", "-e"]):
            done = kcli("consume", "txn", *ways, bootstrap=cluster.bootstrap)
            assert done.returncode == 0
            (said,) = [line for line in done.stderr.decode().splitlines() if "hides" in line]
            assert (
                "txn-0: an open transaction hides up to 3 records from offset 2 to the high watermark 5"
                in said
            )
            assert "(producer 1000, epoch 1, open since offset 2" in said
        for ways in (
            ["-e", "--isolation-level", "read_uncommitted"],
            ["-e", "-p", "0", "--offset", "0:1"],
            ["-e", "-n", "1"],
        ):
            done = kcli("consume", "txn", *ways, bootstrap=cluster.bootstrap)
            assert b"hides" not in done.stderr
        assert transaction.end(commit=True) == 0
    assert b"hides" not in kcli("consume", "txn", "-e", bootstrap=cluster.bootstrap).stderr


# --- filters -------------------------------------------------------------------------------------------


def test_filters_are_and_limits_count_matches(cluster: FakeCluster) -> None:
    assert sorted(lines(cluster, "t", "-e", "--grep", "v::1$")) == ["0:1", "1:1", "2:1"]
    assert lines(cluster, "t", "-e", "--grep", "k:^k1", "--grep", "!v:1[0-8]", "--grep", "v:^2") == [
        "2:1",
        "2:19",
    ]
    assert lines(cluster, "t", "-p", "1", "--grep", "h:n=^0$", "-n", "2") == ["1:0", "1:5"]
    done = kcli("consume", "t", "-e", "--grep", "v:nowhere", bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"0 records of 60 match" in done.stderr


def test_tail_is_the_last_that_match(cluster: FakeCluster) -> None:
    assert lines(cluster, "t", "--tail", "4", "--grep", "k:^k[0-3]$") == ["2:2", "0:3", "1:3", "2:3"]


def test_where_reads_json_and_counts_other_values(cluster: FakeCluster) -> None:
    cluster.create_topic("j", 1)
    put(cluster, "j", 0, (b"a", b'{"n":1}'), (b"b", b'{"n":2}'), (b"c", b"no json"), (b"d", None))
    done = kcli(
        "consume",
        "j",
        "-e",
        "--where",
        "value.n == `2` || key == 'd'",
        "-f",
        "%k ",
        bootstrap=cluster.bootstrap,
    )
    assert (done.returncode, done.stdout) == (0, b"b d ")
    assert b"1 value is not JSON" in done.stderr
    assert b"2 records of 4 match" in done.stderr


def test_a_key_is_looked_for_where_it_belongs_and_that_is_reported(cluster: FakeCluster) -> None:
    cluster.create_topic("keys", 3)
    put(cluster, "keys", 2, (b"21", b"misplaced"))
    put(cluster, "keys", 1, (b"x", b"other"))
    assert (-973932308 & 0x7FFFFFFF) % 3 == 0
    put(cluster, "keys", 0, (b"21", b"here"), (b"x", b"other"), (b"21", None))
    done = kcli("consume", "keys", "--key", "21", "-e", "--null-marker", "-", bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stdout) == (0, b"here\n-\n")
    assert b"partition 0 of the 3 of keys, by murmur2" in done.stderr
    fetched = {
        p.partition
        for seen in cluster.seen(FetchRequest)
        for topic in seen.request.topics
        for p in topic.partitions
    }
    assert fetched == {0}
    assert sorted(lines(cluster, "keys", "--key", "21", "--all-partitions", "-e", "--null-marker", "-")) == [
        "-",
        "here",
        "misplaced",
    ]
    done = kcli("consume", "keys", "--key", "nowhere", "-e", bootstrap=cluster.bootstrap)
    assert b"--all-partitions reads all partitions" in done.stderr.splitlines()[-1]


# --- groups --------------------------------------------------------------------------------------------


def group(
    cluster: FakeCluster,
    *arguments: str,
    codes: tuple[int, ...] = (0,),
    protocol: tuple[str, ...] = QUICK,
) -> list[str]:
    return lines(cluster, "t", "-g", "g", *protocol, *arguments, codes=codes)


@pytest.mark.parametrize("protocol", [QUICK, NEW_PROTOCOL], ids=["classic", "consumer"])
def test_a_group_continues_where_it_was(cluster: FakeCluster, protocol: tuple[str, ...]) -> None:
    assert len(group(cluster, "-e", protocol=protocol)) == 60
    assert committed(cluster) == {0: 20, 1: 20, 2: 20}
    assert cluster.group_state("g") == "Empty"
    put(cluster, "t", 1, (None, b"new"))
    assert group(cluster, "-e", protocol=protocol) == ["new"]
    assert committed(cluster) == {0: 20, 1: 21, 2: 20}


def test_targets_that_come_late_are_waited_for() -> None:
    """KIP-848: the coordinator may give nothing first, and the partitions with a later heartbeat."""
    with FakeCluster(1, topics={"t": 3}, groups={"assignment_interval": 2.0}) as cluster:
        fill(cluster)
        first = group(cluster, "-n", "5", protocol=NEW_PROTOCOL)
        assert len({*first, *group(cluster, "-e", protocol=NEW_PROTOCOL)}) == 60


@pytest.mark.case("O2")
def test_a_limit_commits_exactly_behind_the_last_written_record(cluster: FakeCluster) -> None:
    first = group(cluster, "-n", "7", "-f", "%p %o\\n")
    assert len(first) == 7
    ends = {int(p): int(o) + 1 for p, o in (line.split() for line in first)}
    assert {p: o for p, o in committed(cluster).items() if o} == ends
    rest = group(cluster, "-e", "-f", "%p %o\\n")
    assert len({*first, *rest}) == len(first) + len(rest) == 60


def test_a_limit_on_matches_commits_behind_the_last_match(cluster: FakeCluster) -> None:
    assert group(cluster, "-n", "1", "--grep", "v:^0:7$") == ["0:7"]
    assert committed(cluster)[0] == 8


def test_no_commit_commits_nothing(cluster: FakeCluster) -> None:
    assert len(group(cluster, "-e", "--no-commit")) == 60
    assert committed(cluster) == {}
    assert cluster.seen(OffsetCommitRequest) == []


def test_a_start_applies_where_nothing_is_committed_and_that_is_reported(cluster: FakeCluster) -> None:
    done = kcli("consume", "t", "-g", "g", *QUICK, "-e", "--offset", "-2", bootstrap=cluster.bootstrap)
    assert sorted(ok(done).split()) == [b"0:18", b"0:19", b"1:18", b"1:19", b"2:18", b"2:19"]
    assert b"applies only where nothing is committed" in done.stderr
    assert group(cluster, "-e", "--from-beginning") == []
    assert group(cluster, "-e", "--offset", "stored") == []
    assert lines(cluster, "t", "-g", "g2", *QUICK, "-e", "--offset", "latest") == []
    assert committed(cluster, "g2") == {0: 20, 1: 20, 2: 20}


def test_a_member_reads_topics_that_match_a_pattern(cluster: FakeCluster) -> None:
    cluster.create_topic("u", 1)
    put(cluster, "u", 0, (None, b"named"))
    assert sorted(lines(cluster, "^t", "u", "-g", "g", *QUICK, "-e"))[-1] == "named"


def test_a_dry_run_joins_nothing(cluster: FakeCluster) -> None:
    group(cluster, "-n", "20", "-X", "max.partition.fetch.bytes=100")
    joins = len(cluster.seen(JoinGroupRequest))
    shown = group(cluster, "-e", "--dry-run")
    expected = [f"t-{p}: from {committed(cluster).get(p, 0)} to 20" for p in range(3)]
    assert shown == expected
    assert len(cluster.seen(JoinGroupRequest)) == joins


def test_the_plan_of_a_dry_run_as_a_document(cluster: FakeCluster) -> None:
    plan = json.loads("".join(lines(cluster, "t", "-e", "--dry-run", "-o", "json")))
    assert plan["kind"] == "ConsumePlan"
    wanted = {"topic": "t", "from_offset": 0, "to_offset": 20}
    assert plan["items"] == [{**wanted, "partition": partition} for partition in range(3)]
    first, *_ = lines(cluster, "t", "--dry-run", "-o", "ndjson")
    assert json.loads(first) == {**wanted, "kind": "ConsumePlan", "partition": 0, "to_offset": None}


def test_members_share_partitions_and_hand_over_exactly(cluster: FakeCluster) -> None:
    """Two members; one leaves by a signal: every record is written once."""
    for _ in range(10):
        fill(cluster, batches=1)
    common = ("t", "-g", "g", *QUICK, "-f", "%p %o\\n", "-X", "session.timeout.ms=10000")

    def all_committed() -> bool:
        return committed(cluster) == {p: cluster.log("t", p).end_offset for p in range(3)}

    with start("consume", *common, bootstrap=cluster.bootstrap, bufsize=0) as one:
        assert one.stdout is not None
        first = one.stdout.readline()
        with start("consume", *common, "-v", bootstrap=cluster.bootstrap) as two:
            cluster.wait_until(lambda: len(cluster.group_members("g")) == 2)
            cluster.wait_until(lambda: cluster.group_state("g") == "Stable")
            fill(cluster, batches=1)
            cluster.wait_until(all_committed, 20.0)
            two.send_signal(signal.SIGTERM)
            out_two, err = two.communicate(timeout=30)
        assert two.returncode == 143
        assert b"assigned: t-" in err
        fill(cluster, batches=1)
        cluster.wait_until(all_committed, 20.0)
        one.send_signal(signal.SIGTERM)
        out_one, _ = one.communicate(timeout=60)
    assert one.returncode == 143
    rows = [*(first + out_one).splitlines(), *out_two.splitlines()]
    ends = {p: cluster.log("t", p).end_offset for p in range(3)}
    assert sorted(rows) == sorted(b"%d %d" % (p, o) for p, end in ends.items() for o in range(end))
    assert committed(cluster) == ends


@pytest.mark.case("C1")
def test_a_reader_that_leaves_commits_nothing_unwritten(cluster: FakeCluster) -> None:
    done = shell(
        f"kcli consume t -g g {' '.join(QUICK)} -b {cluster.bootstrap} | head -1; echo ${{PIPESTATUS[0]}}"
    )
    first, code = done.stdout.split()
    assert first in (b"0:0", b"1:0", b"2:0")
    assert (code, done.stderr) == (b"141", b"")
    assert cluster.group_state("g") in ("Empty", "Dead")  # it has left
    assert all(offset <= 20 for offset in committed(cluster).values())


@pytest.mark.case("C1")
def test_a_reader_that_left_before_the_next_record_is_noticed(cluster: FakeCluster) -> None:
    process = start("consume", "t", *PROMPT, bootstrap=cluster.bootstrap, bufsize=0)
    assert process.stdout is not None
    for _ in range(60):
        process.stdout.readline()
    process.stdout.close()
    assert process.wait(120) == -signal.SIGPIPE
    assert process.stderr is not None
    assert process.stderr.read() == b""


@pytest.mark.case("C2")
def test_a_full_disk_is_1_and_nothing_is_committed(cluster: FakeCluster) -> None:
    done = shell(f"kcli consume t -g g {' '.join(QUICK)} -b {cluster.bootstrap} > /dev/full")
    assert done.returncode == 1
    assert b"cannot write output: No space left on device" in done.stderr
    assert b"nothing was written" in done.stderr
    assert committed(cluster) == {}
    assert cluster.group_state("g") in ("Empty", "Dead")


@pytest.mark.case("C2")
def test_a_full_tmpfs_keeps_what_was_written_and_commits_no_more(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    for _ in range(40):
        put(cluster, "t", 0, *[(None, b"x" * 1000)] * 5)
    line = (
        f"mount -t tmpfs -o size=64k none {tmp_path} || exit 99; "
        f"kcli consume t -p 0 -e -X fetch.max.bytes=5000 -f '%o %s\\n' > {tmp_path}/a; echo a $?; "
        f"kcli consume t -g g {' '.join(QUICK)} -X fetch.max.bytes=5000 -f '%p %o %s\\n' > {tmp_path}/b; echo b $?; "
        f"rm {tmp_path}/a; kcli consume t -g g {' '.join(QUICK)} -X fetch.max.bytes=5000 -f '%p %o %s\\n' "
        f"> {tmp_path}/c; echo c $?; cut -c1-8 {tmp_path}/c"
    )
    define = f'kcli() {{ "{sys.executable}" -m kcli "$@"; }}; '
    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", define + line],
        capture_output=True,
        timeout=120,
        env=environment(cluster.bootstrap),
        check=False,
    )
    if done.returncode in (1, 99) and b"echo" not in done.stdout and b"a " not in done.stdout:
        pytest.skip("no tmpfs may be mounted here")
    out = done.stdout.decode().splitlines()
    assert out[:3] == ["a 1", "b 1", "c 1"]
    assert done.stderr.count(b"cannot write output: No space left on device") == 3
    assert b"written so far, up to: t-0@" in done.stderr
    rows = [row.split()[:2] for row in out[3:-1]]  # the last one may be cut
    for partition, offset in committed(cluster).items():
        written = [int(o) for p, o in rows if int(p) == partition]
        assert offset <= max(written, default=-1) + 2


@pytest.mark.case("C3")
def test_a_second_signal_ends_it_at_once_and_says_what_is_not_committed(cluster: FakeCluster) -> None:
    held = cluster.hold(OffsetCommitRequest)
    with start(
        "consume", "t", "-g", "g", "-X", "fetch.max.wait.ms=50", bootstrap=cluster.bootstrap, bufsize=0
    ) as process:
        assert process.stdout is not None
        for _ in range(60):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        cluster.wait_for(OffsetCommitRequest)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    held.release()
    assert process.returncode == 143
    assert b"written but not committed: t-0@20, t-1@20, t-2@20" in err


@pytest.mark.case("C3")
def test_a_signal_counts_more_than_the_reader_that_it_ends_too(cluster: FakeCluster) -> None:
    """Ctrl-C in ``consume | less``: both get it, and the pipe may break before the rest is written."""
    for _ in range(30):
        put(cluster, "t", 0, *[(None, b"x" * 1000)] * 20)
    process = start("consume", "t", "-g", "g", *QUICK, bootstrap=cluster.bootstrap, bufsize=0)
    assert process.stdout is not None
    process.stdout.read(1000)
    time.sleep(1)  # it waits for the pipe now
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.stdout.close()
    assert process.wait(120) == 130
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()


@pytest.mark.case("C4")
def test_a_suspended_member_commits_nothing_as_a_zombie(cluster: FakeCluster) -> None:
    """SIGSTOP for longer than the session: others take over; after SIGCONT it joins again."""
    common = ("t", "-g", "g", *QUICK, "-X", "session.timeout.ms=1000", "-f", "%p %o\\n")
    with start("consume", *common, bootstrap=cluster.bootstrap, bufsize=0) as one:
        assert one.stdout is not None
        for _ in range(60):
            one.stdout.readline()
        cluster.wait_until(lambda: committed(cluster) == {0: 20, 1: 20, 2: 20})
        one.send_signal(signal.SIGSTOP)
        put(cluster, "t", 0, (None, b"for the other"))
        other = lines(cluster, *common, "-n", "1")
        assert other == ["0 20"]
        assert committed(cluster) == {0: 21, 1: 20, 2: 20}
        one.send_signal(signal.SIGCONT)
        put(cluster, "t", 1, (None, b"after it"))
        # What it fetched before it knew that it is no member is written, not committed, and read once more.
        cluster.wait_until(lambda: committed(cluster) == {0: 21, 1: 21, 2: 20})
        one.send_signal(signal.SIGINT)
        out, _ = one.communicate(timeout=30)
    assert one.returncode == 130
    written = out.decode().splitlines()
    assert set(written) in ({"1 20"}, {"0 20", "1 20"})
    assert written.count("0 20") <= 1
    assert written.count("1 20") <= 2
    assert committed(cluster) == {0: 21, 1: 21, 2: 20}


def test_a_member_that_is_fenced_ends_with_7(cluster: FakeCluster) -> None:
    cluster.fail(JoinGroupRequest, FENCED_INSTANCE_ID)
    done = kcli("consume", "t", "-g", "g", *QUICK, "-X", "group.instance.id=i", bootstrap=cluster.bootstrap)
    assert done.returncode == 7


def test_a_group_of_another_kind_is_7(cluster: FakeCluster) -> None:
    cluster.fail(JoinGroupRequest, INCONSISTENT_GROUP_PROTOCOL)
    done = kcli("consume", "t", "-g", "g", *QUICK, bootstrap=cluster.bootstrap)
    assert done.returncode == 7


def test_a_last_commit_that_fails_is_no_success(cluster: FakeCluster) -> None:
    cluster.fail(OffsetCommitRequest, FENCED_INSTANCE_ID)
    done = kcli("consume", "t", "-g", "g", "-e", bootstrap=cluster.bootstrap)
    assert done.returncode == 7
    assert len(done.stdout.splitlines()) == 60
    assert b"were not committed" in done.stderr


# --- choices -------------------------------------------------------------------------------------------


@pytest.mark.case("O5")
def test_out_of_range_is_5_unless_chosen(cluster: FakeCluster) -> None:
    cluster.delete_records("t", 0, 15)
    done = kcli("consume", "t", "-p", "0", "--offset", "3", "-e", bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stdout) == (5, b"")
    assert b"offset 3 is out of range" in done.stderr
    assert b"12 offsets are gone" in done.stderr
    shown = kcli(
        "consume",
        "t",
        "-p",
        "0",
        "--offset",
        "3",
        "-e",
        "--on-out-of-range",
        "earliest",
        bootstrap=cluster.bootstrap,
    )
    assert ok(shown).split() == [b"0:%d" % n for n in range(15, 20)]
    assert b"continuing at the earliest offset" in shown.stderr
    assert lines(cluster, "t", "-p", "0", "--offset", "3", "-e", "--on-out-of-range", "latest") == []
    assert lines(cluster, "t", "-p", "0", "--offset", "99", "-e", "--on-out-of-range", "latest") == []


@pytest.mark.case("O5")
def test_a_committed_offset_that_is_gone_is_5_unless_chosen(cluster: FakeCluster) -> None:
    group(cluster, "-n", "60")
    fill(cluster, partitions=1)
    cluster.delete_records("t", 0, 30)
    assert kcli("consume", "t", "-g", "g", *QUICK, "-e", bootstrap=cluster.bootstrap).returncode == 5
    found = group(cluster, "-e", "--on-out-of-range", "earliest", "-f", "%p %o\\n")
    assert found == [f"0 {n}" for n in range(30, 40)]


@pytest.mark.case("O5")
def test_a_member_does_not_begin_past_the_end_of_the_log(cluster: FakeCluster) -> None:
    """Neither where it is to begin there, nor where the log is shorter now than what was committed."""
    for words in (["-e"], ["-n", "1"]):
        assert group(cluster, "--offset", "30", *words, codes=(5,)) == []
        assert committed(cluster) == {}
    group(cluster, "-n", "60")
    cluster.delete_topic("t", keeps_commits=True)
    cluster.create_topic("t", 3)
    put(cluster, "t", 1, (None, b"new"))
    assert group(cluster, "-e", "--no-commit", codes=(5,)) == []
    assert group(cluster, "-e", "--no-commit", "--on-out-of-range", "latest") == []
    assert group(cluster, "-e", "--on-out-of-range", "earliest") == ["new"]
    assert committed(cluster) == {0: 0, 1: 1, 2: 0}


def damage(cluster: FakeCluster, partition: int) -> None:
    """Flips a bit in the value of the last record of the second batch of what is fetched."""

    def flip(_request: object, answer: object) -> None:
        for topic in answer.responses:  # type: ignore[attr-defined]
            for data in topic.partitions:
                if data.partition_index == partition and data.records:
                    raw = bytearray(b"".join(data.records))
                    at = raw.find(b"%d:9" % partition)
                    if at >= 0:
                        raw[at] ^= 1
                    data.records = [bytes(raw)]

    cluster.replace(FetchRequest, flip)


@pytest.mark.case("F2", "X5")
def test_a_damaged_batch_is_5_unless_skipped_and_then_counted(cluster: FakeCluster) -> None:
    damage(cluster, 1)
    done = kcli("consume", "t", "-p", "1", "-e", bootstrap=cluster.bootstrap)
    assert done.returncode == 5
    assert done.stdout.split() == [b"1:%d" % n for n in range(5)]
    assert b"offsets 5 to 9" in done.stderr
    done = kcli("consume", "t", "-p", "1", "-e", "--on-corrupt", "skip", bootstrap=cluster.bootstrap)
    assert ok(done).split() == [b"1:%d" % n for n in (*range(5), *range(10, 20))]
    assert b"skipped 5 records at offsets 5 to 9, which are damaged" in done.stderr
    assert b"1 damaged batch skipped" in done.stderr


BOMB = ["-X", "max.decompressed.batch.bytes=2000"]


@pytest.mark.parametrize("ways", [["-e"], ["--tail", "1"], ["-e", "--grep", "v:x"], ["-e", "-o", "table"]])
def test_a_batch_that_is_too_large_open_is_named_with_its_partition(
    cluster: FakeCluster, ways: list[str]
) -> None:
    cluster.create_topic("packed", 2)
    with Producer(bootstrap_servers=cluster.bootstrap, compression_type="gzip") as producer:
        producer.send(ProducerRecord("packed", b"x", partition=1))
        producer.flush()
        producer.send(ProducerRecord("packed", b"y" * 5000, partition=1))
    done = kcli("consume", "packed", *ways, *BOMB, bootstrap=cluster.bootstrap)
    assert done.returncode == 5
    assert b"packed-1: record batch at offset" in done.stderr
    assert b"1 to 1" in done.stderr
    assert b"max.decompressed.batch.bytes" in done.stderr


def test_the_record_api_names_the_partition_of_a_batch_that_cannot_be_read(cluster: FakeCluster) -> None:
    cluster.create_topic("packed", 2)
    with Producer(bootstrap_servers=cluster.bootstrap, compression_type="gzip") as producer:
        producer.send(ProducerRecord("packed", b"y" * 5000, partition=1))
    with Consumer(
        bootstrap_servers=cluster.bootstrap, max_decompressed_batch_bytes=2000, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition("packed", 1)])
        with pytest.raises(CorruptRecordsError, match="packed-1: record batch at offset") as caught:
            list(consumer.records(5))
    assert caught.value.tp == TopicPartition("packed", 1)


@pytest.mark.case("B8")
def test_a_topic_created_anew_is_5_unless_restarted(cluster: FakeCluster) -> None:
    for choice, code in (("fail", 5), ("restart", 130)):
        with start(
            "consume", "t", "--on-recreate", choice, "-X", "metadata.max.age.ms=200", *PROMPT,
            bootstrap=cluster.bootstrap, bufsize=0,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            for _ in range(60):
                assert process.stdout.readline()
            cluster.recreate_topic("t", 3)
            put(cluster, "t", 0, (None, b"of the new one"))
            if choice == "restart":
                assert process.stdout.readline() == b"of the new one\n"
                process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=40)
        assert process.returncode == code
        assert b"recreated" in err
        cluster.recreate_topic("t", 3)
        fill(cluster)


def test_a_member_reads_a_topic_that_was_created_anew_from_its_beginning(cluster: FakeCluster) -> None:
    with start(
        "consume", "t", "-g", "g", "--on-recreate", "restart", *QUICK, "-X", "metadata.max.age.ms=200",
        bootstrap=cluster.bootstrap, bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for _ in range(60):
            assert process.stdout.readline()
        cluster.recreate_topic("t", 3)
        put(cluster, "t", 0, (None, b"of the new one"))
        assert process.stdout.readline() == b"of the new one\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=40)
    assert (process.returncode, b"recreated" in err) == (130, True)
    assert committed(cluster)[0] == 1


# --- the end -------------------------------------------------------------------------------------------


def test_a_topic_that_must_not_be_read_is_4(cluster: FakeCluster) -> None:
    cluster.fail(FetchRequest, TOPIC_AUTHORIZATION_FAILED)
    done = kcli("consume", "t", "-e", bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stdout) == (4, b"")


def test_a_silent_cluster_is_3() -> None:
    assert kcli("consume", "t", "--timeout", "1s", bootstrap="127.0.0.1:1").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "missing argument TOPIC"),
        (("t", "-o", "yaml"), "there is no output"),
        (("t", "-J", "-o", "csv"), "-J and -o together"),
        (("t", "-f", "%k", "-J"), "-f and -J together"),
        (("t", "--commit"), "--commit without -g"),
        (("t", "--no-commit"), "--no-commit without -g"),
        (("t", "-g", ""), "empty"),
        (("t", "-g", "g", "-p", "0"), "--group and --partitions"),
        (("t", "-g", "g", "--tail", "3"), "--group and --tail"),
        (("t", "-g", "g", "--merge"), "--group and --merge"),
        (("t", "--tail", "3", "--merge"), "--tail and --merge"),
        (("t", "--tail", "3", "-n", "3"), "--tail and --max-messages"),
        (("t", "--since", "1h", "--offset", "3"), "--offset and --since"),
        (("t", "--offset", "stored"), "is for groups"),
        (("t", "-g", "g", "--offset", "3:stored"), "is for groups"),
        (("t", "--all-partitions"), "without --key"),
        (("t", "--grep", "error"), "names no field"),
        (("t", "--grep", "v:("), "regular expression"),
        (("t", "--where", "value.a ="), "is not valid at column 9"),
        (("t", "--offset", ":9", "--until", "1h"), "both specify where to stop"),
        (("t", "--since", "1h", "--until", "2h"), "--until is before the start"),
        (("t", "--offset", "@1h", "--until", "2h"), "--until is before the start"),
        (("t", "--where", "lenght(value)"), "no function lenght()"),
        (("t", "-o", "ndjson", "-D", ","), "-D with -o ndjson"),
        (("t", "-f", "%s", "-D", ","), "-D with -f"),
        (("t", "-J", "--null-marker", "N"), "--null-marker with -o kcat"),
        (("t u",), "kcli: consume: 't u' is not a valid topic name"),
        (("t", "-g", "\udce9"), "group.id='\\udce9' is not a valid value"),
        (("t", "--client-id", "\udce9"), "client.id='\\udce9' is not a valid value"),
        (("t", "--on-corrupt", "ignore"), "--on-corrupt"),
        (("t", "-o", "beginning"), "--from-beginning"),
        (("t", "-f", "json"), "do: use -o json"),
        (("t", "--format", "json"), "do: use -o json"),
        (("t", "-f", "NDJSON "), "do: use -o ndjson"),
        (("t", "-f", "jsn"), "did you mean -o json?"),
        (("t", "-f", "hello\\n"), "it has no verb"),
        (("t", "-f", ""), "it has no verb"),
        (("t", "-f", "100%%"), "it has no verb"),
        (("t", "-f", "-n", "1"), "-f needs a FORMAT, and the next word is -n"),
        (("t", "-f", "--exit"), "-f needs a FORMAT, and the next word is --exit"),
        (("t", "--since", "+3h"), "--since is in the future"),
        (("t", "--since", "2361-01-01"), "--since is in the future"),
        (("t", "--offset", "@+3h"), "--offset is in the future"),
        (("t", "--offset", "@+3h..@+4h"), "--offset is in the future"),
        (("t", "-g", "g", "--since", "+3h"), "--since is in the future"),
        (("t", "--since", "12345678901"), "taken as s, and is in the year 2361, more than 100 years away"),
        (("t", "--until", "17321800000000"), "taken as ms, and is in the year 2518"),
        (("t", "--offset", "@12345678901"), "taken as s"),
        (("t", "--offset", "@12345678901:@12345678902"), "taken as s"),
        (("t", "--where", "partition == '3'"), "write 3, without quotes"),
        (("t", "--where", "timestamp > '12345678901'"), "taken as s"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_contradictory_options_exit_with_2_before_any_network_use(
    arguments: tuple[str, ...], said: str
) -> None:
    done = kcli("consume", *arguments, bootstrap="127.0.0.1:1")
    assert done.returncode == 2, done.stderr
    assert said in done.stderr.decode()


IN_EACH_FORMAT = """
import os, sys
from kcli import __main__, cli
from kcli.commands import consume
for kind in sys.argv[2:]:
    if not os.fork():  # one start of Python for all formats
        sys.exit(__main__.run(["consume", "wide", "-e", "-o", kind, "-b", sys.argv[1]]))
    assert os.wait()[1] == 0, kind
    os.write(1, b"=====")
"""


@pytest.mark.case("C12")
@pytest.mark.parametrize(
    "setting", ["LC_ALL=C", "PYTHONIOENCODING=ascii", "PYTHONUTF8=0 LC_ALL=C PYTHONIOENCODING=latin-1"]
)
def test_any_locale_prints_utf8(cluster: FakeCluster, setting: str) -> None:
    cluster.create_topic("wide", 1)
    put(cluster, "wide", 0, ("ключ".encode(), "漢字 שלום 😀".encode()))
    kinds = ("value", "ndjson", "json", "csv", "kcat", "table", "hex")
    done = shell(f"{setting} '{sys.executable}' -c '{IN_EACH_FORMAT}' {cluster.bootstrap} {' '.join(kinds)}")
    assert (done.returncode, done.stderr) == (0, b"")
    printed = done.stdout.split(b"=====")
    assert printed.pop() == b""
    for kind, text in zip(kinds, printed, strict=True):
        assert text, kind
        assert kind == "hex" or "漢字 שלום 😀".encode() in text.replace(b"\\u05", b""), kind


@pytest.mark.case("C17")
@pytest.mark.parametrize("arguments", ["", "-o ndjson", "--merge", "--tail 5", "-g small"])
def test_reading_much_for_a_slow_reader_stays_small(cluster: FakeCluster, arguments: str) -> None:
    """60 MB, in three partitions, whatever the way to read; the reader takes nothing for a while."""
    cluster.create_topic("much", 3)
    for batch in range(60):
        put(cluster, "much", batch % 3, *[(None, b"%d" % batch * 500) for _ in range(1000)])
    line = f'"$PYTHON" -c "{MEASURE}" "$PYTHON" -m kcli consume much -e -q {arguments} | (sleep 1; wc -l)'
    env = environment(cluster.bootstrap, PYTHON=sys.executable)
    done = subprocess.run(["bash", "-c", line], env=env, capture_output=True, timeout=120, check=True)
    assert int(done.stdout) == (5 if "tail" in arguments else 60_000)
    assert int(done.stderr.split(b"RSS ")[1].split()[0]) < 128_000


@pytest.mark.case("C17")
def test_a_tenth_of_a_gigabyte_of_addresses_is_enough(cluster: FakeCluster) -> None:
    done = shell(f"ulimit -v 100000; kcli consume t -e -b {cluster.bootstrap} | wc -l")
    assert (done.stdout.split(), done.stderr) == ([b"60"], b"")


def test_a_report_can_be_printed_as_json(cluster: FakeCluster) -> None:
    done = kcli("consume", "t", "-e", "--grep", "v::1$", "--progress", "json", bootstrap=cluster.bootstrap)
    rows = [json.loads(line) for line in done.stderr.splitlines() if line.startswith(b"{")]
    report = rows[-1]
    assert {row["kind"] for row in rows[:-1]} == {"Progress"}
    assert (report["kind"], report["records"], report["scanned"]) == ("ConsumeReport", 3, 60)
    assert [place["offset"] for place in report["positions"]] == [20, 20, 20]


def test_quiet_says_nothing(cluster: FakeCluster) -> None:
    done = kcli("consume", "t", "-e", "-q", "--key", "k1", "--since", "1d", bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.case("C2")
@pytest.mark.parametrize("form", ["value", "json", "value --tail 900"])
def test_a_full_disk_says_which_records_are_whole(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    """RLIMIT_FSIZE cuts the output in the middle of the first poll. What is said is what the file holds."""
    put(cluster, "t", 0, *[(b"k%d" % n, b"%06d" % n + b"x" * 80) for n in range(1000)])
    command = f"kcli consume t -p 0 -e -b {cluster.bootstrap} -o {form}"
    done = shell(f"ulimit -f 20; {command} > {tmp_path}/out")
    assert done.returncode == 1
    kept = (tmp_path / "out").read_bytes()
    assert len(kept) == 20 * 1024
    found = re.search(rb"written so far, up to: t-0@(\d+) \((\d+) whole records, 20,480 bytes\)", done.stderr)
    assert found is not None, done.stderr
    last, count = int(found[1]), int(found[2])
    start = 120 if "--tail" in form else 0
    assert last == start + count - 1
    if form == "json":
        assert count == kept.count(b',"leader_epoch":') or count == kept.count(b'{"topic"') - 1
        return
    command = command.replace("--tail 900", "")
    exact, more = (shell(f"{command} --offset {start}:{last + n}").stdout for n in (1, 2))
    assert kept.startswith(exact)
    assert not kept.startswith(more)


@pytest.mark.case("C2", "O2")
def test_a_full_disk_says_what_the_group_has_committed(cluster: FakeCluster, tmp_path: Path) -> None:
    for _ in range(40):
        put(cluster, "t", 0, *[(None, b"x" * 1000)] * 5)
    done = shell(
        f"ulimit -f 64; kcli consume t -g g {' '.join(QUICK)} -X fetch.max.bytes=5000 -X auto.commit.interval.ms=60000 "
        f"-f '%p %o %s\\n' -b {cluster.bootstrap} > {tmp_path}/out"
    )
    assert done.returncode == 1
    offsets = committed(cluster)
    said = re.search(rb"group g continues at: (.*)", done.stderr)
    assert said is not None, done.stderr
    assert said[1].decode() == ", ".join(f"t-{tp}@{offset}" for tp, offset in sorted(offsets.items()))
    rows = [row.split() for row in (tmp_path / "out").read_text().splitlines()[:-1]]
    for partition, offset in offsets.items():
        assert offset <= max(int(row[1]) for row in rows if int(row[0]) == partition) + 1
