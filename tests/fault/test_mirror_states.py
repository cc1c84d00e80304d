"""A mirror whose clusters are away for long, or whose source has an open transaction: it waits, says so, and goes on by
itself; with a limit it ends what has waited too long, and names what for.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import ProducerRecord, TopicPartition
from kcli.flows.mirror.copy.partition_state import GRACE, Cause
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until, values
from tests.fault.producing import PATIENCE, quick
from tests.run import kcli_as_set_up as command

T0, T1, T2 = PARTITIONS = [TopicPartition("t", number) for number in range(3)]


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 3}) as made:
        for tp in PARTITIONS:
            made.append(*tp, batch(*numbers(0, 8), timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 3}, cluster_id="there") as made:
        yield made


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Obstacles count after half a second, looks are frequent."""
    for cause in Cause:
        monkeypatch.setitem(GRACE, cause, 0.5)
    monkeypatch.setattr("kcli.flows.mirror.copy.state_watch.INTERVAL", 0.1)
    monkeypatch.setattr("kcli.core.consumer.fetcher._SILENT", 0.5)
    monkeypatch.setattr("kcli.flows.mirror.copy.exactly_once._HOLD_BACK_AFTER", 1.0)
    monkeypatch.setattr("kcli.flows.mirror.copy.exactly_once._ALL_HELD_BACK_FOR", 0.5)
    monkeypatch.setattr("kcli.flows.mirror.copy.exactly_once._PATIENCE", 2.0)


def numbers(first: int, stop: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, stop)]


def saved_states(target: FakeCluster) -> dict[int, dict[str, Any]]:
    """By partition of topic t: what the job's record says now."""
    return {number: row for (topic, number), row in states_by_topic(target).items() if topic == "t"}


def has_state(target: FakeCluster, *states: str) -> Callable[[], bool]:
    return lambda: [saved_states(target).get(tp.partition, {}).get("state") for tp in PARTITIONS] == [*states]


def copied(target: FakeCluster, stop: int, *partitions: TopicPartition) -> Callable[[], bool]:
    return lambda: all(values(target, *tp) == numbers(0, stop) for tp in partitions or PARTITIONS)


def leader_away(source: FakeCluster, _target: FakeCluster) -> Callable[[], None]:
    before = source.leader("t", 0)
    source.move_leader("t", 0, -1)
    return lambda: source.move_leader("t", 0, before)


def leader_silent(source: FakeCluster, _target: FakeCluster) -> Callable[[], None]:
    source.fail(FetchRequest, Code.LEADER_NOT_AVAILABLE, where=T0, times=100_000)
    return lambda: source.mend(FetchRequest)


@pytest.mark.case("M17", "R7")
def test_a_partition_without_a_leader_waits_and_is_said_to_and_goes_on(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    quickly: None,
) -> None:
    """For longer than any time-out of the clients, which is a second here."""
    words = arguments(source, target, "-o", "json", "--timeout", "1", *delivery)
    with running(monkeypatch, *words) as mirror:
        until(has_state(target, "caught_up", "caught_up", "caught_up"))
        back = leader_away(source, target)
        until(has_state(target, "waiting", "caught_up", "caught_up"))
        record = saved_states(target)[0]
        assert record["source_end"] == -1
        assert record["end_seen"] == 8
        assert "no leader" in record["why"]
        assert 0 < record["end_seen_ms"] <= record["state_since_ms"] + 1_000
        row = command("mirror", "status", "--to", target.bootstrap, "-o", "json").rows[T0]
        assert row["lag_records"] is None
        time.sleep(2.5)
        assert mirror.is_running
        source.append("t", 1, batch(*numbers(8, 16), timestamp=1_000))
        until(copied(target, 16, T1))
        back()
        for tp in (T0, T2):
            source.append(*tp, batch(*numbers(8, 16), timestamp=1_000))
        until(copied(target, 16))
        until(has_state(target, "caught_up", "caught_up", "caught_up"))
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    assert [(row["state"], row["lag_records"]) for row in done.rows.values()] == [("caught_up", 0)] * 3
    assert done.err.count("t-0: waiting: source: ") == 1, done.err
    assert done.err.count("t-0: copied again after ") == 1, done.err


