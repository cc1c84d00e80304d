"""``kcli groups list`` and ``kcli groups lag`` as users run them, against the scripted cluster."""

import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from tests.batches import batch_of
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fake.script import FOREVER
from tests.run import KCLI, environment, kcli, ok, run, start

QUESTIONS = (
    ListGroupsRequest,
    FindCoordinatorRequest,
    OffsetFetchRequest,
    ListOffsetsRequest,
    DescribeGroupsRequest,
)


def now_ms() -> int:
    return int(time.time() * 1000)


def fill(cluster: FakeCluster, topic: str, partition: int, ages: list[float]) -> None:
    """A batch of records that are so many seconds old."""
    end, now = cluster.log(topic, partition).end_offset, now_ms()
    rows = [
        Record(topic, partition, end + n, now - round(age * 1000), 0, None, b"v%d" % n, ())
        for n, age in enumerate(ages)
    ]
    cluster.append(topic, partition, bytes(batch_of(rows).raw))


def commit(cluster: FakeCluster, group: str, offsets: dict[tuple[str, int], int]) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        wanted = {TopicPartition(*place): OffsetAndMetadata(at) for place, at in offsets.items()}
        assert set(admin.commit_offsets({group: wanted})[group].values()) == {None}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """t-0: 10 records, a minute apart, the last a minute old; t-1: one record; t-2: none."""
    with FakeCluster(2, topics={"t": 3, "u": 1}) as found:
        for minutes in range(10, 0, -1):
            fill(found, "t", 0, [minutes * 60.0])
        fill(found, "t", 1, [30.0])
        fill(found, "u", 0, [5.0] * 4)
        commit(found, "g", {("t", 0): 4, ("t", 1): 1, ("t", 2): 0})
        commit(found, "other", {("u", 0): 0})
        yield found


def items(cluster: FakeCluster, *arguments: str, codes: tuple[int, ...] = (0,)) -> list[dict[str, Any]]:
    done = kcli("groups", *arguments, "-o", "json", bootstrap=cluster.bootstrap)
    found: list[dict[str, Any]] = json.loads(ok(done, codes))["items"]
    return found


def lag(cluster: FakeCluster, *arguments: str, codes: tuple[int, ...] = (0,)) -> list[dict[str, Any]]:
    return items(cluster, "lag", *arguments, codes=codes)


# --- list ---------------------------------------------------------------------------------------------------------------


def test_list_shows_and_narrows_down(cluster: FakeCluster) -> None:
    found = items(cluster, "list")
    assert [(row["group"], row["type"], row["state"]) for row in found] == [
        ("g", "classic", "Empty"),
        ("other", "classic", "Empty"),
    ]
    assert [row["group"] for row in items(cluster, "list", "--match", "o*")] == ["other"]
    assert [row["group"] for row in items(cluster, "list", "--topic", "t")] == ["g"]
    assert items(cluster, "list", "--topic", "nowhere", codes=(1,)) == []
    assert items(cluster, "list", "--state", "stable") == []
    assert [row["group"] for row in items(cluster, "list", "--type", "classic,share")] == ["g", "other"]


def test_list_with_lag(cluster: FakeCluster) -> None:
    commit(cluster, "idle", {("t", 2): 0})
    assert [(row["group"], row["lag_records"]) for row in items(cluster, "list", "--with-lag")] == [
        ("g", 6),
        ("idle", 0),
        ("other", 4),
    ]
    by_lag = items(cluster, "list", "--sort", "lag")
    assert [(row["group"], row["lag_records"]) for row in by_lag] == [("g", 6), ("other", 4), ("idle", 0)]


def test_a_state_that_does_not_exist_is_2(cluster: FakeCluster) -> None:
    done = kcli("groups", "list", "--state", "sleeping", bootstrap=cluster.bootstrap)
    assert done.returncode == 2
    assert b"there is no group state 'sleeping'" in done.stderr


