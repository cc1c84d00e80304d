"""``-i raw``: each value after its length as four big-endian bytes, −1 for null; the format of ``consume -o raw``. ``-i
file``: the whole content of one FILE, or stdin, is the value of one record.
"""

from __future__ import annotations

from struct import Struct

from kcli.core.kernels.shapes import NO_HEADERS
from kcli.flows.inputs.item import BadInput, InputError, InputRow, Item

_LENGTH = Struct(">i")


class RawParser:
    """``line`` counts records. An invalid length ends the input: the start of the next record is not known."""

    def __init__(
        self, *, key: bytes | None = None, headers: bytes = NO_HEADERS, longest: int = 1 << 30
    ) -> None:
        self._key = key
        self._headers = headers
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0
        self._needed = _LENGTH.size
        self._record = 0
        self._dropping = 0
        self._broken: InputError | None = None

    def feed(self, data: bytes) -> list[Item]:
        """The records that ``data`` completes. InputError after the last readable record."""
        if self._broken is not None:
            raise self._broken
        items: list[Item] = []
        if self._dropping:
            dropped = min(self._dropping, len(data))
            self._dropping -= dropped
            data = data[dropped:]
        self._pieces.append(data)
        self._size += len(data)
        if self._size < self._needed:
            return items
        data, at = b"".join(self._pieces), 0
        while len(data) - at >= _LENGTH.size:
            size = _LENGTH.unpack_from(data, at)[0]
            body = at + _LENGTH.size
            if size < -1:
                self._broken = self._lost(f"a value of {size} bytes")
                if not items:
                    raise self._broken
                return items  # the records before it are sent first
            if size > self._longest:
                self._record += 1
                items.append(
                    BadInput(self._record, 0, f"{size:,} bytes are more than {self._longest:,}", None)
                )
                self._dropping = max(0, size - (len(data) - body))
                at = min(len(data), body + size)
                continue
            end = body + max(size, 0)
            if end > len(data):
                break
            self._record += 1
            value = None if size < 0 else data[body:end]
            items.append(InputRow(self._record, self._key, value, self._headers, None, None, data[at:end]))
            at = end
        rest = data[at:]
        self._pieces, self._size = [rest], len(rest)
        self._needed = _LENGTH.size
        if len(rest) >= _LENGTH.size:
            self._needed += max(0, _LENGTH.unpack_from(rest)[0])
        return items

    def finish(self) -> list[Item]:
        """A truncated record is bad input."""
        if self._broken is not None:
            raise self._broken
        if not self._size and not self._dropping:
            return []
        if self._dropping:  # already reported
            return []
        rest = b"".join(self._pieces)
        reason = f"the input ends inside a record: {len(rest)} of {self._needed} bytes"
        return [BadInput(self._record + 1, len(rest) + 1, reason, rest)]

    def _lost(self, what: str) -> InputError:
        return InputError(
            f"record {self._record + 1:,} of the input cannot be read",
            why=f"its length is {what}; the start of the next record is unknown",
            do="-i raw expects four big-endian bytes of length before each value, -1 for null",
        )


class WholeFileParser:
    """One record, also for an empty file; above ``longest`` bytes it is bad input, of which nothing is kept."""

    def __init__(
        self, *, key: bytes | None = None, headers: bytes = NO_HEADERS, longest: int = 1 << 30
    ) -> None:
        self._key = key
        self._headers = headers
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Item]:
        """Returns nothing yet: the record ends with the file."""
        self._size += len(data)
        if self._size > self._longest:
            self._pieces.clear()
        else:
            self._pieces.append(data)
        return []

    def finish(self) -> list[Item]:
        """The record."""
        if self._size > self._longest:
            return [BadInput(1, 0, f"{self._size:,} bytes are more than {self._longest:,}", None)]
        value = b"".join(self._pieces)
        return [InputRow(1, self._key, value, self._headers, None, None, value)]
