"""``kcli mirror`` between real clusters, judged by confluent-kafka: records and batches of every shape."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.integration.mirroring import (
    CODECS,
    COMPACTED,
    FROZEN,
    WRITER_PARTITIONS,
    Place,
    check_equal,
    check_report,
    judged,
    mirror,
    numbered,
    raw_batches,
    wait_until_compacted,
    write,
    write_by_java,
    write_in_transactions,
    write_to_be_compacted,
)
from tests.kafka import QUICK_JVM, Kafka, sandboxed, version_of
from tests.run import kcli_process, ok

MODES = pytest.mark.parametrize("mode", [(), ("--exactly-once",)], ids=["at least once", "exactly once"])

SMALL, LARGE = 100, 2_000


@pytest.fixture(scope="module")
def target(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    with sandboxed(version=version_of(pytestconfig), jvm_options=QUICK_JVM) as found:
        yield found


Written = tuple[str, list[int]]
"""A topic and the number of committed records in each of its partitions."""


@pytest.fixture(scope="module")
def by_confluent(kafka: Kafka) -> Written:
    """Partitions 0 to 4 have a codec each, in batches of 10 records; 5 to 9 in batches as large as they become."""
    topic = kafka.topic("confluent", partitions=10)
    for number, codec in enumerate(CODECS):
        for partition, count, batch in ((number, SMALL, 10), (number + 5, LARGE, 1_000)):
            write(
                kafka,
                topic,
                numbered(count),
                partition=partition,
                batch=batch,
                **{"compression.type": codec, "linger.ms": 1_000},
            )
    return topic, [SMALL] * 5 + [LARGE] * 5


@pytest.fixture(scope="module")
def by_java(kafka: Kafka) -> Written:
    topic = kafka.topic("java", partitions=WRITER_PARTITIONS)
    return topic, write_by_java(kafka, topic, 300)


@pytest.fixture(scope="module")
def transactional(kafka: Kafka) -> Written:
    topic = kafka.topic("transactional", partitions=2)
    plain = write(kafka, topic, numbered(20), **{"compression.type": "lz4"})
    committed = write_in_transactions(kafka, topic, 2, 10)
    more = write_in_transactions(kafka, topic, 2, 5, first=1_000, codec="zstd", name="zstd-")
    return topic, [committed[0] + more[0] + plain, committed[1] + more[1]]


def copied(topic: str, mode: tuple[str, ...]) -> tuple[str, list[str]]:
    """The name of its copy in this mode, and the arguments of that mirror, a job of its own."""
    copy = f"{topic}-copy{len(mode)}"
    return copy, ["-t", topic, "--map-topic", f"{topic}={copy}", "--job", copy, *mode]


@MODES
@pytest.mark.case("M19", "S4-27")
def test_all_codecs_and_shapes_are_equal_on_both_sides(
    kafka: Kafka, target: Kafka, by_confluent: Written, mode: tuple[str, ...]
) -> None:
    topic, counts = by_confluent
    copy, arguments = copied(topic, mode)
    rows, text = mirror(kafka, target, *arguments, "--verify")
    check_report(rows, counts)
    assert "10 of 10 partitions equal" in text
    check_equal(kafka, topic, target, copy, counts)
    for partition, row in enumerate(rows):
        here = raw_batches(kafka, topic, partition)
        there = [batch for batch in raw_batches(target, copy, partition) if not batch.is_control]
        assert {batch.codec for batch in there} == {CODECS[partition % 5]}
        if partition % 5 == 0:  # small and not compressed: joined
            assert len(there) < len(here)
            assert row["reencoded_batches"] == len(there)
        else:
            assert [batch.count for batch in there] == [batch.count for batch in here]
            assert row["passed_through_batches"] == len(there)


@MODES
@pytest.mark.case("M19")
def test_what_the_java_client_writes_is_equal_on_both_sides(
    kafka: Kafka, target: Kafka, by_java: Written, mode: tuple[str, ...]
) -> None:
    """With its transactions, and with its records of a producer that is not idempotent."""
    topic, counts = by_java
    copy, arguments = copied(topic, mode)
    rows, _ = mirror(kafka, target, *arguments, "--verify")
    check_report(rows, counts)
    check_equal(kafka, topic, target, copy, counts)
    for partition in range(len(CODECS)):
        found = {batch.codec for batch in raw_batches(target, copy, partition) if not batch.is_control}
        assert found == {CODECS[partition]}
    assert rows[5]["dropped_control_batches"] == 30


@MODES
@pytest.mark.case("M10", "M11")
def test_no_marker_and_no_producer_id_of_the_source_is_on_the_target(
    kafka: Kafka, transactional: Written, mode: tuple[str, ...]
) -> None:
    """Within one cluster, where each producer id is given out once."""
    topic, counts = transactional
    copy, arguments = copied(topic, mode)
    rows, _ = mirror(kafka, kafka, *arguments, "--verify")
    check_report(rows, counts)
    check_equal(kafka, topic, kafka, copy, counts)
    for partition, row in enumerate(rows):
        here, there = raw_batches(kafka, topic, partition), raw_batches(kafka, copy, partition)
        markers = [batch for batch in here if batch.is_control]
        assert row["dropped_control_batches"] == len(markers) > 10
        assert any(batch.is_transactional for batch in here)
        assert {batch.producer_id for batch in there}.isdisjoint(batch.producer_id for batch in here)
        assert all(batch.producer_id >= 0 for batch in there)
        assert {batch.is_transactional for batch in there} == {bool(mode)}
        assert any(batch.is_control for batch in there) == bool(mode)
    committed = {record.value for records in judged(kafka, topic).values() for record in records}
    stored = judged(kafka, copy, isolation="read_uncommitted")
    assert {record.value for records in stored.values() for record in records} == committed  # nothing aborted


@pytest.mark.case("M11")
def test_two_sources_of_one_target_have_the_producer_ids_of_their_mirrors(kafka: Kafka) -> None:
    """Two topics of one job, then another job that writes to the target of the first one."""
    one, two = kafka.topic("one"), kafka.topic("two")
    for topic in (one, two):
        for _ in range(2):
            options = {"compression.type": "gzip", "enable.idempotence": True}
            write(kafka, topic, numbered(30), batch=5, **options)
    both = ["-t", one, "-t", two, "--map-topic", rf"^({one}|{two})$=\1-copy"]
    rows, _ = mirror(kafka, kafka, *both, "--verify")
    check_report(rows, [60, 60])
    other = ["--map-topic", f"{two}={one}-copy", "--job", two]
    rows, _ = mirror(kafka, kafka, "-t", two, *other, "--verify")
    check_report(rows, [60])
    foreign = {batch.producer_id for topic in (one, two) for batch in raw_batches(kafka, topic)}
    assert len(foreign) == 4
    first, second = raw_batches(kafka, f"{one}-copy"), raw_batches(kafka, f"{two}-copy")
    assert [batch.count for batch in first] == [5] * 24  # passed, not re-encoded
    assert foreign.isdisjoint(batch.producer_id for batch in first + second)
    assert len({batch.producer_id for batch in first}) == 2
    values = [record.value for record in judged(kafka, f"{one}-copy")[0]]
    assert values == [record.value for topic in (one, two) for record in judged(kafka, topic)[0]]
    _, text = mirror(kafka, kafka, *both, "--verify-only", code=8)
    assert f"{one}-0 of the source and {one}-copy-0 of the target differ from target offset 60 on" in text


@pytest.mark.case("M9")
def test_batches_with_holes_are_encoded_again(kafka: Kafka, target: Kafka) -> None:
    """What compaction has left, tombstones included, in both modes."""
    topic = kafka.topic("compacted", partitions=2, config=COMPACTED)
    write_to_be_compacted(kafka, topic, 2, 7)
    counts = [len(records) for records in wait_until_compacted(kafka, topic).values()]
    for mode in ((), ("--exactly-once",)):
        copy, arguments = copied(topic, mode)
        rows, _ = mirror(kafka, target, *arguments, "--verify")
        check_report(rows, counts)
        found = check_equal(kafka, topic, target, copy, counts)
        assert any(record.value is None for record in found[0])
        for partition, row in enumerate(rows):
            here = [batch for batch in raw_batches(kafka, topic, partition) if batch.count]
            holes = [batch for batch in here if batch.count <= batch.last_offset_delta]
            assert len(holes) >= 2
            assert row["passed_through_batches"] <= len(here) - len(holes)
            assert (
                row["reencoded_batches"] >= 2
            )  # fewer than have holes: neighbours without compression are joined
            for batch in raw_batches(target, copy, partition):
                assert batch.count == batch.last_offset_delta + 1


def test_a_topic_that_only_one_side_has_compacted_is_equal_by_key(kafka: Kafka, target: Kafka) -> None:
    topic = kafka.topic("by-key", partitions=2, config=COMPACTED)
    write_to_be_compacted(kafka, topic, 2, 7)
    copy = target.topic("by-key-copy", partitions=2, config={**COMPACTED, **FROZEN})
    renamed = ("--map-topic", f"{topic}={copy}")
    mirror(kafka, target, "-t", topic, *renamed, "--job", topic, "--until-caught-up")
    line = (
        "mirror",
        "verify",
        "--from",
        kafka.bootstrap,
        "--to",
        target.bootstrap,
        "--job",
        topic,
        "-o",
        "json",
    )
    before = json.loads(ok(kcli_process(*line)))
    wait_until_compacted(kafka, topic)
    found = json.loads(ok(kcli_process(*line)))
    assert [(one["result"], one["compared_by"]) for one in found["items"]] == [("equal", "key")] * 2
    assert [one["digest_source"] for one in found["items"]] == [
        one["digest_target"] for one in before["items"]
    ]
    write(target, copy, [{"key": b"of somebody else", "value": b"x"}])
    (one,) = json.loads(ok(kcli_process(*line), [8]))["differences"]
    assert (one["topic"], one["partition"], one["lacking"]) == (topic, 0, "source")


@pytest.mark.case("M19")
def test_times_set_by_the_brokers_of_the_source_are_kept(kafka: Kafka, target: Kafka) -> None:
    topic = kafka.topic("append-time", partitions=5, config={"message.timestamp.type": "LogAppendTime"})
    for partition, codec in enumerate(CODECS):
        write(kafka, topic, numbered(60), partition=partition, batch=20, **{"compression.type": codec})
    rows, _ = mirror(kafka, target, "-t", topic, "--verify")
    check_report(rows, [60] * 5)
    found = check_equal(kafka, topic, target, topic, [60] * 5)
    assert min(record.timestamp for record in found[0]) > 1_750_000_000_000  # not those of the producer


@pytest.mark.case("M19", "M8")
def test_times_of_all_ages_are_kept(kafka: Kafka, target: Kafka) -> None:
    """The new topic accepts what the source accepted, years in the future too."""
    wide = (
        {}
        if kafka.version.startswith(("2.", "3.0", "3.3"))
        else {"message.timestamp.after.max.ms": str(2**63 - 1)}
    )
    topic = kafka.topic("wild", partitions=2, config=wide)
    times = (1, 253_402_300_799_999, 10**12, 2, 2**62, 1_700_000_000_000)
    records = [{"value": b"%d" % number, "timestamp": times[number % 6]} for number in range(60)]
    for partition, codec in enumerate(("none", "zstd")):
        write(kafka, topic, records, partition=partition, batch=25, **{"compression.type": codec})
    rows, _ = mirror(kafka, target, "-t", topic, "--verify")
    check_report(rows, [60, 60])
    found = check_equal(kafka, topic, target, topic, [60, 60])
    assert [record.timestamp for record in found[1]] == list(times) * 10


@pytest.mark.case("M19", "M8")
def test_records_as_large_as_the_topic_allows_are_copied(kafka: Kafka, target: Kafka) -> None:
    """Passed on as they are, and encoded again where the brokers of the source set the times."""
    limit = 2_000_000
    topics = []
    for kind in ("CreateTime", "LogAppendTime"):
        config = {"message.timestamp.type": kind, "max.message.bytes": str(limit)}
        topics.append(kafka.topic("large", partitions=5, config=config))
        for partition, codec in enumerate(CODECS):
            records = [
                {"key": b"k", "value": os.urandom(limit - 2_000), "timestamp": 1_700_000_000_000},
                {"value": b"small", "timestamp": 1_700_000_000_000},
            ]
            options = {"compression.type": codec, "message.max.bytes": 2 * limit}
            write(kafka, topics[-1], records, partition=partition, batch=1, **options)
    rows, _ = mirror(kafka, target, "-t", topics[0], "-t", topics[1], "--verify")
    check_report(rows, [2] * 10)
    for topic in topics:
        check_equal(kafka, topic, target, topic, [2] * 5)
    untouched = {row["topic"]: row["passed_through_batches"] for row in rows if row["partition"]}
    assert untouched == {topics[0]: 2, topics[1]: 0}


def test_a_damaged_copy_is_not_equal_and_the_first_difference_is_named(kafka: Kafka, target: Kafka) -> None:
    topic = kafka.topic("damaged")
    write(kafka, topic, numbered(100), batch=10)
    arguments = ["-t", topic]
    mirror(kafka, target, *arguments, "--verify")
    rows, text = mirror(kafka, target, *arguments, "--verify-only")
    assert "1 of 1 partition equal, 100 records compared" in text
    assert rows[0]["digest_source"] == rows[0]["digest_target"]

    write(kafka, topic, numbered(5))
    _, text = mirror(kafka, target, *arguments, "--verify-only", code=8)
    assert f"{topic}-0 of the source and {topic}-0 of the target differ from source offset 100 on" in text
    assert "the target has no record for it" in text
    mirror(kafka, target, *arguments, "--verify")

    write(target, topic, [{"value": b"not of the source"}])
    rows, text = mirror(kafka, target, *arguments, "--verify-only", code=8)
    assert f"{topic}-0 of the source and {topic}-0 of the target differ from target offset 105 on" in text
    assert "the source has no such record" in text
    assert rows[0]["digest_source"] != rows[0]["digest_target"]

    write(kafka, topic, numbered(5))
    _, text = mirror(kafka, target, *arguments, "--verify", code=8)
    assert f"{topic}-0 of the source and {topic}-0 of the target differ from target offset 105 on" in text


def test_a_copy_by_others_is_compared_without_a_job(kafka: Kafka, target: Kafka) -> None:
    """Null and empty are different, and so are all other parts of a record."""
    plain = {"key": None, "value": b"v", "headers": [("a", b"")], "timestamp": 1_700_000_000_000}
    changes: list[dict[str, Any]] = [
        {"value": b"other"}, {"key": b""}, {"headers": [("a", None)]}, {"timestamp": 1_700_000_000_001}, {},
    ]  # fmt: skip
    topic = kafka.topic("by-others", partitions=len(changes))
    copy = target.topic("other", partitions=len(changes))
    for partition, change in enumerate(changes):
        write(kafka, topic, [plain] * 80, partition=partition)
        changed = [*[plain] * 57, {**plain, **change}, *[plain] * 22]
        write(target, copy, changed, batch=30, partition=partition)
    rows, text = mirror(kafka, target, "-t", topic, "--map-topic", f"{topic}={copy}", "--verify-only", code=8)
    for partition, change in enumerate(changes[:-1]):
        both = f"{topic}-{partition} of the source and {copy}-{partition} of the target"
        named = f"{both} differ from source offset 57, target offset 57 on"
        what = f'{named}", "why": "different {"headers" if "headers" in change else next(iter(change))}"'
        assert what in text
    assert "1 of 5 partitions equal, 400 records compared" in text
    assert [row["digest_source"] == row["digest_target"] for row in rows] == [False] * 4 + [True]


@pytest.mark.case("M4")
def test_a_comparison_begins_where_the_source_still_has_records(kafka: Kafka, target: Kafka) -> None:
    topic = kafka.topic("shortened")
    write(kafka, topic, numbered(20), batch=5)
    mirror(kafka, target, "-t", topic, "--until-caught-up")
    _delete_before(kafka, topic, 8)
    _, text = mirror(kafka, target, "-t", topic, "--verify-only")
    assert "1 of 1 partition equal, 12 records compared" in text

    write(kafka, topic, numbered(20))
    _delete_before(kafka, topic, 30)  # beyond what was copied
    _, text = mirror(kafka, target, "-t", topic, "--verify-only", code=8)
    assert f"{topic}-0 of the source and {topic}-0 of the target differ from source offset 30 on" in text


def _delete_before(kafka: Kafka, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.delete_records([Place(topic, 0, offset)]).values():
        future.result(120)


def test_a_range_within_one_cluster(kafka: Kafka, by_confluent: Written) -> None:
    """Whose ends are inside of batches."""
    topic, _ = by_confluent
    copy = f"{topic}-range"
    rows, _ = mirror(
        kafka, kafka, "-t", topic, "--map-topic", f"{topic}={copy}", "--offset", "13:87", "--verify"
    )
    check_report(rows, [74] * 10)
    here, there = judged(kafka, topic), judged(kafka, copy)
    for partition, records in there.items():
        assert [record[1:] for record in records] == [record[1:] for record in here[partition][13:87]]


def test_the_command_needs_a_confirmation_for_a_target_with_records(kafka: Kafka, target: Kafka) -> None:
    topic = kafka.topic("confirmed")
    write(kafka, topic, numbered(3))
    copy = target.topic("filled")
    write(target, copy, numbered(3))
    done = kcli_process(
        *("mirror", "--from", kafka.bootstrap, "--to", target.bootstrap, "-t", topic, "--until-caught-up"),
        *("--map-topic", f"{topic}={copy}"),
    )
    assert done.returncode == 2, done.stderr
    assert len(judged(target, copy)[0]) == 3
