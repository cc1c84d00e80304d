"""Batches that are sent out of the buffers in which they were fetched, to a target that takes them late, or twice: no
buffer is used again before its batches are confirmed.
"""

import random
from collections.abc import Iterator

import pytest

from kcli.core.consumer.consumer import Consumer
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fault.mirroring import Job

PARTITIONS, BATCHES, SIZE = 2, 16, 300_000


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    chance = random.Random(7)
    with FakeCluster(1, topics={"t": PARTITIONS}, max_message_bytes=1_000_000) as made:
        for partition in range(PARTITIONS):
            for _ in range(BATCHES):
                made.append("t", partition, batch(chance.randbytes(SIZE)))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    topics = {"copy": PARTITIONS, STATE_TOPIC: 1}
    with FakeCluster(1, topics=topics, max_message_bytes=1_000_000) as made:
        yield made


@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
@pytest.mark.parametrize("trouble", ["late", "refused", "lost"])
def test_what_is_fetched_later_is_in_another_buffer(
    source: FakeCluster,
    target: FakeCluster,
    trouble: str,
    exactly_once: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if trouble == "late":
        target.delay(ProduceRequest, 0.05, times=20)
    elif trouble == "refused":
        target.fail(ProduceRequest, Code.NOT_ENOUGH_REPLICAS, where="copy", times=12)
    else:
        target.swallow(ProduceRequest, "reset", times=5)
    lent: list[bool] = []
    lend = Consumer.lend

    def spied(consumer: Consumer, most: int) -> bool:
        lent.append(lend(consumer, most))
        return lent[-1]

    monkeypatch.setattr(Consumer, "lend", spied)
    with Job(
        source, target, PARTITIONS, exactly_once=exactly_once, reader={"fetch_max_bytes": 1_000_000}
    ) as job:
        copies = job.run()
    assert all(copy.error is None and copy.untouched_batches == BATCHES for copy in copies.values())
    for partition in range(PARTITIONS):
        assert list(target.log("copy", partition).values()) == list(source.log("t", partition).values())
    assert lent.count(True) > 3
