"""The configuration of a sandbox's nodes, as text: pure, no file is written and no port is looked
at.

KRaft in combined mode (each node is broker and controller) where the version has it for production,
ZooKeeper before. The values differ from Kafka's only where its defaults are meant for many
machines, or make a first request slow; whatever is given as ``extra`` wins.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kcli.sandbox.errors import UsageError

HOST = "127.0.0.1"
DEFAULT_VERSION = "4.3.1"
_FIRST_KRAFT = (3, 3)
_FIRST_SHARE_GROUPS = (4, 0)
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)\Z")


@dataclass(frozen=True, slots=True)
class Listener:
    """One address a broker serves clients on; the first of a node is also what brokers use among
    themselves.
    """

    name: str
    port: int
    protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node. ``controller_port`` is None with ZooKeeper. ``data`` is the folder of its log."""

    node_id: int
    listeners: tuple[Listener, ...]
    controller_port: int | None
    data: str

    @property
    def port(self) -> int:
        return self.listeners[0].port


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """All that the configuration of every node depends on."""

    version: str
    cluster_id: str
    nodes: tuple[NodePlan, ...]
    zookeeper_port: int | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)


def parse_version(version: str) -> tuple[int, int, int]:
    """(4, 3, 1) of ``4.3.1``; pre-releases such as ``4.3.0-rc1`` are not published and are refused."""
    match = _VERSION.match(version)
    if not match:
        raise UsageError(f"{version!r} is not a Kafka version", why="a version looks like 4.3.1")
    return int(match[1]), int(match[2]), int(match[3])


def uses_zookeeper(version: str) -> bool:
    """Whether ``version`` is run with ZooKeeper here: before 3.3, whose KRaft was the first for
    production.
    """
    return parse_version(version)[:2] < _FIRST_KRAFT


def server_properties(plan: ClusterPlan, node: NodePlan) -> str:
    """The ``server.properties`` of ``node``."""
    properties = {
        **_identity(plan, node),
        **_listeners(node),
        "log.dirs": node.data,
        **_replication(plan),
        **_quick_first_use(),
        **plan.extra,
    }
    return render(properties)


def zookeeper_properties(plan: ClusterPlan, data: str) -> str:
    """The ``zoo.cfg`` of the one ZooKeeper server of ``plan``."""
    return render(
        {
            "tickTime": "1000",
            "dataDir": data,
            "clientPort": str(plan.zookeeper_port),
            "clientPortAddress": HOST,
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
        }
    )


def render(properties: Mapping[str, str]) -> str:
    """A Java properties file: backslashes, line ends and a leading blank of a value are escaped."""
    return "".join(f"{key}={_escape(value)}\n" for key, value in properties.items())


def _identity(plan: ClusterPlan, node: NodePlan) -> dict[str, str]:
    if plan.zookeeper_port is not None:
        return {
            "broker.id": str(node.node_id),
            "zookeeper.connect": f"{HOST}:{plan.zookeeper_port}",
            # A broker that was killed stays registered until its session ends; a restart waits for that.
            "zookeeper.session.timeout.ms": "6000",
        }
    voters = ",".join(f"{n.node_id}@{HOST}:{n.controller_port}" for n in plan.nodes)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.node_id),
        "controller.quorum.voters": voters,
    }


def _listeners(node: NodePlan) -> dict[str, str]:
    clients = [f"{item.name}://{HOST}:{item.port}" for item in node.listeners]
    protocols = [f"{item.name}:{item.protocol}" for item in node.listeners]
    properties = {
        "listeners": ",".join(clients),
        "advertised.listeners": ",".join(clients),
        "inter.broker.listener.name": node.listeners[0].name,
    }
    if node.controller_port is not None:
        properties["listeners"] += f",CONTROLLER://{HOST}:{node.controller_port}"
        properties["controller.listener.names"] = "CONTROLLER"
        protocols.append("CONTROLLER:PLAINTEXT")
    properties["listener.security.protocol.map"] = ",".join(protocols)
    return properties


def _replication(plan: ClusterPlan) -> dict[str, str]:
    """Everything on every node up to three; writes survive the loss of one node of three."""
    replicas = min(3, len(plan.nodes))
    min_isr = max(1, replicas - 1)
    properties = {
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(min_isr),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(min_isr),
    }
    if parse_version(plan.version)[:2] >= _FIRST_SHARE_GROUPS:
        properties |= {
            "share.coordinator.state.topic.replication.factor": str(replicas),
            "share.coordinator.state.topic.min.isr": str(min_isr),
            "share.coordinator.state.topic.num.partitions": "4",
        }
    return properties


def _quick_first_use() -> dict[str, str]:
    return {
        # The wait for more members helps a fleet that starts at once; here it only delays every first join.
        "group.initial.rebalance.delay.ms": "0",
        # 50 partitions each by default: the first group and the first transaction wait for their creation.
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        # The cleaner takes 128 MiB of heap at start by default: a quarter of what a node has here.
        "log.cleaner.dedupe.buffer.size": "16777216",
    }


def _escape(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return "\\" + escaped if escaped.startswith(" ") else escaped
