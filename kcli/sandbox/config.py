"""The configuration of a sandbox's nodes, as text: pure, no file is written and no port is probed.

KRaft in combined mode (each node is broker and controller) where the version has it for production, ZooKeeper
before. The values differ from Kafka's only where its defaults are meant for many machines, or make a first
request slow; ``extra`` takes precedence.
"""

import re
from collections.abc import Mapping

from kcli.sandbox.errors import UsageError
from kcli.sandbox.properties import render
from kcli.sandbox.security.names import FIRST_VERSION, INTERNAL
from kcli.sandbox.state import HOST, NodeState, SandboxState, log_dirs

DEFAULT_VERSION = "4.4.0"
_FIRST_KRAFT = (3, 3)
_FIRST_DYNAMIC_QUORUM = (3, 9)
_FIRST_SHARE_GROUPS = (4, 0)
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)\Z")


def parse_version(version: str) -> tuple[int, int, int]:
    """(4, 4, 0) of ``4.4.0``; pre-releases such as ``4.4.0-rc1`` are not published and are refused."""
    match = _VERSION.match(version)
    if not match:
        raise UsageError(
            f"{version!r} is not a Kafka version",
            why="a version has three numbers, and only releases are published",
            do="write it as in --kafka-version 4.4.0",
        )
    return int(match[1]), int(match[2]), int(match[3])


def uses_zookeeper(version: str) -> bool:
    """Whether ``version`` is run with ZooKeeper here: before 3.3, whose KRaft was the first for production."""
    return parse_version(version)[:2] < _FIRST_KRAFT


def can_be_secure(version: str) -> bool:
    """Whether ``--secure`` works with ``version``."""
    return parse_version(version)[:2] >= FIRST_VERSION


def has_dynamic_quorum(version: str) -> bool:
    """Whether the voters of the quorum can be changed with ``version`` (KIP-853)."""
    return parse_version(version)[:2] >= _FIRST_DYNAMIC_QUORUM


def server_properties(state: SandboxState, node: NodeState, security: Mapping[str, str]) -> str:
    """The ``server.properties`` of ``node``; ``security``: further ones of a secure sandbox."""
    properties = {
        **_identity(state, node),
        **_listeners(node, "SSL" if state.secure else "PLAINTEXT"),
        **security,
        "log.dirs": ",".join(map(str, log_dirs(state, node.node_id))),
        **_replication(state),
        **_quick_first_use(),
        **state.extra,
    }
    return render(properties)


def zookeeper_properties(port: int, data: str) -> str:
    """The ``zoo.cfg`` of the sandbox's one ZooKeeper server."""
    return render(
        {
            "tickTime": "1000",
            "dataDir": data,
            "clientPort": str(port),
            "clientPortAddress": HOST,
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
        }
    )


def _identity(state: SandboxState, node: NodeState) -> dict[str, str]:
    if state.zookeeper:
        return {
            "broker.id": str(node.node_id),
            "zookeeper.connect": f"{HOST}:{state.zookeeper.port}",
            # A broker that was killed stays registered until its session ends; a restart waits for that.
            "zookeeper.session.timeout.ms": "6000",
        }
    roles = {"process.roles": "broker,controller", "node.id": str(node.node_id)}
    if state.controllers:  # the voters are in the log, and format has put the first ones there
        addresses = ",".join(f"{HOST}:{n.controller_port}" for n in state.nodes)
        return roles | {"controller.quorum.bootstrap.servers": addresses}
    voters = ",".join(f"{n.node_id}@{HOST}:{n.controller_port}" for n in state.nodes)
    return roles | {"controller.quorum.voters": voters}


def _listeners(node: NodeState, internal_protocol: str) -> dict[str, str]:
    clients = [f"{item.name}://{HOST}:{item.port}" for item in node.listeners]
    protocols = [f"{item.name}:{item.protocol}" for item in node.listeners]
    properties = {
        "listeners": ",".join(clients),
        "advertised.listeners": ",".join(clients),
        "inter.broker.listener.name": node.listener(INTERNAL).name,
    }
    if node.controller_port is not None:
        properties["listeners"] += f",CONTROLLER://{HOST}:{node.controller_port}"
        properties["controller.listener.names"] = "CONTROLLER"
        protocols.append(f"CONTROLLER:{internal_protocol}")
    properties["listener.security.protocol.map"] = ",".join(protocols)
    return properties


def _replication(state: SandboxState) -> dict[str, str]:
    """Everything on every node up to three; writes survive the loss of one node of three."""
    replicas = min(3, len(state.nodes))
    min_isr = max(1, replicas - 1)
    properties = {
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(min_isr),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(min_isr),
    }
    if parse_version(state.version)[:2] >= _FIRST_SHARE_GROUPS:
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
