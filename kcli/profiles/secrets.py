"""Reads secrets from where the configuration says: a file, a command, the system's keyring. Only when a client is about
to be made, and each once.

Errors name the source, never what was read.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kcli.core.child_environment import child_environment
from kcli.core.clock import monotonic
from kcli.core.errors import ConfigError
from kcli.core.secret import Secret
from kcli.files.reading import read_bounded
from kcli.profiles.file_safety import refusal, warning
from kcli.profiles.secret_keys import COMMAND, FILE, SecretSource

if TYPE_CHECKING:
    import subprocess

LIMIT = 64 << 10
"""Bytes: a private key with its chain is less."""
COMMAND_SECONDS = 30.0
_STDERR_SHOWN = 300


class SecretReader:
    """``warn`` is called with what is to be said about a file that others can read."""

    def __init__(self, environ: Mapping[str, str], warn: Callable[[str], None]) -> None:
        self._environ = environ
        self._warn = warn
        self._known: dict[tuple[str, str], Secret] = {}

    def read(self, source: SecretSource) -> Secret:
        """The secret; ConfigError if it cannot be read or is empty."""
        place = source.kind, source.text
        if place not in self._known:
            readers = {FILE: self._file, COMMAND: self._command}
            text = readers.get(source.kind, _keyring)(source)
            if not text:
                raise _failed(source, "it is empty", "write the secret into it, as one line")
            self._known[place] = Secret(text)
        return self._known[place]

    def _file(self, source: SecretSource) -> str:
        return read_secret_file(source, self._warn)

    def _command(self, source: SecretSource) -> str:
        import subprocess  # only where a command is configured

        words = command_words(source)
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell; the user's own configuration names it
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=child_environment(self._environ),
            )  # in this process group: only so it may ask at the terminal
        except OSError as error:
            raise _failed(
                source, error.strerror or str(error), f"check that {words[0]} is installed"
            ) from None
        out, err = _output(process, source)
        if len(out) > LIMIT:
            raise _failed(source, f"it printed more than {LIMIT:,} bytes", "it has to print the secret only")
        if process.returncode:
            raise _failed(
                source,
                f"it ended with exit status {process.returncode}{_shown(err)}",
                "run it by hand; it has to print the secret and nothing else",
            )
        return _first_text(out, source)


def read_secret_file(source: SecretSource, warn: Callable[[str], None]) -> str:
    """The content of the file, without the line end."""
    path = os.path.expanduser(source.text)
    try:
        data, state = read_bounded(path, LIMIT)
    except OSError as error:
        raise _failed(
            source, error.strerror or str(error), "write the secret into a file with mode 0600"
        ) from None
    refused = refusal(path, state, os.getuid())
    if refused is not None:
        raise refused
    if (text := warning(path, state, os.getuid())) is not None:
        warn(text)
    return _first_text(data, source)


def command_words(source: SecretSource) -> list[str]:
    """The program and its arguments, split as a shell splits them; no shell runs."""
    try:
        words = shlex.split(source.text)
    except ValueError as error:
        raise _failed(source, str(error).lower(), "close the quotes") from None
    if not words:
        raise _failed(source, "there is no command in it", "write PROGRAM ARGUMENT…")
    return words


def _output(process: "subprocess.Popen[bytes]", source: SecretSource) -> tuple[bytes, bytes]:
    """stdout, at most a little more than the limit, and the end of stderr; the process has ended."""
    import selectors  # as above

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
                    raise _failed(source, why, "run it by hand; perhaps it waits for an answer")
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


def _wait(process: "subprocess.Popen[bytes]", until: float, source: SecretSource) -> None:
    """A command may close its output and go on."""
    from subprocess import TimeoutExpired  # as above

    try:
        process.wait(max(0.1, until - monotonic()))
    except TimeoutExpired:
        raise _failed(source, f"it ran for more than {COMMAND_SECONDS:g} s", "it has to end") from None


def _keyring(source: SecretSource) -> str:
    try:
        import keyring  # an extra; it looks for the system's services, which takes time
        from keyring.errors import KeyringError
    except ImportError:
        raise ConfigError(
            f"{source.key} is in the keyring, and the package keyring is missing (from {source.origin})",
            why="it is an extra of kcli",
            do="pip install 'kcli-kafka[keyring]'",
        ) from None
    service, _, user = source.text.rpartition("/")
    try:
        found = keyring.get_password(service, user)
    except KeyringError as error:
        raise _failed(source, str(error) or type(error).__name__, "unlock the keyring") from None
    if found is None:
        raise _failed(
            source,
            "there is no such entry",
            f"store it: keyring set {shlex.quote(service)} {shlex.quote(user)}",
        )
    return found


def _first_text(data: bytes, source: SecretSource) -> str:
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise _failed(source, "it is not UTF-8 text", "write the secret as text") from None


def _shown(stderr: bytes) -> str:
    text = " ".join(stderr.decode("utf-8", "replace").split())
    return f": {text[-_STDERR_SHOWN:]}" if text else ""


def _failed(source: SecretSource, why: str, do: str) -> ConfigError:
    return ConfigError(
        f"cannot read {source.key} from {str(source)[1:-1]} (from {source.origin})", why=why, do=do
    )
