"""What ``sandbox status`` reports: a snapshot of one sandbox, from its state file and the system's processes."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from kcli.core.classes import dataclass
from kcli.sandbox import process
from kcli.sandbox.identity import ProcessId
from kcli.sandbox.security.names import CLIENT_FILES, MECHANISMS, WITH_CLIENT_CERTIFICATE, Names
from kcli.sandbox.state import HOST, Listener, NodeState, Phase, SandboxState, security_folder

LOG_NAME = "server.log"


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node. ``state``: ``up`` (its process runs) or ``down``; ``rss_bytes`` where the system has it."""

    node_id: int
    address: str
    state: str
    pid: int | None
    rss_bytes: int | None
    log: str


@dataclass(frozen=True, slots=True)
class ListenerStatus:
    """One listener of all nodes. ``protocol`` is Kafka's security protocol, ``mechanisms`` those of SASL."""

    name: str
    protocol: str
    bootstrap: str
    mechanisms: tuple[str, ...]
    client_certificate: bool


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """One sandbox. ``state``: ``up``, ``partial`` (some nodes run), ``starting`` or ``down``.

    ``security`` is ``none`` or ``secure``; ``files`` are files of client options, by name.
    ``started_at`` is RFC 3339, UTC; None unless it was started to the end.
    """

    name: str
    state: str
    kafka_version: str
    bootstrap: str
    cluster_id: str
    brokers: int
    nodes: tuple[NodeStatus, ...]
    zookeeper_pid: int | None
    data: str
    ephemeral: bool
    java: str
    java_version: str
    started_at: str | None
    security: str
    listeners: tuple[ListenerStatus, ...]
    files: Mapping[str, str]


def status_of(state: SandboxState, home: Path) -> SandboxStatus:
    """The status of the sandbox in the folder ``home``; checks processes, sends nothing."""
    nodes = tuple(_node(node, home) for node in state.nodes)
    zookeeper = state.zookeeper.process if state.zookeeper else None
    return SandboxStatus(
        name=state.name,
        state=_summary(state.phase, [node.state == "up" for node in nodes]),
        kafka_version=state.version,
        bootstrap=state.bootstrap,
        cluster_id=state.cluster_id,
        brokers=len(nodes),
        nodes=nodes,
        zookeeper_pid=zookeeper.pid if zookeeper and process.alive(zookeeper) else None,
        data=state.data,
        ephemeral=state.ephemeral,
        java=state.java,
        java_version=state.java_version,
        started_at=state.started_at if state.phase is Phase.UP else None,
        security="secure" if state.secure else "none",
        listeners=tuple(_listener(state, listener) for listener in state.nodes[0].listeners),
        files=_files(state) if state.secure else {},
    )


def node_log(home: Path, node_id: int) -> Path:
    return home / f"node-{node_id}" / LOG_NAME


def _listener(state: SandboxState, listener: Listener) -> ListenerStatus:
    return ListenerStatus(
        name=listener.name,
        protocol=listener.protocol,
        bootstrap=state.bootstraps[listener.name],
        mechanisms=MECHANISMS if listener.protocol.startswith("SASL") else (),
        client_certificate=listener.name in WITH_CLIENT_CERTIFICATE,
    )


def _files(state: SandboxState) -> dict[str, str]:
    names = Names(security_folder(state.data))
    return {name: str(names.client_file(name)) for name in CLIENT_FILES}


def _summary(phase: Phase, alive: list[bool]) -> str:
    if not any(alive):
        return "down"
    if phase is Phase.STARTING:
        return "starting"
    return "up" if all(alive) else "partial"


def _node(node: NodeState, home: Path) -> NodeStatus:
    runs = node.process is not None and process.alive(node.process)
    return NodeStatus(
        node_id=node.node_id,
        address=f"{HOST}:{node.port}",
        state="up" if runs else "down",
        pid=node.process.pid if node.process and runs else None,
        rss_bytes=_rss(node.process) if node.process and runs else None,
        log=str(node_log(home, node.node_id)),
    )


def _rss(node: ProcessId) -> int | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        pages = Path(f"/proc/{node.pid}/statm").read_text("ascii").split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
