"""A handle on one node of a sandbox, to break it on purpose: what fault tests use.

Each call acts on the process that the sandbox's state names at that moment, by pid and start time.
"""

import signal
from pathlib import Path
from typing import Protocol

from kcli.sandbox import process
from kcli.sandbox.errors import SandboxError
from kcli.sandbox.identity import ProcessId, send
from kcli.sandbox.state import HOST, NodeState
from kcli.sandbox.status import node_log


class Nodes(Protocol):
    """What a node needs of its sandbox."""

    name: str
    home: Path

    def node_state(self, node_id: int) -> NodeState: ...

    def start_node(self, node_id: int, timeout: float | None) -> None: ...


class Node:
    """Node ``node_id`` of ``sandbox``."""

    def __init__(self, sandbox: Nodes, node_id: int) -> None:
        self.sandbox = sandbox
        self.node_id = node_id

    @property
    def port(self) -> int:
        return self.sandbox.node_state(self.node_id).port

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The pid of its running process."""
        found = self._process()
        return found.pid if found else None

    @property
    def log(self) -> Path:
        return node_log(self.sandbox.home, self.node_id)

    def start(self, *, timeout: float | None = 60.0) -> None:
        """Start it again after ``stop`` or ``kill``, on the same ports and data.

        Returns when every node of the sandbox is ready; with ``timeout=None`` at once.
        """
        if self._process() is not None:
            raise SandboxError(
                f"node {self.node_id} of sandbox {self.sandbox.name} is already running",
                why="it was not stopped",
                do="stop it first",
            )
        self.sandbox.start_node(self.node_id, timeout)

    def stop(self, *, grace: float = process.STOP_GRACE) -> None:
        """SIGTERM: the node hands over its leaderships and ends; after ``grace`` seconds SIGKILL."""
        process.stop([self._running()], grace=grace)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone: its connections break without notice."""
        process.stop([self._running()], grace=0)

    def pause(self) -> None:
        """SIGSTOP: it keeps its connections and responds to nothing, as a machine that hangs."""
        send(self._running(), signal.SIGSTOP)

    def resume(self) -> None:
        """Continues the process (SIGCONT)."""
        send(self._running(), signal.SIGCONT)

    def _process(self) -> ProcessId | None:
        found = self.sandbox.node_state(self.node_id).process
        return found if found and process.alive(found) else None

    def _running(self) -> ProcessId:
        found = self._process()
        if found is None:
            raise SandboxError(
                f"node {self.node_id} of sandbox {self.sandbox.name} is not running",
                why="it was stopped, or has ended",
                do=f"`kcli sandbox logs {self.sandbox.name}` shows why it ended",
            )
        return found