def test_the_groups_of_a_broker_that_is_gone_are_missing_and_it_is_reported(cluster: FakeCluster) -> None:
    cluster.fail(ListGroupsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, node=1, times=FOREVER)
    done = kcli("groups", "list", "-o", "name", "--timeout", "2s", bootstrap=cluster.bootstrap)
    assert done.returncode == 6
    assert b"CLUSTER_AUTHORIZATION_FAILED" in done.stderr


# --- lag ----------------------------------------------------------------------------------------------------------------


def test_by_group_without_names(cluster: FakeCluster) -> None:
    found = {row["group"]: row for row in lag(cluster)}
    assert found["g"]["lag_records"] == 6
    assert found["g"]["lag_seconds"] is None  # not asked for
    assert found["g"]["partitions"] == 3
    assert found["g"]["verdict"] == "stopped"
    assert found["other"]["lag_records"] == 4
    assert [row["group"] for row in lag(cluster, "--topic", "u")] == ["other"]
    assert lag(cluster, "--topic", "nowhere", codes=(1,)) == []


@pytest.mark.case("S4-26")
def test_by_partition_with_the_age_of_the_first_unread_record(cluster: FakeCluster) -> None:
    first, drained, never = lag(cluster, "g")
    assert (first["topic"], first["partition"], first["committed"], first["end"]) == ("t", 0, 4, 10)
    assert (first["lag_records"], first["lag_method"]) == (6, "read")
    assert 360 <= first["lag_seconds"] < 375
    for row in (drained, never):
        assert (row["lag_records"], row["lag_seconds"], row["lag_method"]) == (0, 0.0, "read")
    keys = "group topic partition committed end log_start lag_records lag_seconds lag_method"
    keys += " retention_margin_seconds lost_records member_id client_id host type verdict note"
    assert list(first) == keys.split()


def test_an_estimate_reads_no_record_and_comes_close(cluster: FakeCluster) -> None:
    (first, *_) = lag(cluster, "g", "--time", "estimate")
    assert first["lag_method"] == "interpolated"
    assert 300 <= first["lag_seconds"] <= 425
    assert not cluster.seen(FetchRequest)


def test_by_topic_and_by_member(cluster: FakeCluster) -> None:
    (row,) = lag(cluster, "g", "--by", "topic")
    assert (row["topic"], row["partitions"], row["lag_records"]) == ("t", 3, 6)
    assert 360 <= row["lag_seconds"] < 375
    (row,) = lag(cluster, "g", "--by", "member")
    assert (row["member_id"], row["lag_records"]) == (None, 6)


def test_members_are_shown_with_what_they_read(cluster: FakeCluster) -> None:
    quick = ("-X", "auto.commit.interval.ms=50", "-X", "heartbeat.interval.ms=50")
    with start(
        "consume", "u", "-g", "live", *quick, "--client-id", "reader", bootstrap=cluster.bootstrap
    ) as member:
        cluster.wait_until(lambda: cluster.committed_offsets("live"))
        (row,) = lag(cluster, "live")
        (by_member,) = lag(cluster, "--by", "member", "--topic", "u", "--only-lagging", codes=(0,)) or [{}]
        (whole,) = [one for one in lag(cluster) if one["group"] == "live"]
        member.send_signal(signal.SIGINT)
        member.communicate(timeout=30)
    assert (row["client_id"], row["lag_records"], row["verdict"]) == ("reader", 0, "ok")
    assert row["member_id"].startswith("reader")
    assert by_member["group"] == "other"
    assert whole["verdict"] == "ok"


def test_missing_groups_are_1_or_6(cluster: FakeCluster) -> None:
    assert lag(cluster, "nobody", codes=(1,)) == []
    assert [row["group"] for row in lag(cluster, "nobody", "other", codes=(6,))] == ["other"]