@pytest.mark.case("M17")
@pytest.mark.parametrize(
    ("away", "how"),
    [
        ("source", "silent"),
        ("target", "stopped"),
        ("both", "silent"),
        pytest.param("source", "stopped", marks=pytest.mark.long),
        pytest.param("target", "silent", marks=pytest.mark.long),
        pytest.param("both", "stopped", marks=pytest.mark.long),
    ],
)
def test_a_follower_outlives_clusters_that_are_away(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    away: str,
    how: str,
    monkeypatch: pytest.MonkeyPatch,
    quickly: None,
) -> None:
    clusters = {"source": [source], "target": [target], "both": [source, target]}[away]
    words = arguments(source, target, "-o", "json", "--timeout", "1", *delivery)
    with running(monkeypatch, *words) as mirror:
        until(has_state(target, "caught_up", "caught_up", "caught_up"))
        change(clusters, "stop" if how == "stopped" else "pause")
        if away == "target":
            for tp in PARTITIONS:
                source.append(*tp, batch(*numbers(8, 16), timestamp=1_000))
        mirror.join(6.0)
        assert mirror.is_running, "it gave up"
        change(clusters, "start" if how == "stopped" else "resume")
        if away != "target":
            for tp in PARTITIONS:
                source.append(*tp, batch(*numbers(8, 16), timestamp=1_000))
        until(copied(target, 16))
        # Without a target the record still has the state of before.
        until(lambda: [saved_states(target)[tp.partition]["position"] for tp in PARTITIONS] == [16] * 3)
        until(has_state(target, "caught_up", "caught_up", "caught_up"))
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    assert [(row["to_offset"], row["state"]) for row in done.rows.values()] == [(16, "caught_up")] * 3
    assert ": waiting: " in done.err


def change(clusters: list[FakeCluster], how: str) -> None:
    for cluster in clusters:
        for node in cluster.node_ids:
            getattr(cluster, how)(node)


@pytest.mark.case("M17", "R16")
@pytest.mark.parametrize("away", ["source", "target"])
def test_a_signal_while_it_waits_is_a_report_with_what_it_waits_for(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    away: str,
    monkeypatch: pytest.MonkeyPatch,
    quickly: None,
) -> None:
    cluster = source if away == "source" else target
    with running(monkeypatch, *arguments(source, target, "-o", "json", *delivery)) as mirror:
        until(has_state(target, "caught_up", "caught_up", "caught_up"))
        change([cluster], "stop")
        if away == "target":
            source.append("t", 0, batch(*numbers(8, 16), timestamp=1_000))
        mirror.join(4.0)
        mirror.stop()
        mirror.join(12)
        assert not mirror.is_running
        done = mirror.done()
    assert done.code == 130, done
    rows = done.rows
    assert rows[T0]["state"] == "waiting"
    assert rows[T0]["why"].startswith(f"{away}: ")
    assert rows[T0]["lag_records"] == (None if away == "source" else 8)
    assert rows[T0]["to_offset"] == 8
    assert "t-0" in done.err
    assert "not caught up, waiting since" in done.err


@pytest.mark.case("M17")
def test_a_partition_that_waits_too_long_ends_and_the_others_are_copied(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], quickly: None
) -> None:
    leader_silent(source, target)
    done = mirrored(source, target, *delivery, "--max-wait", "2s")
    assert done.code == 6, done
    assert [row["state"] for row in done.rows.values()] == ["ended", "caught_up", "caught_up"]
    assert "LEADER_NOT_AVAILABLE" in done.errors[0]["why"]
    assert copied(target, 8, T1, T2)()


@pytest.mark.case("M17")
def test_a_target_that_accepts_one_partition_not_in_time_ends_that_one(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], quickly: None
) -> None:
    target.configure("t", min_insync_replicas="2")
    target.set_isr("t", 0, [1])
    began = time.monotonic()
    done = mirrored(source, target, *delivery, "--max-wait", "2s")
    assert time.monotonic() - began < PATIENCE
    assert done.code == 6, done
    assert [row["state"] for row in done.rows.values()] == ["ended", "caught_up", "caught_up"]
    assert done.rows[T0]["to_offset"] == 0
    assert "target: " in done.errors[0]["why"]
    assert copied(target, 8, T1, T2)()
    target.set_isr("t", 0, [1, 2])
    done = mirrored(source, target, *delivery, "--yes")
    assert done.code == 0, done
    assert copied(target, 8)()


