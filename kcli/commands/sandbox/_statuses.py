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
    Column("name"),
    Column("state"),
    Column("bootstrap"),
    Column("kafka_version", spare=2),
    Column("brokers", "number", spare=1),
    Column("started_at", wide=True),
    Column("security", wide=True),
    Column("ephemeral", wide=True),
    Column("data", wide=True),
    Column("cluster_id", wide=True),
    Column("java_version", wide=True),
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
