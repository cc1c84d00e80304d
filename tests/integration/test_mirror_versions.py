"""``kcli mirror`` from each version of Kafka to another one: what old brokers lack, and what new ones have changed.

A pair of versions is two clusters of one broker each, at most two minutes. confluent-kafka judges what is stored.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from tests.integration.mirroring import (
    CODECS,
    COMPACTED,
    PATIENCE,
    Content,
    Place,
    commit,
    committed,
    contents,
    judged,
    mirror,
    numbered,
    set_configs,
    wait_until_compacted,
    write,
    write_in_transactions,
    write_to_be_compacted,
)
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed
from tests.run import Done, kcli_process, ok, start

pytestmark = pytest.mark.long

PAIRS = [
    ("2.8.2", "4.4.0"),
    ("4.4.0", "2.8.2"),
    ("3.9.2", "4.3.1"),
    ("4.3.1", "3.9.2"),
    ("2.8.2", "4.3.1"),
    ("4.3.1", "2.8.2"),
    ("4.4.0", "4.4.0"),
]
MODES = pytest.mark.parametrize("mode", [(), ("--exactly-once",)], ids=["at least once", "exactly once"])
PARTITIONS = 3
NEWER = {"compression.zstd.level": "7", "errors.deadletterqueue.group.enable": "true"}
"""Settings of topics since 3.8 and 4.4."""
KEPT_FOR_EVER = {**TEST_PROPERTIES, "log.retention.ms": "-1"}
"""Of source brokers: those of the target delete after 7 days."""


class Pair(NamedTuple):
    """``topics``: of the source, in all of which ``records`` are committed; ``pattern`` selects them and ``left_out``."""

    source: Kafka
    target: Kafka
    pattern: str
    topics: tuple[str, ...]
    left_out: str
    records: int

    def run(self, *arguments: str, code: int = 0) -> tuple[list[dict[str, Any]], str]:
        """A run to its end, of what there is now."""
        return mirror(self.source, self.target, "--until-caught-up", *arguments, code=code)

    @contextmanager
    def following(self, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        """A process that follows the source, and is killed at the end of the block."""
        at = ("--from", self.source.bootstrap, "--to", self.target.bootstrap)
        with start("mirror", *at, "--yes", *arguments) as process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                process.communicate(timeout=PATIENCE)

    def command(self, verb: str, *arguments: str, code: int = 0) -> Done:
        """``kcli mirror VERB`` on both clusters, as JSON."""
        done = kcli_process(
            *("mirror", verb, "--from", self.source.bootstrap, "--to", self.target.bootstrap),
            *(*arguments, "-o", "json"),
        )
        ok(done, [code])
        return done

    def status(self, job: str) -> list[dict[str, Any]]:
        """The rows of the job that ``mirror status`` has; none as long as it does not exist."""
        done = kcli_process("mirror", "status", "--to", self.target.bootstrap, "--job", job, "-o", "json")
        return done.items if ok(done, [0, 1]) else []


@pytest.fixture(scope="module", params=PAIRS, ids=" to ".join)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    older, newer = request.param
    with (
        sandboxed(version=older, jvm_options=QUICK_JVM, extra=KEPT_FOR_EVER) as source,
        sandboxed(version=newer, jvm_options=QUICK_JVM) as target,
    ):
        shapes = source.topic("data-shapes", partitions=PARTITIONS)
        count = 0
        for partition in range(PARTITIONS):
            for codec in CODECS:
                more = {"compression.type": codec}
                count += write(source, shapes, numbered(300), partition=partition, batch=50, **more)
        transactional = source.topic("data-transactions", partitions=PARTITIONS)
        count += sum(write_in_transactions(source, transactional, PARTITIONS, 12, codec="lz4"))
        compacted = source.topic("data-compacted", partitions=PARTITIONS, config=COMPACTED)
        write_to_be_compacted(source, compacted, PARTITIONS, 5)
        count += sum(map(len, wait_until_compacted(source, compacted).values()))
        left_out = source.topic("data-left-out", partitions=1)
        write(source, left_out, numbered(5))
        yield Pair(source, target, "data-*", (shapes, transactional, compacted), left_out, count)


def until(reached: Callable[[], object]) -> None:
    """Waits until it is true."""
    end = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < end, "the state was not reached"
        time.sleep(0.1)


def is_subsequence(some: Sequence[object], whole: Sequence[object]) -> bool:
    """Whether ``whole`` has all of ``some``, in this order."""
    rest = iter(whole)
    return all(one in rest for one in some)


def copies_of(pair: Pair, prefix: str) -> dict[str, dict[int, list[Content]]]:
    """What the target has of each topic, for its readers."""
    return {topic: judged(pair.target, f"{prefix}{topic}") for topic in pair.topics}


def record_at(records: list[Content], offset: int) -> Content | None:
    """The first one at or after the offset, without its offset."""
    return next((one._replace(offset=0) for one in records if one.offset >= offset), None)


@MODES
def test_a_mirror_that_was_killed_copies_all_of_it(pair: Pair, mode: tuple[str, ...]) -> None:
    """With the offsets of a group, and verified by kcli and by another client."""
    job = mode[0].strip("-") if mode else "at-least-once"
    prefix, group = f"{job}.", pair.source.unused_name("group")
    arguments = (
        *("-t", pair.pattern, "--exclude", "data-left-out-*", "--map-topic", rf"^(.*)$={prefix}\1", "--job", job),
        *(*mode, "--sync-groups", f"{group}*"),
    )  # fmt: skip
    here = {topic: judged(pair.source, topic) for topic in pair.topics}
    middles = {
        (topic, partition): records[len(records) // 2].offset
        for topic, partitions in here.items()
        for partition, records in partitions.items()
    }
    commit(pair.source, {group: middles})
    with pair.following(*arguments, "--rate", str(pair.records // 6)) as process:
        until(lambda: any(row["position"] for row in pair.status(job)))
        process.kill()
    rows, _ = pair.run(*arguments)
    assert 0 < sum(row["records"] for row in rows) < pair.records
    assert {row["state"] for row in rows} == {"caught_up"}
    assert {row["topic"] for row in rows} == set(pair.topics)

    done = pair.command("verify", "--job", job)
    assert [one["result"] for one in done.items] == ["equal"] * 3 * PARTITIONS
    repeated = {(one["topic"], one["partition"]): one["repeated"] for one in done.items}
    there = copies_of(pair, prefix)
    for topic, partitions in contents_of(here).items():
        for partition, records in partitions.items():
            copied = contents_of(there)[topic][partition]
            assert is_subsequence(records, copied)
            if topic.startswith("data-compacted"):
                continue  # compared by key, with which repetitions are none
            assert repeated[topic, partition] == len(copied) - len(records)
    if mode:
        assert contents_of(here) == contents_of(there)
    found = committed(pair.target, group, tuple(f"{prefix}{topic}" for topic in pair.topics))
    assert len(found) == len(middles)
    for (topic, partition), offset in middles.items():
        translated = found[f"{prefix}{topic}", partition]
        assert record_at(here[topic][partition], offset) == record_at(there[topic][partition], translated)


def contents_of(found: dict[str, dict[int, list[Content]]]) -> dict[str, dict[int, list[tuple[Any, ...]]]]:
    """The same without offsets."""
    return {topic: contents(partitions) for topic, partitions in found.items()}


@MODES
def test_a_stand_by_takes_over(pair: Pair, mode: tuple[str, ...]) -> None:
    topic = pair.source.topic("stand-by", partitions=PARTITIONS)
    arguments = ("-t", topic, "--job", topic, *mode)
    write(pair.source, topic, numbered(50))
    with pair.following(*arguments) as first:
        until(lambda: any(row["position"] == 50 for row in pair.status(topic)))
        with pair.following(*arguments) as second:
            until(lambda: any(row["standbys"] for row in pair.status(topic)))
            _, text = pair.run(*arguments, "--no-standby", code=7)
            assert f"mirror job {topic} is run by " in text
            (pid,) = {row["pid"] for row in pair.status(topic)}
            assert pid == first.pid
            first.kill()
            write(pair.source, topic, numbered(50), partition=1)
            until(lambda: sum(row["position"] or 0 for row in pair.status(topic)) == 100)
            until(lambda: {row["state"] for row in pair.status(topic)} == {"caught_up"})
            assert {row["pid"] for row in pair.status(topic)} == {second.pid}
            second.send_signal(signal.SIGINT)
            _, err = second.communicate(timeout=PATIENCE)
            assert second.returncode == 130, err
    assert {(row["running"], row["state"]) for row in pair.status(topic)} == {(False, "ended")}
    assert contents(judged(pair.source, topic)) == contents(judged(pair.target, topic))


def test_a_source_that_is_away_is_waited_for(pair: Pair) -> None:
    topic = pair.source.topic("away")
    write(pair.source, topic, numbered(20))
    (node,) = pair.source.nodes
    with pair.following("-t", topic, "--job", topic) as process:
        until(lambda: any(row["position"] == 20 for row in pair.status(topic)))
        node.kill()
        until(lambda: [row["state"] for row in pair.status(topic)] == ["waiting"])
        (row,) = pair.status(topic)
        assert row["running"]
        node.start()
        write(pair.source, topic, numbered(20))
        until(lambda: [(row["position"], row["state"]) for row in pair.status(topic)] == [(40, "caught_up")])
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 143, err
    assert contents(judged(pair.source, topic)) == contents(judged(pair.target, topic))


@MODES
def test_a_position_is_reset_and_copied_again(pair: Pair, mode: tuple[str, ...]) -> None:
    topic = pair.source.topic("reset", partitions=PARTITIONS)
    arguments = ("-t", topic, "--job", topic, *mode)
    for partition in range(PARTITIONS):
        write(pair.source, topic, numbered(30), partition=partition)
    pair.run(*arguments, "--verify")
    assert [row["position"] for row in pair.status(topic)] == [30] * PARTITIONS
    done = pair.command("reset", f"{topic}:1", "--offset", "10", "--job", topic, "--yes")
    assert [(one["partition"], one["status"]) for one in done.items] == [(1, "done")]
    assert [row["position"] for row in pair.status(topic)] == [30, 10, 30]
    rows, _ = pair.run(*arguments)
    assert [row["records"] for row in rows] == [0, 20, 0]
    here, there = contents(judged(pair.source, topic)), contents(judged(pair.target, topic))
    assert there == {**here, 1: here[1] + here[1][10:]}


def test_a_gap_is_recorded_until_it_is_accepted(pair: Pair) -> None:
    topic = pair.source.topic("gap")
    arguments = ("-t", topic, "--job", topic)
    write(pair.source, topic, numbered(20))
    pair.run(*arguments)
    write(pair.source, topic, numbered(20))
    admin = AdminClient({"bootstrap.servers": pair.source.bootstrap})
    for future in admin.delete_records([Place(topic, 0, 30)]).values():
        future.result(PATIENCE)
    _, text = pair.run(*arguments, code=5)
    assert "30" in text
    rows, _ = pair.run(*arguments, "--on-gap", "record", code=6)
    assert [(row["gaps"], row["records"]) for row in rows] == [([[20, 29]], 10)]
    assert [row["gaps"] for row in pair.status(topic)] == [[[20, 29]]]
    line = (
        "mirror",
        "accept-gap",
        f"{topic}:0",
        "--to",
        pair.target.bootstrap,
        "--job",
        topic,
        "--yes",
        "-o",
        "json",
    )
    (item,) = kcli_process(*line).items
    assert item["status"] == "done"
    assert [row["gaps"] for row in pair.status(topic)] == [[]]
    pair.run(*arguments)
    pair.command("verify", "--job", topic)


def test_settings_in_force_are_written_and_followed(pair: Pair) -> None:
    """What the source's brokers have in their file, and what is set on the topics, as far as the target knows it: for a
    new topic and one that exists; and a change.
    """
    topics = [pair.source.unused_name(hint) for hint in ("effective-new", "effective-old")]
    create(pair.source, topics)
    newer = NEWER.keys() & config(pair.source, topics[0]).keys()
    for topic in topics:
        set_configs(pair.source, topic, {"segment.ms": "86400000", **{key: NEWER[key] for key in newer}})
    create(pair.target, topics[1:])
    arguments = ("-t", "effective-*", "--job", topics[0], "--sync-configs", "effective")
    for topic in topics:
        write(pair.source, topic, numbered(10))
    pair.run(*arguments)
    for topic in topics:
        there = config(pair.target, topic)
        assert (there["retention.ms"], there["segment.ms"]) == ("-1", "86400000")
        assert {key: there[key] for key in newer & there.keys()} == {
            key: NEWER[key] for key in newer & there.keys()
        }
        assert contents(judged(pair.source, topic)) == contents(judged(pair.target, topic))
    _, text = pair.run(*arguments, "--dry-run")
    assert "retention.ms" not in text
    with pair.following(*arguments, "-X", "metadata.max.age.ms=1000"):
        until(lambda: any(row["running"] for row in pair.status(topics[0])))
        set_configs(pair.source, topics[0], {"retention.bytes": "123456789"})
        until(lambda: config(pair.target, topics[0])["retention.bytes"] == "123456789")


def create(kafka: Kafka, topics: Sequence[str]) -> None:
    """Creates them without a configuration of their own."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
        future.result(PATIENCE)


