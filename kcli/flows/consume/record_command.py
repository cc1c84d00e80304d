"""The program of ``--ack-after-exec``: run once for a record, its exit status decides how the record is acknowledged.

It gets the record as a line of JSON on its stdin, and its key and value as files, so that a shell script need not parse
anything. It runs without a shell, in a session of its own (Ctrl-C is for kcli), without kcli's secrets in its
environment; what it prints goes to stderr, as stdout has the records.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from kcli.core.errors import ConfigError
from kcli.core.net.command import CommandError, command_words
from kcli.core.secret import child_environment
from kcli.core.share.acquired import Acknowledge

RELEASES = 75
"""EX_TEMPFAIL of sysexits.h: try again later."""
_CANNOT_RUN = (126, 127)
_AT_ONCE = 0.02  # seconds in which most programs end, without a thread to wait for them


class RecordCommand:
    """A context manager: ``start`` for a record, then ``ended`` until it returns the exit status."""

    def __init__(self, text: str, environ: Mapping[str, str]) -> None:
        try:
            self._words = command_words(text)
        except CommandError as error:
            raise ConfigError(
                f"--ack-after-exec {text!r} is not a command", why=error.why, do=error.do
            ) from None
        self._environ = environ
        import tempfile  # loads five more modules

        self._folder = tempfile.TemporaryDirectory(prefix="kcli-record-")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RecordCommand:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.kill()
        self._folder.cleanup()

    def start(self, line: bytes, key: bytes | None, value: bytes | None, wake: Callable[[], object]) -> None:
        """Runs it; ``wake`` is called, by another thread, once it has ended. ConfigError if it cannot be started."""
        files = {}
        for name, data in (("KEY", key), ("VALUE", value)):
            if data is not None:
                path = Path(self._folder.name) / name.lower()
                path.write_bytes(data)
                files[f"KCLI_{name}_FILE"] = str(path)
        import tempfile  # loads five more modules

        with tempfile.TemporaryFile() as stdin:
            stdin.write(line)
            stdin.seek(0)
            try:
                self._process = subprocess.Popen(  # noqa: S603 - no shell; the user names it
                    self._words,
                    stdin=stdin,
                    stdout=2,
                    env=child_environment(self._environ) | files,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or str(error)
                raise self._cannot_run(why) from None
        process = self._process
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_AT_ONCE)
            return
        threading.Thread(target=lambda: (process.wait(), wake()), daemon=True).start()

    def ended(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return None if self._process is None else self._process.poll()

    def kill(self) -> None:
        """Ends it, with all that it has started."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def decision(self, status: int) -> Acknowledge:
        """What an exit status means for the record. ConfigError for those of a shell that could not run a program: all
        records would be rejected for a typing error.
        """
        if status == 0:
            return Acknowledge.ACCEPT
        if status in _CANNOT_RUN:
            raise self._cannot_run(f"it ended with exit status {status}")
        return Acknowledge.RELEASE if status == RELEASES or status < 0 else Acknowledge.REJECT

    def _cannot_run(self, why: str) -> ConfigError:
        return ConfigError(
            f"--ack-after-exec: {self._words[0]} cannot be run",
            why=why,
            do="check the command; the record was released, and will be delivered again",
        )
