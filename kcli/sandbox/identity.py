"""Which process is meant: a pid together with the moment it started.

A pid alone is reused by the system after its process ends, so nothing here is ever signalled by pid
only. On Linux the moment is field 22 of ``/proc/PID/stat`` (clock ticks since boot) and the id of
that boot; elsewhere it is what ``ps`` prints as ``lstart``. No thread, no state.
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from kcli.core.classes import dataclass

_HAS_PROC = sys.platform.startswith("linux")


@dataclass(frozen=True, slots=True)
class ProcessId:
    """Identifies one process permanently: another process with the same pid has another ``started``."""

    pid: int
    started: str


def identify(pid: int) -> ProcessId | None:
    """The process that has ``pid`` now; None if there is none, or it has ended and only waits to be reaped."""
    started = start_mark(pid)
    return ProcessId(pid, started) if started else None


def is_alive(process: ProcessId) -> bool:
    """Whether this very process still runs."""
    return start_mark(process.pid) == process.started


def send(process: ProcessId, signum: signal.Signals) -> bool:
    """Signal this very process; False when it is gone (its pid may belong to another process by now)."""
    if not is_alive(process):
        return False
    with suppress(ProcessLookupError):
        os.kill(process.pid, signum)
        return True
    return False


def start_mark(pid: int) -> str:
    """When ``pid`` started, as an opaque text; empty when no such process runs."""
    if _HAS_PROC:
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return ""
        return mark_from_stat(stat, _boot_id())
    return mark_from_ps(_ps(pid))


def mark_from_stat(stat: bytes, boot_id: str) -> str:
    """The mark in a ``/proc/PID/stat`` line. The command's name may hold blanks and ')': split
    behind the last.
    """
    fields = stat[stat.rfind(b")") + 1 :].split()
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return ""
    return f"{fields[19].decode()}@{boot_id}"


def mark_from_ps(line: str) -> str:
    """The mark in a line of ``ps -o stat=,lstart=``: ``Ss  Sat Nov 21 10:00:00 2026``."""
    state, _, started = line.strip().partition(" ")
    return "" if state.startswith("Z") else " ".join(started.split())


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:8]
    except OSError:
        return ""


def _ps(pid: int) -> str:
    import subprocess  # systems without /proc only; every command that connects loads this module

    found = subprocess.run(  # noqa: S603
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "TZ": "UTC0"},
        check=False,
    )
    return found.stdout
