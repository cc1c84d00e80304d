"""Leaders that stand still for some seconds and wake up believing that they lead (goal R4, in small)."""

import random
import time

import pytest

from kcli.core import Producer
from tests.chaos.test_leader_kills import leader_of
from tests.chaos.workload import SEED, Workload
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.soak]

STOPS = 8
PARTITIONS = 3


@pytest.mark.case("B2", "R4")
@pytest.mark.timeout(280)
def test_leaders_are_stopped_and_wake_up_as_zombies(kafka3: Kafka) -> None:
    """B2: the client continues with the new leader; what the old one says late changes nothing."""
    topic = kafka3.topic("stops", partitions=PARTITIONS, replicas=3)
    load = Workload(topic, partitions=PARTITIONS, seed=SEED)
    rng = random.Random(SEED)
    moved = hits = 0
    with Producer(
        bootstrap_servers=kafka3.bootstrap,
        compression_type="lz4",
        batch_size=20_000,
        linger_ms=2,
        request_timeout_ms=2_000,
    ) as producer:
        producer.connect([topic], 30, 10)
        for stop in range(STOPS):
            partition = stop % PARTITIONS
            load.send(producer, 2_000)
            leader = leader_of(kafka3, topic, partition)
            node = next(node for node in kafka3.nodes if node.node_id == leader)
            load.send(producer, 1_000)
            node.pause()
            hits += producer.outstanding > 0
            try:
                wake = time.monotonic() + rng.uniform(2, 7)
                while time.monotonic() < wake:
                    load.send(producer, 50)
                    time.sleep(0.05)
            finally:
                node.resume()
            load.send(producer, 1_000)
            assert producer.flush(90), f"seed {SEED}"
            moved += leader_of(kafka3, topic, partition) != leader
    load.settle()
    load.audit(kafka3)
    assert hits >= 0.8 * STOPS, "a stop that hits nothing in flight proves nothing"
    assert moved >= STOPS / 4, "no stop was long enough for another leader"
