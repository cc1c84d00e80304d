"""Leaders die under load, and nothing is lost, doubled, reordered or put elsewhere (goal R1, in small).

A kill counts only if records were waiting for their confirmation and the leadership moved.
"""

import time

import pytest

from kcli.core import Admin, Producer
from kcli.core.admin.topics import TopicInfo
from tests.chaos.workload import SEED, Workload
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.long]

CODECS = ("lz4", "none", "zstd", "snappy", "gzip")
PARTITIONS = 3


def leader_of(kafka: Kafka, topic: str, partition: int) -> int:
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        info = admin.describe_topics([topic])[topic]
    assert isinstance(info, TopicInfo)
    return info.partitions[partition].leader


@pytest.mark.case("B1", "R1")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kills", "records"), [(1, 5_000), pytest.param(10, 100_000, marks=pytest.mark.soak)]
)
def test_leaders_are_killed_under_load(kafka3: Kafka, kills: int, records: int) -> None:
    """B1: another codec for each kill, records of 0 B to 64 KiB."""
    topic = kafka3.topic("kills", partitions=PARTITIONS, replicas=3)
    load = Workload(topic, partitions=PARTITIONS, seed=SEED, largest=65_536)
    kills_that_hit = 0

    for kill in range(kills):
        with Producer(
            bootstrap_servers=kafka3.bootstrap,
            compression_type=CODECS[kill % len(CODECS)],
            batch_size=100_000,
            linger_ms=2,
        ) as producer:
            producer.connect([topic], 30, 10)
            load.send(producer, records // kills // 2)
            partition = kill % PARTITIONS
            leader = leader_of(kafka3, topic, partition)
            node = next(node for node in kafka3.nodes if node.node_id == leader)
            load.send(producer, 500)
            node.kill()
            kills_that_hit += producer.outstanding > 0
            deadline = time.monotonic() + 30
            while leader_of(kafka3, topic, partition) in (leader, -1):
                assert time.monotonic() < deadline, "the leadership did not move"
                load.send(producer, 20)
            load.send(producer, records // kills // 2)
            node.start()
            assert producer.flush(90)

    load.settle()
    load.audit(kafka3)
    assert kills_that_hit >= 0.8 * kills, "a kill that hits nothing in flight proves nothing"
