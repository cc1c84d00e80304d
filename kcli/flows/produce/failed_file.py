"""``--failed FILE``: one JSON line for each input that was not stored, so that it can be inspected and retried.

The entries run ahead of the checkpoint, and those beyond it are of lines that the next run reads again. That run
drops them before it begins (``FailedFile.drop_from``): an entry therefore has the number of its record where that
is not the number of its line, and a checkpoint names its ``--failed`` file.
"""

import base64
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from kcli.core.errors import (
    BatchRefusedError,
    BrokerError,
    KcliError,
    NotFoundError,
    TransactionAbortableError,
)
from kcli.core.exit_codes import ExitCode
from kcli.core.producer.origins import Rows
from kcli.core.producer.serialization import RecordTooLargeError
from kcli.files.atomic import FileError, replace_file
from kcli.flows.inputs.item import BAD_INPUT, BadInput, Chunk, InputPosition, RowChunk


class FileExistsRefusedError(KcliError):
    """A file that would be overwritten is not empty."""

    exit_code = ExitCode.REFUSED


class FailedFile:
    """Appends to ``path``. A non-empty file is refused unless ``again`` (a resumed run).

    ``count`` lines were written so far. A failed write leaves only whole lines, and raises FileError.
    """

    def __init__(self, path: str, form: str, *, several: bool, again: bool = False) -> None:
        self.path = path
        self.count = 0
        self._form = form
        self._several = several
        self._fd = -1
        self._open()
        size = os.fstat(self._fd).st_size
        if size and not again:
            self.close()
            raise FileExistsRefusedError(
                f"{path} holds failed lines already",
                why=f"it has {size:,} bytes, and they would be mixed with those of this run",
                do="feed them again with -i failed, or name another file",
            )

    def _open(self) -> None:
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise cannot_open(self.path, error) from None

    def drop_from(self, position: InputPosition, names: Sequence[str]) -> None:
        """Removes the entries of units from ``position`` on (``names``: the inputs), which are about to be read again.

        The previous run ended after writing them, before the checkpoint was updated; it may also have left a
        truncated line.
        """
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                return
            with open(self.path, "rb") as file:
                lines = file.readlines()
            kept = [line for line in lines if _is_before(line, position, names)]
            if len(kept) < len(lines):
                replace_file(self.path, b"".join(kept))
                self.close()
                self._open()
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def add(self, chunk: Chunk, rows: Rows, error: KcliError) -> None:
        """Adds rows that were rejected, or never sent."""
        header = chunk.header if isinstance(chunk, RowChunk) else None
        reason, code = str(error), code_of(error)
        self._write(
            self._entry(chunk.line(row), chunk.unit(row), chunk.raw(row), reason, code, chunk.name, header)
            for row in rows
        )

    def add_bad(self, chunk: Chunk, unit: int, bad: BadInput) -> None:
        """Adds a unit of the chunk that is not a valid record."""
        reason = f"column {bad.column}: {bad.reason}" if bad.column else bad.reason
        code = BAD_INPUT if bad.raw is not None else "MESSAGE_TOO_LARGE"
        header = chunk.header if isinstance(chunk, RowChunk) else None
        self._write([self._entry(bad.line, unit, bad.raw, reason, code, chunk.name, header)])

    def _entry(
        self,
        line: int,
        unit: int,
        raw: bytes | None,
        reason: str,
        code: str,
        name: str,
        header: bytes | None,
    ) -> bytes:
        entry: dict[str, Any] = {"line": line, "reason": reason, "code": code}
        if unit + 1 != line:
            entry["record"] = unit + 1  # the unit as counted by checkpoints, where blank lines are skipped
        earlier = _entry(raw) if self._form == "failed" else None
        if earlier is not None:  # retried and failed again: the original input, not a quotation of it
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
        return msgspec.json.encode(entry) + b"\n"

    def _write(self, entries: Iterable[bytes]) -> None:
        for data in _joined(entries):
            self._write_whole_lines(data)

    def _write_whole_lines(self, data: bytes) -> None:
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            whole = data.rfind(b"\n", 0, written) + 1
            with suppress(OSError):  # of a pipe, which cannot be truncated
                os.ftruncate(self._fd, os.fstat(self._fd).st_size - (written - whole))
            self.count += data.count(b"\n", 0, whole)
            raise cannot_write(self.path, error) from None
        self.count += data.count(b"\n")

    def sync(self) -> None:
        """Flushes what was written to disk."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            if error.errno not in _NO_SYNC:
                raise cannot_write(self.path, error) from None

    def close(self) -> None:
        """Closes the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class _Position(msgspec.Struct):
    line: int = 0
    record: int = 0
    file: str = ""


