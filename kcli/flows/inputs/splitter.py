"""Splits bytes that arrive in pieces at a delimiter, which may itself be split between two of them. Pure."""


class Splitter:
    """Searches old bytes again only as far back as a delimiter could reach, so a long line costs no more than its
    length; of a line that is too long only the end is kept, and None is returned for it.
    """

    def __init__(self, delimiter: bytes, longest: int) -> None:
        self._delimiter = delimiter
        self._reach = len(delimiter) - 1
        self._longest = longest
        self._rest: list[bytes] = []
        self._size = 0
        self._too_long = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that ``data`` completes."""
        if self._rest:
            if len(self._rest[-1]) < self._reach:
                self._rest = [b"".join(self._rest)]
            seam = self._rest[-1][-self._reach :] + data if self._reach else data
            if self._delimiter not in seam:
                self._keep(data)
                return []
            data = b"".join([*self._rest, data])
        lines: list[bytes | None] = list(data.split(self._delimiter))
        last = lines.pop()
        if self._too_long and lines:
            lines[0] = None
        self._too_long = False
        self._rest, self._size = ([last] if last else []), len(last or b"")
        return lines

    def _keep(self, data: bytes) -> None:
        self._rest.append(data)
        self._size += len(data)
        if self._size > self._longest + self._reach:  # the end may be a part of the delimiter
            self._too_long = True
            # what a delimiter could begin with, and at least a byte, so that there is a line
            self._rest = [b"".join(self._rest)[-max(1, self._reach) :]]

    def finish(self) -> list[bytes | None]:
        """What follows the last delimiter, if anything does."""
        if not self._rest:
            return []
        return [None if self._too_long else b"".join(self._rest)]
