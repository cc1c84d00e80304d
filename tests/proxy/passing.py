"""A frame on its way through the proxy: its bytes as they come, and what the rules have decided about it."""

import time
from dataclasses import dataclass

from tests.proxy.exchange import Exchange

REQUEST, RESPONSE = "request", "response"
RESET, FIN, SILENCE = "reset", "fin", "silence"


class Frame:
    """``data`` starts with the length and is filled by the reader while the writer sends already."""

    __slots__ = ("at", "data", "exchange", "filled", "ignored", "size")

    def __init__(self, size: int) -> None:
        self.at = time.monotonic()
        self.data = bytearray(size)
        self.filled = 0
        self.size = size  # on the wire; data may be replaced by longer
        self.exchange: Exchange | None = None
        self.ignored = False

    @property
    def whole(self) -> bool:
        return self.filled == len(self.data)

    def replace(self, data: bytearray) -> None:
        """Other bytes are sent in its place."""
        self.data, self.filled = data, len(data)


@dataclass(slots=True)
class Passing:
    """A frame's turn. Rules set the lower fields; the link acts on them."""

    frame: Frame
    exchange: Exchange
    way: str
    dropped: bool = False
    swallow: str = ""
    cut: tuple[int, str] | None = None
    piece: int = 0
    pause: float = 0.0

    def end_of_cut(self) -> int:
        """How many of the frame's bytes go out."""
        size = len(self.frame.data)
        if self.cut is None:
            return size
        at = self.cut[0]
        return max(0, min(size, at if at >= 0 else size + at))
