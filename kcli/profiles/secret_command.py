"""A secret that a program prints: run without a shell, without secrets in its environment, and bounded.

Loaded only where a command is configured.
"""

import os
import selectors
import shlex
import subprocess
from collections.abc import Mapping

from kcli.core.child_environment import child_environment
from kcli.core.clock import monotonic
from kcli.profiles.secret_keys import LIMIT, SecretSource, unreadable

COMMAND_SECONDS = 30.0
_STDERR_SHOWN = 300


def command_output(source: SecretSource, environ: Mapping[str, str]) -> bytes:
    """What the command prints; ConfigError if it fails, hangs or prints too much."""
    words = command_words(source)
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell; the user's own configuration names it
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment(environ),
        )  # in this process group: only so it may ask at the terminal
    except OSError as error:
        raise unreadable(
            source, error.strerror or str(error), f"check that {words[0]} is installed"
        ) from None
    out, err = _output(process, source)
    if len(out) > LIMIT:
        raise unreadable(source, f"it printed more than {LIMIT:,} bytes", "it has to print the secret only")
    if process.returncode:
        raise unreadable(
            source,
            f"it ended with exit status {process.returncode}{_shown(err)}",
            "run it by hand; it has to print the secret and nothing else",
        )
    return out


def command_words(source: SecretSource) -> list[str]:
    """The program and its arguments, split as a shell splits them; no shell runs."""
    try:
        words = shlex.split(source.text)
    except ValueError as error:
        raise unreadable(source, str(error).lower(), "close the quotes") from None
    if not words:
        raise unreadable(source, "there is no command in it", "write PROGRAM ARGUMENT…")
    return words


def _output(process: subprocess.Popen[bytes], source: SecretSource) -> tuple[bytes, bytes]:
    """stdout, at most a little more than the limit, and the end of stderr; the process has ended."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = b"", b""
    until = monotonic() + COMMAND_SECONDS
    try:
        with selectors.DefaultSelector() as selector:
            for stream in (process.stdout, process.stderr):
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map() and len(out) <= LIMIT:
                ready = selector.select(max(0.0, until - monotonic()))
                if not ready:
                    why = f"it ran for more than {COMMAND_SECONDS:g} s"
                    raise unreadable(source, why, "run it by hand; perhaps it waits for an answer")
                for key, _events in ready:
                    part = os.read(key.fd, 1 << 16)
                    if not part:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is process.stdout:
                        out += part
                    else:
                        err = (err + part)[-LIMIT:]
        if len(out) <= LIMIT:
            _wait(process, until, source)
        return out, err
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdout, process.stderr):
            stream.close()
        process.wait()


def _wait(process: subprocess.Popen[bytes], until: float, source: SecretSource) -> None:
    """A command may close its output and go on."""
    try:
        process.wait(max(0.1, until - monotonic()))
    except subprocess.TimeoutExpired:
        raise unreadable(source, f"it ran for more than {COMMAND_SECONDS:g} s", "it has to end") from None


def _shown(stderr: bytes) -> str:
    text = " ".join(stderr.decode("utf-8", "replace").split())
    return f": {text[-_STDERR_SHOWN:]}" if text else ""
