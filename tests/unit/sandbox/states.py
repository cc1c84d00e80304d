"""States of sandboxes for tests: built, not started."""

import os
from pathlib import Path

from kcli.sandbox.identity import ProcessId, identify
from kcli.sandbox.paths import home_of
from kcli.sandbox.security.names import LISTENERS
from kcli.sandbox.state import Listener, NodeState, Phase, SandboxState, ZooKeeperState, write_state

ENDED = ProcessId(os.getpid(), "1@another-boot")


def this_process() -> ProcessId:
    found = identify(os.getpid())
    assert found is not None
    return found


def make_state(
    name: str = "default",
    *,
    brokers: int = 1,
    process: ProcessId | None = None,
    phase: Phase = Phase.UP,
    version: str = "4.4.0",
    port: int = 9092,
    zookeeper: bool = False,
    secure: bool = False,
) -> SandboxState:
    return SandboxState(
        name=name,
        phase=phase,
        version=version,
        cluster_id="abc",
        nodes=tuple(
            NodeState(n + 1, _listeners(port + n, secure), None if zookeeper else 29000 + n, process)
            for n in range(brokers)
        ),
        zookeeper=ZooKeeperState(2181, process) if zookeeper else None,
        data=f"/data/{name}",
        ephemeral=False,
        heap_mb=512,
        java="/java",
        java_version="17.0.1",
        started_at="2026-11-21T10:00:00.000Z",
        secure=secure,
    )


def _listeners(port: int, secure: bool) -> tuple[Listener, ...]:
    """The first at ``port``, the others at that of the one before plus 1000."""
    protocols = LISTENERS if secure else {"PLAINTEXT": "PLAINTEXT"}
    return tuple(
        Listener(name, port + 1000 * n, protocol) for n, (name, protocol) in enumerate(protocols.items())
    )


def remember(state: SandboxState) -> Path:
    home = home_of(state.name)
    write_state(home, state)
    return home
