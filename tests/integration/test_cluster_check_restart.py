"""A rolling restart by ``kcli cluster check --watch`` under load: no record fails, no partition is without a leader."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import confluent_kafka
import pytest

from kcli.core import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import KcliError
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed
from tests.run import start

pytestmark = [pytest.mark.integration, pytest.mark.long]

PARTITIONS = 12
PAUSE = 0.005  # seconds between two records of a producer
PATIENCE = 120.0


class Load:
    """Records with acks=all to all partitions, and looks at their leaders, on threads of their own."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self.kafka, self.topic = kafka, topic
        self.confirmed = 0
        self.failed: list[str] = []
        self.leaderless: set[int] = set()
        self.looks = 0
        self.longest = 0.0
        self._over = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=each) for each in (self._send, self._look)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _send(self) -> None:
        settings = {"bootstrap.servers": self.kafka.bootstrap, "acks": "all", "linger.ms": 2}
        producer = confluent_kafka.Producer({**settings, "message.timeout.ms": int(PATIENCE * 1000)})
        number = 0
        while not self._over.wait(PAUSE):
            producer.produce(self.topic, b"x", partition=number % PARTITIONS, on_delivery=self._delivered)
            number += 1
            producer.poll(0)
        assert producer.flush(PATIENCE) == 0

    def _delivered(self, error: object, message: confluent_kafka.Message) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        self.confirmed += 1
        self.longest = max(self.longest, message.latency() or 0.0)

    def _look(self) -> None:
        with Admin(bootstrap_servers=self.kafka.bootstrap, timeout=5.0) as admin:
            while not self._over.wait(0.1):
                try:
                    found = admin.describe_partitions([self.topic])[self.topic]
                except KcliError:
                    continue  # the broker that was asked has just stopped
                if isinstance(found, TopicInfo):
                    self.looks += 1
                    self.leaderless |= {part.partition for part in found.partitions if part.leader < 0}


@pytest.mark.timeout(1200)
def test_all_brokers_restart_by_the_gate_and_no_record_fails() -> None:
    with sandboxed(brokers=3, extra=TEST_PROPERTIES, jvm_options=QUICK_JVM) as kafka:
        nodes = {node.node_id: node for node in kafka.nodes}
        topic = kafka.topic("gate", partitions=PARTITIONS, replicas=3, config={"min.insync.replicas": "2"})
        load = Load(kafka, topic)
        watch = start("cluster", "check", "--watch", "-o", "ndjson", bootstrap=kafka.bootstrap)
        assert watch.stdout is not None
        restarted, began = [], time.monotonic()
        with load.running():
            for line in watch.stdout:
                step = json.loads(line)
                print(
                    f"{time.monotonic() - began:.1f} s: {step['node']} {step['state']} {step['reason'] or ''}",
                    flush=True,
                )
                if step["state"] == "safe":
                    nodes[step["node"]].stop(grace=PATIENCE)
                    nodes[step["node"]].start(timeout=None)
                elif step["state"] == "back":
                    restarted.append(step["node"])
            watch.communicate(timeout=30)
        print(
            f"{load.confirmed} confirmed, longest {load.longest:.2f} s, {load.looks} looks at the leaders",
            flush=True,
        )
    assert watch.returncode == 0
    assert restarted == [1, 2, 3]
    assert load.failed == []
    assert load.leaderless == set()
    assert load.confirmed > 1000
    assert load.looks > 50
