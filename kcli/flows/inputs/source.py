"""One input of a run: a descriptor that is read as bytes arrive, until its end or a stop.

Bytes are passed to the taps first, in order: a copy to stdout, a checksum.
"""

import contextlib
import fcntl
import os
import select
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kcli.flows.inputs.item import InputError
from kcli.flows.stop import Stop

BLOCK_BYTES = 1 << 18
_PIPE_BYTES = 1 << 20

END, IDLE, STOPPED = 0, -1, -2
"""What ``read_into`` returns besides a number of bytes: the input ended, nothing arrived for a while, a stop."""

Tap = Callable[[memoryview], object]


class Block(NamedTuple):
    """Bytes of the input; none when nothing arrived for a while. ``more``: more input is ready."""

    data: bytes
    more: bool


class Source:
    """``name`` is for errors; ``patience`` (seconds) limits the wait for bytes, None does not."""

    def __init__(
        self, fd: int, name: str, stop: Stop, *, taps: Sequence[Tap] = (), patience: float | None = None
    ) -> None:
        self.fd = fd
        self.name = name
        self._stop = stop
        self._taps = tuple(taps)
        self._patience = None if patience is None else round(patience * 1000)
        # Reading a file never blocks. Unlike select(), poll() accepts descriptors above 1023.
        self._always = _is_file(fd)
        self._here, self._anything = select.poll(), select.poll()
        if not self._always:
            self._here.register(fd, select.POLLIN)
            self._anything.register(fd, select.POLLIN)
            self._anything.register(stop.fileno(), select.POLLIN)
        with contextlib.suppress(OSError, AttributeError):  # a larger pipe: fewer system calls
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def read_into(self, view: memoryview) -> int:
        """Reads what is available, waiting until something is: returns a number of bytes, END, IDLE or STOPPED."""
        try:
            ready = self._always or any(fd == self.fd for fd, _ in self._anything.poll(self._patience))
            if self._stop:
                return STOPPED
            if not ready:
                return IDLE
            count = os.readv(self.fd, [view])
        except OSError as error:
            raise InputError(
                f"cannot read {self.name}",
                why=error.strerror or str(error),
                do="check the file and its device, then send the rest",
            ) from None
        for tap in self._taps:
            tap(view[:count])
        return count

    def readable(self) -> bool:
        """Whether a read would not block."""
        return self._always or bool(self._here.poll(0))


def _is_file(fd: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError:  # the first read reports why
        return False


def read_blocks(source: Source, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The input in pieces, as it arrives, until its end. After a stop the last piece may be incomplete."""
    view = memoryview(bytearray(size))
    while (count := source.read_into(view)) not in (END, STOPPED):
        yield Block(b"", False) if count == IDLE else Block(bytes(view[:count]), source.readable())
