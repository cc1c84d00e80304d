"""Kafka's own format step, which a node's data folder needs once. Nodes are formatted at the same time.

That of a secure sandbox sets the credentials of SCRAM, which must be neither in a command line nor in a log.
"""

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from kcli.sandbox import log_file, process
from kcli.sandbox.data_folder import is_formatted, random_cluster_id
from kcli.sandbox.errors import StartError
from kcli.sandbox.jvm import Jvm, argument_file
from kcli.sandbox.security.broker_properties import scram_arguments
from kcli.sandbox.security.material import Material, write_private
from kcli.sandbox.state import HOST, SandboxState, node_data
from kcli.sandbox.status import node_log

_CREDENTIAL = b"scram"


def unformatted_nodes(state: SandboxState) -> list[int]:
    """The nodes whose data folder needs the step; none with ZooKeeper."""
    if state.zookeeper:
        return []
    return [n.node_id for n in state.nodes if not is_formatted(node_data(state, n.node_id))]


def format_nodes(
    home: Path,
    state: SandboxState,
    node_ids: list[int],
    jvm: Jvm,
    properties: str,
    material: Material | None,
    timeout: float,
) -> None:
    """Format ``node_ids``; the output goes to each node's log. StartError names the node that failed.

    ``properties``: the name of the configuration file in a node's folder. ``timeout``: seconds for all of them.
    """
    deadline = time.monotonic() + timeout
    first = _first_voters(state, node_ids)
    steps: list[tuple[int, subprocess.Popen[bytes]]] = []
    try:
        for node_id in node_ids:
            # Left by a format that was killed: the next one would refuse a folder that is not empty of it.
            (node_data(state, node_id) / "bootstrap.checkpoint").unlink(missing_ok=True)
            folder = home / f"node-{node_id}"
            voters = quorum_arguments(state, node_id, first)
            further = [*(scram_arguments(material) if material else []), *voters]
            command = jvm.format(state.cluster_id, str(folder / properties), further)
            log = node_log(home, node_id)
            if material:
                arguments = material.names.format_arguments(node_id)
                write_private(arguments, argument_file(command[1:]).encode())
                command = [command[0], f"@{arguments}"]
                log = material.names.format_log(node_id)
                write_private(log, b"")
            steps.append((node_id, process.run(command, folder=folder, log=log)))
        for node_id, step in steps:
            status = _status(step, deadline)
            if status != 0:
                late = timeout if status is None else None
                raise _failed(home, node_id, material, late)
    finally:
        for _node_id, step in steps:
            if step.poll() is None:
                step.kill()
                step.wait()
        if material:
            _remove_private_files(home, node_ids, material)


def _first_voters(state: SandboxState, node_ids: list[int]) -> dict[int, str]:
    """The directory ids of the first voters of a dynamic quorum, by node; none where it has voters already."""
    if len(node_ids) < len(state.nodes):
        return {}
    return {node.node_id: random_cluster_id() for node in state.nodes[: state.controllers]}


def quorum_arguments(state: SandboxState, node_id: int, first: Mapping[int, str]) -> list[str]:
    """What the format of a node's data says of a dynamic quorum. ``first``: directory ids of its first voters."""
    if not state.controllers:
        return []
    if node_id not in first:
        return ["--no-initial-controllers"]
    ports = {node.node_id: node.controller_port for node in state.nodes}
    voters = ",".join(f"{number}@{HOST}:{ports[number]}:{directory}" for number, directory in first.items())
    return [f"--initial-controllers={voters}"]


def _status(step: subprocess.Popen[bytes], deadline: float) -> int | None:
    try:
        return step.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _failed(home: Path, node_id: int, material: Material | None, late: float | None) -> StartError:
    if material:
        _remove_private_files(home, [node_id], material)
    how = "could not format its data folder" if late is None else "has not formatted its data folder"
    return log_file.start_error(node_id, how, node_log(home, node_id), late=late)


def _remove_private_files(home: Path, node_ids: list[int], material: Material) -> None:
    """The output moves to the node's log, except for its lines with salted passwords."""
    for node_id in node_ids:
        material.names.format_arguments(node_id).unlink(missing_ok=True)
        output = material.names.format_log(node_id)
        if output.exists():
            lines = output.read_bytes().splitlines(keepends=True)
            with node_log(home, node_id).open("ab") as log:
                log.writelines(line for line in lines if _CREDENTIAL not in line.lower())
            output.unlink()
