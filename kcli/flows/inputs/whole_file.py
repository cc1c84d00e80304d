"""``-i file``: the whole content of one FILE, or stdin, is the value of one record."""

from __future__ import annotations

from kcli.core.kernels.shapes import NO_HEADERS
from kcli.flows.inputs.item import BadInput, InputRow, Item


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
