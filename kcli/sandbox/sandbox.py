"""One sandbox by name: up, status, logs, single nodes, down. The life of a small real Kafka cluster.

Blocking, in the caller's thread. A lock per name makes ``up`` and ``down`` of several processes take turns; a
common one is held while ports are chosen, so that two sandboxes never choose the same.
"""

import shutil
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from kcli.core.classes import replace
from kcli.files.atomic import make_private_folder
from kcli.files.lock import file_lock
from kcli.output.progress import counted
from kcli.sandbox import launch, process
from kcli.sandbox.artifacts import check_obtainable, classpath
from kcli.sandbox.data_folder import cluster_id, delete_data, formatted_nodes, refuse_unusable
from kcli.sandbox.discovery import DEFAULT_NAME, is_running
from kcli.sandbox.errors import RefusedError, SandboxError, UsageError
from kcli.sandbox.java import find_java
from kcli.sandbox.launch import OnStep
from kcli.sandbox.node import Node
from kcli.sandbox.paths import home_of
from kcli.sandbox.plan import lock_path, plan_start, ports_lock
from kcli.sandbox.progress import OnProgress, ignore_progress
from kcli.sandbox.security.client_files import write_client_files
from kcli.sandbox.security.material import Material, prepare, require_libraries
from kcli.sandbox.settings import Settings, differences, resolve
from kcli.sandbox.state import (
    FILE_NAME,
    NodeState,
    Phase,
    SandboxState,
    read_state,
    security_folder,
    write_state,
)
from kcli.sandbox.status import SandboxStatus, status_of
from kcli.sandbox.watchdog import Watchdog

_LOCK_TIMEOUT = 120.0


def _ignore_step(_text: str) -> None:
    """The default listener."""


