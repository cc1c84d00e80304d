"""Bytes that memory does not hold, in a file without a name: it is gone with the process, however that ends.

The file is in ``TMPDIR``, or where Python puts temporary files. A ``TMPDIR`` that cannot be written is an error, since
another folder may have less room.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from kcli.files.atomic import FileError


class ScratchFile:
    """``append`` returns where the bytes are, ``read`` returns them. To be closed. Errors are FileError."""

    def __init__(self) -> None:
        self.size = 0
        self._folder = os.environ.get("TMPDIR", "")
        with self._naming():
            import tempfile  # rare

            self._folder = self._folder or tempfile.gettempdir()
            self._file: BinaryIO = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115

    def append(self, data: bytes) -> int:
        """Writes behind what is there."""
        at, left = self.size, memoryview(data)
        with self._naming():
            while left:
                written = os.pwrite(self._file.fileno(), left, self.size)
                self.size += written
                left = left[written:]
        return at

    def read(self, at: int, size: int) -> bytes:
        """Reads ``size`` bytes that were appended."""
        try:
            return os.pread(self._file.fileno(), size, at)
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Removes it."""
        self._file.close()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> FileError:
        return FileError(
            f"cannot keep temporary data in {self._folder or 'any folder'}",
            why=error.strerror or str(error),
            do="free space there, or set TMPDIR to a folder that has space and can be written",
        )
