"""A running checksum of one input, by which a resumed run verifies that it reads the same input. Pure.

A checkpoint's checksum covers the bytes that end no unit from its line on: those before the chunk, or everything
that was read when the chunk is complete. The input may be a pipe: it is read again from its start and compared as
it arrives.
"""

import zlib

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode


class OtherInputError(KcliError):
    """The input is not that of the checkpoint."""

    exit_code = ExitCode.REFUSED


class Fingerprint:
    """A tap that receives all bytes in order. ``expected`` bytes with checksum ``crc`` must come first, if any are
    known.
    """

    def __init__(self, name: str, expected: int = 0, crc: int = 0) -> None:
        self.size = 0
        self.crc = 0
        self._name = name
        self._expected = expected
        self._wanted = crc

    def __call__(self, view: memoryview) -> None:
        """Counts bytes. Raises OtherInputError as soon as the expected bytes differ."""
        left = self._expected - self.size
        if 0 < left <= len(view):
            if zlib.crc32(view[:left], self.crc) != self._wanted:
                raise self._other(
                    f"its first {self._expected:,} bytes are not those that the earlier run read"
                )
        elif not len(view) and left > 0:  # the end of the input
            raise self._other(f"it has {self.size:,} bytes, and the earlier run read {self._expected:,}")
        self.crc = zlib.crc32(view, self.crc)
        self.size += len(view)

    def _other(self, why: str) -> OtherInputError:
        return OtherInputError(
            f"{self._name} is not the input of the checkpoint",
            why=why,
            do="give the same input again, or delete the checkpoint to start again",
        )
