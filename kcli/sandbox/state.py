"""What is remembered of one sandbox: a JSON file in its folder, read by every other kcli process of the user.

The file is replaced whole, in one step. It holds which processes were started, as pid and start time; whether
they still run is checked each time, never stored.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Any

from kcli.core.classes import dataclass, field
from kcli.files.atomic import replace_file
from kcli.sandbox.errors import RefusedError
from kcli.sandbox.identity import ProcessId

HOST = "127.0.0.1"
FILE_NAME = "sandbox.json"
_FORMAT = 3
"""1: without ``secure``, which is False then. 2: without ``controllers``, which is 0, and ``log_dirs``, which is 1."""


class Phase(Enum):
    """How far the last ``up`` or ``down`` came. STARTING while no process holds the lock: its starter died."""

    STARTING = "starting"
    UP = "up"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Listener:
    """An address on which a broker serves clients. A node's first one is what its sandbox's ``bootstrap`` names."""

    name: str
    port: int
    protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node: its addresses (``controller_port`` is None with ZooKeeper), and its process if one was started."""

    node_id: int
    listeners: tuple[Listener, ...]
    controller_port: int | None
    process: ProcessId | None = None

    @property
    def port(self) -> int:
        return self.listeners[0].port

    def listener(self, name: str) -> Listener:
        """The one called ``name``; a node that has no such listener uses its first one for everything."""
        return next((each for each in self.listeners if each.name == name), self.listeners[0])


@dataclass(frozen=True, slots=True)
class ZooKeeperState:
    """The ZooKeeper server that old versions need."""

    port: int
    process: ProcessId | None = None


@dataclass(frozen=True, slots=True)
class SandboxState:
    """One sandbox. ``data`` is the folder that has one folder per node; ``started_at`` is RFC 3339, UTC. ``controllers``:
    how many nodes were the first voters of a dynamic quorum; 0 of a static one, of all nodes. ``log_dirs``: how many log
    directories each node has.
    """

    name: str
    phase: Phase
    version: str
    cluster_id: str
    nodes: tuple[NodeState, ...]
    zookeeper: ZooKeeperState | None
    data: str
    ephemeral: bool
    heap_mb: int
    java: str
    java_version: str
    started_at: str
    extra: Mapping[str, str] = field(default_factory=dict)
    jvm_options: tuple[str, ...] = ()
    secure: bool = False
    controllers: int = 0
    log_dirs: int = 1

    @property
    def bootstrap(self) -> str:
        """``host:port,…`` of all nodes."""
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    @property
    def bootstraps(self) -> dict[str, str]:
        """The same for each listener, by its name."""
        names = [listener.name for listener in self.nodes[0].listeners]
        return {name: ",".join(f"{HOST}:{node.listener(name).port}" for node in self.nodes) for name in names}

    @property
    def processes(self) -> list[ProcessId]:
        """Everything that was started, brokers first: without ZooKeeper a broker cannot stop in order."""
        started = [node.process for node in self.nodes]
        if self.zookeeper:
            started.append(self.zookeeper.process)
        return [process for process in started if process is not None]

    @property
    def ports(self) -> set[int]:
        """All ports that it uses, or will use when it is started again."""
        ports = {listener.port for node in self.nodes for listener in node.listeners}
        ports |= {node.controller_port for node in self.nodes if node.controller_port}
        return ports | ({self.zookeeper.port} if self.zookeeper else set())


def node_data(state: SandboxState, node_id: int) -> Path:
    return Path(state.data) / f"node-{node_id}"


def log_dirs(state: SandboxState, node_id: int) -> list[Path]:
    """The log directories of a node; the first is where it keeps the rest, too."""
    further = [
        Path(state.data) / f"disk-{number}" / f"node-{node_id}" for number in range(2, state.log_dirs + 1)
    ]
    return [node_data(state, node_id), *further]


def security_folder(data: str) -> Path:
    """Where a secure sandbox has its certificates and passwords: with the data, which has credentials in it too."""
    return Path(data) / "security"


def zookeeper_data(state: SandboxState) -> Path:
    return Path(state.data) / "zookeeper"


def read_state(home: Path) -> SandboxState | None:
    """The state in the folder ``home``; None if there is none, or it is damaged.

    RefusedError if a newer kcli wrote it: a sandbox may be running there.
    """
    try:
        return from_json((home / FILE_NAME).read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_state(home: Path, state: SandboxState) -> None:
    """Replace the state in ``home``."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(os.fspath(home / FILE_NAME), to_json(state).encode(), sync=False)


def to_json(state: SandboxState) -> str:
    document = {"format": _FORMAT, **asdict(state), "phase": state.phase.value}
    return json.dumps(document, indent=1)


def from_json(text: str) -> SandboxState:
    """The reverse of ``to_json``; ValueError, KeyError or TypeError for anything else."""
    document: Any = json.loads(text)
    if not isinstance(document, dict):
        raise TypeError("not an object")
    version = document.pop("format")
    if not isinstance(version, int) or version < 1:
        raise ValueError("not a format")
    if version > _FORMAT:
        raise RefusedError(
            f"sandbox {document.get('name', '')} was made by a newer kcli",
            why=f"its state has format {version}, this kcli reads up to {_FORMAT}",
            do="use that kcli, or another name for the sandbox",
        )
    zookeeper = document.pop("zookeeper")
    return SandboxState(
        **{
            **document,
            "phase": Phase(document["phase"]),
            "nodes": tuple(map(_node, document["nodes"])),
            "zookeeper": zookeeper and ZooKeeperState(zookeeper["port"], _process(zookeeper["process"])),
            "jvm_options": tuple(document["jvm_options"]),
        }
    )


def _node(row: dict[str, Any]) -> NodeState:
    return NodeState(
        row["node_id"],
        tuple(Listener(**listener) for listener in row["listeners"]),
        row["controller_port"],
        _process(row["process"]),
    )


def _process(row: dict[str, Any] | None) -> ProcessId | None:
    return ProcessId(**row) if row else None
