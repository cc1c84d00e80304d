"""Plans a start: ports, ids and the rest become the state that is written down before anything runs.

Looks at the system (free ports, other sandboxes), changes nothing. Two plans at once could choose the same
ports: the caller holds ``ports_lock`` until its plan is written down, and written plans count as taken.
"""

import random
from pathlib import Path

from kcli.files.lock import is_locked
from kcli.flows.java import Java
from kcli.sandbox.config import uses_zookeeper
from kcli.sandbox.data_folder import cluster_id
from kcli.sandbox.discovery import all_states, is_running
from kcli.sandbox.paths import state_root
from kcli.sandbox.ports import ANY, IsFree, PortTakenError, choose_ports, is_port_free, who_uses
from kcli.sandbox.security.names import LISTENERS
from kcli.sandbox.settings import Resolved
from kcli.sandbox.state import Listener, NodeState, Phase, SandboxState, ZooKeeperState

_PLAIN = {"PLAINTEXT": "PLAINTEXT"}


def plan_start(
    name: str, resolved: Resolved, kept: SandboxState | None, wanted: int | None, java: Java
) -> SandboxState:
    """The state of sandbox ``name`` before its first process. ``wanted``: the first port (see ``Settings.port``);
    without one that of the last time, if it is free. Ports of further listeners are those of the last time, else any.
    """
    owners = {
        port: f"sandbox {other.name}"
        for other in all_states()
        if other.name != name and holds_ports(other)
        for port in other.ports
    }

    def is_free(port: int) -> bool:
        return port not in owners and is_port_free(port)

    rng = random.Random()
    listeners: list[list[Listener]] = [[] for _ in range(resolved.brokers)]
    for listener, protocol in (LISTENERS if resolved.secure else _PLAIN).items():
        if wanted is None or listeners[0]:
            wanted = _kept_port(kept, listener, is_free) or (ANY if listeners[0] else None)
        try:
            ports = choose_ports(resolved.brokers, wanted, is_free, rng=rng)
        except PortTakenError as error:
            by, passing = (owners[error.port], False) if error.port in owners else who_uses(error.port)
            raise PortTakenError(error.port, by, passing=passing) from None
        owners |= dict.fromkeys(ports, f"sandbox {name}")
        for node, port in zip(listeners, ports, strict=True):
            node.append(Listener(listener, port, protocol))
    zookeeper = uses_zookeeper(resolved.version)
    inner = _controller_ports(kept) if resolved.controllers else None
    inner = inner or choose_ports(1 if zookeeper else resolved.brokers, ANY, is_free, rng=rng)
    return SandboxState(
        name=name,
        phase=Phase.STARTING,
        version=resolved.version,
        cluster_id=cluster_id(resolved.data),
        nodes=tuple(
            NodeState(n + 1, tuple(node), None if zookeeper else inner[n]) for n, node in enumerate(listeners)
        ),
        zookeeper=ZooKeeperState(inner[0]) if zookeeper else None,
        data=resolved.data,
        ephemeral=resolved.ephemeral,
        heap_mb=resolved.heap_mb,
        java=java.path,
        java_version=java.version,
        started_at="",
        extra=resolved.extra,
        jvm_options=resolved.jvm_options,
        secure=resolved.secure,
        controllers=resolved.controllers,
        log_dirs=resolved.log_dirs,
    )


def _kept_port(kept: SandboxState | None, listener: str, is_free: IsFree) -> int | None:
    """The first node's port of ``listener`` the last time, if it and those of the other nodes are free."""
    if kept and all(is_free(node.listener(listener).port) for node in kept.nodes):
        return kept.nodes[0].listener(listener).port
    return None


def _controller_ports(kept: SandboxState | None) -> list[int] | None:
    """Those of the last time, which the metadata log names as the voters' addresses."""
    ports = [node.controller_port for node in kept.nodes] if kept else []
    return [port for port in ports if port is not None] or None


def holds_ports(state: SandboxState) -> bool:
    """Whether the ports of ``state`` are its own now, even those on which it does not listen at the moment."""
    if state.phase is Phase.STARTING:
        return is_locked(lock_path(state.name))
    return is_running(state)


def lock_path(name: str) -> Path:
    # Beside the sandboxes' folders, because a lock file must outlive a deleted sandbox (see kcli.files.lock).
    return state_root() / ".locks" / name


def ports_lock() -> Path:
    """The lock file that is held while ports are chosen."""
    return state_root() / ".locks" / "-ports"
