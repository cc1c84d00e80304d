"""``kcli topics`` on a real broker, from create to delete."""

from typing import Any

import pytest
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka import TopicPartition as JudgePartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from confluent_kafka.admin import ConfigResource as JudgeResource

from tests.kafka import Kafka
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration

DYNAMIC_TOPIC_CONFIG = 1


def kcli(kafka: Kafka, *arguments: str) -> Done:
    return kcli_process("topics", *arguments, bootstrap=kafka.bootstrap)


def items(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.err
    return done.items


@pytest.mark.case("S4-6")
def test_the_life_of_a_topic(kafka: Kafka) -> None:
    name = kafka.unused_name("life")
    create = ("create", name, "--partitions", "3", "--config", "retention.ms=3600000")
    assert kcli(kafka, *create, "--dry-run").returncode == 0
    assert name not in kcli(kafka, "list", "-o", "name").out.split()
    assert kcli(kafka, *create).returncode == 0
    assert kcli(kafka, *create).returncode == 7
    assert kcli(kafka, *create, "--if-not-exists").returncode == 0

    (listed,) = items(kcli(kafka, "list", "--match", name, "-o", "json"))
    assert (listed["partitions"], listed["under_replicated"]) == (3, 0)
    (described,) = items(kcli(kafka, "describe", name, "-o", "json"))
    assert described["configs"]["retention.ms"] == "3600000"
    assert [(part["log_start"], part["end"]) for part in described["partitions"]] == [(0, 0)] * 3
    assert [
        item["offset"] for item in items(kcli(kafka, "offsets", name, "--time", "@-1h", "-o", "json"))
    ] == [None] * 3

    refused = kcli(kafka, "delete", name)
    assert (refused.returncode, refused.out) == (2, "")
    assert kcli(kafka, "delete", name, "--dry-run").returncode == 0
    assert kcli(kafka, "delete", name, "--confirm", name).returncode == 0
    assert kcli(kafka, "describe", name).returncode == 1


@pytest.mark.case("S4-6")
def test_a_refusal_is_reported_with_the_brokers_message(kafka: Kafka) -> None:
    done = kcli(kafka, "create", kafka.unused_name("x"), "--config", "no.such.key=1")
    assert (done.returncode, done.out) == (2, "")
    assert "INVALID_CONFIG" in done.err
    assert "no.such.key" in done.err


def test_debug_proto_is_a_line_per_request_and_answer(kafka: Kafka) -> None:
    done = kcli(kafka, "list", "--debug=proto")
    lines = [line.split() for line in done.err.splitlines() if " → " in line or " ← " in line]
    wire = [line for line in lines if line[1] in "→←"]
    assert {"ApiVersions", "Metadata"} <= {line[4] for line in wire}
    assert sum(line[1] == "→" for line in wire) == sum(line[1] == "←" for line in wire)


def configs_of(judge: AdminClient, name: str) -> dict[str, str]:
    """What librdkafka sees as set on the topic."""
    resource = JudgeResource("topic", name)
    found = judge.describe_configs([resource])[resource].result(120)
    return {key: entry.value for key, entry in found.items() if entry.source == DYNAMIC_TOPIC_CONFIG}


def log_starts(judge: AdminClient, name: str, partitions: int) -> list[int]:
    wanted = {JudgePartition(name, number): OffsetSpec.earliest() for number in range(partitions)}
    found = judge.list_offsets(wanted)
    return [found[tp].result(120).offset for tp in wanted]


def test_a_topic_is_altered_as_the_judge_sees_it(kafka: Kafka) -> None:
    judge = AdminClient({"bootstrap.servers": kafka.bootstrap})
    name = kafka.unused_name("alter")
    create = (
        "create",
        name,
        "--partitions",
        "2",
        "--config",
        "retention.ms=3600000",
        "--config",
        "segment.ms=60000",
        "--config",
        "max.message.bytes=5000",
    )
    assert kcli(kafka, *create).returncode == 0
    change = (
        "alter", name, "--set", "min.cleanable.dirty.ratio=0.250", "--set", "preallocate=TRUE", "--unset",
        "retention.ms", "--unset", "max.message.bytes", "--append", "cleanup.policy=compact", "--partitions", "3",
    )  # fmt: skip
    plan = items(kcli(kafka, *change, "--dry-run", "-o", "json"))
    assert [(row["key"], row["old"], row["new"]) for row in plan] == [
        ("min.cleanable.dirty.ratio", "0.5", "0.250"),
        ("preallocate", "false", "TRUE"),
        ("retention.ms", "3600000", None),  # it comes from log.retention.hours, which is no synonym
        ("max.message.bytes", "5000", "1048588"),
        ("cleanup.policy", "delete", "delete,compact"),
        ("partitions", "2", "3"),
    ]
    assert configs_of(judge, name).keys() == {"retention.ms", "segment.ms", "max.message.bytes"}

    report = items(kcli(kafka, *change, "--yes", "-o", "json"))
    assert {row["status"] for row in report} == {"done"}
    changed = configs_of(judge, name)
    assert changed.keys() == {"segment.ms", "min.cleanable.dirty.ratio", "preallocate", "cleanup.policy"}
    assert changed["cleanup.policy"] == "delete,compact"
    assert len(judge.list_topics(name).topics[name].partitions) == 3
    assert {row["status"] for row in items(kcli(kafka, *change, "--yes", "-o", "json"))} == {"unchanged"}

    assert kcli(kafka, "alter", name, "--remove", "cleanup.policy=compact", "--yes").returncode == 0
    assert configs_of(judge, name)["cleanup.policy"] == "delete"
    for words, code, said in (
        (("--partitions", "1"), 7, "cannot have 1"),
        (("--set", "retention.mss=1"), 2, "did you mean retention.ms"),
        (("--set", "retention.ms=abc"), 2, "INVALID_CONFIG"),
        (("--set", "cleanup.policy=never"), 2, "INVALID_CONFIG"),
        (("--append", "retention.ms=1"), 2, "is not a list"),
    ):
        done = kcli(kafka, "alter", name, *words, "--yes")
        assert (done.returncode, done.out) == (code, ""), done.err
        assert said in done.err


def test_a_topic_is_trimmed_as_the_judge_sees_it(kafka: Kafka) -> None:
    judge = AdminClient({"bootstrap.servers": kafka.bootstrap})
    name = kafka.unused_name("trim")
    assert kcli(kafka, "create", name, "--partitions", "3").returncode == 0
    producer = JudgeProducer({"bootstrap.servers": kafka.bootstrap})
    for number in range(10):
        for partition in range(2):
            stamp = 1_700_000_000_000 + number * 60_000
            producer.produce(name, b"v", partition=partition, timestamp=stamp)
    assert producer.flush(30) == 0

    at_time = ("trim", name, "--before", "@1700000240000")  # the time of offset 4
    plan = items(kcli(kafka, *at_time, "--dry-run", "-o", "json"))
    assert [(row["new_log_start"], row["records"]) for row in plan] == [(4, 4), (4, 4), (0, 0)]
    assert kcli(kafka, *at_time).returncode == 2
    assert log_starts(judge, name, 3) == [0, 0, 0]
    report = items(kcli(kafka, *at_time, "--yes", "-o", "json"))
    assert [row["status"] for row in report] == ["done", "done", "unchanged"]
    assert log_starts(judge, name, 3) == [4, 4, 0]

    assert kcli(kafka, "trim", name, "--before", "-1", "-p", "1", "--confirm", name).returncode == 0
    assert log_starts(judge, name, 3) == [4, 9, 0]
    beyond = kcli(kafka, "trim", name, "--before", "99", "--yes")
    assert (beyond.returncode, beyond.out) == (5, "")
    assert kcli(kafka, "trim", name, "--before", "10", "--yes").returncode == 6, "partition 2 is empty"
    assert kcli(kafka, "trim", name, "--before", "latest", "--yes").returncode == 0
    assert log_starts(judge, name, 3) == [10, 10, 0]

    compacted = kafka.unused_name("compacted")
    assert kcli(kafka, "create", compacted, "--config", "cleanup.policy=compact").returncode == 0
    refused = kcli(kafka, "trim", compacted, "--before", "latest", "--yes")
    assert (refused.returncode, "POLICY_VIOLATION" in refused.err) == (7, True)