def test_a_limit_that_is_exceeded_is_8(cluster: FakeCluster) -> None:
    assert lag(cluster, "g", "--max-lag", "6", codes=(0,))
    assert lag(cluster, "g", "--max-lag", "5", codes=(8,))
    assert lag(cluster, "g", "--max-lag-time", "1h", codes=(0,))
    done = kcli("groups", "lag", "g", "--max-lag-time", "5m", bootstrap=cluster.bootstrap)
    assert done.returncode == 8
    assert b"group g is 6m" in done.stderr
    assert lag(cluster, "--max-lag", "5", codes=(8,))
    commit(cluster, "idle", {("t", 2): 0})
    assert lag(cluster, "idle", "--max-lag", "0", codes=(0,))


def test_quiet_a_check_that_passes_prints_nothing(cluster: FakeCluster) -> None:
    done = kcli("groups", "lag", "g", "--max-lag", "6", "-q", bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(lag(cluster, "g", "--max-lag", "6", "-q")) == 3, "a document stays"
    done = kcli("groups", "lag", "g", "--max-lag", "5", "-q", bootstrap=cluster.bootstrap)
    assert (done.returncode, len(done.stdout.splitlines())) == (8, 4)
    assert kcli("groups", "lag", "g", "-q", bootstrap=cluster.bootstrap).stdout, "nothing was checked"


def test_partitions_without_a_commit_are_counted_and_change_neither_sum_nor_verdict(
    cluster: FakeCluster,
) -> None:
    commit(cluster, "idle", {("t", 2): 0})
    (row,) = lag(cluster, "--match", "idle")
    assert (row["partitions"], row["lag_records"], row["verdict"]) == (3, 0, "empty")
    assert row["note"] == "2 of 3 partitions without a commit"


def test_of_many_groups_that_exceed_a_limit_the_worst_are_named(cluster: FakeCluster) -> None:
    for number in range(4):
        commit(cluster, f"late-{number}", {("t", 2): 0, ("t", 0): number})
    done = kcli("groups", "lag", "--max-lag", "0", bootstrap=cluster.bootstrap)
    assert done.returncode == 8
    (line,) = [line for line in done.stderr.decode().splitlines() if "behind" in line]
    type_remedy(
        "see the lag of each group above; `kcli groups lag --watch` shows",
        done.stderr.decode(),
        cluster.bootstrap,
    )
    assert "6 groups are too far behind, the furthest of them: late-0 10 records, late-1 9 records, " in line
    assert b"--max-lag allows at most 0" in done.stderr


def test_a_topic_without_a_leader_is_a_marked_row(cluster: FakeCluster) -> None:
    cluster.fail(ListOffsetsRequest, Code.LEADER_NOT_AVAILABLE, where=TopicPartition("u", 0), times=FOREVER)
    (row,) = lag(cluster, "other", "--timeout", "1s", codes=(6,))
    assert (row["committed"], row["end"], row["lag_records"], row["lag_method"]) == (0, None, None, "unknown")
    assert "LEADER_NOT_AVAILABLE" in row["note"]
    assert lag(cluster, "other", "--max-lag", "0", "--timeout", "1s", codes=(6,)) == [row]


def test_a_topic_that_vanished_between_two_answers_is_a_marked_row(cluster: FakeCluster) -> None:
    hold = cluster.hold(ListOffsetsRequest, times=FOREVER)
    with start(
        "groups", "lag", "other", "g", "-o", "json", "--timeout", "3s", bootstrap=cluster.bootstrap
    ) as process:
        cluster.wait_for(ListOffsetsRequest)
        cluster.delete_topic("u")
        hold.release()
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 6, errors
    found = {(row["group"], row["partition"]): row for row in json.loads(out)["items"]}
    assert found["other", 0]["lag_records"] is None
    assert "u" in found["other", 0]["note"]
    assert found["g", 0]["lag_records"] == 6


def test_batches_that_do_not_fit_the_first_fetch_are_read_one_after_the_other(cluster: FakeCluster) -> None:
    cluster.create_topic("large", 3)
    for partition in range(3):
        rows = [
            Record("large", partition, n, now_ms() - 60_000, 0, None, bytes(100_000), ()) for n in range(3)
        ]
        cluster.append("large", partition, bytes(batch_of(rows).raw))
    commit(cluster, "far", {("large", n): 1 for n in range(3)})
    found = lag(cluster, "far")
    assert [row["lag_method"] for row in found] == ["read"] * 3
    assert all(60 <= row["lag_seconds"] < 75 for row in found)


def test_what_compaction_left_is_what_is_read(cluster: FakeCluster) -> None:
    rows = [Record("t", 2, n, now_ms() - 1000 * (100 - n), 0, b"k", b"v", ()) for n in (0, 50, 90)]
    cluster.append("t", 2, bytes(batch_of(rows).raw))
    commit(cluster, "late", {("t", 2): 7})
    *others, row = lag(cluster, "late")
    assert [(one["committed"], one["lag_records"], one["note"]) for one in others] == [
        (None, None, "no committed offset")
    ] * 2
    assert (row["lag_records"], row["lag_method"]) == (84, "read")
    assert 50 <= row["lag_seconds"] < 65


def test_retention_and_loss(cluster: FakeCluster) -> None:
    cluster.configure("t", **{"retention.ms": "600000", "cleanup.policy": "delete"})
    (first, *_) = lag(cluster, "g")
    assert 220 <= first["retention_margin_seconds"] <= 240
    assert first["verdict"] == "stopped"
    cluster.delete_records("t", 0, 6)
    (first, *_) = lag(cluster, "g")
    assert (first["lost_records"], first["retention_margin_seconds"]) == (2, 0.0)
    assert 240 <= first["lag_seconds"] < 255
    assert first["verdict"] == "loss risk"
    assert "2 offsets below the log start are lost" in first["note"]


@pytest.fixture
def transaction(cluster: FakeCluster) -> Iterator[RawTransaction]:
    """Of its own topic, which a group has committed the beginning of."""
    cluster.create_topic("txn", 1)
    commit(cluster, "tx", {("txn", 0): 0})
    with RawClient(cluster.address(cluster.leader("txn"))) as client:
        cluster.move_coordinator("transaction", "writer", cluster.leader("txn"))
        found = RawTransaction(client, "writer", topic="txn")
        assert found.init() == 0
        yield found


def test_markers_and_aborted_records_are_nothing_to_read(
    cluster: FakeCluster, transaction: RawTransaction
) -> None:
    assert transaction.produce(0, b"a", b"b") == 0
    assert transaction.end(commit=False) == 0
    (row,) = lag(cluster, "tx")
    assert (row["lag_records"], row["lag_seconds"], row["lag_method"]) == (3, 0.0, "read")
    assert row["verdict"] == "empty"


def test_an_open_transaction_that_holds_readers_back_is_named(
    cluster: FakeCluster, transaction: RawTransaction
) -> None:
    assert transaction.produce(0, b"a", b"b") == 0
    (row,) = lag(cluster, "tx")
    assert row["lag_records"] == 2
    assert row["lag_seconds"] is not None
    assert "last stable offset 0: a transaction of transactional id writer is open" in row["note"]


def test_after_aborted_records_the_open_transaction_counts(
    cluster: FakeCluster, transaction: RawTransaction
) -> None:
    assert transaction.produce(0, b"a", b"b") == 0
    assert transaction.end(commit=False) == 0
    assert transaction.produce(0, b"open") == 0
    time.sleep(0.3)
    (row,) = lag(cluster, "tx")
    assert row["lag_method"] == "read"
    assert row["lag_seconds"] > 0.2


def test_round_trips_do_not_grow_with_the_number_of_groups(cluster: FakeCluster) -> None:
    def questions() -> list[int]:
        before = [len(cluster.seen(kind)) for kind in QUESTIONS]
        ok(kcli("groups", "lag", "--by", "partition", bootstrap=cluster.bootstrap))
        return [len(cluster.seen(kind)) - one for kind, one in zip(QUESTIONS, before, strict=True)]

    few = questions()
    for number in range(60):
        commit(cluster, f"more-{number}", {("t", n): 0 for n in range(3)})
    assert questions() == few


def test_offsets_of_a_group_are_requested_from_the_broker_that_lists_it(cluster: FakeCluster) -> None:
    expected = ok(kcli("groups", "lag", "--by", "partition", "-o", "tsv", bootstrap=cluster.bootstrap))
    before = len(cluster.seen(FindCoordinatorRequest))
    ok(kcli("groups", "lag", bootstrap=cluster.bootstrap))
    assert len(cluster.seen(FindCoordinatorRequest)) == before
    cluster.fail(OffsetFetchRequest, Code.NOT_COORDINATOR)
    after = ok(kcli("groups", "lag", "--by", "partition", "-o", "tsv", bootstrap=cluster.bootstrap))
    assert after == expected
    assert len(cluster.seen(FindCoordinatorRequest)) > before


def test_groups_of_all_kinds_share_one_table_in_tsv(cluster: FakeCluster) -> None:
    commit(cluster, "past", {("t", 0): 11, ("t", 1): 0})
    commit(cluster, "tab\there", {("t", 0): 10})
    found = ok(kcli("groups", "lag", "--by", "partition", "-o", "tsv", bootstrap=cluster.bootstrap)).decode()
    lines = [line.split("\t") for line in found.splitlines()]
    assert {len(cells) for cells in lines} == {17}
    rows = [dict(zip(lines[0], cells, strict=True)) for cells in lines[1:]]
    assert [
        (row["group"], row["topic"], row["partition"], row["lag_records"], row["lag_seconds"]) for row in rows
    ] == [
        ("g", "t", "0", "6", ""),
        ("g", "t", "1", "0", "0.0"),
        ("g", "t", "2", "0", "0.0"),
        ("other", "u", "0", "4", ""),
        ("past", "t", "0", "0", "0.0"),
        ("past", "t", "1", "1", ""),
        ("past", "t", "2", "", ""),
        ("tab\\there", "t", "0", "0", "0.0"),
        ("tab\\there", "t", "1", "", ""),
        ("tab\\there", "t", "2", "", ""),
    ]
    assert [row["verdict"] for row in rows] == [
        "stopped", "empty", "empty", "stopped", "loss risk", "stopped", "", "empty", "", "",
    ]  # fmt: skip
    assert rows[4]["note"].startswith("committed 1 past the end")


@pytest.mark.parametrize(
    "form", ["tsv", "csv", "ndjson", "json", "yaml", "plain", "table", "wide", "name", "openmetrics"]
)
def test_kernels_and_pure_python_print_the_same_bytes(cluster: FakeCluster, form: str) -> None:
    commit(cluster, "past", {("t", 0): 11, ("t", 1): 0})
    commit(cluster, "tab\there", {("t", 0): 10})
    commit(cluster, "ünïcödé", {("u", 0): 4, ("t", 2): 0, ("t", 1): 0})
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        noted = OffsetAndMetadata(1, "by hand", 3)
        assert set(admin.commit_offsets({"noted": {TopicPartition("u", 0): noted}})["noted"].values()) == {
            None
        }

    def printed(implementation: str) -> list[bytes]:
        argv = ["groups", "lag", "--by", "partition", "-o", form]
        env = environment(cluster.bootstrap, KCLI_IMPL=implementation)
        lines = run([*KCLI, *argv], capture_output=True, env=env).stdout.splitlines()
        return [re.sub(rb'("at": ?|^at: )"[^"]*"', b"", line) for line in lines]

    found = printed("")
    assert len(found) > 8 or form == "name"
    assert found == printed("pure")


def test_old_brokers_give_the_same_answer(cluster: FakeCluster) -> None:
    def rows() -> list[dict[str, Any]]:
        times = ("lag_seconds", "retention_margin_seconds")
        return [{k: v for k, v in row.items() if k not in times} for row in lag(cluster, "g", "other")]

    new = rows()
    cluster.cap_versions({OffsetFetchRequest: 7, FindCoordinatorRequest: 3})
    assert rows() == new


def test_watching_continues_with_rates_until_a_signal(cluster: FakeCluster) -> None:
    """Of a consumer that assigns its partitions itself: its group has no members, and commits again and again."""
    with start(
        "groups", "lag", "--watch=200ms", "-o", "ndjson", bootstrap=cluster.bootstrap, bufsize=0
    ) as process:
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline()) for _ in range(2)]
        fill(cluster, "u", 0, [0.0] * 10)
        for committed in (2, 3, 4):
            commit(cluster, "other", {("u", 0): committed})
            while True:
                row = json.loads(process.stdout.readline())
                if row["group"] == "other" and row["lag_records"] == 14 - committed:
                    break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert [row["consumed_per_second"] for row in first] == [None, None]
    assert row["consumed_per_second"] > 0
    assert row["net_per_second"] > 0
    assert row["kind"] == "GroupLag"
    assert row["at"] > first[0]["at"]


