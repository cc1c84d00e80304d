"""Leaders die under load, and nothing is lost, doubled, reordered or put elsewhere (goal R1, in small).

A kill counts only if records were waiting for their confirmation and the leadership moved.
"""

import os
import time

import pytest

from kcli.core import Admin, Producer
from kcli.core.admin.topics import TopicInfo
from tests.chaos.workload import Workload
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


@pytest.mark.timeout(280)
@pytest.mark.parametrize("codec", ["lz4"])
def test_r1_leaders_are_killed_under_load(kafka3: Kafka, codec: str) -> None:
    topic = kafka3.topic("kills", partitions=PARTITIONS, replicas=3)
    load = Workload(topic, partitions=PARTITIONS, seed=SEED)
    kills_that_hit = 0

    with Producer(
        bootstrap_servers=kafka3.bootstrap, compression_type=codec, batch_size=20_000, linger_ms=2
    ) as producer:
        producer.connect([topic], 30, 10)
        for kill in range(KILLS):
            load.send(producer, 2_000)
            partition = kill % PARTITIONS
            leader = leader_of(kafka3, topic, partition)
            node = next(node for node in kafka3.nodes if node.node_id == leader)
            load.send(producer, 2_000)
            node.kill()
            kills_that_hit += producer.outstanding > 0
            deadline = time.monotonic() + 30
            while leader_of(kafka3, topic, partition) in (leader, -1):
                assert time.monotonic() < deadline, "the leadership did not move"
                load.send(producer, 200)
            load.send(producer, 2_000)
            node.start()
            assert producer.flush(90)

    load.settle()
    load.audit(kafka3)
    assert kills_that_hit >= 0.8 * KILLS, "a kill that hits nothing in flight proves nothing"
