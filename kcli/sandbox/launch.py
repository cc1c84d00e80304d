"""The steps that turn a written-down sandbox into running brokers: files, format, processes, readiness.

Each step reports the processes it started through ``record`` before they run, and decides nothing else.
"""

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kcli.sandbox import config, log_file, process
from kcli.sandbox.artifacts import classpath
from kcli.sandbox.data_folder import is_formatted
from kcli.sandbox.errors import SandboxError, StartError
from kcli.sandbox.identity import ProcessId
from kcli.sandbox.jvm import LOG4J1, LOG4J1_NAME, LOG4J2, LOG4J2_NAME, Jvm
from kcli.sandbox.ready import ask, cluster_is_ready
from kcli.sandbox.state import HOST, SandboxState, node_data, zookeeper_data
from kcli.sandbox.status import node_log

_POLL = 0.05
_LOG_LINES = 15
_PROPERTIES = "server.properties"

OnStep = Callable[[str], object]
"""Called with a line about the step that begins now."""

Record = Callable[[SandboxState], None]
"""Writes the state to disk; called before the described processes run."""


def write_files(home: Path, state: SandboxState) -> None:
    """Configuration of every node, and of the logs; a log of an earlier run moves aside."""
    home.mkdir(parents=True, exist_ok=True)
    (home / LOG4J2_NAME).write_text(LOG4J2, "utf-8")
    (home / LOG4J1_NAME).write_text(LOG4J1, "utf-8")
    for node in state.nodes:
        folder = home / f"node-{node.node_id}"
        folder.mkdir(exist_ok=True)
        node_data(state, node.node_id).mkdir(parents=True, exist_ok=True)
        (folder / _PROPERTIES).write_text(config.server_properties(state, node), "utf-8")
        log_file.rotate(node_log(home, node.node_id))
    if state.zookeeper:
        folder = home / "zookeeper"
        folder.mkdir(exist_ok=True)
        data = zookeeper_data(state)
        data.mkdir(parents=True, exist_ok=True)
        text = config.zookeeper_properties(state.zookeeper.port, str(data))
        (folder / "zoo.cfg").write_text(text, "utf-8")
        log_file.rotate(folder / "server.log")


def format_nodes(home: Path, state: SandboxState, on_step: OnStep) -> None:
    """Run Kafka's own format for every node without it, all at once. Its output goes to the node's log."""
    if state.zookeeper:
        return
    jvm = jvm_of(home, state)
    todo = [n.node_id for n in state.nodes if not is_formatted(node_data(state, n.node_id))]
    if todo:
        on_step(f"formatting the data folder{'' if len(todo) == 1 else 's'} in {state.data}")
    steps = []
    try:
        for node_id in todo:
            # Left by a format that was killed: the next one would refuse a folder that is not empty of it.
            (node_data(state, node_id) / "bootstrap.checkpoint").unlink(missing_ok=True)
            folder = home / f"node-{node_id}"
            command = jvm.format(state.cluster_id, str(folder / _PROPERTIES))
            steps.append(process.run(command, folder=folder, log=node_log(home, node_id)))
        for node_id, step in zip(todo, steps, strict=True):
            if step.wait(60) != 0:
                raise _failed(home, node_id, "could not format its data folder")
    finally:
        for step in steps:
            if step.poll() is None:
                step.kill()
                step.wait()


def start_zookeeper(home: Path, state: SandboxState, record: Record, on_step: OnStep) -> SandboxState:
    """Start ZooKeeper if the version needs it, and wait until it accepts connections."""
    if state.zookeeper is None:
        return state
    server = state.zookeeper
    on_step(f"starting ZooKeeper at {HOST}:{server.port}")

    def register(started: ProcessId) -> None:
        nonlocal state
        state = replace(state, zookeeper=replace(server, process=started))
        record(state)

    folder = home / "zookeeper"
    log = folder / "server.log"
    command = jvm_of(home, state).zookeeper(str(folder / "zoo.cfg"))
    started = process.spawn(command, folder=folder, log=log, register=register)
    deadline = time.monotonic() + 30
    while not _accepts(server.port):
        if not process.alive(started) or time.monotonic() > deadline:
            lines = log_file.tail(log, _LOG_LINES)
            raise StartError("ZooKeeper did not start", why=log_file.cause(lines), log_lines=lines)
        time.sleep(_POLL)
    return state


def start_node(home: Path, state: SandboxState, node_id: int, record: Record) -> SandboxState:
    """Start one broker; returns at once, with the state that has its process."""

    def register(started: ProcessId) -> None:
        nonlocal state
        nodes = tuple(
            replace(node, process=started) if node.node_id == node_id else node for node in state.nodes
        )
        state = replace(state, nodes=nodes)
        record(state)

    folder = home / f"node-{node_id}"
    command = jvm_of(home, state).broker(str(folder / _PROPERTIES))
    process.spawn(command, folder=folder, log=node_log(home, node_id), register=register)
    return state


def wait_ready(home: Path, state: SandboxState, timeout: float, on_step: OnStep) -> None:
    """Wait until every broker responds and sees all others; StartError when one ends or time is up."""
    reported = 0
    deadline = time.monotonic() + timeout
    addresses = [(HOST, node.port) for node in state.nodes]
    while not cluster_is_ready(addresses):
        for node in state.nodes:
            if node.process is None or not process.alive(node.process):
                raise _failed(home, node.node_id, "ended while it was starting")
        if len(addresses) > 1 and (up := _answering(addresses)) > reported:
            reported = up
            on_step(f"{up} of {len(addresses)} brokers answer")
        if time.monotonic() > deadline:
            raise _failed(home, _silent(state), f"is not ready after {timeout:.0f} s")
        time.sleep(_POLL)


def jvm_of(home: Path, state: SandboxState) -> Jvm:
    return Jvm(
        java=state.java,
        jars=tuple(map(str, classpath(state.version))),
        logging=str(home),
        heap_mb=state.heap_mb,
        options=state.jvm_options,
    )


def _answering(addresses: Sequence[tuple[str, int]]) -> int:
    return sum(ask(host, port) is not None for host, port in addresses)


def _silent(state: SandboxState) -> int:
    """The first node that does not respond, or is not in a cluster."""
    for node in state.nodes:
        if not cluster_is_ready([(HOST, node.port)]):
            return node.node_id
    return state.nodes[0].node_id


def _failed(home: Path, node_id: int, how: str) -> SandboxError:
    log = node_log(home, node_id)
    lines = log_file.without_frames(log_file.tail(log, 200))
    return StartError(
        f"broker {node_id} {how}",
        why=log_file.cause(lines),
        do=f"its log is {log}",
        log_lines=lines[-_LOG_LINES:],
    )


def _accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True
