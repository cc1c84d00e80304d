"""Bytes for stdout, on streams that do not take all that they are given at once."""

import io

import pytest

from kcli.output.stdout import Output


class Sips(io.RawIOBase):
    """A bare descriptor whose pipe is nearly full."""

    def __init__(self, most: int | None) -> None:
        self.most, self.taken = most, b""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int | None:  # type: ignore[override]
        if self.most is None:
            return None
        some = bytes(data)[: self.most]  # type: ignore[call-overload]
        self.taken += some
        return len(some)


def test_what_is_taken_in_parts_is_written_whole() -> None:
    stream = Sips(7)
    out = Output(stream, isatty=False)
    out.write(b"x" * 100)
    out.write(memoryview(b"y" * 10))
    out.write(b"")
    out.text("ü" * 10)
    assert stream.taken == b"x" * 100 + b"y" * 10 + ("ü" * 10).encode()


def test_a_stream_that_takes_nothing_is_an_error() -> None:
    with pytest.raises(BlockingIOError):
        Output(Sips(None), isatty=False).write(b"x")
