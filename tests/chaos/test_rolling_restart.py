"""All brokers restart one after another under load: as an administrator does it, and as a power cut would (case B3).

The next node goes down when all replicas are in sync again, in the round of SIGKILLs too.
"""

import threading
import time

import pytest

from kcli.core import Admin, Producer
from kcli.core.admin.topics import TopicInfo
from kcli.sandbox.node import Node
from tests.chaos.workload import SEED, Workload
from tests.fault.watching import Heard
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.soak]

PARTITIONS = 6
AT_A_TIME, PAUSE = 5, 0.01  # records, seconds
PATIENCE = 60.0


class Load:
    """Sends all the time on a thread of its own, until the block ends."""

    def __init__(self, workload: Workload, producer: Producer) -> None:
        self._workload, self._producer = workload, producer
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send, name="load")
        self.error: BaseException | None = None

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        self._thread.join()

    def _send(self) -> None:
        try:
            while not self._over.wait(PAUSE):
                self._workload.send(self._producer, AT_A_TIME)
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.error = error


def described(kafka: Kafka, topic: str) -> TopicInfo:
    with Admin(bootstrap_servers=kafka.bootstrap, timeout=PATIENCE) as admin:
        info = admin.describe_topics([topic])[topic]
    assert isinstance(info, TopicInfo)
    return info


def wait_for_all_replicas(kafka: Kafka, topic: str) -> None:
    """Returns when every replica of the topic is in sync."""
    end = time.monotonic() + PATIENCE
    while any(len(part.isr) < len(part.replicas) for part in described(kafka, topic).partitions):
        assert time.monotonic() < end, f"replicas of {topic} stay out of sync"
        time.sleep(0.2)


def leads(kafka: Kafka, topic: str, node: Node) -> bool:
    return any(part.leader == node.node_id for part in described(kafka, topic).partitions)


def in_flight(producer: Producer) -> bool:
    """Whether records are on their way, now or in a moment: the load continues while the node is down."""
    end = time.monotonic() + 1
    while not (found := producer.outstanding > 0) and time.monotonic() < end:
        time.sleep(0.001)
    return found


@pytest.mark.case("B3")
@pytest.mark.timeout(280)
def test_all_brokers_restart_one_after_another_under_load(kafka3: Kafka) -> None:
    """One round with SIGTERM and one with SIGKILL; no error, no warning, nothing lost, doubled or reordered."""
    topic = kafka3.topic("rolling", partitions=PARTITIONS, replicas=3, config={"min.insync.replicas": "2"})
    workload = Workload(topic, partitions=PARTITIONS, seed=SEED)
    heard = Heard()
    hits = 0
    with Producer(
        bootstrap_servers=kafka3.bootstrap, compression_type="lz4", linger_ms=2, hooks=heard.hooks
    ) as producer:
        producer.connect([topic], 30, 10)
        with Load(workload, producer) as load:
            for end in (Node.stop, Node.kill):
                for node in kafka3.nodes:
                    led = leads(kafka3, topic, node)
                    end(node)
                    hits += led and in_flight(producer)
                    node.start()
                    wait_for_all_replicas(kafka3, topic)
                    assert load.error is None
        assert producer.flush(PATIENCE), f"seed {SEED}"
        metrics = producer.metrics()
    assert heard.said("warning") == []
    assert metrics.records_failed == 0
    assert metrics.producer_epochs == 1, "an ordinary restart is no reason for a new epoch"
    workload.settle()
    workload.audit(kafka3)
    assert hits >= 4, "a restart of nodes that lead nothing, or have nothing in flight, proves nothing"