def test_watching_ends_with_8_when_a_limit_is_exceeded(cluster: FakeCluster) -> None:
    with start(
        "groups", "lag", "other", "--watch=100ms", "--max-lag", "10", bootstrap=cluster.bootstrap
    ) as process:
        time.sleep(0.5)
        assert process.poll() is None
        fill(cluster, "u", 0, [0.0] * 10)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 8
    assert b"group other is 14 records behind" in errors


def test_a_check_that_checks_nothing_is_refused(cluster: FakeCluster) -> None:
    for words, said in (
        (("--time", "off", "--max-lag-time", "1s"), b"--time off with --max-lag-time"),
        (("--watch=0s",), b"--watch is too short"),
    ):
        done = kcli("groups", "lag", "g", *words, bootstrap="127.0.0.1:1")
        assert done.returncode == 2
        assert said in done.stderr
    done = kcli("groups", "lag", "g", "--topic", "nosuch", "--max-lag", "5", bootstrap=cluster.bootstrap)
    assert done.returncode == 1
    assert b"none of these groups has an offset or a member for topic nosuch" in done.stderr


@pytest.mark.parametrize("verb", [("list",), ("lag",), ("lag", "--max-lag", "1")])
def test_an_unread_topic_is_a_note_and_a_missing_one_exits_with_1(verb: tuple[str, ...]) -> None:
    with FakeCluster(1, topics={"orders": 1, "idle": 1}) as cluster:
        commit(cluster, "g", {("orders", 0): 0})
        unread = kcli("groups", *verb, "--topic", "idle", "-o", "json", bootstrap=cluster.bootstrap)
        assert json.loads(ok(unread))["items"] == []
        assert (
            b"none of the groups that this client may describe has an offset or a member for topic idle"
            in unread.stderr
        )
        typo = kcli("groups", *verb, "--topic", "ordrs", "-o", "json", bootstrap=cluster.bootstrap)
        assert typo.returncode == 1
        assert b"topic ordrs does not exist" in typo.stderr
        assert b"did you mean orders?" in typo.stderr


