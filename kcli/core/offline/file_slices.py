"""Bytes of a file that a response carries without having read them."""

import os


class OpenFile:
    """A descriptor of its own for a file that is open: what the log closes meanwhile can still be sent."""

    def __init__(self, descriptor: int) -> None:
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
