"""``kcli groups describe`` on a real broker: idle groups beside Kafka's own script, and groups with members."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kcli.core import Admin, OffsetAndMetadata, Producer, TopicPartition
from kcli.core.clock import wall_ms
from kcli.core.types import ProducerRecord
from tests.integration.kafka_script import consumer_groups, sorted_lines
from tests.integration.members import Confluent, Kcli, Member, wait_until
from tests.integration.test_groups import leaving, needs
from tests.kafka import Kafka
from tests.run import kcli_process, ok

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(bootstrap_servers=kafka.bootstrap, timeout=30) as made:
        yield made


def numbers(kafka: Kafka, partitions: int = 3, each: int = 20) -> str:
    """A topic with the values 0, 1, … in each partition."""
    name = kafka.topic("described", partitions=partitions)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for partition in range(partitions):
            for number in range(each):
                producer.send(ProducerRecord(name, b"%d" % number, b"k%d" % number, partition=partition))
    return name


def commit(admin: Admin, group: str, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
    outcome = admin.commit_offsets({group: offsets})[group]
    assert set(outcome.values()) == {None}, outcome


def described(kafka: Kafka, *arguments: str) -> list[dict[str, Any]]:
    done = kcli_process("groups", "describe", *arguments, "-o", "json", bootstrap=kafka.bootstrap)
    found: list[dict[str, Any]] = json.loads(ok(done))["items"]
    return found


# --- beside Kafka's own script -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def idle(kafka: Kafka, admin: Admin) -> tuple[str, str]:
    """Two groups without members: commits in the middle, at and beyond the end, with metadata and leader epochs."""
    one, two = numbers(kafka), numbers(kafka, 2, 5)
    first, second = kafka.unused_name("idle"), kafka.unused_name("a-group-with-a-name-of-more-than-fifteen")
    commit(
        admin,
        first,
        {
            TopicPartition(one, 0): OffsetAndMetadata(7, "noted by a test", 0),
            TopicPartition(one, 2): OffsetAndMetadata(20),
            TopicPartition(two, 1): OffsetAndMetadata(1_000),
        },
    )
    commit(admin, second, {TopicPartition(two, 0): OffsetAndMetadata(0)})
    return first, second


@pytest.mark.parametrize(
    "view",
    [(), ("--verbose",), ("--members",), ("--members", "--verbose"), ("--state",), ("--state", "--verbose")],
    ids=lambda view: " ".join(view) or "offsets",
)
def test_idle_groups_are_described_as_kafkas_script_describes_them(
    kafka: Kafka, idle: tuple[str, str], view: Sequence[str]
) -> None:
    names = [word for group in idle for word in ("--group", group)]
    judge = consumer_groups(kafka, "--describe", *names, *view)
    done = kcli_process("groups", "describe", *idle, *view, "-o", "kafka", bootstrap=kafka.bootstrap)
    assert "GROUP" in judge.stdout
    assert sorted_lines(ok(done).decode()) == sorted_lines(judge.stdout)
    said = [line for line in done.stderr.decode().splitlines() if "active members" in line]
    assert sorted(said) == sorted(line for line in judge.stderr.splitlines() if "active members" in line)
    assert len(said) == 2


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_too(kafka: Kafka, protocol: str) -> None:
    """Everything but the lag of those who read on: the topic gets no records meanwhile."""
    needs(kafka, protocol)
    topic, group = numbers(kafka), kafka.unused_name("live")
    members: list[Member] = []
    with leaving(members):
        members.append(Confluent(kafka, group, topic, protocol, "range"))
        wait_until(lambda: len(members[0].owned) == 3 and len(members[0].read) == 60, members, "reading")
        wait_until(lambda: _committed(kafka, group) == [20] * 3, members, "committing")
        for view in ((), ("--members", "--verbose"), ("--state", "--verbose")):
            judge = consumer_groups(kafka, "--describe", "--group", group, *view)
            done = kcli_process("groups", "describe", group, *view, "-o", "kafka", bootstrap=kafka.bootstrap)
            assert sorted_lines(ok(done).decode()) == sorted_lines(judge.stdout)


def _committed(kafka: Kafka, group: str) -> list[int]:
    return [place["committed"] for place in described(kafka, group, "--offsets")[0]["partitions"]]


# --- what it says itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_and_what_they_have(kafka: Kafka, protocol: str) -> None:
    needs(kafka, protocol)
    topic, group = numbers(kafka, 4), kafka.unused_name("live")
    members: list[Member] = []
    with leaving(members):
        members += [make(kafka, group, topic, protocol, "range") for make in (Kcli, Confluent)]
        wait_until(lambda: [len(one.owned) for one in members] == [2, 2], members, "sharing")
        wait_until(lambda: _settled(kafka, group, 4), members, "being described as stable")
        (item,) = described(kafka, group)
        shares = {one.owned for one in members}
        shown = kcli_process("groups", "describe", group, "-o", "table", bootstrap=kafka.bootstrap)
    assert (item["type"], item["state"], item["member_count"]) == (protocol, "Stable", 2)
    owned = {place["partition"]: place["member_id"] for place in item["partitions"]}
    for told in item["members"]:
        mine = [place["partition"] for place in told["assignment"]]
        assert frozenset(mine) in shares
        assert {owned[partition] for partition in mine} == {told["member_id"]}
        assert told["subscription"] == [topic]
        assert told["host"].strip("/") == told["host"] != ""
    if protocol == "consumer":
        assert item["epoch"] == item["assignment_epoch"] > 0
        assert all(told["target_assignment"] == told["assignment"] for told in item["members"])
        assert all(told["epoch"] == item["epoch"] for told in item["members"])
    else:
        assert (item["epoch"], item["assignor"]) == (None, "range")
    heading = ok(shown).decode().splitlines()[0]
    epochs = r", epoch \d+, assignment epoch \d+" if protocol == "consumer" else ""
    pattern = rf"{group}: {protocol}, Stable, coordinator .+ \(node \d+\), assignor \w+{epochs}, 2 members"
    assert re.fullmatch(pattern, heading)


def _settled(kafka: Kafka, group: str, partitions: int) -> bool:
    (item,) = described(kafka, group, "--members")
    return item["state"] == "Stable" and sum(len(m["assignment"]) for m in item["members"]) == partitions


def test_when_a_commit_was_made(kafka: Kafka, admin: Admin) -> None:
    """Also of the older of two, whose record is not the last one in the topic."""
    topic, group = numbers(kafka), kafka.unused_name("timed")
    began = wall_ms()
    for partition, offset in ((0, 3), (1, 4), (0, 3)):
        commit(admin, group, {TopicPartition(topic, partition): OffsetAndMetadata(offset)})
    ended = wall_ms()
    done = kcli_process("groups", "describe", group, "-v", "-o", "json", bootstrap=kafka.bootstrap)
    first, second, *others = json.loads(ok(done))["items"][0]["partitions"]
    assert {(one["committed"], one["commit_time"]) for one in others} <= {(None, None)}
    assert _text(began) <= second["commit_time"] <= first["commit_time"] <= _text(ended)
    assert described(kafka, group)[0]["partitions"][0]["commit_time"] is None
    wide = kcli_process("groups", "describe", group, "-o", "wide", bootstrap=kafka.bootstrap)
    assert first["commit_time"] in ok(wide).decode()


def _text(ms: int) -> str:
    from kcli.output.tables import time_text

    return time_text(ms)


def test_records_around_commits(kafka: Kafka, admin: Admin) -> None:
    topic, group = numbers(kafka, 2, 10), kafka.unused_name("peeked")
    commit(
        admin,
        group,
        {TopicPartition(topic, 0): OffsetAndMetadata(4), TopicPartition(topic, 1): OffsetAndMetadata(10)},
    )
    first, second = described(kafka, group, "--peek", "3")[0]["partitions"]
    assert [record["value"] for record in first["read"]] == ["3"]
    assert [(record["key"], record["offset"]) for record in first["next"]] == [("k4", 4), ("k5", 5)]
    assert ([record["value"] for record in second["read"]], second["next"]) == (["9"], [])
    assert _committed(kafka, group) == [4, 10]


def test_records_of_open_transactions_are_not_shown(kafka: Kafka, admin: Admin) -> None:
    topic, group = numbers(kafka, 1, 5), kafka.unused_name("peeked")
    commit(admin, group, {TopicPartition(topic, 0): OffsetAndMetadata(4)})
    with Producer(bootstrap_servers=kafka.bootstrap, transactional_id=kafka.unused_name("tx")) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(ProducerRecord(topic, b"open", partition=0))
        producer.flush()
        (place,) = described(kafka, group, "--peek", "4")[0]["partitions"]
        producer.abort_transaction()
    assert [record["value"] for record in place["next"]] == ["4"]
    assert place["end"] == 6