@pytest.mark.case("M17")
@pytest.mark.parametrize("away", ["source", "target"])
def test_a_run_with_an_end_ends_when_a_cluster_stays_away(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    away: str,
    monkeypatch: pytest.MonkeyPatch,
    quickly: None,
) -> None:
    cluster = source if away == "source" else target
    api = FetchRequest if away == "source" else ProduceRequest
    hold = cluster.hold(api, times=100_000, when=lambda request: about_t(request, target))
    words = arguments(source, target, "--until-caught-up", "--max-wait", "2s", "-o", "json", *delivery)
    with running(monkeypatch, *words) as mirror:
        hold.wait(timeout=PATIENCE)
        change([cluster], "stop")
        mirror.join(PATIENCE)
        assert not mirror.is_running
        done = mirror.done()
    assert done.code == 3, done
    if done.rows:
        assert {row["state"] for row in done.rows.values()} == {"ended"}


def about_t(request: Any, cluster: FakeCluster) -> bool:
    """A fetch, or records of topic t."""
    sent = getattr(request, "topic_data", None)
    return sent is None or any(one.name == "t" or one.topic_id == cluster.topic_id("t") for one in sent)


@pytest.mark.case("M15", "M17")
def test_a_topic_that_is_created_anew_ends_with_that_in_its_record(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    quickly: None,
) -> None:
    """The last partition that ends, ends the follower."""
    source.create_topic("u", 1)
    source.append("u", 0, batch(b"u", timestamp=1_000))
    target.create_topic("u", 1)
    words = arguments(source, target, "-t", "t", "-t", "u", "-o", "json", *delivery)
    with running(monkeypatch, *words, "-X", "metadata.max.age.ms=300") as mirror:
        until(has_state(target, "caught_up", "caught_up", "caught_up"))
        source.delete_topic("t")
        source.create_topic("t", 3)
        until(has_state(target, "ended", "ended", "ended"))
        record = saved_states(target)[2]
        assert "created again" in record["why"]
        assert (record["source_end"], record["end_seen"], record["position"]) == (-1, 8, 8)
        source.append("u", 0, batch(b"v", timestamp=1_000))
        until(lambda: values(target, "u") == [b"u", b"v"])
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    assert {tp.topic: (row["state"], row["lag_records"]) for tp, row in done.rows.items()} == {
        "t": ("ended", None),
        "u": ("caught_up", 0),
    }


@pytest.mark.case("M17")
def test_a_follower_of_which_all_partitions_have_ended_ends(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch, quickly: None
) -> None:
    words = arguments(source, target, "-o", "json", "-X", "metadata.max.age.ms=300")
    with running(monkeypatch, *words) as mirror:
        until(has_state(target, "caught_up", "caught_up", "caught_up"))
        source.delete_topic("t")
        source.create_topic("t", 3)
        mirror.join(PATIENCE)
        assert not mirror.is_running
        done = mirror.done()
    assert done.code == 5, done
    assert {row["state"] for row in done.rows.values()} == {"ended"}


@pytest.mark.case("M16")
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "created again"])
def test_a_partition_at_rest_ends_when_its_topic_of_the_target_is_gone(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    again: bool,
    monkeypatch: pytest.MonkeyPatch,
    quickly: None,
) -> None:
    """Nothing is written to it, so no response says so. Its record says it, also where nothing was copied before."""
    source.create_topic("empty", 1)
    words = arguments(source, target, "-t", "t", "-t", "empty", "-o", "json", *delivery)
    with running(monkeypatch, *words, "-X", "metadata.max.age.ms=300") as mirror:
        until(lambda: {"empty", "t"} <= {row["target"] for row in states_by_topic(target).values()})
        until(lambda: {row["state"] for row in states_by_topic(target).values()} == {"caught_up"})
        for topic, partitions in (("t", 3), ("empty", 1)):
            target.delete_topic(topic)
            if again:
                target.create_topic(topic, partitions)
        mirror.join(PATIENCE)
        assert not mirror.is_running
        done = mirror.done()
    assert done.code == 5, done
    rows = states_by_topic(target)
    assert {row["state"] for row in rows.values()} == {"ended"}
    how = "was deleted and created again" if again else "was deleted: "
    assert all(how in row["why"] for row in rows.values()), rows


def states_by_topic(target: FakeCluster) -> dict[tuple[str, int], dict[str, Any]]:
    """What the job's record says now."""
    found = {}
    try:
        log = target.log("__kcli_mirror")
    except KeyError:
        return {}
    for record in log.records(committed=True):
        key, value = json.loads(record.key or b"{}"), json.loads(record.value or b"{}")
        if "topic" in key and "segment" not in key:
            found[key["topic"], key["partition"]] = value
    return found


# --- open transactions -------------------------------------------------------------------------------


