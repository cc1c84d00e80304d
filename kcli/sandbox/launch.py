"""The steps that turn a written-down sandbox into running brokers: files, format, processes, readiness.

Each step reports the processes it started through ``record`` before they run, and decides nothing else.
"""

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kcli.core.classes import replace
from kcli.sandbox import config, log_file, process
from kcli.sandbox.artifacts import classpath
from kcli.sandbox.data_folder import cluster_id_on
from kcli.sandbox.errors import SandboxError, StartError
from kcli.sandbox.formatting import format_nodes as run_format
from kcli.sandbox.formatting import unformatted_nodes
from kcli.sandbox.identity import ProcessId
from kcli.sandbox.jvm import LOG4J1, LOG4J1_NAME, LOG4J2, LOG4J2_NAME, Jvm
from kcli.sandbox.ready import ask, cluster_is_ready
from kcli.sandbox.security.broker_properties import allowed_urls, security_properties
from kcli.sandbox.security.material import Material, write_private
from kcli.sandbox.security.names import INTERNAL, Names, node_name
from kcli.sandbox.state import HOST, SandboxState, log_dirs, security_folder, zookeeper_data
from kcli.sandbox.status import node_log

if TYPE_CHECKING:
    from ssl import SSLContext

_POLL = 0.05
_PROPERTIES = "server.properties"

OnStep = Callable[[str], object]
"""Called with a line about the step that begins now."""

Record = Callable[[SandboxState], None]
"""Writes the state to disk; called before the described processes run."""


def write_files(home: Path, state: SandboxState, material: Material | None) -> None:
    """Configuration of every node, and of the logs; a log of an earlier run moves aside.

    ``material``: that of a secure sandbox.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / LOG4J2_NAME).write_text(LOG4J2, "utf-8")
    (home / LOG4J1_NAME).write_text(LOG4J1, "utf-8")
    for node in state.nodes:
        folder = home / f"node-{node.node_id}"
        folder.mkdir(exist_ok=True)
        for data in log_dirs(state, node.node_id):
            data.mkdir(parents=True, exist_ok=True)
            if material:
                data.chmod(0o700)  # the first has the credentials of SCRAM
        security = security_properties(material, node.node_id) if material else {}
        text = config.server_properties(state, node, security)
        write_private(folder / _PROPERTIES, text.encode())
        log_file.rotate(node_log(home, node.node_id))
    if state.zookeeper:
        folder = home / "zookeeper"
        folder.mkdir(exist_ok=True)
        data = zookeeper_data(state)
        data.mkdir(parents=True, exist_ok=True)
        text = config.zookeeper_properties(state.zookeeper.port, str(data))
        (folder / "zoo.cfg").write_text(text, "utf-8")
        log_file.rotate(folder / "server.log")


def format_nodes(
    home: Path, state: SandboxState, material: Material | None, timeout: float, on_step: OnStep
) -> None:
    """Run Kafka's own format for every node without it, all at once, within ``timeout`` seconds."""
    todo = unformatted_nodes(state)
    if todo:
        on_step(f"formatting the data folder{'' if len(todo) == 1 else 's'} in {state.data}")
        run_format(home, state, todo, jvm_of(home, state), _PROPERTIES, material, timeout)


def start_zookeeper(
    home: Path, state: SandboxState, timeout: float, record: Record, on_step: OnStep
) -> SandboxState:
    """Start ZooKeeper if the version needs it, and wait until it accepts connections, for ``timeout`` seconds at most."""
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
    deadline = time.monotonic() + timeout
    while not _accepts(server.port):
        if not process.alive(started) or time.monotonic() > deadline:
            lines = log_file.tail(log, log_file.SHOWN)
            raise StartError(
                "ZooKeeper did not start",
                why=log_file.cause(lines),
                do=f"see its log: {log}",
                log_lines=lines,
            )
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
    """Wait until every broker responds and sees all others; StartError when one ends or time is up.

    They tell of the cluster whose data they have, which they may have made: another cluster that was faster to take a
    port is not waited for.
    """
    reported = 0
    deadline = time.monotonic() + timeout
    addresses, tls = _probed(state)
    while not cluster_is_ready(addresses, tls=tls, cluster=_cluster_on_disk(state)):
        for node in state.nodes:
            if node.process is None or not process.alive(node.process):
                raise _failed(home, node.node_id, "ended while it was starting")
        if len(addresses) > 1 and (up := _answering(addresses, tls)) > reported:
            reported = up
            on_step(f"{up} of {len(addresses)} brokers answer")
        if time.monotonic() > deadline:
            silent = _silent(state)
            raise log_file.start_error(silent, "is not ready", node_log(home, silent), late=timeout)
        time.sleep(_POLL)


def jvm_of(home: Path, state: SandboxState) -> Jvm:
    security = (allowed_urls(Names(security_folder(state.data))),) if state.secure else ()
    return Jvm(
        java=state.java,
        jars=tuple(map(str, classpath(state.version))),
        logging=str(home),
        heap_mb=state.heap_mb,
        options=(*state.jvm_options, *security),
    )


def _probed(state: SandboxState) -> tuple[list[tuple[str, int]], "SSLContext | None"]:
    """The addresses that are asked whether they are ready, and how to connect: as a node does."""
    addresses = [(HOST, node.listener(INTERNAL).port) for node in state.nodes]
    if not state.secure:
        return addresses, None
    import ssl  # secure sandboxes only

    names = Names(security_folder(state.data))
    tls = ssl.create_default_context(cafile=names.authority)
    tls.load_cert_chain(names.certificate(node_name(state.nodes[0].node_id)))
    return addresses, tls


def _answering(addresses: Sequence[tuple[str, int]], tls: "SSLContext | None") -> int:
    return sum(ask(host, port, tls=tls) is not None for host, port in addresses)


def _silent(state: SandboxState) -> int:
    """The first node that does not respond, or is not in a cluster."""
    addresses, tls = _probed(state)
    for node, address in zip(state.nodes, addresses, strict=True):
        if not cluster_is_ready([address], tls=tls, cluster=_cluster_on_disk(state)):
            return node.node_id
    return state.nodes[0].node_id


def _cluster_on_disk(state: SandboxState) -> str | None:
    """The id in the first node's data; None until there is one, or if its version writes none."""
    return cluster_id_on(log_dirs(state, state.nodes[0].node_id)[0])


def _failed(home: Path, node_id: int, how: str) -> SandboxError:
    return log_file.start_error(node_id, how, node_log(home, node_id))


def _accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True
