"""Leaders die under load, and nothing is lost, doubled, reordered or put elsewhere (goal R1, in small).

A kill counts only if records were waiting for their confirmation and the leadership moved.
"""

import itertools
import os
import random
import time
import uuid

import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import TopicPartition as JudgePartition

from kcli.core import Admin, Producer
from kcli.core.admin.topics import TopicInfo
from kcli.core.producer.batch import RecordFuture
from kcli.core.types import ProducerRecord
from tests.chaos.checker import Read, check
from tests.chaos.defects import prove_the_judge
from tests.chaos.ledger import Ledger
from tests.chaos.payload import Payload, RecordId
from tests.kafka import Kafka

pytestmark = pytest.mark.integration

KILLS = int(os.environ.get("KCLI_CHAOS_KILLS", "3"))
SEED = int(os.environ.get("KCLI_CHAOS_SEED", "20261121"))
PARTITIONS = 3


def leader_of(kafka: Kafka, topic: str, partition: int) -> int:
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        info = admin.describe_topics([topic])[topic]
    assert isinstance(info, TopicInfo)
    return info.partitions[partition].leader


def read_by_the_judge(kafka: Kafka, topic: str) -> list[Read]:
    judge = Judge({"bootstrap.servers": kafka.bootstrap, "group.id": topic, "enable.partition.eof": True})
    reads: list[Read] = []
    for partition in range(PARTITIONS):
        judge.assign([JudgePartition(topic, partition, 0)])
        at_end = False
        while not at_end:
            for message in judge.consume(5_000, 10):
                if message.error() is not None:
                    at_end = True
                    break
                reads.append(Read(topic, partition, message.offset(), message.value()))
    judge.close()
    return reads


@pytest.mark.timeout(280)
@pytest.mark.parametrize("codec", ["lz4"])
def test_r1_leaders_are_killed_under_load(kafka3: Kafka, codec: str) -> None:
    topic = kafka3.topic("kills", partitions=PARTITIONS, replicas=3)
    run, rng = uuid.uuid4().bytes[:8], random.Random(SEED)
    ledger = Ledger()
    futures: list[tuple[RecordId, RecordFuture]] = []
    numbers = [itertools.count() for _ in range(PARTITIONS)]
    kills_that_hit = 0

    with Producer(
        bootstrap_servers=kafka3.bootstrap, compression_type=codec, batch_size=20_000, linger_ms=2
    ) as producer:

        def send(count: int) -> None:
            for _ in range(count):
                partition = rng.randrange(PARTITIONS)
                one = RecordId(0, topic, partition, next(numbers[partition]))
                ledger.sent[one] = None
                value = Payload(run, one, int(time.time() * 1000)).encode(rng.randrange(2_000), rng)
                futures.append((one, producer.send(ProducerRecord(topic, value, partition=partition))))

        producer.connect([topic], 30, 10)
        for kill in range(KILLS):
            send(2_000)
            partition = kill % PARTITIONS
            leader = leader_of(kafka3, topic, partition)
            node = next(node for node in kafka3.nodes if node.node_id == leader)
            send(2_000)
            node.kill()
            kills_that_hit += producer.outstanding > 0
            deadline = time.monotonic() + 30
            while leader_of(kafka3, topic, partition) in (leader, -1):
                assert time.monotonic() < deadline, "the leadership did not move"
                send(200)
            send(2_000)
            node.start()
            assert producer.flush(90)
        for one, future in futures:
            if future.error is None:
                ledger.acked[one] = future.result(0).offset
            else:
                ledger.failed[one] = str(future.error)

    reads = read_by_the_judge(kafka3, topic)
    prove_the_judge(ledger, run, reads, SEED)
    assert check(ledger, run, reads) == {}, f"seed {SEED}"
    assert ledger.failed == {}
    assert kills_that_hit >= 0.8 * KILLS, "a kill that hits nothing in flight proves nothing"
