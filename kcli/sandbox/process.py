"""Starts and ends the JVMs of a sandbox. Each is in a session of its own and outlives the command that
started it.

A JVM is started behind a gate: a shell that waits for one line and only then becomes the JVM (same pid, same
start time). In between the caller writes the process down. So there is never a broker that no state file
knows of: if the starter dies before it opens the gate, the shell reads the end of its input and exits.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kcli.core.secret import child_environment
from kcli.sandbox.errors import StartError
from kcli.sandbox.identity import ProcessId, identify, is_alive, send

STOP_GRACE = 6.0
"""Seconds between SIGTERM and SIGKILL. Of three nodes told to stop at once the last can never
finish: without a quorum no controller answers its request for a controlled shutdown."""

_GATE = 'read -r go || exit 1; exec "$@" </dev/null'

_children: dict[int, "subprocess.Popen[bytes]"] = {}


def spawn(
    command: Sequence[str], *, folder: Path, log: Path, register: Callable[[ProcessId], None]
) -> ProcessId:
    """Start ``command`` in ``folder`` with its output appended to ``log``; ``register`` runs before it does."""
    with log.open("ab") as output:
        child = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", _GATE, "gate", *command],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=child_environment(os.environ),
            start_new_session=True,
        )
    assert child.stdin is not None
    _children[child.pid] = child
    try:
        process = identify(child.pid)
        if process is None:
            raise StartError(
                f"{command[0]} could not be started",
                why="it ended at once",
                do=f"run `{command[0]} -version` by hand",
            )
        register(process)
        child.stdin.write(b"go\n")
    finally:
        # Without the line this is what makes the gate give up.
        child.stdin.close()
    return process


def run(command: Sequence[str], *, folder: Path, log: Path) -> "subprocess.Popen[bytes]":
    """Start a short step (it dies with its terminal, not registered); the caller waits for it."""
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=child_environment(os.environ),
        )


def alive(process: ProcessId) -> bool:
    """Whether ``process`` runs. Also collects it if it was started here and has ended."""
    _reap(process.pid)
    return is_alive(process)


def stop(processes: Iterable[ProcessId], *, grace: float = STOP_GRACE) -> None:
    """Ask all of them to end, wait up to ``grace`` seconds, then end the rest. ``grace=0`` does not ask."""
    left = [process for process in processes if alive(process)]
    if grace > 0:
        for process in left:
            send(process, signal.SIGTERM)
            # A paused process would keep the request until it is continued.
            send(process, signal.SIGCONT)
        left = _wait_gone(left, grace)
    for process in left:
        send(process, signal.SIGKILL)
    _wait_gone(left, 5.0)


def _wait_gone(processes: list[ProcessId], seconds: float) -> list[ProcessId]:
    deadline = time.monotonic() + seconds
    while processes and time.monotonic() < deadline:
        processes = [process for process in processes if alive(process)]
        if processes:
            time.sleep(0.03)
    return processes


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]