class Sandbox:
    """The sandbox called ``name``, whether it exists yet or not."""

    def __init__(self, name: str = DEFAULT_NAME) -> None:
        self.name = name
        self.home = home_of(name)
        self._watchdog: Watchdog | None = None

    def up(
        self,
        settings: Settings | None = None,
        *,
        on_progress: OnProgress = ignore_progress,
        on_step: OnStep = _ignore_step,
    ) -> SandboxStatus:
        """Start it and return when every broker responds. Already up with these settings:
        nothing is done. ``on_step`` is called with a line about each step as it begins.

        Raises ``RefusedError`` when it is up, or keeps data, with other settings, or a port is
        taken; ``StartError``, ``DownloadError``, ``ExtraMissingError``. A start that fails or is
        interrupted leaves no process, and data only if there was some before.
        """
        settings = settings or Settings()
        with self._locked("starting or stopping", max(_LOCK_TIMEOUT, settings.timeout)):
            state = self._recovered()
            if state and state.phase is Phase.UP and any(map(process.alive, state.processes)):
                return self._join(state, settings)
            return self._start(state, settings, on_progress, on_step)

    def check(self, settings: Settings | None = None) -> SandboxStatus:
        """What ``up`` would make, as a status; raises what it would raise. Changes and downloads nothing."""
        settings = settings or Settings()
        state = read_state(self.home)
        if state and is_running(state):
            self._refuse_differing(state, settings)
            return status_of(state, self.home)
        resolved = resolve(settings, state, default_data=str(self.home / "data"))
        if resolved.secure:
            require_libraries()
        refuse_unusable(resolved, state, self.name, self.home)
        java = find_java()
        check_obtainable(resolved.version)
        planned = plan_start(self.name, resolved, state, settings.port, java)
        return status_of(planned, self.home)

    def down(self, *, delete: bool = False, grace: float | None = None) -> SandboxStatus | None:
        """Stop it; None if there is none. Data stays, unless ``delete`` or it is ephemeral.

        ``grace``: seconds before what has not stopped is killed; 0 for data that is thrown away anyway.
        """
        with self._locked("starting or stopping"):
            state = read_state(self.home)
            if state is None:
                self._release_watchdog()
                return None
            throw_away = delete or state.ephemeral
            if grace is None:
                grace = 0.0 if throw_away else process.STOP_GRACE
            self._stop(state, grace)
            state = _without_processes(state)
            if throw_away:
                self._delete(state)
            else:
                write_state(self.home, state)
            self._release_watchdog()
            return status_of(state, self.home)

    def status(self) -> SandboxStatus | None:
        """What is there now; None if there is no such sandbox. Sends nothing to the brokers."""
        state = read_state(self.home)
        return status_of(state, self.home) if state else None

    def logs(self) -> dict[str, Path]:
        """The log file of each node that has one (also after it stopped), by ``node-1``, …,
        ``zookeeper``.
        """
        return {path.parent.name: path for path in sorted(self.home.glob("*/server.log"))}

    @property
    def bootstrap(self) -> str:
        """``host:port,…`` of all nodes."""
        return self._state().bootstrap

    @property
    def nodes(self) -> list[Node]:
        """A handle on each node, to stop, kill, pause and start it alone."""
        return [Node(self, node.node_id) for node in self._state().nodes]

    # What Node needs.

    def node_state(self, node_id: int) -> NodeState:
        return next(node for node in self._state().nodes if node.node_id == node_id)

    def start_node(self, node_id: int, timeout: float | None) -> None:
        """Start one node of a running sandbox; with a timeout, return when all nodes see each other again."""
        with self._locked("starting or stopping"):
            state = launch.start_node(self.home, self._state(), node_id, self._record)
            if timeout is not None:
                launch.wait_ready(self.home, state, timeout, _ignore_step)

    # The parts of up.

    def _join(self, state: SandboxState, settings: Settings) -> SandboxStatus:
        """It runs: check that its settings are the requested ones, and start nodes that have ended."""
        self._refuse_differing(state, settings)
        gone = [n.node_id for n in state.nodes if not (n.process and process.alive(n.process))]
        for node_id in gone:
            state = launch.start_node(self.home, state, node_id, self._record)
        if gone:
            launch.wait_ready(self.home, state, settings.timeout, _ignore_step)
        return status_of(state, self.home)

    def _refuse_differing(self, state: SandboxState, settings: Settings) -> None:
        differing = differences(settings, state)
        if differing:
            raise RefusedError(
                f"sandbox {self.name} is already up with other settings",
                why="requested: " + ", ".join(differing),
                do=f"stop it first (`kcli sandbox down {self.name}`), or give this one another name",
            )

    def _start(
        self,
        kept: SandboxState | None,
        settings: Settings,
        on_progress: OnProgress,
        on_step: OnStep,
    ) -> SandboxStatus:
        resolved = resolve(settings, kept, default_data=str(self.home / "data"))
        if resolved.secure:
            require_libraries()
        had_data = bool(formatted_nodes(resolved.data))
        refuse_unusable(resolved, kept, self.name, self.home)
        java = find_java()
        on_step(f"Kafka {resolved.version} on Java {java.version}, {java.path}")
        classpath(resolved.version, on_progress=on_progress)
        if settings.die_with_parent:
            self._watchdog = Watchdog()
            if resolved.ephemeral:
                self._watchdog.remove_with_me(self.home)
        state: SandboxState | None = None
        try:
            with file_lock(ports_lock(), timeout=30, doing="choosing ports"):
                state = plan_start(self.name, resolved, kept, settings.port, java)
                self._record(state)
            material = self._write_files(state)
            launch.format_nodes(self.home, state, material, settings.timeout, on_step)
            state = launch.start_zookeeper(self.home, state, settings.timeout, self._record, on_step)
            on_step(f"starting {counted(len(state.nodes), 'broker')} at {state.bootstrap}")
            for node in state.nodes:
                state = launch.start_node(self.home, state, node.node_id, self._record)
            launch.wait_ready(self.home, state, settings.timeout, on_step)
            # With ZooKeeper the cluster chose its id itself.
            chosen = cluster_id(state.data)
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            state = replace(state, phase=Phase.UP, cluster_id=chosen, started_at=now)
            self._record(state)
        except BaseException as error:
            # Also Ctrl-C: a half-up cluster would be in the way of the next try.
            self._undo_start(kept, had_data=had_data, keep_logs=isinstance(error, Exception))
            raise
        return status_of(state, self.home)

    def _write_files(self, state: SandboxState) -> Material | None:
        """The nodes' configuration and, if it is secure, certificates and the files for its clients."""
        try:
            material = None
            if state.secure:
                material = prepare(security_folder(state.data), [node.node_id for node in state.nodes])
                write_client_files(material, state.bootstraps)
            launch.write_files(self.home, state, material)
            return material
        except OSError as error:
            raise UsageError(
                f"cannot write {error.filename}",
                why=(error.strerror or str(error)).lower(),
                do="name a folder that can be written with --data, or leave it out",
            ) from None

    def _undo_start(self, kept: SandboxState | None, *, had_data: bool, keep_logs: bool) -> None:
        """Leave what was there before: no process, the data of earlier runs, and of this one at most the logs."""
        state = read_state(self.home)
        if state is not None:
            process.stop(state.processes, grace=0)
            if not had_data:
                delete_data(state)
        if kept is not None:
            write_state(self.home, _without_processes(kept))
        elif state is not None and (state.ephemeral or not keep_logs or not self.logs()):
            shutil.rmtree(self.home, ignore_errors=True)
        else:
            (self.home / FILE_NAME).unlink(missing_ok=True)
        self._release_watchdog()

    # The parts of down, and what both need.

    def _stop(self, state: SandboxState, grace: float) -> None:
        """Brokers first: without ZooKeeper an old one cannot stop in order, and waits for it."""
        process.stop([node.process for node in state.nodes if node.process], grace=grace)
        process.stop(state.processes, grace=grace)

    def _delete(self, state: SandboxState) -> None:
        delete_data(state)
        shutil.rmtree(self.home, ignore_errors=True)
        lock_path(self.name).unlink(missing_ok=True)

    def _recovered(self) -> SandboxState | None:
        """The state. If its starter died half-way (the lock is ours, so it did), its processes end here."""
        state = read_state(self.home)
        if state is not None and state.phase is Phase.STARTING:
            process.stop(state.processes, grace=0)
            state = _without_processes(state)
            write_state(self.home, state)
        return state

    def _record(self, state: SandboxState) -> None:
        write_state(self.home, state)
        if self._watchdog:
            for started in state.processes:
                self._watchdog.kill_with_me(started)

    def _release_watchdog(self) -> None:
        if self._watchdog:
            self._watchdog.close()
            self._watchdog = None

    def _state(self) -> SandboxState:
        state = read_state(self.home)
        if state is None:
            raise SandboxError(
                f"there is no sandbox {self.name}",
                why="none of that name was started, or it was deleted",
                do=f"`kcli sandbox up {self.name}` starts it, `kcli sandbox status` lists all",
            )
        return state

    def _locked(self, doing: str, timeout: float = _LOCK_TIMEOUT) -> AbstractContextManager[None]:
        path = lock_path(self.name)
        make_private_folder(path.parent, SandboxError)
        return file_lock(path, timeout=timeout, doing=f"{doing} sandbox {self.name}")


def _without_processes(state: SandboxState) -> SandboxState:
    return replace(
        state,
        phase=Phase.STOPPED,
        nodes=tuple(replace(node, process=None) for node in state.nodes),
        zookeeper=state.zookeeper and replace(state.zookeeper, process=None),
    )
