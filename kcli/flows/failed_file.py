"""``--failed FILE``: one JSON line for each input that was not stored, so that it can be looked at and fed again."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.producer.serialization import RecordTooLargeError
from kcli.flows.inputs.chunk import Chunk, RowChunk


class FileError(KcliError):
    """A file that a run keeps cannot be written."""


class FileExistsRefusedError(KcliError):
    """A file that would be overwritten holds something."""

    exit_code = 7


class FailedFile:
    """Appends to ``path``. One that holds something already is refused unless ``again`` (a run that goes on)."""

    def __init__(self, path: str, form: str, *, several: bool, again: bool = False) -> None:
        self.path = path
        self.count = 0
        self._form = form
        self._several = several
        self._fd = -1
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o600)
            size = os.fstat(self._fd).st_size
        except OSError as error:
            raise cannot_write(path, error) from None
        if size and not again:
            self.close()
            raise FileExistsRefusedError(
                f"{path} holds failed lines already",
                why=f"it has {size:,} bytes, and they would be mixed with those of this run",
                do="feed them again with -i failed, or name another file",
            )

    def add(self, chunk: Chunk, row: int, error: KcliError) -> None:
        """A row that was refused, or never sent."""
        header = chunk.header if isinstance(chunk, RowChunk) else None
        self.write(chunk.line(row), chunk.raw(row), str(error), code_of(error), chunk.name, header)

    def write(
        self,
        line: int,
        raw: bytes | None,
        reason: str,
        code: str,
        name: str = "",
        header: bytes | None = None,
    ) -> None:
        """One line; raises FileError when it cannot be written."""
        entry: dict[str, Any] = {"line": line, "reason": reason, "code": code}
        earlier = _entry(raw) if self._form == "failed" else None
        if (
            earlier is not None
        ):  # fed again and failed again: what stood in the first input, not a quotation of it
            entry |= {key: earlier[key] for key in _KEPT if key in earlier}
        else:
            text, encoding = _text(raw)
            entry["input"] = text
            if encoding:
                entry["input_encoding"] = encoding
            entry["format"] = self._form
            if header is not None:
                entry["header"] = header.decode("utf-8", "replace")
        if self._several:
            entry["file"] = name
        data = msgspec.json.encode(entry) + b"\n"
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self.count += 1

    def sync(self) -> None:
        """What was written is on the disk."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            if error.errno not in _NO_SYNC:
                raise cannot_write(self.path, error) from None

    def close(self) -> None:
        """No more lines."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


_KEPT = ("input", "input_encoding", "format", "header")
_NO_SYNC = frozenset({22})  # EINVAL: a pipe or a terminal
_CODES: tuple[tuple[type[KcliError], str], ...] = (
    (RecordTooLargeError, "MESSAGE_TOO_LARGE"),
    (NotFoundError, "UNKNOWN_TOPIC_OR_PARTITION"),
)


def code_of(error: KcliError) -> str:
    """Kafka's name of the error; what only a client knows goes by the nearest one."""
    if isinstance(error, BrokerError):
        return error.name
    for kind, name in _CODES:
        if isinstance(error, kind):
            return name
    return "REQUEST_TIMED_OUT" if error.exit_code == 3 else "UNKNOWN_SERVER_ERROR"


def cannot_write(path: str, error: OSError) -> FileError:
    """The error for a file that does not take what it should."""
    return FileError(
        f"cannot write {path}",
        why=(error.strerror or str(error)).lower(),
        do="make room or choose another place; what was confirmed so far is in the summary",
    )


def check_writable(path: str) -> None:
    """Raises FileError when the file cannot be written, and leaves nothing behind."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))
        return
    except FileNotFoundError:
        pass
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        os.unlink(path)
    except OSError as error:
        raise cannot_write(path, error) from None


def _text(raw: bytes | None) -> tuple[str | None, str]:
    if raw is None:
        return None, ""
    try:
        return raw.decode(), ""
    except UnicodeDecodeError:
        import base64

        return base64.b64encode(raw).decode(), "base64"


def _entry(raw: bytes | None) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(raw or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) and "input" in found else None
