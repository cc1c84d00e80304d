"""Regions of whole lines out of a descriptor: any bytes, any delimiter, cut anywhere."""

import contextlib
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.flows.inputs import source as source_module
from kcli.flows.inputs import source as text_module
from kcli.flows.inputs.item import InputError
from kcli.flows.inputs.source import Source, TextReader, read_blocks
from kcli.flows.stop import Stop

pytestmark = pytest.mark.case("C5", "C6", "C7")


@pytest.fixture
def stop() -> Iterator[Stop]:
    with Stop(end=lambda _code: None) as found:
        found.fileno()  # its pipe must not get the number of a descriptor that a test closes
        yield found


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer of 16 bytes that begins with 4: every path is taken with little input."""
    monkeypatch.setattr(text_module, "BUFFER_BYTES", 16)
    monkeypatch.setattr(text_module, "_FIRST_BYTES", 4)
    monkeypatch.setattr(text_module, "_ENOUGH", 8)


class Pieces(Source):
    """Gives exactly these pieces, as far as there is room for them; then the end."""

    def __init__(self, stop: Stop, *pieces: bytes) -> None:
        super().__init__(os.open(os.devnull, os.O_RDONLY), "pieces", stop)
        os.close(self.fd)
        self._left = list(pieces)

    def read_into(self, view: memoryview) -> int:
        if not self._left:
            return source_module.END
        piece = self._left.pop(0)
        taken = min(len(piece), len(view))
        view[:taken] = piece[:taken]
        if taken < len(piece):
            self._left.insert(0, piece[taken:])
        return taken

    def readable(self) -> bool:
        return bool(self._left) and len(self._left) % 2 == 0


def lines_of(
    stop: Stop, *pieces: bytes, delimiter: bytes = b"\n", longest: int = 1 << 10
) -> list[bytes | int]:
    """The lines; a number for one that was dropped."""
    found: list[bytes | int] = []
    for region in TextReader(Pieces(stop, *pieces), delimiter, longest).regions():
        if region.dropped:
            found.append(region.dropped)
            continue
        text = bytes(region.text[region.start : region.end])
        lines = text.split(delimiter)
        found += lines if lines[-1] else lines[:-1]
    return found


def expected(data: bytes, delimiter: bytes) -> list[bytes]:
    """A last line without a delimiter counts, an empty one does not."""
    lines = data.split(delimiter)
    return lines if lines[-1] else lines[:-1]


@pytest.mark.case("C5", "C7")
@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([], []),
        ([b"a\n"], [b"a"]),
        ([b"a"], [b"a"]),
        ([b"a\nb"], [b"a", b"b"]),
        ([b"\n"], [b""]),
        ([b"\n\n"], [b"", b""]),
        ([b"a", b"b", b"\n", b"c"], [b"ab", b"c"]),
        ([b"a\n\n", b"\nb\n"], [b"a", b"", b"", b"b"]),
        (
            [b"nul\0\n", b"cr\r\n\xff\xfe\n", b"\xef\xbb\xbfbom"],
            [b"nul\0", b"cr\r", b"\xff\xfe", b"\xef\xbb\xbfbom"],
        ),
    ],
)
def test_lines_however_they_come(stop: Stop, pieces: list[bytes], lines: list[bytes]) -> None:
    assert lines_of(stop, *pieces) == lines


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("delimiter", [b"\n", b"\0", b"\r\n", b"--", b"aba", b"\n\n\n", "€".encode()])
def test_cuts_anywhere_give_the_same_lines(stop: Stop, delimiter: bytes) -> None:
    rng = random.Random(delimiter)
    letters = [delimiter, *(bytes([b]) for b in set(delimiter)), b"a", b"xyz", b"\n"]
    for _ in range(400):
        data = b"".join(rng.choice(letters) for _ in range(rng.randrange(30)))
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(8)))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]
        found = lines_of(stop, *pieces, delimiter=delimiter, longest=200)
        assert found == expected(data, delimiter)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("delimiter", [b"\n", b"\r\n", b"::END::"])
def test_a_line_that_fits_no_buffer_is_dropped_and_the_lines_around_it_are_kept(
    stop: Stop, delimiter: bytes
) -> None:
    data = delimiter.join([b"one", b"x" * 400, b"two", b"y" * 90, b"three", b""])
    for size in (1, 2, 3, 7, 16, 50, len(data)):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        found = lines_of(stop, *pieces, delimiter=delimiter, longest=10)
        assert found == [b"one", 400, b"two", 90, b"three"], size


@pytest.mark.usefixtures("small")
def test_a_dropped_line_may_be_the_last_one(stop: Stop) -> None:
    assert lines_of(stop, b"a\n", b"x" * 100, longest=10) == [b"a", 100]


def test_a_long_line_costs_no_more_than_its_length(stop: Stop) -> None:
    """1,000 reads of 64 kB: searched or moved at each read it would be 32 GB."""
    [line] = lines_of(stop, *[b"x" * 65_536] * 1000, longest=1 << 27)
    assert isinstance(line, bytes)
    assert len(line) == 1000 * 65_536


# --- real pipes -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    try:
        yield read, write
    finally:
        for fd in (read, write):
            with contextlib.suppress(OSError):
                os.close(fd)


def test_what_has_come_is_given_before_more_comes(stop: Stop) -> None:
    with pipe() as (read, write):
        regions = TextReader(Source(read, "stdin", stop), b"\n", 100).regions()
        os.write(write, b"first\nsec")
        region = next(regions)
        assert (bytes(region.text[region.start : region.end]), region.more) == (b"first\n", False)
        os.write(write, b"ond\nthird")
        os.close(write)
        region = next(regions)
        assert bytes(region.text[region.start : region.end]) == b"second\n"
        assert [bytes(r.text[r.start : r.end]) for r in regions] == [b"third"]


def test_a_stop_ends_a_wait_for_input(stop: Stop) -> None:
    with pipe() as (read, _):
        threading.Timer(0.0, stop.request).start()
        assert list(TextReader(Source(read, "stdin", stop), b"\n", 100).regions()) == []


def test_a_half_line_is_not_sent_after_a_stop(stop: Stop) -> None:
    with pipe() as (read, write):
        regions = TextReader(Source(read, "stdin", stop), b"\n", 100).regions()
        os.write(write, b"whole\nhal")
        next(regions)
        stop.request()
        os.close(write)
        assert list(regions) == []


def test_a_wait_is_bounded_where_the_caller_has_other_work(stop: Stop) -> None:
    with pipe() as (read, _):
        source = Source(read, "stdin", stop, patience=0.0)
        region = next(TextReader(source, b"\n", 100).regions())
        assert region.start == region.end
        assert next(read_blocks(source)) == (b"", False)


def test_taps_see_records_in_order(stop: Stop) -> None:
    seen = bytearray()
    with pipe() as (read, write):
        os.write(write, b"ab\ncd")
        os.close(write)
        source = Source(read, "stdin", stop, taps=[seen.extend])
        assert b"".join(block.data for block in read_blocks(source)) == b"ab\ncd"
    assert seen == b"ab\ncd"


@pytest.mark.case("C6")
@pytest.mark.parametrize("kind", ["directory", "closed"])
def test_input_that_cannot_be_read_is_named(stop: Stop, tmp_path: Path, kind: str) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    if kind == "closed":
        os.close(fd)
    try:
        with pytest.raises(InputError, match=r"cannot read numbers\.txt"):
            list(TextReader(Source(fd, "numbers.txt", stop), b"\n", 100).regions())
    finally:
        if kind == "directory":
            os.close(fd)
