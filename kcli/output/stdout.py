"""The stdout of one run, and the kind of output that was requested.

Data is always UTF-8, whatever the locale. A closed pipe raises BrokenPipeError, a full disk OSError; both end the
run (``commands/shared/exit.py``).

stdout may be the bare descriptor (PYTHONUNBUFFERED), whose write is partial when a signal arrives:
``Output.write`` repeats until everything is written.
"""

import errno
import io
import os
import select
import sys
from collections.abc import Mapping
from typing import IO, Any, BinaryIO

from kcli.output.sanitise import visible
from kcli.output.terminal import heading, is_terminal, paged, terminal_size, wants_colour


class _Counted(io.RawIOBase):
    """A descriptor of which is known how much was written: a full disk takes a part of what is written at once."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.written = 0

    def writable(self) -> bool:
        """See RawIOBase."""
        return True

    def fileno(self) -> int:
        """See RawIOBase."""
        return int(self._raw.fileno())

    def write(self, data: Any) -> int | None:
        """See RawIOBase."""
        taken: int | None = self._raw.write(data)
        self.written += taken or 0
        return taken


class Output:
    """``kind`` is the value of ``-o``, or None; ``isatty``, ``width``, ``height`` may be given by a test."""

    def __init__(
        self,
        stream: IO[Any] | None = None,
        *,
        kind: str | None = None,
        headers: bool = True,
        color: str | None = None,
        environ: Mapping[str, str] | None = None,
        isatty: bool | None = None,
        width: int | None = None,
        height: int | None = None,
    ) -> None:
        self._stream: Any = stream if stream is not None else sys.stdout
        self._below: Any = getattr(self._stream, "buffer", self._stream)
        self.kind = kind
        self.headers = headers
        self.isatty = is_terminal(self._stream) if isatty is None else isatty
        self.colour = wants_colour(self._stream, environ or {}, color)
        self._width = width
        self._height = height
        self._held: bytearray | None = None
        self._counted: _Counted | None = None

    @property
    def binary(self) -> BinaryIO:
        """The stream of bytes below stdout, for output in blocks."""
        if self._below is None:
            raise OSError(9, os.strerror(9))  # stdout was closed before the start: EBADF
        below: BinaryIO = self._below
        return below

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None in a pipe: unlimited."""
        if self._width is not None or not self.isatty:
            return self._width
        return self._size().columns

    @property
    def height(self) -> int | None:
        """Lines of the terminal; None in a pipe."""
        if self._height is not None or not self.isatty:
            return self._height
        return self._size().lines

    def _size(self) -> os.terminal_size:
        return terminal_size(self.binary)

    def list_kind(self) -> str:
        """The kind for a list: that of ``-o``, else a table on a terminal and plain in a pipe."""
        return self.kind or ("table" if self.isatty else "plain")

    def hold(self) -> None:
        """Holds what is written from now on until ``release``, which pages it if it is longer than the terminal."""
        if self.isatty and self._held is None:
            self._held = bytearray()

    def release(self) -> None:
        """Shows what was held."""
        held, self._held = self._held, None
        if held:
            if not paged(bytes(held)):
                self.write(memoryview(held))
            self.flush()

    def count(self) -> None:
        """Counts in ``counted`` the bytes that are written from now on."""
        self.flush()
        self._counted = _Counted(getattr(self.binary, "raw", self.binary))
        self._below = io.BufferedWriter(self._counted)

    @property
    def counted(self) -> int:
        """The bytes that have left this process since ``count``."""
        return self._counted.written if self._counted is not None else 0

    def write(self, data: bytes | memoryview) -> None:
        """Writes all bytes, unchanged. With PYTHONUNBUFFERED a single write may be partial."""
        if self._held is not None:
            self._held += data
            return
        below, rest = self._below or self.binary, memoryview(data)
        while rest:
            taken = below.write(rest)
            if taken is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            rest = rest[taken:]

    def text(self, text: str) -> None:
        """Writes text as UTF-8; lone surrogates, which no UTF-8 has, become escapes."""
        self.write(text.encode("utf-8", "backslashreplace"))

    def shown(self, text: str, *, fold: bool = False, color: str = "") -> None:
        """Text with names made by peers, in its own lines: on a terminal everything unprintable is made visible.
        ``fold``: it is sentences, which are folded there. ``color`` is that of its first line.
        """
        if self.isatty:
            text = visible(text)
            if fold:
                from kcli.output.folding import folded_text  # few runs need it

                text = folded_text(text, self.width or 80)
        self.text(heading(text, color if self.colour else ""))

    def flush(self) -> None:
        """Flushes buffered output."""
        self.binary.flush()

    def check_reader(self) -> None:
        """BrokenPipeError if the reader has closed the pipe; for callers that have nothing to write."""
        try:
            descriptor = self.binary.fileno()
        except (OSError, ValueError):
            return  # no descriptor: in a test
        watched = select.poll()
        watched.register(descriptor, 0)
        if any(event & select.POLLERR for _, event in watched.poll(0)):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