_WRITE_BYTES = 1 << 16
_KEPT = ("input", "input_encoding", "format", "header")
_NO_SYNC = frozenset({22})  # EINVAL: a pipe or a terminal
_CODES: tuple[tuple[type[KcliError], str], ...] = (
    (RecordTooLargeError, "MESSAGE_TOO_LARGE"),
    (NotFoundError, "UNKNOWN_TOPIC_OR_PARTITION"),
    (BatchRefusedError, "BATCH_REFUSED"),
    (TransactionAbortableError, "TRANSACTION_ABORTABLE"),
)


def code_of(error: KcliError) -> str:
    """Kafka's name of the error; errors that only a client has get the most similar name."""
    if isinstance(error, BrokerError):
        return error.name
    for kind, name in _CODES:
        if isinstance(error, kind):
            return name
    return "REQUEST_TIMED_OUT" if error.exit_code == ExitCode.UNREACHABLE else "UNKNOWN_SERVER_ERROR"


def cannot_write(path: str, error: OSError) -> FileError:
    """The error for a file that cannot be written."""
    return FileError(
        f"cannot write {path}",
        why=(error.strerror or str(error)).lower(),
        do="free space or choose another file; what was confirmed so far is in the summary",
    )


def check_writable(path: str) -> None:
    """Raises FileError when the file cannot be written; leaves no file behind."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))
        return
    except FileNotFoundError:
        pass
    except OSError as error:
        raise cannot_open(path, error) from None
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        os.unlink(path)
    except OSError as error:
        raise cannot_open(path, error) from None


def cannot_open(path: str, error: OSError) -> FileError:
    """The error for a file that cannot be opened for writing; it names the folder if that is the cause."""
    reason = (error.strerror or str(error)).lower()
    folder = os.path.dirname(path) or "."
    if isinstance(error, FileNotFoundError) or not os.path.isdir(folder):
        return FileError(
            f"cannot write {path}",
            why=f"there is no folder {folder}" if not os.path.exists(folder) else f"{folder} is not a folder",
            do=f"create it (`mkdir -p {folder}`) or name another file; nothing was sent",
        )
    if isinstance(error, IsADirectoryError):
        return FileError(f"cannot write {path}", why="it is a folder", do="name a file; nothing was sent")
    if isinstance(error, PermissionError):
        kind = "file" if os.path.exists(path) else f"folder {folder}"
        return FileError(
            f"cannot write {path}",
            why=reason,
            do=f"check the permissions of the {kind}, or name another file; nothing was sent",
        )
    return FileError(f"cannot write {path}", why=reason, do="name another file; nothing was sent")


def _joined(entries: Iterable[bytes]) -> Iterator[bytes]:
    """The entries joined into pieces of a reasonable write size."""
    pieces: list[bytes] = []
    size = 0
    for entry in entries:
        pieces.append(entry)
        size += len(entry)
        if size >= _WRITE_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def _is_before(line: bytes, position: InputPosition, names: Sequence[str]) -> bool:
    """Whether an entry is of a unit before ``position``; lines that are not entries count as such, truncated lines
    do not.
    """
    if not line.endswith(b"\n"):
        return False
    try:
        entry = msgspec.json.decode(line, type=_Position)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    source = names.index(entry.file) if entry.file in names else 0
    return (source, (entry.record or entry.line) - 1) < (position.source, position.unit)


def _text(raw: bytes | None) -> tuple[str | None, str]:
    if raw is None:
        return None, ""
    try:
        return raw.decode(), ""
    except UnicodeDecodeError:
        return base64.b64encode(raw).decode(), "base64"


def _entry(raw: bytes | None) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(raw or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) and "input" in found else None