def open_transaction(source: FakeCluster, *values: bytes) -> Any:
    """A producer with a transaction at the end of partition 0, followed by records of another one."""
    producer = quick(source, transactional_id="slow")
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    for value in values:
        producer.send(ProducerRecord("t", value, partition=0))
    producer.flush(PATIENCE)
    source.append("t", 0, batch(b"later", timestamp=1_000))
    return producer


@pytest.mark.case("M20")
@pytest.mark.parametrize(
    "more", [(), ("--partitions", "by-key"), ("--verify",)], ids=["keep", "by key", "verify"]
)
def test_what_an_open_transaction_holds_back_is_missing_and_named(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], more: tuple[str, ...], quickly: None
) -> None:
    with open_transaction(source, b"a", b"b") as producer:
        done = mirrored(source, target, *delivery, *more, "--max-wait", "1s")
        assert done.code == 8, done
        (error,) = done.errors
        assert "3 offsets up to 10" in error["what"]
        assert "transactional id slow" in error["why"]
        assert "since 20" in error["why"]
        assert [row["state"] for row in done.rows.values()] == ["ended", "caught_up", "caught_up"]
        assert done.rows[T0]["to_offset"] == 8
        assert ("2 of 3 partitions equal" in done.err) is ("--verify" in more)
        producer.commit_transaction(PATIENCE)
    done = mirrored(source, target, *delivery, *more, "--yes")
    assert done.code == 0, done
    assert done.rows[T0]["to_offset"] == len(source.log("t", 0).values()) + 1  # the marker


@pytest.mark.case("M20")
@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_that_ends_in_time_is_waited_for(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    commits: bool,
    monkeypatch: pytest.MonkeyPatch,
    quickly: None,
) -> None:
    """Its records are the last ones of the log: what is left is a marker, and aborted records where it is aborted."""
    with quick(source, transactional_id="slow") as producer:
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"8", partition=0))
        producer.flush(PATIENCE)
        words = arguments(source, target, "--until-caught-up", "-o", "json", *delivery)
        with running(monkeypatch, *words) as mirror:
            until(copied(target, 8))
            mirror.join(1.0)
            assert mirror.is_running
            (producer.commit_transaction if commits else producer.abort_transaction)(PATIENCE)
            done = mirror.done()
    assert done.code == 0, done
    assert values(target, *T0) == numbers(0, 9 if commits else 8)
    assert [row["state"] for row in done.rows.values()] == ["caught_up"] * 3


@pytest.mark.case("M20")
def test_a_range_that_ends_in_an_open_transaction_is_not_complete(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], quickly: None
) -> None:
    for tp in (T1, T2):
        source.append(*tp, batch(*numbers(8, 9), timestamp=1_000))
    with open_transaction(source, b"a", b"b"):
        done = command(
            *arguments(source, target, "--offset", "0:9", "--max-wait", "1s", "-o", "json", *delivery)
        )
        assert done.code == 8, done
        assert "1 offset up to 8" in done.errors[0]["what"]
        assert done.rows[T0]["to_offset"] == 8
        done = mirrored(
            source, target, "--offset", "0:9", "--job", "k", "--max-wait", "1s", "--yes", *delivery
        )
        assert done.code == 8, done


@pytest.mark.case("M20")
def test_a_range_before_an_open_transaction_is_complete(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    with open_transaction(source, b"a"):
        done = command(*arguments(source, target, "--offset", "0:8", "-o", "json", *delivery))
    assert done.code == 0, done
    assert copied(target, 8)()


@pytest.mark.case("M20")
def test_a_follower_waits_for_a_transaction_and_its_lag_is_up_to_the_high_watermark(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    quickly: None,
) -> None:
    with (
        open_transaction(source, b"a", b"b") as producer,
        running(monkeypatch, *arguments(source, target, "-o", "json", *delivery)) as mirror,
    ):
        until(has_state(target, "waiting", "caught_up", "caught_up"))
        assert "transactional id slow" in saved_states(target)[0]["why"]
        row = command("mirror", "status", "--to", target.bootstrap, "-o", "json").rows[T0]
        assert (row["position"], row["lag_records"]) == (8, 3)
        source.append("t", 0, batch(b"still later", timestamp=1_000))
        until(lambda: saved_states(target)[0]["source_end"] == 12)
        producer.commit_transaction(PATIENCE)
        until(has_state(target, "caught_up", "caught_up", "caught_up"))
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    assert values(target, *T0) == [*numbers(0, 8), b"a", b"b", b"later", b"still later"]
