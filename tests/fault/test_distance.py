"""Answers that are held, as by a distance: more is on its way, within its bounds, and nothing is lost or repeated."""

from typing import Any

import pytest

from kcli.core.consumer.sources import MOST_LANES
from kcli.core.consumer.subscription import Span
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.journal import Seen
from tests.fake.raw_client import batch
from tests.fault.fetching import expected, fetches, filled, quick_reader, read_all, read_until

PARTITIONS = [TopicPartition("t", number) for number in range(4)]
HELD = 0.06  # seconds
RECORDS = 400
FETCH = 1_500  # bytes, of a response


def overlapping(seen: list[Seen]) -> list[Seen]:
    """The largest set of fetches that waited for their answers at the same time."""
    waits = [[other for other in seen if other.at <= one.at < (other.answered_at or 0.0)] for one in seen]
    return max(waits, key=len)


def partition_bytes(seen: Seen) -> list[int]:
    """The size limits of the partitions that a fetch names."""
    request: Any = seen.request
    return [p.partition_max_bytes for topic in request.topics for p in topic.partitions]


@pytest.mark.parametrize(("held", "most"), [(0.0, 1), (HELD, MOST_LANES)])
def test_a_far_broker_has_several_fetches_in_flight(held: float, most: int) -> None:
    """By sessions of their own, each on a connection of its own: one request of a session is in flight (KIP-227)."""
    with FakeCluster(1, topics={"t": len(PARTITIONS)}, fetch_sessions=True) as cluster:
        filled(cluster, RECORDS, *PARTITIONS)
        if held:
            cluster.delay(None, held)
        with quick_reader(cluster, fetch_max_bytes=FETCH) as consumer:
            consumer.assign({tp: Span(0, RECORDS) for tp in PARTITIONS})
            assert read_all(consumer) == {tp: expected(tp, RECORDS) for tp in PARTITIONS}
        seen = fetches(cluster)
        assert len(overlapping(seen)) == most
        assert len({one.connection for one in seen}) <= most + 1  # the first may go on the connection at hand
        assert not any(one.codes for one in seen)


@pytest.mark.parametrize("given", [True, False])
def test_what_is_asked_for_at_the_same_time_stays_within_the_buffer(
    monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    buffer = 6_000
    options = {"fetch_buffer_bytes": buffer} if given else {}
    if not given:
        monkeypatch.setattr("kcli.core.consumer.fetcher.FAR_BUFFER_BYTES", buffer)
    with FakeCluster(1, topics={"t": len(PARTITIONS)}, fetch_sessions=True) as cluster:
        filled(cluster, RECORDS, *PARTITIONS)
        cluster.delay(None, HELD)
        with quick_reader(cluster, fetch_max_bytes=FETCH, **options) as consumer:
            consumer.assign({tp: Span(0, RECORDS) for tp in PARTITIONS})
            assert read_all(consumer) == {tp: expected(tp, RECORDS) for tp in PARTITIONS}
        together: list[FetchRequest] = [one.request for one in overlapping(fetches(cluster))]  # type: ignore[misc]
        assert len(together) > 1
        assert sum(request.max_bytes for request in together) <= buffer


def test_a_lone_partition_is_asked_for_more_at_once() -> None:
    tp = PARTITIONS[0]
    with FakeCluster(1, topics={"t": 1}, fetch_sessions=True) as cluster:
        stored = batch(b"x" * 1_000_000)
        for _ in range(40):
            cluster.append(*tp, stored)
        cluster.delay(None, 4 * HELD)
        with quick_reader(cluster) as consumer:
            consumer.assign({tp: Span(0, 40)})
            assert len(read_all(consumer)[tp]) == 40
        asked = [size for one in fetches(cluster) for size in partition_bytes(one)]
        assert asked[0] == 4_194_304
        assert max(asked) > asked[0]


def test_partitions_that_have_nothing_more_share_one_session_again() -> None:
    """Idle, a far broker is asked as often as a near one: by one long poll."""
    with FakeCluster(1, topics={"t": len(PARTITIONS)}, fetch_sessions=True) as cluster:
        filled(cluster, RECORDS, *PARTITIONS)
        cluster.delay(None, HELD)
        with quick_reader(cluster, fetch_max_bytes=FETCH) as consumer:
            consumer.assign({tp: Span(0) for tp in PARTITIONS})
            read_until(consumer, lambda found: sum(map(len, found.values())) == RECORDS * len(PARTITIONS))
            for _ in range(20):
                consumer.poll(0.1)
            before = len(fetches(cluster))
            for _ in range(8):
                consumer.poll(0.1)
            last = fetches(cluster)[before:]
            assert last
            assert len({one.connection for one in last}) == 1
            filled(cluster, 3, PARTITIONS[2])
            assert sum(map(len, read_until(consumer, len).values())) >= 1
