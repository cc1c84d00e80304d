"""Share groups and streams groups of a real broker beside Kafka's own scripts: list, lag, describe."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import _kafka_tools as tools
from kcli.core import Producer, TopicPartition
from kcli.core.share.consumer import ShareConsumer
from kcli.core.types import ProducerRecord
from tests.integration.kafka_script import configs, share_groups, streams_groups
from tests.kafka import Kafka
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration
PATIENCE = 120.0
STREAMS_APP = Path(__file__).with_name("StreamsApp.java")


def run(kafka: Kafka, *arguments: str, code: int = 0) -> Done:
    done = kcli_process(*arguments, "-o", "json", bootstrap=kafka.bootstrap)
    assert done.code == code, done.err
    return done


def needs_lag_of_share_groups(kafka: Kafka) -> None:
    """KIP-1226."""
    number = tuple(int(part) for part in kafka.version.split(".")[:2] if part.isdecimal())
    if number and number < (4, 2):
        pytest.skip(f"Kafka {kafka.version} does not report the lag of share groups")


def wait_until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.3)


def produce(kafka: Kafka, topic: str, partition: int, count: int) -> None:
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(count):
            producer.send(ProducerRecord(topic, b"%d" % number, partition=partition))


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()  # it leaves its group
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def share_member(
    kafka: Kafka, group: str, topic: str, count: int, accepts: range | None = None
) -> Iterator[ShareConsumer]:
    """A member of ours that has read ``count`` records and accepted the offsets of ``accepts``, or all; what it holds
    else is given back when it leaves.
    """
    with ShareConsumer(
        bootstrap_servers=kafka.bootstrap, group_id=group, share_acknowledgement_mode="explicit"
    ) as consumer:
        consumer.subscribe(topic)
        read, end = 0, time.monotonic() + PATIENCE
        while read < count:
            assert time.monotonic() < end, (read, consumer.stalled())
            for record in consumer.records(1.0):
                read += 1
                if accepts is None or record.offset in accepts:
                    consumer.acknowledge(record)
        assert consumer.commit(PATIENCE)
        metrics = consumer.metrics()
        assert metrics.accepted == (count if accepts is None else len(accepts))
        assert metrics.redelivered == 0
        yield consumer


def console_share_consumer(kafka: Kafka, group: str, topic: str) -> list[str]:
    """``kafka-console-share-consumer.sh``."""
    command = tools.tool(tools.CONSOLE_SHARE_CONSUMER)
    if command is None:
        pytest.skip("there is no Java to run Kafka's script")
    return [*command, "--bootstrap-server", kafka.bootstrap, "--group", group, "--topic", topic]


def rows_of(text: str) -> list[dict[str, str]]:
    """The lines of a script below its heading, by the words of it."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    head = next(place for place, words in enumerate(lines) if words[0] == "GROUP")
    return [dict(zip(lines[head], words, strict=False)) for words in lines[head + 1 :]]


@pytest.fixture(scope="module")
def shared(kafka: Kafka) -> Iterator[tuple[str, str]]:
    """A share group that has read one partition of three and waits; its name, and that of its topic."""
    needs_lag_of_share_groups(kafka)
    topic, group = kafka.topic("shared", partitions=3), kafka.unused_name("share")
    produce(kafka, topic, 1, 50)
    set_to = ("--alter", "--entity-type", "groups", "--entity-name", group)
    configs(kafka, *set_to, "--add-config", "share.auto.offset.reset=earliest")
    with running(console_share_consumer(kafka, group, topic)):

        def read() -> bool:
            rows = run(kafka, "groups", "list", "--match", group, "--with-lag").items
            return bool(rows) and rows[0]["state"] == "Stable" and started(kafka, group, topic)

        wait_until(read)
        yield group, topic


def started(kafka: Kafka, group: str, topic: str) -> bool:
    rows = run(kafka, "groups", "lag", group).rows
    row = rows.get(TopicPartition(topic, 1))
    return len(rows) == 3 and row is not None and row["committed"] is not None and row["lag_records"] == 0


def test_a_share_group_is_listed_with_its_type(kafka: Kafka, shared: tuple[str, str]) -> None:
    (row,) = run(kafka, "groups", "list", "--type", "share", "--match", shared[0]).items
    assert (row["type"], row["state"], row["protocol_type"]) == ("share", "Stable", "share")


def test_start_offsets_and_lag_are_those_of_kafkas_script(kafka: Kafka, shared: tuple[str, str]) -> None:
    """Kafka has no lag where there is no start offset; kcli has 0 where there is nothing at all to read."""
    group, topic = shared
    judge = rows_of(share_groups(kafka, "--describe", "--group", group, "--offsets", "--verbose").stdout)
    assert len(judge) == 3
    described = run(kafka, "groups", "describe", group).items[0]["partitions"]
    for rows in (list(run(kafka, "groups", "lag", group).rows.values()), described):
        by_partition = {row["partition"]: row for row in rows}
        for line in judge:
            row = by_partition[int(line["PARTITION"])]
            assert (line["TOPIC"], row["topic"]) == (topic, topic)
            assert text(row["committed"]) == line["START-OFFSET"]
            assert line["LAG"] in ("-", text(row["lag_records"]))
        assert by_partition[1]["lag_records"] == 0
    assert [text(row["leader_epoch"]) for row in described] == [line["LEADER-EPOCH"] for line in judge]


