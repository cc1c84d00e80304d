"""The folders that hold the nodes' data: what is in them, whether it may be used, and their removal.

The folder of a sandbox has one folder per node (``node-1``, …), and one for ZooKeeper. It is kcli's own, or one
that the user named; of that only these are ever touched.
"""

import base64
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from kcli.sandbox.discovery import all_states, is_running
from kcli.sandbox.errors import RefusedError
from kcli.sandbox.settings import Resolved, refuse_mismatched_data
from kcli.sandbox.state import SandboxState, log_dirs, security_folder, zookeeper_data


def formatted_nodes(data: str) -> list[Path]:
    return sorted(path.parent for path in Path(data).glob("node-*/meta.properties"))


def is_formatted(data: Path) -> bool:
    return (data / "meta.properties").exists()


def cluster_id_on(data: Path) -> str | None:
    """The cluster id in a formatted data folder."""
    try:
        text = (data / "meta.properties").read_text("utf-8")
    except OSError:
        return None
    lines = (line.partition("=") for line in text.splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == "cluster.id"), None)


def cluster_id(data: str) -> str:
    """The cluster id of the data in the folder, else a new one."""
    for folder in formatted_nodes(data):
        found = cluster_id_on(folder)
        if found:
            return found
    return random_cluster_id()


def random_cluster_id() -> str:
    """16 random bytes as base64. One in 64 would start with ``-`` and look like an option to Kafka's
    tools, so those are drawn again, as Kafka does.
    """
    while True:
        drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not drawn.startswith("-"):
            return drawn


def refuse_unusable(resolved: Resolved, kept: SandboxState | None, name: str, home: Path) -> None:
    """Refuse to start on data that is in use, or of another cluster, or that is not Kafka's at all."""
    for other in all_states():
        if other.name != name and other.data == resolved.data and is_running(other):
            raise RefusedError(
                f"sandbox {other.name} is running on {resolved.data}",
                why="two clusters cannot write to the same folder",
                do=f"name another folder, or stop it: `kcli sandbox down {other.name}`",
            )
    found = formatted_nodes(resolved.data)
    if found and kept and kept.data == resolved.data:
        refuse_mismatched_data(resolved, kept)
    elif found and len(found) != resolved.brokers:
        raise RefusedError(
            f"the data in {resolved.data} was written with --brokers {len(found)}, not {resolved.brokers}",
            why="the number of brokers is fixed when the data is made",
            do=f"--brokers {len(found)}, or name another folder",
        )
    elif found and security_folder(resolved.data).is_dir() != resolved.secure:
        has = "without" if resolved.secure else "with"
        raise RefusedError(
            f"the data in {resolved.data} was written {has} --secure",
            why="the certificates and passwords belong to the data",
            do=f"{'leave it out' if resolved.secure else 'add --secure'}, or name another folder",
        )
    if not Path(resolved.data).is_relative_to(home):
        _refuse_strange_folders(Path(resolved.data), resolved.brokers)


def _refuse_strange_folders(data: Path, brokers: int) -> None:
    """A user's folder may hold a ``node-1`` that is none of ours, and ``--delete`` would remove it."""
    for folder in [data / f"node-{n + 1}" for n in range(brokers)]:
        inside = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        if inside - {"bootstrap.checkpoint"} and not is_formatted(folder):
            raise RefusedError(
                f"{folder} is not empty, and what it holds is not Kafka's",
                why="a broker would write between these files",
                do="name another folder",
            )


def delete_data(state: SandboxState) -> None:
    """Remove what the nodes wrote; a folder the user named goes only if that leaves it empty."""
    for node in state.nodes:
        for folder in log_dirs(state, node.node_id):
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                if folder.parent != Path(state.data):
                    folder.parent.rmdir()
    shutil.rmtree(zookeeper_data(state), ignore_errors=True)
    if state.secure:
        shutil.rmtree(security_folder(state.data), ignore_errors=True)
    with suppress(OSError):
        Path(state.data).rmdir()
