"""``kcli topics`` and ``kcli groups`` on a cluster of which a broker is down: what is known is shown at once."""

import json
from collections.abc import Iterator

import pytest

from kcli.core import Admin
from kcli.core.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.lasting import Moment, lasted
from tests.run import kcli, ok

TIMEOUT, PROMPT = 60.0, 20.0
"""Seconds: what the commands may take, and what they do take on any machine; the start of the process is in it."""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Broker 2 is down, and with it the only replica of t-1."""
    with FakeCluster(2) as found:
        found.create_topic("t", 2, replicas={0: [1], 1: [2]})
        with Admin(bootstrap_servers=found.bootstrap) as admin:
            commits = {TopicPartition("t", number): OffsetAndMetadata(0) for number in (0, 1)}
            assert set(admin.commit_offsets({"g": commits})["g"].values()) == {None}
        found.stop(2, fail_over=True)
        yield found


def answers_at_once(cluster: FakeCluster, *arguments: str, code: int) -> tuple[list[object], str]:
    """The items of the JSON document, and stderr."""
    began = Moment.now()
    done = kcli(*arguments, "--timeout", f"{TIMEOUT:g}s", "-o", "json", bootstrap=cluster.bootstrap)
    assert lasted(began) < PROMPT
    items: list[object] = json.loads(ok(done, (code,)))["items"]
    return items, done.stderr.decode()


def test_describe_answers_at_once_where_a_partition_has_no_leader(cluster: FakeCluster) -> None:
    items, said = answers_at_once(cluster, "topics", "describe", "t", code=6)
    (item,) = items
    assert isinstance(item, dict)
    ends = [(part["leader"], part["log_start"], part["end"]) for part in item["partitions"]]
    assert ends == [(1, 0, 0), (None, None, None)]
    assert "offsets of t-1 are unknown" in said
    assert "broker 2 is down" in said


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["topics", "offsets", "t"], 6),
        (["topics", "offsets", "t", "--time", "@-1h"], 6),
        (["topics", "describe", "--unavailable"], 6),
        (["groups", "lag", "g"], 6),
        (["groups", "describe", "g"], 6),
        (["groups", "list", "--with-lag"], 6),
        (["groups", "rewind", "g", "--to", "earliest", "--yes"], 6),
    ],
)
def test_no_command_waits_for_a_leader_that_cannot_come(
    cluster: FakeCluster, arguments: list[str], code: int
) -> None:
    items, _said = answers_at_once(cluster, *arguments, code=code)
    assert items


def test_an_election_in_progress_is_waited_for(cluster: FakeCluster) -> None:
    """The first answer of metadata names no leader, though the replica is alive: it comes back a moment later."""
    cluster.start(2)
    cluster.move_leader("t", 1, 2)
    cluster.lie(leaderless, times=2)  # the command's own, and the first one to look for leaders
    items, said = answers_at_once(cluster, "topics", "offsets", "t", code=0)
    assert [item["end"] for item in items if isinstance(item, dict)] == [0, 0]
    assert said == ""


def test_a_leader_that_does_not_come_is_not_waited_for_to_the_timeout(cluster: FakeCluster) -> None:
    cluster.start(2)
    assert cluster.leader("t", 1) == -1, "its replica is alive, and nobody elects it"
    items, said = answers_at_once(cluster, "topics", "offsets", "t", code=6)
    assert [item["end"] for item in items if isinstance(item, dict)] == [0, None]
    assert "t-1 has no leader" in said


def leaderless(answer: object) -> None:
    for topic in answer.topics:  # type: ignore[attr-defined]
        for part in topic.partitions:
            part.leader_id, part.error_code = -1, 5


@pytest.fixture
def three() -> Iterator[FakeCluster]:
    """``t`` needs two replicas in sync of three, ``u`` one; of t-1 two are in sync, of t-2 one, u-0 has no leader."""
    with FakeCluster(3, topics={"u": 1}) as found:
        found.create_topic("t", 3, configs={"min.insync.replicas": "2"})
        found.set_isr("t", 1, [2, 3])
        found.set_isr("t", 2, [3])
        found.set_elr("t", 2, [1], [2])
        found.move_leader("u", 0, -1)
        yield found


@pytest.mark.parametrize(
    ("line", "partitions"),
    [
        ("--under-min-isr", ["t-2", "u-0"]),
        ("--at-min-isr", ["t-1"]),
        ("--at-min-isr --unavailable", ["t-1", "u-0"]),
        ("--under-replicated", ["t-1", "t-2"]),
        ("t --under-min-isr", ["t-2"]),
        ("--with-overrides", ["t-0", "t-1", "t-2"]),
        ("--with-overrides --at-min-isr", ["t-1"]),
        ("--match u --with-overrides", []),
    ],
)
def test_describe_chooses_partitions_by_their_replicas(
    three: FakeCluster, line: str, partitions: list[str]
) -> None:
    for form in ("json", "tsv"):
        done = kcli("topics", "describe", *line.split(), "-o", form, bootstrap=three.bootstrap)
        if form == "json":
            items = json.loads(done.stdout)["items"]
            found = [f"{item['name']}-{part['partition']}" for item in items for part in item["partitions"]]
        else:
            found = ["-".join(row.split("\t")[:2]) for row in done.stdout.decode().splitlines()[1:]]
        assert found == partitions
        assert done.returncode == (6 if "u-0" in partitions else 0)  # without a leader, offsets are unknown


def test_no_more_replicas_are_required_in_sync_than_there_are_since_3_7(three: FakeCluster) -> None:
    three.create_topic("alone", 1, replication=1, configs={"min.insync.replicas": "2"})
    line = ("topics", "describe", "alone", "--under-min-isr", "-o", "tsv", "--no-headers")
    assert kcli(*line, bootstrap=three.bootstrap).stdout == b""
    three.cap_versions({ProduceRequest: 9})
    assert kcli(*line, bootstrap=three.bootstrap).stdout.startswith(b"alone\t0\t")


def test_describe_shows_eligible_leader_replicas(three: FakeCluster) -> None:
    done = kcli("topics", "describe", "t", "-o", "json", bootstrap=three.bootstrap)
    (item,) = json.loads(ok(done))["items"]
    assert [(part["elr"], part["last_known_elr"]) for part in item["partitions"]] == [
        ([], []),
        ([], []),
        ([1], [2]),
    ]
    three.hide(DescribeTopicPartitionsRequest)
    done = kcli("topics", "describe", "t", "-o", "json", bootstrap=three.bootstrap)
    (item,) = json.loads(ok(done))["items"]
    assert {(part["elr"], part["last_known_elr"]) for part in item["partitions"]} == {(None, None)}


def test_describe_finds_a_topic_by_its_id(three: FakeCluster) -> None:
    done = kcli("topics", "list", "-o", "json", bootstrap=three.bootstrap)
    ids = {item["name"]: item["topic_id"] for item in json.loads(ok(done))["items"]}
    done = kcli("topics", "describe", "--id", ids["t"], "-o", "name", bootstrap=three.bootstrap)
    assert ok(done) == b"t\n"
    done = kcli("topics", "describe", "--id", "AAAAAAAAAAAAAAAAAAAAAA", bootstrap=three.bootstrap)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no topic has the id AAAAAAAAAAAAAAAAAAAAAA" in done.stderr
    said = done.stderr.decode()
    type_remedy("`kcli topics list --internal -o wide` shows the ids", said, three.bootstrap)


def test_describe_of_what_need_not_exist(three: FakeCluster) -> None:
    done = kcli("topics", "describe", "none", "t", "--if-exists", "-o", "name", bootstrap=three.bootstrap)
    assert (done.returncode, done.stdout) == (0, b"t\n")
    assert b"topic none does not exist" in done.stderr
    done = kcli("topics", "describe", "none", "--if-exists", "-o", "json", bootstrap=three.bootstrap)
    assert (done.returncode, json.loads(done.stdout)["items"]) == (0, [])


@pytest.mark.parametrize(
    ("line", "partitions", "code"),
    [
        ("t -p 0,2", ["t-0", "t-2"], 0),
        ("t:1", ["t-1"], 0),
        ("t:1 t:2", ["t-1", "t-2"], 0),
        ("t:1 t", ["t-0", "t-1", "t-2"], 0),
        ("t:1,7", ["t-1"], 6),
        ("--match t -p 1", ["t-1"], 0),
        ("t -p 5", [], 1),
    ],
)
def test_offsets_of_some_partitions(three: FakeCluster, line: str, partitions: list[str], code: int) -> None:
    for more in ("", "--time latest"):
        done = kcli(
            "topics", "offsets", *line.split(), *more.split(), "-o", "json", bootstrap=three.bootstrap
        )
        found = (
            [f"{item['topic']}-{item['partition']}" for item in json.loads(done.stdout)["items"]]
            if done.stdout
            else []
        )
        assert (found, done.returncode) == (partitions, code)
