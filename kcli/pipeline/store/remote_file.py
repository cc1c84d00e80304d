"""A file in an object store, for reading: each read is a request for a range of bytes, and reads ahead."""

import io
from collections.abc import Callable
from typing import Any

_AHEAD = 8 << 20


class RemoteFile(io.RawIOBase):
    """``fetch`` returns the bytes from one offset up to, not including, another; ``size`` is that of the file."""

    def __init__(self, size: int, fetch: Callable[[int, int], bytes]) -> None:
        super().__init__()
        self._size = size
        self._fetch = fetch
        self._at = 0
        self._begin = 0
        self._block = b""

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves the position, without a request."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """As many bytes as fit, unless the file ends."""
        with memoryview(buffer).cast("B") as view:
            wanted = max(0, min(len(view), self._size - self._at))
            done = 0
            while done < wanted:
                part = self._available(wanted - done)
                view[done : done + len(part)] = part
                done += len(part)
                self._at += len(part)
            return done

    def _available(self, wanted: int) -> memoryview:
        """Bytes at the position, at least one."""
        start = self._at - self._begin
        if not 0 <= start < len(self._block):
            stop = min(self._size, self._at + max(wanted, _AHEAD))
            self._begin, self._block = self._at, self._fetch(self._at, stop)
            start = 0
        return memoryview(self._block)[start : start + wanted]