def config(kafka: Kafka, topic: str) -> dict[str, str]:
    """What is in force for the topic."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})  # which has to be there until the answer is
    (future,) = admin.describe_configs([resource]).values()
    return {name: entry.value for name, entry in future.result(PATIENCE).items()}


def test_times_that_are_no_milliseconds(pair: Pair) -> None:
    """As µs they are thousands of years ahead: brokers from 4.0 on refuse that unless the topic accepts it."""
    wide = {} if pair.source.version < "3.6" else {"message.timestamp.after.max.ms": str(2**63 - 1)}
    topic = pair.source.topic("micros", config=wide)
    first = 1_700_000_000_000_000
    records = [{"value": b"%d" % number, "timestamp": first + number * 1_000} for number in range(10)]
    write(pair.source, topic, records)
    accepts = pair.target.version < "4.0" or bool(wide)
    _, text = pair.run("-t", topic, "--job", topic, code=0 if accepts else 7)
    if accepts:
        assert contents(judged(pair.source, topic)) == contents(judged(pair.target, topic))
    else:
        assert "--timestamps ms" in text
    copy = f"{topic}-ms"
    more = ("--map-topic", f"{topic}={copy}", "--job", copy, "--timestamps", "ms")
    pair.run("-t", topic, *more)
    assert [one.timestamp for one in judged(pair.target, copy)[0]] == [
        first // 1_000 + number for number in range(10)
    ]
    pair.command("verify", "--job", copy)


@MODES
def test_an_open_transaction_of_the_source_is_waited_for_and_named(pair: Pair, mode: tuple[str, ...]) -> None:
    topic = pair.source.topic("open")
    arguments = ("-t", topic, "--job", topic, *mode)
    write(pair.source, topic, numbered(20))
    producer = JudgeProducer({"bootstrap.servers": pair.source.bootstrap, "transactional.id": topic})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(topic, b"of the transaction")
    producer.flush(PATIENCE)
    write(pair.source, topic, numbered(20))
    rows, text = pair.run(*arguments, "--max-wait", "2s", code=8)
    assert [row["records"] for row in rows] == [20]
    assert "open transaction" in text
    assert (topic in text.partition("transactional id ")[2]) == (pair.source.version >= "3.0")
    producer.commit_transaction(PATIENCE)
    pair.run(*arguments, "--verify")
    assert contents(judged(pair.source, topic)) == contents(judged(pair.target, topic))
