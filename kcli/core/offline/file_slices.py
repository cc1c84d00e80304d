"""Bytes of a file that a response carries without having read them."""

import errno
import os
from socket import socket

from kcli.core.errors import UnreadableFileError
from kcli.core.records.segment import unreadable

_PIECE = 1 << 20
_GONE = (errno.EPIPE, errno.ECONNRESET)


class OpenFile:
    """A descriptor of its own for a file that is open: what the log closes meanwhile can still be sent."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = os.dup(descriptor)

    def __del__(self) -> None:
        os.close(self.descriptor)


class FileSlice:
    """``size`` bytes of a file from ``position`` on; the encoder of messages needs its length only."""

    __slots__ = ("file", "position", "size")

    def __init__(self, file: OpenFile, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def send(self, end: socket) -> "FileSlice":
        """Sends some of it, in the kernel if that can; returns the rest. UnreadableFileError if the file lacks it.

        BlockingIOError: the socket has no room.
        """
        try:
            sent = os.sendfile(end.fileno(), self.file.descriptor, self.position, self.size)
        except BlockingIOError:
            raise
        except OSError as error:
            if error.errno in _GONE:
                raise
            sent = self._copy(end)
        if not sent:
            raise UnreadableFileError(self.file.path, why="it has become shorter while it was read")
        return FileSlice(self.file, self.position + sent, self.size - sent)

    def _copy(self, end: socket) -> int:
        """Where the system has no such call for these, or cannot read the file."""
        try:
            piece = os.pread(self.file.descriptor, min(self.size, _PIECE), self.position)
        except OSError as error:
            raise unreadable(self.file.path, error) from error
        return end.send(piece) if piece else 0