def test_one_of_two_topics_that_does_not_exist_is_6(cluster: FakeCluster) -> None:
    (row,) = lag(cluster, "--topic", "u", "--topic", "nowhere", codes=(6,))
    assert row["group"] == "other"


def test_a_partition_without_a_leader_is_not_called_read(cluster: FakeCluster) -> None:
    commit(cluster, "idle", {("t", 2): 0})
    assert {row["group"]: row["verdict"] for row in lag(cluster)}["idle"] == "empty"
    cluster.move_leader("t", 2, -1)
    assert {row["group"]: row["verdict"] for row in lag(cluster, codes=(6,))}["idle"] == "unread"


def test_watching_a_group_that_goes_ends_with_1(cluster: FakeCluster) -> None:
    with start("groups", "lag", "other", "--watch=100ms", bootstrap=cluster.bootstrap) as process:
        time.sleep(0.5)
        assert process.poll() is None
        with Admin(bootstrap_servers=cluster.bootstrap) as admin:
            assert admin.delete_groups(["other"]) == {"other": None}
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert b"group other does not exist" in errors


def test_watching_checks_names_first(cluster: FakeCluster) -> None:
    done = kcli("groups", "lag", "other", "nosuch", "--watch=100ms", bootstrap=cluster.bootstrap)
    assert done.returncode == 1
    assert b"group nosuch does not exist" in done.stderr


