"""Settings that differ where nobody set them: what the plan says, what is refused, what is written and followed."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until, values
from tests.fault.test_mirror_targets import described
from tests.run import Done

NOW = int(time.time() * 1000)
DAY = 86_400_000
MONTH_OLD = NOW - 30 * DAY
SOON = ("-X", "metadata.max.age.ms=200")
FOR_EVER = {"log.retention.ms": "-1"}


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 2}, broker_configs=dict(FOR_EVER)) as made:
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={}, cluster_id="there") as made:
        yield made


def in_force(cluster: FakeCluster, topic: str) -> dict[str, str]:
    return {row["name"]: row["value"] for row in described(cluster, topic)}


def plan(source: FakeCluster, target: FakeCluster, *more: str) -> tuple[Done, dict[str, Any]]:
    done = mirrored(source, target, "--dry-run", *more)
    return done, json.loads(done.out)


def changed(target: FakeCluster) -> bool:
    """Whether anything was made on the target."""
    return any(
        not getattr(one.request, "validate_only", False)
        for one in target.seen((CreateTopicsRequest, ProduceRequest, IncrementalAlterConfigsRequest))
    )


# --- records that the target would delete at once --------------------------------------------------------


@pytest.mark.parametrize("exists", [False, True], ids=["new topic", "topic that exists"])
@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--exactly-once",), ("--yes",)])
def test_records_that_only_the_source_keeps_are_not_copied_into_their_deletion(
    source: FakeCluster, target: FakeCluster, exists: bool, more: tuple[str, ...]
) -> None:
    """Neither topic sets anything: brokers of the source keep for ever, those of the target for seven days."""
    if exists:
        target.create_topic("t", 2)
    source.append("t", 0, batch(b"1", b"2", timestamp=MONTH_OLD))
    source.append("t", 0, batch(b"3"))
    done = mirrored(source, target, *more)
    assert done.code == 7, done
    (error,) = done.errors
    assert error["why"] == (
        "the target would delete up to 2 records of 1 partition soon after they are copied: it keeps records for 7d, "
        "the source for ever (retention.ms=604800000)"
    )
    for way_out in (
        "--sync-configs effective",
        "--config retention.ms=-1",
        "--config retention.ms=604800000 accepts",
    ):
        assert way_out in error["do"]
    assert not changed(target)


@pytest.mark.parametrize("exists", [False, True], ids=["new topic", "topic that exists"])
@pytest.mark.parametrize(
    ("more", "retention"),
    [
        (("--sync-configs", "effective"), "-1"),
        (("--config", "retention.ms=-1"), "-1"),
        (("--config", "retention.ms=604800000"), "604800000"),
    ],
)
def test_each_way_out_leads_out(
    source: FakeCluster, target: FakeCluster, exists: bool, more: tuple[str, ...], retention: str
) -> None:
    if exists:
        target.create_topic("t", 2)
    source.append("t", 0, batch(b"1", timestamp=MONTH_OLD))
    assert plan(source, target, *more)[0].code == 0
    assert not changed(target)
    done = mirrored(source, target, *more)
    assert done.code == 0, done
    assert in_force(target, "t")["retention.ms"] == retention
    assert values(target, "t") == [b"1"]


def test_records_that_are_young_enough_are_copied_and_the_difference_is_said(
    source: FakeCluster, target: FakeCluster
) -> None:
    source.append("t", 0, batch(b"1"))
    done, document = plan(source, target)
    assert done.code == 0, done
    line = "  t → t: the target deletes records older than 7d, the source keeps them for ever"
    assert f"{line} (retention.ms=604800000 (7 d), on the source -1 (never))" in done.err.splitlines()
    (one,) = document["differences"]
    assert one == {
        "topic": "t", "target": "t", "key": "retention.ms", "source_value": "-1", "target_value": "604800000",
        "effect": "the target deletes records older than 7d, the source keeps them for ever",
        "loses": True, "is_set": False,
    }  # fmt: skip
    assert {item["note"] for item in document["items"]} == {f"retention.ms: {one['effect']}"}
    assert mirrored(source, target).code == 0


def test_only_what_is_left_to_be_copied_counts(source: FakeCluster, target: FakeCluster) -> None:
    source.append("t", 0, batch(b"1", b"2", timestamp=MONTH_OLD))
    source.append("t", 0, batch(b"3"))
    done = mirrored(source, target, "--offset", "0:1")
    assert "up to 1 record of 1 partition" in done.errors[0]["why"]
    assert mirrored(source, target, "--offset", f"@{NOW - DAY}").code == 0


def test_a_job_that_continues_warns_and_goes_on(source: FakeCluster, target: FakeCluster) -> None:
    """It may have waited for days: its other topics should not stop."""
    source.append("t", 0, batch(b"1", timestamp=MONTH_OLD))
    assert mirrored(source, target, "--config", "retention.ms=604800000").code == 0
    source.append("t", 0, batch(b"2", timestamp=MONTH_OLD))
    done, document = plan(source, target)
    assert done.code == 0, done
    assert any("would delete up to 1 record" in text for text in document["warnings"])
    done = mirrored(source, target)
    assert done.code == 0, done
    assert "would delete up to 1 record of 1 partition soon after" in done.err
    done = mirrored(source, target)
    assert "nothing to copy: everything was copied before" in done.err


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_more_bytes_than_the_target_keeps_are_not_copied_into_their_deletion(
    source: FakeCluster, target: FakeCluster, more: tuple[str, ...]
) -> None:
    target.settings.broker_configs |= FOR_EVER | {"log.retention.bytes": "9000", "log.segment.bytes": "1000"}
    for _ in range(12):
        source.append("t", 0, batch(b"x" * 1_000))
    source.append("t", 1, batch(b"x" * 1_000))
    done = mirrored(source, target, *more)
    assert done.code == 7, done
    (error,) = done.errors
    assert error["why"] == (
        "the target would delete the oldest records of 1 partition soon after they are copied: it keeps 9.0 kB of each, "
        "the source all (retention.bytes=9000)"
    )
    assert "--config retention.bytes=9000 accepts" in error["do"]
    assert not changed(target)
    assert mirrored(source, target, *more, "--offset", "0:5").code == 0, "that many are kept"
    for way_out in (("--sync-configs", "effective"), ("--config", "retention.bytes=9000")):
        assert mirrored(source, target, *more, *way_out, "--yes", "--job", way_out[1]).code == 0


def test_the_same_retention_on_both_sides_asks_for_no_times(source: FakeCluster, target: FakeCluster) -> None:
    target.settings.broker_configs |= FOR_EVER
    source.append("t", 0, batch(b"1", timestamp=MONTH_OLD))
    done, document = plan(source, target)
    assert (done.code, document["differences"]) == (0, [])
    asked = [
        p.timestamp
        for one in source.seen(ListOffsetsRequest)
        for t in one.request.topics
        for p in t.partitions
    ]
    assert all(timestamp < 0 for timestamp in asked)


def test_times_that_cannot_be_looked_up_are_said(source: FakeCluster, target: FakeCluster) -> None:
    source.append("t", 0, batch(b"1", timestamp=MONTH_OLD))

    def edit(request: Any, answer: Any) -> None:
        for topic, asked in zip(answer.topics, request.topics, strict=True):
            for row, one in zip(topic.partitions, asked.partitions, strict=True):
                if one.timestamp > 0:
                    row.error_code = int(Code.UNSUPPORTED_FOR_MESSAGE_FORMAT)

    source.replace(ListOffsetsRequest, edit)
    done, document = plan(source, target)
    assert done.code == 0, done
    assert any(
        "the times of some records to be copied are not known" in text for text in document["warnings"]
    )


def test_defaults_that_may_not_be_read_are_said(source: FakeCluster, target: FakeCluster) -> None:
    source.append("t", 0, batch(b"1"))

    def edit(_request: Any, answer: Any) -> None:
        for row in answer.results:
            if row.resource_type == 4:
                row.error_code, row.configs = int(Code.CLUSTER_AUTHORIZATION_FAILED), []

    target.replace(DescribeConfigsRequest, edit)
    done, document = plan(source, target)
    assert done.code == 0, done
    assert any(
        "the defaults of new topics of the target are not known" in text for text in document["warnings"]
    )
    assert "the defaults of new topics of the target are not known" in done.err


def test_brokers_that_replace_timestamps_do_not_for_a_copy(source: FakeCluster, target: FakeCluster) -> None:
    target.settings.broker_configs |= {**FOR_EVER, "log.message.timestamp.type": "LogAppendTime"}
    source.append("t", 0, batch(b"1", timestamp=1_000))
    done = mirrored(source, target, "--verify")
    assert done.code == 0, done
    assert in_force(target, "t")["message.timestamp.type"] == "CreateTime"


def test_a_given_value_that_spoils_the_copy_is_refused_for_a_new_topic_too(
    source: FakeCluster, target: FakeCluster
) -> None:
    source.append("t", 0, batch(b"1", key=b"k"))
    done = mirrored(source, target, "--config", "cleanup.policy=compact")
    assert done.code == 7, done
    assert "removes records that the source keeps (cleanup.policy=compact" in done.errors[0]["why"]


# --- what is not carried over ----------------------------------------------------------------------------


def test_the_plan_names_what_is_not_carried_over(source: FakeCluster, target: FakeCluster) -> None:
    target.settings.broker_configs |= FOR_EVER | {"min.insync.replicas": "1"}
    for name in ("a", "b", "c", "d", "e"):
        source.create_topic(name, configs={"min.insync.replicas": "2"})
    usual = [
        "ACLs",
        "quotas",
        "committed offsets of groups",
        "schemas of a registry",
        "records of aborted transactions",
    ]
    done, document = plan(source, target, "-t", "*")
    assert document["not_carried_over"] == [*usual, "min.insync.replicas of a, b, c and 2 more"]
    assert f"  not carried over: {', '.join(usual)}" in done.err.splitlines()
    assert "1 further setting in force differs, without a loss: -v lists them" in done.err
    done, document = plan(source, target, "-t", "*", "-v", "--sync-groups", "g")
    assert "committed offsets of groups" not in document["not_carried_over"]
    assert "min.insync.replicas of a, b, c and 2 more" in done.err
    assert "a → a, b → b, c → c and 2 more: writes to the target need 1 replicas in sync" in done.err


# --- topics that the target refuses ----------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--exactly-once",), ("--verify",)])
def test_a_topic_whose_configuration_is_refused_stops_alone(
    source: FakeCluster, target: FakeCluster, more: tuple[str, ...]
) -> None:
    """The key is one that an older target does not have."""
    target.settings.broker_configs |= FOR_EVER
    target.settings.unknown_configs = frozenset({"segment.jitter.ms"})
    source.create_topic("u", 3, configs={"segment.jitter.ms": "5"})
    for tp in (("t", 0), ("t", 1), ("u", 0)):
        source.append(*tp, batch(b"1"))
    done, document = plan(source, target, "-t", "t", "-t", "u", *more)
    assert done.code == 6, done
    status = {(item["topic"], item["status"]) for item in document["items"]}
    assert status == {("t", "planned"), ("u", "refused")}
    assert not changed(target)
    for made in (done, mirrored(source, target, "-t", "t", "-t", "u", *more)):
        assert made.code == 6, made
        (error,) = made.errors
        assert error["what"] == "topic u of the target cannot be created, and is not copied"
        assert "Unknown topic config name: segment.jitter.ms" in error["why"]
    assert values(target, "t") == [b"1"]
    alone = mirrored(source, target, "-t", "u", "--job", "other", *more)
    assert (alone.code, alone.errors[0]["what"]) == (1, error["what"])
    assert mirrored(source, target, "-t", "u", "--sync-configs", "off", "--job", "other").code == 0


def test_a_topic_that_is_refused_at_its_creation_stops_alone(
    source: FakeCluster, target: FakeCluster
) -> None:
    """Brokers of 3.0 and 3.1 do not only validate, so they are not asked before."""
    target.settings.broker_configs |= FOR_EVER
    target.settings.metadata_version = 0
    target.settings.honours_validate_only = False
    target.settings.unknown_configs = frozenset({"segment.jitter.ms"})
    source.create_topic("a", configs={"segment.jitter.ms": "5"})
    for topic in ("t", "a"):
        source.append(topic, 0, batch(b"1"))
    assert plan(source, target, "-t", "t", "-t", "a")[0].code == 0
    assert not changed(target)
    done = mirrored(source, target, "-t", "t", "-t", "a")
    assert done.code == 6, done
    assert [error["what"] for error in done.errors] == [
        "topic a of the target cannot be created, and is not copied"
    ]
    assert values(target, "t") == [b"1"]


@pytest.mark.parametrize("given", ["retention.ms=soon", "no.such.key=1"])
def test_a_value_that_an_existing_topic_refuses_stops_it(
    source: FakeCluster, target: FakeCluster, given: str
) -> None:
    target.settings.broker_configs |= FOR_EVER
    target.create_topic("t", 2)
    source.append("t", 0, batch(b"1"))
    done, document = plan(source, target, "--config", given)
    assert done.code == 1, done
    assert {item["status"] for item in document["items"]} == {"refused"}
    assert done.errors[0]["what"] == "topic t of the target cannot be configured, and is not copied"
    assert not changed(target)


# --- changes while it runs -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["off", "topic", "effective"])
def test_changes_of_the_source_are_followed_or_said(
    source: FakeCluster, target: FakeCluster, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.settings.broker_configs |= FOR_EVER
    source.append("t", 0, batch(b"1"))
    words = arguments(source, target, *SOON, "--sync-configs", mode, "-o", "json")
    with running(monkeypatch, *words) as mirror:
        until(lambda: "t" in target._state.topics.by_name and values(target, "t") == [b"1"])
        source.configure("t", retention_ms="5000", min_insync_replicas="1")
        if mode == "off":
            seen = len(source.seen(DescribeConfigsRequest))
            until(lambda: len(source.seen(DescribeConfigsRequest)) > seen + 2)
        else:
            until(lambda: in_force(target, "t")["retention.ms"] == "5000")
            source.configure("t", retention_ms="7000")
            until(lambda: in_force(target, "t")["retention.ms"] == "7000")
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    if mode == "off":
        assert in_force(target, "t")["retention.ms"] == "-1"
        assert (
            done.err.count("t of the source has changed, t has not (--sync-configs off): retention.ms=5000")
            == 1
        )
    else:
        assert done.err.count("t → t: changed as on the source: retention.ms=5000") == 1
        assert done.err.count("t → t: changed as on the source: retention.ms=7000") == 1


def test_what_a_topic_loses_that_appears_later_is_said(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.append("t", 0, batch(b"1"))
    with running(monkeypatch, *arguments(source, target, *SOON, "-t", "*", "-o", "json")) as mirror:
        until(lambda: "t" in target._state.topics.by_name and values(target, "t") == [b"1"])
        source.create_topic("new")
        source.append("new", 0, batch(b"2"))
        until(lambda: "new" in target._state.topics.by_name and values(target, "new") == [b"2"])
        seen = len(source.seen(DescribeConfigsRequest))
        until(lambda: len(source.seen(DescribeConfigsRequest)) > seen + 2)
        mirror.stop()
        done = mirror.done()
    line = "warning: new → new: the target deletes records older than 7d, the source keeps them for ever"
    assert done.err.count(line) == 1


def test_a_change_that_the_target_refuses_is_reported_once(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.settings.broker_configs |= FOR_EVER
    source.append("t", 0, batch(b"1"))
    with running(monkeypatch, *arguments(source, target, *SOON, "-o", "json")) as mirror:
        until(lambda: "t" in target._state.topics.by_name and values(target, "t") == [b"1"])
        target.settings.unknown_configs = frozenset({"retention.ms"})
        source.configure("t", retention_ms="5000")
        until(lambda: target.seen(IncrementalAlterConfigsRequest))
        source.configure("t", segment_bytes="5000000")
        until(lambda: in_force(target, "t")["segment.bytes"] == "5000000")
        mirror.stop()
        done = mirror.done()
    assert [error["what"] for error in done.errors] == [
        "topic t of the target cannot be changed as t was: retention.ms=5000"
    ]


# --- times that are no milliseconds ----------------------------------------------------------------------

MICROS, NANOS = NOW * 1000, NOW * 1_000_000


@pytest.fixture
def strict(target: FakeCluster) -> FakeCluster:
    """As Kafka 4: an hour into the future is too far."""
    target.settings.broker_configs |= {**FOR_EVER, "log.message.timestamp.after.max.ms": "3600000"}
    return target


@pytest.mark.parametrize(
    ("stamp", "unit"),
    [(MICROS, "is no time in ms"), (NANOS, "is no time in ms"), (NOW + DAY, "is 20")],
    ids=["µs", "ns", "tomorrow"],
)
def test_times_that_the_target_refuses_are_found_before_the_first_record(
    source: FakeCluster, strict: FakeCluster, stamp: int, unit: str
) -> None:
    source.append("t", 1, batch(b"0"))
    source.append("t", 1, batch(b"1", timestamp=stamp))
    done = mirrored(source, strict)
    assert done.code == 7, done
    (error,) = done.errors
    assert "more than 1h after its own (message.timestamp.after.max.ms=3600000)" in error["why"]
    assert f"that of t-1 at offset 1 {unit}" in error["why"]
    assert ("--timestamps ms" in error["do"]) == (stamp != NOW + DAY)
    assert "--config message.timestamp.after.max.ms=9223372036854775807" in error["do"]
    assert not changed(strict)


@pytest.mark.parametrize("codec", [0, 1, 4])
@pytest.mark.parametrize("more", [(), ("--exactly-once",), ("--partitions", "by-key"), ("--headers",)])
def test_times_in_us_and_ns_are_copied_in_ms(
    source: FakeCluster, strict: FakeCluster, codec: int, more: tuple[str, ...]
) -> None:
    """Also the differences from the first one of a batch; batches with times in ms stay as they are."""
    from kcli.core.records.builder import BatchBuilder

    stamps = [MICROS + 1_500, MICROS + 999, MICROS + 7_000_000, NOW]
    builder = BatchBuilder(room=1 << 20, codec=codec)
    for number, stamp in enumerate(stamps):
        builder.append(b"k", b"%d" % number, [], stamp)
    source.append("t", 0, b"".join(builder.wire(-1, -1, -1, False)))
    source.append("t", 0, batch(b"4", timestamp=NANOS, codec=codec, key=b"k"))
    source.append("t", 0, batch(b"5", timestamp=NOW - 5, codec=codec, key=b"k"))
    done = mirrored(source, strict, "--timestamps", "ms", *more)
    assert done.code == 0, done
    records = [r for p in (0, 1) for r in strict.log("t", p).records(committed=True)]
    assert [r.value for r in records] == [b"%d" % number for number in range(6)]
    assert [r.timestamp for r in records] == [*(s // 1000 for s in stamps[:3]), NOW, NOW, NOW - 5]
    if not more and codec:  # small batches without compression are joined
        assert sum(row["passed_through_batches"] for row in done.rows.values()) == 1


def test_times_in_ms_that_are_too_old_for_the_target_are_refused(
    source: FakeCluster, target: FakeCluster
) -> None:
    """In µs they were far in the future, and nothing deleted them, though both sides keep records for seven days."""
    source.settings.broker_configs.clear()
    source.append("t", 0, batch(b"1", timestamp=MONTH_OLD * 1000))
    done = mirrored(source, target, "--timestamps", "ms")
    assert done.code == 7, done
    assert "would delete records soon after they are copied with times in ms" in done.errors[0]["why"]


def test_verify_says_that_changed_times_are_not_compared(source: FakeCluster, strict: FakeCluster) -> None:
    source.append("t", 0, batch(b"1", timestamp=MICROS))
    done = mirrored(source, strict, "--timestamps", "ms", "--verify")
    assert done.code == 0, done
    assert "timestamps are not compared: the copy has them in ms" in done.err


def test_times_before_the_start_of_the_copy_do_not_count(source: FakeCluster, strict: FakeCluster) -> None:
    source.append("t", 0, batch(b"1", timestamp=MICROS))
    source.append("t", 0, batch(b"2"))
    source.append("t", 1, batch(b"0", b"3"))
    done = mirrored(source, strict, "--offset", "1")
    assert done.code == 0, done
    assert values(strict, "t") == [b"2"]
