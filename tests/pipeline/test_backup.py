"""``--with-groups`` and ``--with-config`` of ``kcli pipeline export`` and ``import`` on fake clusters: what is kept, what
is set, and what is named.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.error_codes import GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED
from kcli.core.producer.producer import Producer
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from kcli.pipeline.kernels import import_ as kernel
from tests.fake.cluster import FakeCluster
from tests.fake.groups.other_groups import ShareGroup, SharePlace
from tests.fake.script import FOREVER
from tests.pipeline.exporting import export, fill, import_, manifest

BOTH = ("--with-groups", "--with-config")
ROWS = [(b"%d" % (n % 9), b"v%d" % n, (), n + 1) for n in range(60)]
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="source", topics={"t": 2}) as made:
        fill(made, ROWS)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="target") as made:
        yield made


def commit(cluster: FakeCluster, group: str, metadata: str = "", **offsets: int) -> None:
    """``t0=5`` is offset 5 of t-0."""
    wanted = {
        TopicPartition("t", int(name[1:])): OffsetAndMetadata(offset, metadata)
        for name, offset in offsets.items()
    }
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        answers = admin.commit_offsets({group: wanted})[group]
    assert set(answers.values()) == {None}


def next_value(cluster: FakeCluster, group: str, tp: TopicPartition = T0) -> bytes | None:
    """What a member of the group would read next; None at the end."""
    at = cluster.committed_offsets(group)[tp]
    with Consumer(bootstrap_servers=cluster.bootstrap, isolation_level="read_committed") as consumer:
        end = consumer.list_offsets({tp: -1}, 5)[tp].offset
        consumer.assign({tp: Span(at, end)})
        return next((record.value for record in consumer), None)


def rows_of(report: Any, group: str) -> dict[int, tuple[int, int | None, str]]:
    """By partition: source offset, target offset, status."""
    return {
        row["partition"]: (row["source_offset"], row["target_offset"], row["status"])
        for row in report["groups"]
        if row["group"] == group
    }


def transactional(cluster: FakeCluster, values: list[bytes], *, aborts: bool = False) -> None:
    """Each in a transaction of its own, which leaves a marker."""
    with Producer(bootstrap_servers=cluster.bootstrap, transactional_id="a") as producer:
        producer.init_transactions(5)
        for value in values:
            producer.begin_transaction(5)
            producer.send(ProducerRecord("t", value, b"k", partition=0))
            producer.flush(5)
            producer.abort_transaction(5) if aborts else producer.commit_transaction(5)


@pytest.mark.parametrize("form", ["parquet", "ndjson"])
def test_groups_go_on_at_the_record_that_they_were_at(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, form: str
) -> None:
    fill(source, [(b"z", b"z", (), 99)])
    source.compact("t", 0)  # of each key the last one is left
    transactional(source, [b"x", b"y"])
    transactional(source, [b"never"], aborts=True)
    end = source.log("t", 0).end_offset
    places = [0, 7, 51, 52, 59, *range(60, end + 1)]
    for at in places:
        commit(source, f"g{at}", f"of {at}", t0=at, t1=0)
    values = {at: next_value(source, f"g{at}") for at in places}
    assert set(values.values()) == {b"v51", b"v52", b"v59", b"z", b"x", b"y", None}
    done, report = export(source, tmp_path, "--with-groups", "--format", form)
    assert done.code == 0, done.err
    assert len(report["groups"]) == 2 * len(places)
    runner = "inline" if form == "parquet" else "processes"
    done, report = import_(target, tmp_path, "--with-groups", "--runner", runner)
    assert done.code == 0, done.err
    assert {at: next_value(target, f"g{at}") for at in places} == values
    assert {row["status"] for row in report["groups"]} == {"done"}
    with Admin(bootstrap_servers=target.bootstrap) as admin:
        found = admin.fetch_offsets({"g7": None})["g7"]
        (last,) = admin.list_offsets({T0: -1}).values()
    assert {one.metadata for one in found.values()} == {"of 7"}  # type: ignore[union-attr]
    assert target.committed_offsets(f"g{end}") == {T0: last.offset, T1: 0}  # type: ignore[union-attr]
    # A second run finds all of them as they are to be.
    done, report = import_(target, tmp_path, "--with-groups")
    assert done.code == 0, done.err
    assert {row["status"] for row in report["groups"]} == {"unchanged"}


def test_transactions_that_are_interrupted_leave_positions_where_they_belong(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(source, [(None, b"later%d" % n, (), n) for n in range(30_000)])
    places = [0, 1, 59, 60, 19_999, 20_000, 20_001, 30_059, 30_060]
    for at in places:
        commit(source, f"g{at}", t0=at)
    values = {at: next_value(source, f"g{at}") for at in places}
    export(source, tmp_path, "--with-groups")
    monkeypatch.setattr(kernel, "_TRANSACTION_BYTES", 1)
    committed, commits = kernel.commit_transaction, iter(range(100))

    def cut(*args: Any, **options: Any) -> None:
        if next(commits) in (1, 4):
            raise kernel.TransactionAbortableError("cut by the test")
        committed(*args, **options)

    monkeypatch.setattr(kernel, "commit_transaction", cut)
    done, report = import_(target, tmp_path, "--with-groups")
    assert done.code == 0, done.err
    assert report["totals"]["task_retries"] == 2
    assert {at: next_value(target, f"g{at}") for at in places} == values


def test_of_a_chain_the_positions_of_the_last_night_count(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    commit(source, "g", t0=10)
    commit(source, "slow", t0=20)
    assert export(source, tmp_path, "--append", *BOTH)[0].code == 0
    assert import_(target, tmp_path, *BOTH)[0].code == 0
    assert target.committed_offsets("g") == {T0: 10}
    fill(source, ROWS)
    commit(source, "g", t0=70)
    commit(source, "new", t0=119)
    assert export(source, tmp_path, "--append", *BOTH)[0].code == 0
    done, report = import_(target, tmp_path, *BOTH)
    assert done.code == 0, done.err
    assert rows_of(report, "slow") == {0: (20, 20, "unchanged")}
    assert rows_of(report, "g") == {0: (70, 71, "done")}  # a marker is before it
    assert next_value(target, "new") == b"v59"
    # A night without records: the positions are those of its time, and the parts are merged.
    commit(source, "g", t0=120)
    done, _ = export(source, tmp_path, "--append", "--compact", *BOTH)
    assert done.code == 0, done.err
    assert import_(target, tmp_path, *BOTH)[0].code == 0
    assert next_value(target, "g") is None
    # A night that keeps none leaves those of the last one that did.
    fill(source, ROWS[:1])
    assert export(source, tmp_path, "--append")[0].code == 0
    done, report = import_(target, tmp_path, *BOTH)
    assert done.code == 0, done.err
    assert next_value(target, "g") == b"v0"


def test_a_group_with_members_is_refused_before_anything_is_sent(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    commit(source, "g", t0=10)
    export(source, tmp_path, "--with-groups")
    target.create_topic("other", 1)
    with Consumer(bootstrap_servers=target.bootstrap, group_id="g") as member:
        member.subscribe(["other"])
        member.poll(5)
        for more in ((), ("--dry-run",)):
            done, _ = import_(target, tmp_path, "--with-groups", *more)
            assert done.code == 7, done.err
            assert "the positions of g cannot be restored: nothing is imported" in done.err
    assert not target.seen(ProduceRequest)
    assert import_(target, tmp_path, "--with-groups")[0].code == 0
    assert target.committed_offsets("g")[T0] == 10


def test_what_a_group_has_committed_on_the_target_is_not_replaced(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    commit(source, "g", t0=10, t1=0)
    export(source, tmp_path, "--with-groups")
    import_(target, tmp_path)
    commit(target, "g", t0=33)
    done, report = import_(target, tmp_path, "--with-groups")
    assert done.code == 6, done.err
    assert rows_of(report, "g") == {0: (10, 10, "refused"), 1: (0, 0, "done")}
    assert "the group has committed offset 33 on the target" in done.err
    assert target.committed_offsets("g") == {T0: 33, T1: 0}


def test_positions_outside_the_export_are_named(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    commit(source, "early", t0=3)
    commit(source, "late", t0=60)
    commit(source, "elsewhere", t1=0)
    done, _ = export(source, tmp_path, "--offset", "10:50", "--partitions", "0", "--with-groups")
    assert done.code == 0, done.err
    done, report = import_(target, tmp_path, "--with-groups")
    assert done.code == 6, done.err
    why = {row["group"]: (row["status"], row["why"]) for row in report["groups"]}
    assert why == {
        "early": ("missing", "it is before the export, which begins at offset 10"),
        "late": ("missing", "it is past the export, which ends at offset 50"),
        "elsewhere": ("missing", "its partition is not in the export"),
    }
    assert len(report["missing"]) == 3
    assert not report["complete"]


def test_what_cannot_be_read_is_named_and_read_by_the_next_run(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    commit(source, "g", t0=10)
    rule = source.fail(DescribeConfigsRequest, TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    done, report = export(source, tmp_path, *BOTH)
    assert done.code == 6, done.err
    assert [one["what"] for one in report["missing"]] == ["the configuration of topic t"]
    assert manifest(tmp_path)["settings"]["missing"][0]["what"] == "the configuration of topic t"
    rule.remove()
    done, _ = import_(target, tmp_path, *BOTH)
    assert done.code == 6, done.err
    assert "the configuration of topic t is not in the export" in done.err
    done, report = export(source, tmp_path, *BOTH)
    assert done.code == 0, done.err
    assert "missing" not in manifest(tmp_path)["settings"]
    assert import_(target, tmp_path, *BOTH)[0].code == 0


def test_groups_that_cannot_be_read_are_named(target: FakeCluster, tmp_path: Path) -> None:
    with FakeCluster(1, topics={"t": 2, "__consumer_offsets": 2}, cluster_id="source") as source:
        fill(source, ROWS)
        commit(source, "g", t0=10)
        check_groups_that_cannot_be_read(source, target, tmp_path)


def check_groups_that_cannot_be_read(source: FakeCluster, target: FakeCluster, tmp_path: Path) -> None:
    rule = source.fail(OffsetFetchRequest, GROUP_AUTHORIZATION_FAILED, times=FOREVER)
    done, report = export(source, tmp_path, "--append", "--with-groups")
    assert done.code == 6, done.err
    assert [one["what"] for one in report["missing"]] == ["group g"]
    assert report["groups"] == []
    rule.remove()
    for number in range(2):
        source.lose_coordinator("group", number)
    done, report = export(source, tmp_path, "--append", "--with-groups")
    assert done.code == 6, done.err
    assert report["missing"]
    done, _ = import_(target, tmp_path, "--with-groups")
    assert done.code == 6, done.err
    assert "is not in the export" in done.err


def test_share_groups_are_named(source: FakeCluster, tmp_path: Path) -> None:
    source.add_group(ShareGroup("s", {T0: SharePlace(4)}))
    done, report = export(source, tmp_path, "--with-groups")
    assert done.code == 6, done.err
    assert [(one["what"], one["where"]) for one in report["missing"]] == [("share group s", "t")]


def test_what_was_not_kept_cannot_be_restored(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    for flag, what in (("--with-groups", "positions of groups"), ("--with-config", "settings of topics")):
        done, _ = import_(target, tmp_path, flag)
        assert done.code == 2
        assert f"{tmp_path} has no {what}" in done.err
    done, _ = import_(target, tmp_path, "--with-groups", "--partitions", "by-key")
    assert (done.code, "--with-groups with --partitions by-key" in done.err) == (2, True)
    done, _ = export(source, tmp_path.with_name("other"), "--continuous", "--with-config")
    assert (done.code, "--with-config with --continuous" in done.err) == (2, True)


def test_an_export_without_positions_gets_them_later(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    commit(source, "g", t0=10)
    before = [one["files"] for one in manifest(tmp_path)["topics"][0]["partitions"]]
    done, report = export(source, tmp_path, *BOTH)
    assert done.code == 0, done.err
    assert report["totals"]["records"] == 60
    assert [one["files"] for one in manifest(tmp_path)["topics"][0]["partitions"]] == before
    assert import_(target, tmp_path, *BOTH)[0].code == 0
    assert target.committed_offsets("g") == {T0: 10}


def settings(cluster: FakeCluster, topic: str = "t") -> dict[str, str | None]:
    """What is set on the topic itself."""
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        found = admin.describe_topic_configs([topic])[topic]
    assert isinstance(found, list)
    return {one.name: one.value for one in found if not one.is_default}


def test_topics_are_configured_as_they_were(source: FakeCluster, target: FakeCluster, tmp_path: Path) -> None:
    wanted = {
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": "1",
        "retention.ms": "-1",
        "unclean.leader.election.enable": "true",
        "compression.type": "zstd",
    }
    source.configure("t", **wanted)
    source.create_topic("u", 3)
    assert export(source, tmp_path, "t", "u", *BOTH)[0].code == 0
    assert json.loads(json.dumps(manifest(tmp_path)["settings"]["topics"]))[0] == {
        "topic": "t",
        "partitions": 2,
        "replication_factor": 1,
        "config": wanted,
    }
    target.create_topic("t", 2)
    target.configure("t", **{"retention.ms": "1000", "segment.ms": "5000"})
    done, report = import_(target, tmp_path, *BOTH, "--yes")
    assert done.code == 0, done.err
    assert settings(target).items() >= wanted.items()
    assert settings(target)["segment.ms"] == "5000"
    assert {row["status"] for row in report["settings"]} == {"done", "unchanged"}
    # LogAppendTime would have replaced the times; now that all is there it does no harm.
    done, report = import_(target, tmp_path, *BOTH)
    assert done.code == 0, done.err
    assert {row["status"] for row in report["settings"]} == {"unchanged"}


def test_what_cannot_be_configured_is_named(source: FakeCluster, target: FakeCluster, tmp_path: Path) -> None:
    source.configure("t", **{"min.insync.replicas": "2", "leader.replication.throttled.replicas": "0:1"})
    export(source, tmp_path, *BOTH)
    target.create_topic("t", 5)
    done, report = import_(target, tmp_path, *BOTH)
    assert done.code == 6, done.err
    refused = {row["setting"]: row["why"] for row in report["settings"] if row["status"] == "refused"}
    assert refused == {
        "leader.replication.throttled.replicas": "it names brokers of the cluster that was exported",
        "min.insync.replicas": "the topic has 1 replica: nothing could be written to it",
        "partitions": "the topic was there, with 5 partitions",
    }
    assert "topic t: partitions is not 2, as in the export" in done.err