@pytest.mark.parametrize("flag", ["--watch", "-w"])
def test_an_interval_behind_a_blank_is_no_group(cluster: FakeCluster, flag: str) -> None:
    done = kcli("groups", "lag", "other", flag, "1s", bootstrap=cluster.bootstrap)
    assert done.returncode == 2
    assert f"did you mean {flag}=1s?".encode() in done.stderr


def test_openmetrics(cluster: FakeCluster) -> None:
    out = ok(kcli("groups", "lag", "g", "-o", "openmetrics", bootstrap=cluster.bootstrap)).decode()
    lines = out.splitlines()
    assert lines[-1] == "# EOF"
    assert "# TYPE kcli_group_lag_records gauge" in lines
    assert 'kcli_group_lag_records{group="g",topic="t",partition="0"} 6' in lines
    assert any(
        line.startswith('kcli_group_lag_seconds{group="g",topic="t",partition="0"} 36') for line in lines
    )
    out = ok(kcli("groups", "lag", "-o", "openmetrics", bootstrap=cluster.bootstrap)).decode()
    assert 'kcli_group_lag_records{group="g",state="Empty"} 6' in out.splitlines()


def test_samples_are_recorded(cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "samples"
    for _ in range(2):
        lag(cluster, "g", "--record", str(path))
    documents = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["kind"] for one in documents] == ["LagSample"] * 2
    (group,) = documents[0]["groups"]
    assert group["partitions"] == [["t", 0, 4, 0, 10, 10], ["t", 1, 1, 0, 1, 1], ["t", 2, 0, 0, 0, 0]]
    for more in ((), ("--dry-run",)):
        done = kcli("groups", "lag", "g", "--record", "/no/such/place", *more, bootstrap=cluster.bootstrap)
        assert done.returncode == 2
        assert b"cannot write /no/such/place" in done.stderr


