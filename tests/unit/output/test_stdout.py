"""Bytes for stdout, on streams that do not take all that they are given at once."""

import io
import os
from pathlib import Path

import pytest

from kcli.output.stdout import Output
from kcli.output.terminal import terminal_size


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


def test_a_terminal_without_a_size_has_80_columns() -> None:
    """As in `docker exec -t` and in CI."""
    ours, theirs = os.openpty()
    try:
        assert tuple(os.get_terminal_size(theirs)) == (0, 0)
        with open(theirs, "w", closefd=False) as terminal:
            out = Output(terminal)
            assert (out.isatty, out.width, out.height) == (True, 80, 24)
            assert terminal_size(terminal).columns == terminal_size(theirs).columns == 80
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_stream_that_accepts_nothing_is_an_error() -> None:
    with pytest.raises(BlockingIOError):
        Output(Sips(None), isatty=False).write(b"x")


def test_a_reader_that_has_gone_is_noticed_without_writing() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as stream:
        Output(stream).check_reader()
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            Output(stream).check_reader()


def test_files_and_memory_have_no_reader_that_goes(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as stream:
        Output(stream).check_reader()
    Output(io.BytesIO()).check_reader()


def test_the_heading_of_a_plan_has_its_colour_and_no_escape_of_a_peer_has_one() -> None:
    stream = io.BytesIO()
    out = Output(stream, isatty=True, width=20, color="always")
    out.shown("Plan of t\x1b[2J\none two three four five\n", fold=True, color="red")
    assert stream.getvalue() == (b"\x1b[1;31mPlan of t\\x1b[2J\x1b[0m\none two three four\n    five\n")
