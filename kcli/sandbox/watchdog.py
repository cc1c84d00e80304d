"""Ends a test's brokers when the test process is gone, however it ended (SIGKILL included).

Run as a process of its own (``python -m kcli.sandbox.watchdog``) whose standard input is a pipe
from the test process. Lines on it add to what must go: ``kill PID STARTED`` and ``remove FOLDER``.
The end of input means that every holder of the other end has ended: then all of it is done, at once
and without asking the brokers. The pipe's other end is not inherited by programs that the test
process starts; a child that it forks without exec (multiprocessing's fork) does hold it, and delays
this until it ends too.

A pipe, because the alternatives fail: ``PR_SET_PDEATHSIG`` exists on Linux only and fires when the
*thread* that started the broker ends; ``atexit`` does not run on SIGKILL.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from kcli.core.secret import child_environment
from kcli.sandbox.identity import ProcessId, send


class Watchdog:
    """The test process's side: starts the process and sends it what to end."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        root = str(Path(__file__).resolve().parents[2])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-S", "-m", "kcli.sandbox.watchdog"],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                env={**child_environment(os.environ), "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"},
                # A Ctrl-C in the terminal goes to the whole foreground group; this one must outlive it.
                start_new_session=True,
            )
        finally:
            os.close(reading)

    def kill_with_me(self, process: ProcessId) -> None:
        os.write(self._writing, f"kill {process.pid} {process.started}\n".encode())

    def remove_with_me(self, folder: Path) -> None:
        os.write(self._writing, f"remove {folder}\n".encode())

    def close(self) -> None:
        """Let it act now on whatever of its list is still there, and wait for its end."""
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1
            self._process.wait()


def main() -> None:
    """The watchdog process: read until the end of input, then act."""
    processes: list[ProcessId] = []
    folders: list[str] = []
    for line in sys.stdin:
        verb, _, rest = line.rstrip("\n").partition(" ")
        if verb == "kill":
            pid, _, started = rest.partition(" ")
            processes.append(ProcessId(int(pid), started))
        elif verb == "remove":
            folders.append(rest)
    for process in processes:
        send(process, signal.SIGKILL)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