def test_a_dry_run_records_and_reports_nothing(cluster: FakeCluster, tmp_path: Path) -> None:
    record, ran = tmp_path / "samples", tmp_path / "ran"
    ok(kcli("groups", "lag", "g", "--record", str(record), "--dry-run", bootstrap=cluster.bootstrap))
    line = ("groups", "lag", "g", "--watch=1s", "--on-verdict", f"touch {ran}", "--record", str(record))
    done = kcli(*line, "--max-lag", "1", "--dry-run", bootstrap=cluster.bootstrap)
    assert done.returncode == 8
    assert b"--dry-run: nothing is done for --record, --on-verdict" in done.stderr
    assert not record.exists()
    assert not ran.exists()


def test_nothing_that_lag_does_changes_a_group(cluster: FakeCluster) -> None:
    lag(cluster, "g")
    lag(cluster)
    assert {tp.partition: at for tp, at in cluster.committed_offsets("g").items()} == {0: 4, 1: 1, 2: 0}
    assert not cluster.seen(JoinGroupRequest)


# --- names that match, and nothing to show -----------------------------------------------------------


def test_match_selects_the_groups_whose_names_match(cluster: FakeCluster) -> None:
    assert [row["group"] for row in lag(cluster, "--match", "o*")] == ["other"]
    assert {row["group"] for row in lag(cluster, "--match", "*")} == {"g", "other"}
    done = kcli("groups", "lag", "--match", "x*", bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stderr) == (
        0,
        b"no group matches x*, or none that this client may describe\n",
    )
    refused = kcli("groups", "lag", "g", "--match", "x*", bootstrap=cluster.bootstrap)
    assert refused.returncode == 2


