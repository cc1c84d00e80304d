"""A cluster that is away, a partition that cannot be copied: a mirror waits, within its memory, and copies the rest."""

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.markers import sealed
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until, values
from tests.fault.mirror_records import compacted

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
AWAY = {"stopped": 4.0, "silent": 1.5}
"""Seconds; the first is longer than any client tries to reach a cluster for the first time."""


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 3}) as made:
        for tp in (T0, T1, T2):
            made.append(*tp, batch(*numbers(0, 8), timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 3}, cluster_id="there") as made:
        yield made


def numbers(first: int, stop: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, stop)]


@pytest.mark.case("M17")
@pytest.mark.parametrize("away", ["source", "target"])
@pytest.mark.parametrize("how", ["stopped", "silent"])
def test_a_cluster_that_is_away_costs_only_time(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    away: str,
    how: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = source if away == "source" else target
    gone, back = (cluster.stop, cluster.start) if how == "stopped" else (cluster.pause, cluster.resume)
    words = arguments(source, target, "--offset", "0:16", "-o", "json", *delivery)
    with running(monkeypatch, *words) as mirror:
        until(lambda: all(values(target, *tp) == numbers(0, 8) for tp in (T0, T1, T2)))
        before = len(source.requests) + len(target.requests)
        for node in cluster.node_ids:
            gone(node)
        for tp in (T0, T1, T2):
            source.append(*tp, batch(*numbers(8, 16), timestamp=1_000))
        mirror.join(AWAY[how])
        assert mirror.is_running, "it gave up"
        requests = len(source.requests) + len(target.requests) - before
        for node in cluster.node_ids:
            back(node)
        done = mirror.done()
    assert done.code == 0, done
    assert requests < 60 * AWAY[how], "requests without a pause between them"
    for tp in (T0, T1, T2):
        assert values(target, *tp) == numbers(0, 16)
        assert (done.rows[tp]["records"], done.rows[tp]["to_offset"]) == (16, 16)


def poison(source: FakeCluster, _target: FakeCluster) -> None:
    """The checksum is right, and the compressed records are not."""
    raw = bytearray(compacted({0: (b"k", b"v", (), 0), 4: (b"k", b"w", (), 0)}, 6, codec=1))
    raw[70:80] = bytes(10)
    source.append("t", 0, sealed(raw))


@pytest.mark.case("M13", "M17", "R8")
def test_a_batch_that_cannot_be_decoded_ends_its_partition_only(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    poison(source, target)
    for tp in (T0, T1, T2):
        source.append(*tp, batch(*numbers(8, 16), timestamp=1_000))
    done = mirrored(source, target, "--yes", *delivery)
    assert done.code == 5, done
    assert [bool(row["error"]) for row in done.rows.values()] == [True, False, False]
    assert "t-0" in str(done.rows[T0]["error"])
    assert (done.rows[T0]["records"], done.rows[T0]["to_offset"]) == (8, 8)
    assert values(target, "t") == numbers(0, 8)
    for tp in (T1, T2):
        assert values(target, *tp) == numbers(0, 16)


@pytest.mark.case("M17")
def test_a_partition_that_the_target_refuses_is_named_and_the_others_are_copied(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    target.fail(ProduceRequest, Code.POLICY_VIOLATION, where=T0, times=1_000)
    done = mirrored(source, target, *delivery)
    assert done.code in (6, 7), done
    assert "t-0" in done.errors[0]["what"]
    assert "POLICY_VIOLATION" in done.errors[0]["why"]
    assert (done.rows[T0]["records"], done.rows[T0]["to_offset"]) == (0, 0)
    for tp in (T1, T2):
        assert values(target, *tp) == numbers(0, 8)
        assert done.rows[tp]["error"] is None


@pytest.mark.case("M17")
def test_a_partition_that_cannot_be_read_or_written_for_long_holds_no_other_back(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is read faster than its target takes it: what waits for it does not fill the memory of the others."""
    large = batch(b"x" * 900_000, timestamp=1_000)
    with running(monkeypatch, *arguments(source, target, "--offset", "0:48", "-o", "json")) as mirror:
        until(lambda: all(values(target, *tp) == numbers(0, 8) for tp in (T0, T1, T2)))
        target.configure("t", min_insync_replicas="2")
        target.set_isr("t", 0, [1])
        source.move_leader("t", 1, -1)
        for _ in range(60):
            source.append("t", 0, large)
        until(lambda: sent(target, T0))
        for number in range(8, 48, 8):
            source.append("t", 2, batch(*numbers(number, number + 8), timestamp=1_000))
            until(lambda number=number: values(target, *T2) == numbers(0, number + 8))  # type: ignore[misc]
        assert values(target, *T0) == values(target, *T1) == numbers(0, 8)
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    assert [row["to_offset"] for row in done.rows.values()] == [8, 8, 48]


def sent(cluster: FakeCluster, tp: TopicPartition) -> bool:
    """Whether a batch of large records has arrived, stored or not."""
    return any(
        one.tp == tp and len(one.raw) > 900_000
        for seen in cluster.seen(ProduceRequest)
        for one in seen.batches()
    )


@pytest.mark.case("M17", "R8")
def test_a_target_that_does_not_answer_is_not_read_ahead_of(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Back-pressure is one chain: what is read is bounded by the memory of both clients, whatever the source has."""
    large = batch(b"x" * 900_000, timestamp=1_000)
    for tp in (T0, T1, T2):
        for _ in range(60):
            source.append(*tp, large)
    with running(monkeypatch, *arguments(source, target, "--yes", "-o", "json")) as mirror:
        target.hold(ProduceRequest, times=1_000, when=lambda request: about(request, target))
        until(lambda: fetched(source) > 30 << 20)
        first = 0
        while first != (first := fetched(source)):
            mirror.join(2.0)
        assert first < 110 << 20, "it reads without end"
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    assert len(done.rows) == 3


def about(request: Any, cluster: FakeCluster) -> bool:
    return any(one.name == "t" or one.topic_id == cluster.topic_id("t") for one in request.topic_data)


def fetched(cluster: FakeCluster) -> int:
    """Bytes of records that were sent to readers."""
    return sum(
        len(part)
        for seen in cluster.seen(FetchRequest)
        if seen.answer is not None
        for topic in seen.answer.responses  # type: ignore[attr-defined]
        for row in topic.partitions
        for part in row.records
    )


@pytest.mark.case("M17")
def test_exactly_once_the_others_are_committed_without_a_partition_that_the_target_does_not_accept(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is copied when the target accepts it again."""
    monkeypatch.setattr("kcli.flows.mirror.copy.exactly_once._HOLD_BACK_AFTER", 0.5)
    monkeypatch.setattr("kcli.flows.mirror.copy.exactly_once._HELD_BACK_FOR", 2.0)
    words = arguments(source, target, "--exactly-once", "-o", "json")
    with running(monkeypatch, *words) as mirror:
        until(lambda: all(values(target, *tp) == numbers(0, 8) for tp in (T0, T1, T2)))
        target.configure("t", min_insync_replicas="2")
        target.set_isr("t", 0, [1])
        source.append("t", 0, batch(*numbers(8, 16), timestamp=1_000))
        for number in range(8, 32, 8):
            source.append("t", 2, batch(*numbers(number, number + 8), timestamp=1_000))
            until(lambda number=number: values(target, *T2) == numbers(0, number + 8))  # type: ignore[misc]
        assert values(target, *T0) == numbers(0, 8)
        target.set_isr("t", 0, [1, 2])
        until(lambda: values(target, *T0) == numbers(0, 16))
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    assert [row["to_offset"] for row in done.rows.values()] == [16, 8, 32]
    assert [values(target, *tp) for tp in (T0, T2)] == [numbers(0, 16), numbers(0, 32)]
