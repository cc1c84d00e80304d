"""Apache Kafka's own image through testcontainers, whose Kafka class does not know that image."""

import time
from collections.abc import Mapping

from testcontainers.core.container import DockerContainer

from kcli.sandbox.ports import ANY, choose_ports, is_port_free
from kcli.sandbox.ready import cluster_is_ready
from kcli.sandbox.state import HOST

_START_SECONDS = 90


def why_no_docker() -> str:
    """Why no container can be started here; empty when one can."""
    import docker

    try:
        docker.from_env(timeout=5).ping()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the reason to skip
        return str(error).splitlines()[0]
    return ""


class KafkaContainer(DockerContainer):
    """One node. The host's port is chosen first, since a broker has to advertise the port its clients see."""

    def __init__(self, version: str, properties: Mapping[str, str]) -> None:
        super().__init__(f"apache/kafka:{version}")
        import random

        (self._port,) = choose_ports(1, ANY, is_port_free, rng=random.Random())
        self.bootstrap = f"{HOST}:{self._port}"
        self.with_bind_ports(self._port, self._port)
        for name, value in self._properties(properties).items():
            self.with_env("KAFKA_" + name.upper().replace(".", "_"), value)

    def start(self) -> "KafkaContainer":
        """Start it and return when the broker answers."""
        super().start()
        deadline = time.monotonic() + _START_SECONDS
        while not cluster_is_ready([(HOST, self._port)]):
            if time.monotonic() > deadline:
                logs = b"".join(self.get_logs()).decode("utf-8", "replace")
                self.stop()
                raise TimeoutError(f"no broker after {_START_SECONDS} s:\n{logs[-2000:]}")
            time.sleep(0.2)
        return self

    def _properties(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": "1@localhost:29093",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://:{self._port},CONTROLLER://:29093",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.num.partitions": "4",
            **more,
        }