def test_members_and_state_are_those_of_kafkas_script(kafka: Kafka, shared: tuple[str, str]) -> None:
    group, topic = shared
    item = run(kafka, "groups", "describe", group).items[0]
    (state,) = rows_of(share_groups(kafka, "--describe", "--group", group, "--state", "--verbose").stdout)
    assert [text(item[key]) for key in ("state", "epoch", "assignment_epoch", "member_count")] == [
        state[key] for key in ("STATE", "GROUP-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS")
    ]
    (line,) = rows_of(share_groups(kafka, "--describe", "--group", group, "--members", "--verbose").stdout)
    (member,) = item["members"]
    assert (member["member_id"], member["client_id"]) == (line["CONSUMER-ID"], line["CLIENT-ID"])
    assert text(member["epoch"]) == line["MEMBER-EPOCH"]
    assert line["ASSIGNMENT"] == f"{topic}:0,1,2"
    assert member["assignment"] == [{"topic": topic, "partition": number} for number in range(3)]


def test_what_a_share_group_has_not_acknowledged_is_its_lag(kafka: Kafka) -> None:
    """Without members: all that is written since."""
    needs_lag_of_share_groups(kafka)
    topic, group = kafka.topic("left"), kafka.unused_name("share")
    produce(kafka, topic, 0, 20)
    set_to = ("--alter", "--entity-type", "groups", "--entity-name", group)
    configs(kafka, *set_to, "--add-config", "share.auto.offset.reset=earliest")
    with share_member(kafka, group, topic, 20):
        assert first(kafka, group)["lag_records"] == 0
    assert run(kafka, "groups", "list", "--match", group).items[0]["state"] == "Empty"
    produce(kafka, topic, 0, 7)
    row = first(kafka, group)
    (line,) = rows_of(share_groups(kafka, "--describe", "--group", group).stdout)
    assert (text(row["lag_records"]), line["LAG"]) == ("7", "7")
    assert row["verdict"] == "stopped"
    (summed,) = run(kafka, "groups", "lag", "--match", group).items
    assert (summed["type"], summed["lag_records"], summed["verdict"]) == ("share", 7, "stopped")


def first(kafka: Kafka, group: str) -> dict[str, Any]:
    done = kcli_process("groups", "lag", group, "-o", "json", bootstrap=kafka.bootstrap)
    return done.items[0] if done.code == 0 and done.items else {}


# --- streams groups ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def streams(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """An application that copies a topic, with ``group.protocol=streams``; its name, and that of the topic."""
    needs_lag_of_share_groups(kafka)
    source, sink = kafka.topic("in", partitions=3), kafka.topic("out", partitions=3)
    group = kafka.unused_name("app")
    for number in range(3):
        produce(kafka, source, number, 10 * number)
    command = tools.tool(str(STREAMS_APP), tools.STREAMS)
    if command is None:
        pytest.skip("there is no Java to run Kafka Streams")
    folder = str(tmp_path_factory.mktemp("state"))
    with running([*command, kafka.bootstrap, group, source, sink, folder]):
        wait_until(lambda: committed(kafka, group) == {1: 10, 2: 20})
        yield group, source


def committed(kafka: Kafka, group: str) -> dict[int, int]:
    done = kcli_process("groups", "lag", group, "-o", "json", bootstrap=kafka.bootstrap)
    rows = done.items if done.code == 0 else []
    return {row["partition"]: row["committed"] for row in rows if row["committed"] is not None}


def test_a_streams_group_has_the_lag_of_kafkas_script(kafka: Kafka, streams: tuple[str, str]) -> None:
    """Where nothing was committed Kafka counts from 0."""
    group, source = streams
    judge = rows_of(streams_groups(kafka, "--describe", "--group", group, "--offsets", "--verbose").stdout)
    rows = run(kafka, "groups", "lag", group).rows
    assert {line["TOPIC"] for line in judge} == {source}
    assert len(judge) == len(rows) == 3
    for line in judge:
        row = rows[TopicPartition(source, int(line["PARTITION"]))]
        assert text(row["committed"]) == line["CURRENT-OFFSET"]
        assert text(row["end"]) == line["LOG-END-OFFSET"]
        assert row["lag_records"] in (None, int(line["OFFSET-LAG"]))
        assert (row["type"], row["client_id"]) == ("streams", "app-StreamThread-1-consumer")


def test_its_state_members_and_tasks_are_those_of_kafkas_script(
    kafka: Kafka, streams: tuple[str, str]
) -> None:
    group, source = streams
    item = run(kafka, "groups", "describe", group).items[0]
    (state,) = rows_of(streams_groups(kafka, "--describe", "--group", group, "--state", "--verbose").stdout)
    assert [text(item[key]) for key in ("state", "epoch", "assignment_epoch", "member_count")] == [
        state[key] for key in ("STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS")
    ]
    (line,) = rows_of(streams_groups(kafka, "--describe", "--group", group, "--members", "--verbose").stdout)
    (member,) = item["members"]
    assert (member["member_id"], member["client_id"]) == (line["MEMBER"], line["CLIENT-ID"])
    assert (text(member["epoch"]), text(item["topology_epoch"])) == (
        line["MEMBER-EPOCH"],
        line["TOPOLOGY-EPOCH"],
    )
    assert member["active_tasks"] == [{"subtopology": "0", "partition": number} for number in range(3)]
    assert member["assignment"] == [{"topic": source, "partition": number} for number in range(3)]


def text(value: object) -> str:
    """As scripts write it."""
    return "-" if value is None else str(value)
