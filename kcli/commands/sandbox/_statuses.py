"""Sandboxes as ``kcli sandbox`` lists them."""

from collections.abc import Sequence
from dataclasses import asdict

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.output.tables import Column
from kcli.sandbox.discovery import all_states
from kcli.sandbox.errors import SandboxError
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.status import SandboxStatus

KIND = "SandboxStatus"
COLUMNS = (
    Column("name", values="string", meaning="Name of the sandbox."),
    Column(
        "state",
        values=("up", "partial", "starting", "down"),
        meaning="partial: some nodes run.",
    ),
    Column("bootstrap", values="string", meaning="Brokers to start from."),
    Column("kafka_version", spare=2, values="string", meaning="Version of Kafka."),
    Column("brokers", "number", spare=1, values="count", meaning="How many nodes."),
    Column(
        "started_at",
        wide=True,
        values="time?",
        meaning="When it was started; null unless it was started to the end.",
    ),
    Column(
        "security",
        wide=True,
        values=("none", "secure"),
        meaning="Whether it has TLS and SASL.",
    ),
    Column("ephemeral", wide=True, values="boolean", meaning="Whether its data is deleted with it."),
    Column("data", wide=True, values="string", meaning="Folder of its data."),
    Column("cluster_id", wide=True, values="string", meaning="Id of the cluster."),
    Column("java_version", wide=True, values="string", meaning="Version of Java."),
)
FURTHER = (
    Column(
        "nodes",
        values="objects",
        inner=(
            Column("node_id", values="integer", meaning="Number of the node."),
            Column("address", values="string", meaning="Its address."),
            Column(
                "state",
                values=("up", "down"),
                meaning="Whether its process runs.",
            ),
            Column("pid", values="integer?", meaning="Its process; null where it does not run."),
            Column("rss_bytes", values="count?", meaning="Its memory in bytes; null where it is unknown."),
            Column("log", values="string", meaning="Its log file."),
        ),
        meaning="The nodes.",
    ),
    Column("zookeeper_pid", values="integer?", meaning="Process of ZooKeeper; null without one."),
    Column("java", values="string", meaning="The Java that runs it."),
    Column(
        "listeners",
        values="objects",
        inner=(
            Column("name", values="string", meaning="Name of the listener."),
            Column("protocol", values="string", meaning="Security protocol."),
            Column("bootstrap", values="string", meaning="Brokers to start from."),
            Column("mechanisms", values="strings", meaning="Mechanisms of SASL."),
            Column("client_certificate", values="boolean", meaning="Whether clients need a certificate."),
        ),
        meaning="The listeners.",
    ),
    Column("files", values="texts", meaning="Files of client options, by name."),
)


def named(name: str | None) -> Sandbox:
    """The sandbox of that name, or the default one."""
    return Sandbox(*filter(None, [name]))


def print_status(inv: Invocation, name: str | None) -> int:
    """Prints which sandboxes exist. Returns the exit status."""
    inv.page()
    names = [name] if name else [state.name for state in all_states()]
    found = [status for status in (Sandbox(each).status() for each in names) if status is not None]
    if name and not found:
        raise missing(name)
    if not found:
        inv.talk.note("there is no sandbox; `kcli sandbox up` starts one")
    print_statuses(inv, found)
    return 0


def print_statuses(inv: Invocation, found: Sequence[SandboxStatus]) -> None:
    """The list of sandboxes."""
    print_rows(inv, KIND, COLUMNS, map(asdict, found), item=KIND)


def missing(name: str) -> SandboxError:
    """The error for a name that no sandbox has."""
    return SandboxError(
        f"there is no sandbox {name}",
        why="none of that name was started, or it was deleted",
        do=f"`kcli sandbox up {name}` starts it, `kcli sandbox status` lists all",
    )
