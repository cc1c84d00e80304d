"""What ``kcli sandbox`` does: calls ``kcli.sandbox`` and prints. One thread; threads that download report progress."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.row_output import print_rows
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column
from kcli.sandbox import log_file
from kcli.sandbox.discovery import all_states
from kcli.sandbox.errors import SandboxError, StartError
from kcli.sandbox.progress import Progress
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.security.names import CLIENT_FILES, LISTENERS, MUTUAL_TLS, Way
from kcli.sandbox.settings import Settings
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
_POLL = 0.2


def up(
    inv: Invocation,
    name: str | None,
    brokers: int | None,
    kafka_version: str | None,
    port: int | None,
    data: str | None,
    ephemeral: bool,
    secure: bool,
) -> int:
    """Starts a sandbox. Returns the exit status."""
    wanted = Sandbox(*filter(None, [name]))
    settings = Settings(
        version=kafka_version,
        brokers=brokers,
        port=port,
        data=os.path.abspath(os.path.expanduser(data)) if data else None,
        ephemeral=ephemeral or None,
        secure=secure or None,
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
    if status.security != "none":
        _note_files(inv, status)
    _print(inv, [status])
    return 0


def down(inv: Invocation, name: str | None, delete: bool) -> int:
    """Stops a sandbox. Returns the exit status."""
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


def status(inv: Invocation, name: str | None) -> int:
    """Prints which sandboxes exist. Returns the exit status."""
    inv.page()
    names = [name] if name else [state.name for state in all_states()]
    found = [status for status in (Sandbox(each).status() for each in names) if status is not None]
    if name and not found:
        raise _missing(name)
    if not found:
        inv.talk.note("there is no sandbox; `kcli sandbox up` starts one")
    _print(inv, found)
    return 0


def logs(inv: Invocation, name: str | None, lines: int, follow: bool) -> int:
    """Prints the end of the brokers' logs. Returns the exit status."""
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
    """Prints added lines indefinitely; a log that became shorter is read from its start."""
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
    # The log contains names of clients unchanged.
    text = visible_line(line) if inv.out.isatty else line
    inv.out.text(f"{node}  {text}\n" if files > 1 else f"{text}\n")


def _note_files(inv: Invocation, status: SandboxStatus) -> None:
    """How to connect to a secure sandbox."""
    folder = Path(next(iter(status.files.values()))).parent
    inv.talk.note(f"files of client options for -F FILE, in {folder}:")
    for name, path in status.files.items():
        way = CLIENT_FILES[name]
        how = way.mechanism or _certificate(way)
        user, protocol = way.user or "ANONYMOUS", LISTENERS[way.listener]
        inv.talk.note(f"  {Path(path).name:31}  {user:9}  {protocol:14}  {how}")


def _certificate(way: Way) -> str:
    if way.listener != MUTUAL_TLS:
        return "no certificate"
    return "client certificate in PKCS#12" if way.pkcs12 else "client certificate"


def _print(inv: Invocation, found: Sequence[SandboxStatus]) -> None:
    print_rows(inv, KIND, COLUMNS, map(asdict, found), item=KIND)


def _missing(name: str) -> SandboxError:
    return SandboxError(
        f"there is no sandbox {name}",
        why="none of that name was started, or it was deleted",
        do=f"`kcli sandbox up {name}` starts it, `kcli sandbox status` lists all",
    )


class Download:
    """Shows a download from its first report on; a start from the cache shows nothing."""

    def __init__(self, inv: Invocation) -> None:
        self._inv = inv
        self._bar: Any = None

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def show(self, progress: Progress) -> None:
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
