"""The copy of a mirror on clusters that fail: nothing is lost, and with transactions nothing is stored twice."""

from collections.abc import Iterator

import pytest

from kcli.core.types import ProducerRecord, TopicPartition
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirroring import Job, saved_job
from tests.fault.producing import quick

COUNT = 60


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 2}) as made:
        for partition in range(2):
            for number in range(0, COUNT, 4):
                values = [b"%d-%d" % (partition, number + index) for index in range(4)]
                made.append("t", partition, batch(*values, codec=number % 5, timestamp=1_000 + number))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"copy": 2, STATE_TOPIC: 1}) as made:
        yield made


def values(cluster: FakeCluster, topic: str, partition: int) -> list[bytes | None]:
    return list(cluster.log(topic, partition).values())


@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
def test_all_records_are_copied_and_the_position_is_saved(
    source: FakeCluster, target: FakeCluster, exactly_once: bool
) -> None:
    with Job(source, target, 2, exactly_once=exactly_once) as job:
        copies = job.run()
    for partition in range(2):
        tp = TopicPartition("t", partition)
        assert values(target, "copy", partition) == values(source, "t", partition)
        assert copies[tp].records == COUNT
        assert copies[tp].untouched_batches == COUNT / 4
        assert copies[tp].position == COUNT
    saved = saved_job(target)
    assert saved is not None
    assert {tp: one.progress.position for tp, one in saved.partitions.items()} == {
        TopicPartition("t", 0): COUNT,
        TopicPartition("t", 1): COUNT,
    }
    # Each transaction has a marker in the copy, and there may be several.
    for tp, one in saved.partitions.items():
        here, there = (
            {record.offset: record.value for record in cluster.log(topic, tp.partition).records()}
            for cluster, topic in ((source, "t"), (target, "copy"))
        )
        assert [there[one.offsets.translate(offset)] for offset in here] == [*here.values()]


@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
def test_a_second_run_continues_where_the_first_ended(
    source: FakeCluster, target: FakeCluster, exactly_once: bool
) -> None:
    with Job(source, target, 2, exactly_once=exactly_once, stops=[20, 32]) as job:
        job.run()
    with Job(source, target, 2, exactly_once=exactly_once) as job:
        copies = job.run()
    for partition in range(2):
        assert values(target, "copy", partition) == values(source, "t", partition)
    assert [copy.records for copy in copies.values()] == [COUNT - 20, COUNT - 32]


@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
def test_a_stop_before_a_batch_is_sent_does_not_pass_it(
    source: FakeCluster, target: FakeCluster, exactly_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction marker behind it is not counted either, or its records would never be copied."""
    with quick(source, transactional_id="writer") as producer:
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"last", partition=0))
        producer.commit_transaction(20)
    expected = values(source, "t", 0)
    with Job(source, target, 1, exactly_once=exactly_once, stops=[COUNT]) as job:
        job.run()
    with Job(source, target, 1, exactly_once=exactly_once) as job:
        monkeypatch.setattr(job.copy, "_limit_rate", lambda *_: job.stop.request())
        copies = job.run()
    assert copies[TopicPartition("t", 0)].position == COUNT
    with Job(source, target, 1, exactly_once=exactly_once) as job:
        job.run()
    assert values(target, "copy", 0) == expected
