"""Runs a program for what it prints, or for what it does with a document on its stdin: without a shell, without secrets
in its environment, bounded in time and size.

Used for secrets, tokens and notifications; what was printed is never in an error. Blocks its caller, so that a client's
loop leaves it to the worker thread.
"""

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping

from kcli.core.clock import monotonic
from kcli.core.secret import child_environment

_STDERR_KEPT = 4_096
_STDERR_SHOWN = 300
_OPERATORS = frozenset(
    ("|", "||", "&", "&&", ";", "<", "<<<", ">", ">>", "2>", "2>&1", ">/dev/null", "2>/dev/null")
)
"""Of shells, as words of their own."""


class CommandError(Exception):
    """Why a program gave nothing, and what to do about it."""

    def __init__(self, why: str, do: str) -> None:
        super().__init__(why)
        self.why = why
        self.do = do


def command_words(text: str) -> list[str]:
    """The program and its arguments, split as a shell splits them; no shell runs, so that a pipe is an error."""
    try:
        words = shlex.split(text)
        operator = next((word for word in shlex.split(text, posix=False) if word in _OPERATORS), None)
    except ValueError as error:
        raise CommandError(str(error).lower(), "close the quotes") from None
    if not words:
        raise CommandError("there is no command in it", "write PROGRAM ARGUMENT…")
    if operator is not None:
        raise CommandError(
            f"it has {operator}, and no shell runs it", "write sh -c '…' around the whole command"
        )
    return words


def command_output(
    text: str, environ: Mapping[str, str], *, seconds: float, limit: int, wanted: str, longer: str
) -> bytes:
    """What the program prints; CommandError if it fails, hangs or prints more than ``limit`` bytes.

    ``wanted``: what it has to print, as in "the secret"; ``longer``: how it gets more time.
    """
    words = command_words(text)
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell; the user's own configuration names it
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment(environ),
        )  # in this process group: only so it may ask at the terminal
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CommandError(why, f"check that {words[0]} is installed") from None
    out, err = _output(process, seconds, limit, longer)
    if len(out) > limit:
        raise CommandError(f"it printed more than {limit:,} bytes", f"it has to print {wanted} only")
    if process.returncode:
        raise CommandError(
            f"it ended {_ending(process.returncode)}{_shown(err)}",
            f"run it by hand; it has to print {wanted} and nothing else",
        )
    return out


def feed_command(
    text: str,
    environ: Mapping[str, str],
    document: bytes,
    *,
    seconds: float,
    longer: str,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Runs the program with ``document`` on its stdin; CommandError if it cannot be started, fails or hangs. What it
    prints is discarded.

    It has a session of its own: Ctrl-C is for kcli, and all that it has started is killed when its time is over, or when
    ``stopped`` says so. The document is a file without a name: a program that does not read it all blocks nothing.
    """
    words = command_words(text)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(document)
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell; the user names it
                words,
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=child_environment(environ),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise CommandError(why, f"check that {words[0]} is installed") from None
    err = _errors_of(process, monotonic() + seconds, stopped)
    if err is None:
        raise CommandError(
            "kcli was stopped meanwhile" if stopped() else f"it ran for more than {seconds:g} s",
            f"run it by hand, perhaps it waits for something; or give it longer with {longer}",
        )
    if process.returncode:
        raise CommandError(
            f"it ended {_ending(process.returncode)}{_shown(err)}",
            "run it by hand, with the document on its stdin",
        )


_LOOK = 0.1  # seconds between two looks at whether the program has ended: others may hold its stderr


def _errors_of(process: subprocess.Popen[bytes], until: float, stopped: Callable[[], bool]) -> bytes | None:
    """The end of its stderr; None if it did not end in time, or was stopped."""
    assert process.stderr is not None
    err = b""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stderr, selectors.EVENT_READ)
            while process.poll() is None and monotonic() < until and not stopped():
                for _ready in selector.select(_LOOK):
                    part = os.read(process.stderr.fileno(), 1 << 16)
                    err = (err + part)[-_STDERR_KEPT:]
                    if not part:
                        selector.unregister(process.stderr)
            if process.poll() is not None and selector.get_map() and selector.select(0):
                err = (err + os.read(process.stderr.fileno(), 1 << 16))[-_STDERR_KEPT:]
        return None if process.poll() is None else err
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.stderr.close()
        process.wait()


def _output(process: subprocess.Popen[bytes], seconds: float, limit: int, longer: str) -> tuple[bytes, bytes]:
    """stdout, at most a little more than the limit, and the end of stderr; the process has ended."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = b"", b""
    until = monotonic() + seconds
    try:
        with selectors.DefaultSelector() as selector:
            for stream in (process.stdout, process.stderr):
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map() and len(out) <= limit:
                left = until - monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready:  # or it writes to stderr without an end
                    why = f"it ran for more than {seconds:g} s"
                    raise CommandError(
                        why,
                        f"run it by hand, perhaps it waits for an answer; or give it longer with {longer}",
                    )
                for key, _events in ready:
                    part = os.read(key.fd, 1 << 16)
                    if not part:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is process.stdout:
                        out += part
                    else:
                        err = (err + part)[-_STDERR_KEPT:]
        if len(out) <= limit:
            _wait(process, until, seconds)
        return out, err
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdout, process.stderr):
            stream.close()
        process.wait()


def _wait(process: subprocess.Popen[bytes], until: float, seconds: float) -> None:
    """A program may close its output and go on."""
    try:
        process.wait(max(0.1, until - monotonic()))
    except subprocess.TimeoutExpired:
        raise CommandError(f"it ran for more than {seconds:g} s", "it has to end") from None


def _ending(status: int) -> str:
    if status >= 0:
        return f"with exit status {status}"
    try:
        return f"by signal {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"


def _shown(stderr: bytes) -> str:
    """The end of what it wrote to stderr, as one printable line."""
    text = "".join(c if c.isprintable() else " " for c in stderr.decode("utf-8", "replace"))
    text = " ".join(text.split())
    return f": {text[-_STDERR_SHOWN:]}" if text else ""
