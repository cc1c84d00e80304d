"""What ``kcli sandbox up`` does: starts a sandbox, and shows its download. Threads that download report progress."""

import os
import time
from pathlib import Path

from kcli.commands.sandbox._statuses import named, print_statuses
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.kafka_download import Download
from kcli.sandbox.errors import StartError
from kcli.sandbox.security.names import CLIENT_FILES, LISTENERS, MUTUAL_TLS, Way
from kcli.sandbox.settings import Settings
from kcli.sandbox.status import SandboxStatus


def start(
    inv: Invocation,
    name: str | None,
    brokers: int | None,
    controllers: int | None,
    log_dirs: int | None,
    kafka_version: str | None,
    port: int | None,
    data: str | None,
    ephemeral: bool,
    secure: bool,
) -> int:
    """Starts a sandbox. Returns the exit status."""
    wanted = named(name)
    settings = Settings(
        version=kafka_version,
        brokers=brokers,
        port=port,
        data=os.path.abspath(os.path.expanduser(data)) if data else None,
        ephemeral=ephemeral or None,
        secure=secure or None,
        controllers=controllers,
        log_dirs=log_dirs,
        timeout=inv.values.timeout if inv.values.timeout is not None else Settings().timeout,
    )
    if inv.dry_run:
        print_statuses(inv, [wanted.check(settings)])
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
    print_statuses(inv, [status])
    return 0


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
