"""``kcli pipeline mirror`` between two fake clusters: what it copies, reports and refuses."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.job.group_position import group_name
from kcli.pipeline.report import report_of
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import RawClient, batch
from tests.fake.raw_transaction import RawTransaction
from tests.fault.mirror_command import stored, until, values
from tests.fault.mirror_records import compacted
from tests.pipeline.mirroring import JOB, arguments, following, mirror, position
from tests.run import kcli_as_set_up as command

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
VALUES = [b"%d" % number for number in range(10)]


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    """Partition 1 has three records, each of them odd in its way."""
    with FakeCluster(1, cluster_id="source", topics={"t": 2}) as made:
        for value in VALUES:
            made.append("t", 0, batch(value, codec=1, timestamp=1_000))
        for value in (None, b"", b"x" * 2_000):
            made.append("t", 1, batch(value, key=b"" if value is None else None, timestamp=2_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="target", topics={}) as made:
        yield made


def item(partition: int, start: int, end: int, records: int, target: str = "t") -> Mapping[str, object]:
    """What scripts rely on, but for the bytes."""
    return {
        "topic": "t",
        "partition": partition,
        "target_topic": target,
        "target_partition": partition,
        "start": start,
        "end": end,
        "records": records,
        "skipped_records": end - start - records,
        "item": "partition",
    }


def without_bytes(report: Mapping[str, list[dict[str, object]]]) -> list[Mapping[str, object]]:
    """``error`` is null where only others have one."""
    return [
        {key: value for key, value in one.items() if key != "bytes" and (key, value) != ("error", None)}
        for one in report["items"]
    ]


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_topics_are_created_and_copied_and_a_second_run_copies_nothing(
    source: FakeCluster, target: FakeCluster, runner: str, delivery: str
) -> None:
    flags = ("--runner", runner, "--delivery", delivery)
    done, report = mirror(source, target, *flags)
    assert done.code == 0, done.err
    assert without_bytes(report) == [item(0, 0, 10, 10), item(1, 0, 3, 3)]
    assert {name: report[name] for name in ("kind", "api", "cluster", "command", "runner", "warnings")} == {
        "kind": "PipelineReport",
        "api": "kcli/v1",
        "cluster": "source",
        "command": "mirror",
        "runner": runner,
        "warnings": [],
    }
    assert report["totals"]["records"] == 13
    assert (report["totals"]["tasks"], report["totals"]["task_retries"]) == (2, 0)
    assert "kcli pipeline verify --from" in done.err
    for partition in (0, 1):
        assert stored(target, "t", partition) == stored(source, "t", partition)
    done, report = mirror(source, target, *flags)
    assert done.code == 0, done.err
    assert without_bytes(report) == [item(0, 10, 10, 0), item(1, 3, 3, 0)]
    assert report["totals"]["records"] == 0
    assert values(target, "t") == VALUES
    source.append("t", 0, batch(b"more", timestamp=1_000))
    done, report = mirror(source, target, *flags)
    assert without_bytes(report) == [item(0, 10, 11, 1), item(1, 3, 3, 0)]
    assert values(target, "t") == [*VALUES, b"more"]


@pytest.mark.case("K6")
def test_records_that_are_not_there_are_counted_and_not_called_lost(target: FakeCluster) -> None:
    with FakeCluster(1, cluster_id="source", topics={"t": 1}) as source:
        source.append("t", 0, compacted({0: (b"a", b"1", [], 0), 4: (b"b", None, [("h", None)], 5)}, 9))
        with RawClient(source.bootstrap) as client:
            transaction = RawTransaction(client)
            transaction.init()
            for sequence, commits in ((0, False), (0, True)):
                assert transaction.produce(sequence, b"committed" if commits else b"aborted") == 0
                assert transaction.end(commits) == 0
        done, report = mirror(source, target)
        assert done.code == 0, done.err
        end = source.log("t", 0).end_offset
        assert without_bytes(report) == [item(0, 0, end, 3)]
        assert stored(target, "t") == stored(source, "t")
        assert values(target, "t") == [b"1", None, b"committed"]


def test_a_topic_is_renamed_and_the_plan_of_a_dry_run_changes_nothing(
    source: FakeCluster, target: FakeCluster
) -> None:
    flags = ("--map-topic", "^(.*)$=eu.\\1")
    done = command(
        *[word for word in arguments(source, target, *flags, "--dry-run") if word not in ("-o", "json")]
    )
    assert done.code == 0
    assert "(cluster source) to " in done.out
    assert "(cluster target), job j, exactly once" in done.out
    assert "t → eu.t: 2 partitions, the target is created" in done.out
    assert "13 offsets to copy, in 2 tasks" in done.out
    assert target.seen(ProduceRequest) == []
    done, report = mirror(source, target, *flags)
    assert without_bytes(report) == [item(0, 0, 10, 10, "eu.t"), item(1, 0, 3, 3, "eu.t")]


def test_a_range_limits_a_new_job_and_what_was_added_later_is_copied_whole(
    source: FakeCluster, target: FakeCluster
) -> None:
    done, report = mirror(source, target, "--offset", "2:5")
    assert without_bytes(report) == [item(0, 2, 5, 3), item(1, 2, 3, 1)]
    assert "kcli pipeline verify" not in done.err  # both sides differ
    source.add_partitions("t", 3)
    source.append("t", 2, batch(b"new", timestamp=1_000))
    done, report = mirror(source, target, "--offset", "2:8")
    assert without_bytes(report) == [item(0, 5, 8, 3), item(1, 3, 3, 0), item(2, 0, 1, 1)], done.err
    assert values(target, "t") == VALUES[2:8]


def test_times_limit_a_new_job(source: FakeCluster, target: FakeCluster) -> None:
    _, report = mirror(source, target, "--until", "1970-01-01T00:00:02Z")
    assert without_bytes(report) == [item(0, 0, 10, 10), item(1, 0, 0, 0)]


@pytest.mark.case("K5")
def test_records_that_retention_removed_are_a_loss_with_their_offsets_and_the_rest_is_copied(
    source: FakeCluster, target: FakeCluster
) -> None:
    mirror(source, target, "--offset", "0:4")
    source.delete_records("t", 0, 7)
    source.append("t", 1, batch(b"more", timestamp=1_000))
    done, report = mirror(source, target)
    assert done.code == 5
    assert "offsets 4 to 6 were removed before they were copied" in done.err
    assert without_bytes(report)[1] == item(1, 3, 4, 1)
    assert "offsets 4 to 6" in report["items"][0]["error"]
    assert report["items"][0]["records"] == 0


def test_a_source_topic_that_was_recreated_is_noticed(source: FakeCluster, target: FakeCluster) -> None:
    mirror(source, target)
    source.recreate_topic("t")
    for value in VALUES:
        source.append("t", 0, batch(value, timestamp=1_000))
    done, report = mirror(source, target)
    assert done.code == 5
    assert "topic t of the source was deleted and created again" in done.err
    assert [one["records"] for one in report["items"]] == [0, 0]
    assert values(target, "t") == VALUES


@pytest.mark.case("K7")
def test_a_damaged_batch_fails_its_partition_with_the_offset_and_the_rest_is_copied(
    source: FakeCluster, target: FakeCluster
) -> None:
    damaged = bytearray(batch(b"damaged", timestamp=1_000))
    damaged[-2] ^= 1
    source.append("t", 0, bytes(damaged))
    done, report = mirror(source, target)
    assert done.code == 5
    assert "t-0: record batch at offsets 10 to 10: its checksum is" in report["items"][0]["error"]
    assert without_bytes(report)[1] == item(1, 0, 3, 3)
    assert (report["items"][0]["end"], report["items"][0]["records"]) == (10, 10)
    assert values(target, "t") == VALUES


def test_a_source_that_lost_its_end_is_noticed(source: FakeCluster, target: FakeCluster) -> None:
    mirror(source, target)
    source.truncate("t", 0, 6)
    done, _ = mirror(source, target)
    assert done.code == 5
    assert "the log was truncated: offsets 6 to 9 are lost" in done.err


def test_a_target_that_was_deleted_is_copied_again(source: FakeCluster, target: FakeCluster) -> None:
    mirror(source, target)
    target.delete_topic("t")
    done, report = mirror(source, target)
    assert done.code == 0, done.err
    assert report["totals"]["records"] == 13


def test_a_position_of_another_source_is_refused(source: FakeCluster, target: FakeCluster) -> None:
    source.create_topic("u", 1)
    source.append("u", 0, batch(b"u", timestamp=1_000))
    mirror(source, target, "--map-topic", "t=copy")
    done, report = mirror(source, target, "-t", "u", "--map-topic", "u=copy", "--yes")
    assert done.code == 7
    assert "copy-0 of the target is a copy of t-0, not of u-0" in done.err
    assert report["totals"]["records"] == 0
    with Admin(bootstrap_servers=target.bootstrap) as admin:
        admin.commit_offsets({group_name(JOB, "source"): {TopicPartition("copy", 0): OffsetAndMetadata(5)}})
    done, _ = mirror(source, target, "--map-topic", "t=copy")
    assert done.code == 7
    assert "has an offset for copy-0 that is no position of a mirror" in done.err


def test_a_target_with_records_of_somebody_else_is_asked_about(
    source: FakeCluster, target: FakeCluster
) -> None:
    target.create_topic("t", 2)
    target.append("t", 0, batch(b"other", timestamp=1_000))
    done, _ = mirror(source, target)
    assert done.code == 2
    assert "Copy to t, which has records already?" in done.err
    assert mirror(source, target, "--yes")[0].code == 0
    assert values(target, "t") == [b"other", *VALUES]


def test_a_mirror_back_is_an_endless_loop_and_patterns_leave_copies_out(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with following(monkeypatch, source, target):
        until(lambda: caught_up(target))
        back = command(*arguments(target, source))
        assert back.code == 7
        assert f"mirror job {JOB} copies t of the target to t: an endless loop" in back.err
        sides = ["--from", target.bootstrap, "--to", source.bootstrap]
        assert command("mirror", *sides, "-t", "t", "--until-caught-up").code == 7
    mirror(source, target, "--job", "named", "--map-topic", "t=copy")
    target.create_topic("own", 1)
    done = command(*arguments(target, source, "-t", "^(own|copy)$", "--dry-run"))
    assert "own → own" in done.err
    assert "copy → copy" not in done.err


def test_after_ctrl_c_the_other_direction_may_begin_at_once(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in (1, 2):
        with following(monkeypatch, source, target):
            until(lambda: caught_up(target))
            if run == 2:  # what the first has left does not hide the second
                source.append("t", 0, batch(b"more", timestamp=1_000))
                until(lambda: values(target, "t") == [*VALUES, b"more"])
            assert command(*arguments(target, source, "--dry-run")).code == 7
        back = command(*arguments(target, source, "--dry-run"))
        assert back.code == 0, back.err
        assert f"mirror job {JOB} has copied t of the target to t" in back.err


def test_one_partition_that_cannot_be_written_does_not_concern_the_others(
    source: FakeCluster, target: FakeCluster
) -> None:
    target.create_topic("t", 2)
    target.fail(ProduceRequest, Code.INVALID_RECORD, where=T1, times=100)
    done, report = mirror(source, target)
    assert done.code == 6, done.err
    assert without_bytes(report)[0] == item(0, 0, 10, 10)
    assert "error" in report["items"][1]
    target.heal()
    assert mirror(source, target)[0].code == 0
    assert stored(target, "t", 1) == stored(source, "t", 1)


def test_usage(source: FakeCluster, target: FakeCluster) -> None:
    for flags, what in (
        (("--slice", "5s"), "--slice without --continuous"),
        (("--continuous", "--until", "1h"), "--continuous with an end"),
        (("--continuous", "--offset", "0:5"), "--continuous with an end"),
        (("--since", "1h", "--offset", "5"), "--since with --offset"),
        (("--since", "1h", "--until", "2h"), "--until is before --since"),
        (("--since", "+1h"), "--since is in the future"),
        (("--offset", "stored"), "--offset stored"),
        (("--map-topic", "t"), "invalid rename rule"),
        (("-t", "nothing-such"), "topic nothing-such does not exist on the source cluster"),
    ):
        done, report = mirror(source, target, *flags)
        assert (done.code, report) == (1 if "such" in what else 2, None), done.err
        assert what in done.err


# --- continuous ----------------------------------------------------------------------------------


def caught_up(target: FakeCluster) -> bool:
    """Both partitions are copied as they were at the start."""
    found = [position(target, tp) for tp in (T0, T1)]
    return [None if one is None else one.offset for one in found] == [10, 3]


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_what_arrives_is_copied_and_topics_and_partitions_that_appear(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch, delivery: str
) -> None:
    with following(monkeypatch, source, target, "-t", "^(t|new.*)$", "--delivery", delivery) as running:
        until(lambda: caught_up(target))
        source.append("t", 0, batch(b"later", timestamp=1_000))
        until(lambda: values(target, "t") == [*VALUES, b"later"])
        source.create_topic("new", 1)
        source.append("new", 0, batch(b"n", timestamp=1_000))
        source.add_partitions("t", 3)
        source.append("t", 2, batch(b"p", timestamp=1_000))
        until(lambda: position(target, TopicPartition("new", 0)) and values(target, "new") == [b"n"])
        until(lambda: position(target, TopicPartition("t", 2)) and values(target, "t", 2) == [b"p"])
        running.stop()
        done = running.done()
    assert done.code == 130, done.err
    report = json.loads(done.out)
    assert [(one["topic"], one["partition"], one["records"]) for one in report["items"]] == [
        ("new", 0, 1),
        ("t", 0, 11),
        ("t", 1, 3),
        ("t", 2, 1),
    ]
    assert report["totals"]["records"] == 16
    assert "new → new: new partitions are copied from now on" in done.err
    assert "stopped; the same command continues from here" in done.err


@pytest.mark.case("K9")
def test_what_fails_for_a_while_is_tried_again_and_said(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with following(monkeypatch, source, target, "--timeout", "500ms") as running:
        until(lambda: caught_up(target))
        source.pause(1)
        until(lambda: not running.join(1.5))  # type: ignore[func-returns-value]
        source.resume(1)
        source.append("t", 0, batch(b"later", timestamp=1_000))
        until(lambda: values(target, "t") == [*VALUES, b"later"])
        running.stop()
        done = running.done()
    assert done.code == 130
    assert "; trying again in 1 s" in done.err


def test_a_partition_that_may_no_longer_be_read_is_left_out(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with following(monkeypatch, source, target) as running:
        until(lambda: caught_up(target))
        source.fail(ListOffsetsRequest, Code.TOPIC_AUTHORIZATION_FAILED, where=T1, times=1)
        source.append("t", 0, batch(b"later", timestamp=1_000))
        until(lambda: values(target, "t") == [*VALUES, b"later"])
        running.stop()
        done = running.done()
    assert done.code == 130
    assert done.err.count("TOPIC_AUTHORIZATION_FAILED") == 1


def test_a_partition_with_a_loss_is_left_out_and_reported_once(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with following(monkeypatch, source, target) as running:
        until(lambda: caught_up(target))
        fetches = source.hold(FetchRequest, times=1)
        source.append("t", 0, batch(b"lost", timestamp=1_000))
        fetches.wait()
        source.append("t", 0, batch(b"kept", timestamp=1_000))
        source.delete_records("t", 0, 11)
        fetches.release()
        until(lambda: running.stops)
        source.append("t", 1, batch(b"more", timestamp=1_000))
        until(lambda: values(target, "t", 1)[-1:] == [b"more"])
        running.stop()
        done = running.done()
    assert done.code == 130
    assert done.err.count("offsets 10 to 10 were removed before they were copied") == 1
    assert values(target, "t") == VALUES


def test_a_slice_lasts_as_long_as_its_option_says(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasted = []

    def run(_follower: Any, seconds: float) -> Any:
        lasted.append(seconds)
        return report_of([], [], 0.0)

    monkeypatch.setattr("kcli.pipeline.drivers.mirror_slices.Follower.run", run)
    for more in (("--slice", "10s"), ("--slice", "200ms"), ()):
        assert mirror(source, target, "--continuous", *more)[0].code == 0
    assert lasted == [10.0, 0.2, 30.0]


# --- settings and times, as with kcli mirror: tests/fault/test_mirror_settings.py ---------------------------


def test_records_that_only_the_source_keeps_are_not_copied_into_their_deletion(
    source: FakeCluster, target: FakeCluster
) -> None:
    source.settings.broker_configs["log.retention.ms"] = "-1"
    words = arguments(source, target)
    done = command(*words)
    assert done.code == 7, done
    assert "would delete up to 13 records of 2 partitions soon after they are copied" in done.err
    done = command(*words, "--sync-configs", "effective")
    assert done.code == 0, done
    assert values(target, "t") == VALUES


def test_times_in_us_are_copied_in_ms(source: FakeCluster, target: FakeCluster) -> None:
    target.settings.broker_configs |= {
        "log.message.timestamp.after.max.ms": "3600000",
        "log.retention.ms": "-1",
    }
    source.append("t", 0, batch(b"late", timestamp=1_700_000_000_123_456))
    words = arguments(source, target)
    done = command(*words)
    assert done.code == 7, done
    assert "--timestamps ms copies times" in done.err
    assert command(*words, "--timestamps", "ms").code == 0
    assert [record.timestamp for record in target.log("t").records()] == [*[1_000] * 10, 1_700_000_000_123]