@pytest.mark.parametrize("limit", [("--max-lag", "5"), ("--max-lag-time", "1h")])
def test_a_limit_for_groups_that_match_is_not_kept_by_none(
    cluster: FakeCluster, limit: tuple[str, str]
) -> None:
    line = ("groups", "lag", "--match", "x*", *limit, "-q", "-o", "json")
    done = kcli(*line, bootstrap=cluster.bootstrap)
    document = json.loads(done.stdout)
    assert (done.returncode, document["complete"]) == (1, False)
    assert [part["what"] for part in document["missing"]] == ["a group that matches x*"]
    assert b"no lag was compared with the limit" in done.stderr


def test_deleting_by_match_names_each_group(cluster: FakeCluster) -> None:
    dry = kcli("groups", "delete", "--match", "o*", "--dry-run", bootstrap=cluster.bootstrap)
    assert b"group other" in ok(dry)
    assert b"group g" not in dry.stdout
    done = kcli("groups", "delete", "--match", "o*", "--yes", bootstrap=cluster.bootstrap)
    assert b"deleted group other" in done.stderr
    assert [row["group"] for row in items(cluster, "list")] == ["g"]
    nothing = kcli("groups", "delete", "--match", "o*", "--yes", bootstrap=cluster.bootstrap)
    assert (nothing.returncode, nothing.stderr.splitlines()[0]) == (1, b"kcli: no group matches o*")
    assert kcli("groups", "delete", bootstrap=cluster.bootstrap).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["describe", "g", "--members"], "group g has no active members"),
        (["describe", "--match", "x*"], "no group matches x*, or none that this client may describe"),
        (["list", "--match", "x*"], "no group matches x*, or none that this client may describe"),
        (["list", "--state", "Dead"], "no group matches, or none that this client may describe"),
        (["lag", "--only-lagging", "--match", "g"], ""),
    ],
)
def test_an_empty_table_says_why(cluster: FakeCluster, arguments: list[str], said: str) -> None:
    done = kcli("groups", *arguments, bootstrap=cluster.bootstrap)
    assert done.returncode == 0
    assert done.stderr.decode().strip() == said
    document = kcli("groups", *arguments, "-o", "json", bootstrap=cluster.bootstrap)
    assert json.loads(ok(document))["kind"]


def test_without_a_group_it_is_said_that_some_may_be_hidden() -> None:
    """Brokers leave out what a client may not describe: a limit that was compared with nothing is a warning."""
    with FakeCluster(1, topics={"t": 1}) as empty:
        said = "there are no groups, or none that this client may describe"
        for line in (["list"], ["lag"], ["describe", "--all"], ["export", "--all"]):
            done = kcli("groups", *line, bootstrap=empty.bootstrap)
            assert done.returncode == 0
            assert said in done.stderr.decode()
            if line[0] != "export":
                document = json.loads(ok(kcli("groups", *line, "-o", "json", bootstrap=empty.bootstrap)))
                assert (document["items"], document["warnings"]) == ([], [said])
        limited = kcli("groups", "lag", "--max-lag", "1", "-o", "json", bootstrap=empty.bootstrap)
        assert json.loads(ok(limited))["warnings"] == [said, "no lag was compared with the limit"]


def test_a_list_that_not_all_brokers_answered_does_not_say_that_there_are_no_groups() -> None:
    with FakeCluster(2) as cluster:
        cluster.fail(ListGroupsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, node=1, times=FOREVER)
        done = kcli("groups", "list", "--timeout", "1s", bootstrap=cluster.bootstrap)
        assert done.returncode != 0
        assert b"there are no groups" not in done.stderr
        assert b"no group was listed, as far as brokers responded" in done.stderr
