"""Lines out of a descriptor: any bytes, any delimiter, cut anywhere (C5, C6, C7)."""

import contextlib
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.flows import rows
from kcli.flows.rows import Chunk, InputError, read_lines
from kcli.flows.stop import Stop


class Pieces:
    """A descriptor from which ``os.read`` gives exactly these pieces, one a call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *pieces: bytes) -> None:
        self.left = [*pieces, b""]
        self.fd = os.open(os.devnull, os.O_RDONLY)
        read = os.read
        monkeypatch.setattr(
            rows.os, "read", lambda fd, size: self.left.pop(0) if fd == self.fd else read(fd, size)
        )


@pytest.fixture
def stop() -> Iterator[Stop]:
    with Stop(end=lambda _code: None) as found:
        yield found


def chunks_of(
    monkeypatch: pytest.MonkeyPatch,
    stop: Stop,
    *pieces: bytes,
    delimiter: bytes = b"\n",
    longest: int = 1 << 30,
) -> list[Chunk]:
    source = Pieces(monkeypatch, *pieces)
    try:
        return list(read_lines(source.fd, stop, delimiter=delimiter, longest=longest))
    finally:
        os.close(source.fd)


def lines_of(chunks: list[Chunk]) -> list[bytes]:
    return [line for chunk in chunks for line in chunk.lines]


def expected(data: bytes, delimiter: bytes) -> list[bytes]:
    """A last line without a delimiter counts, an empty one does not."""
    lines = data.split(delimiter)
    return lines if lines[-1] else lines[:-1]


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
    ],
)
def test_lines_however_they_come(
    monkeypatch: pytest.MonkeyPatch, stop: Stop, pieces: list[bytes], lines: list[bytes]
) -> None:
    assert lines_of(chunks_of(monkeypatch, stop, *pieces)) == lines


@pytest.mark.parametrize(
    "line", [b"nul\0inside", b"cr\r", b"\xff\xfe\x00invalid", b"\xef\xbb\xbfbom", b"\x0b\x0c\x85"]
)
def test_bytes_are_kept_as_they_are(monkeypatch: pytest.MonkeyPatch, stop: Stop, line: bytes) -> None:
    assert lines_of(chunks_of(monkeypatch, stop, line + b"\n" + line)) == [line, line]


@pytest.mark.parametrize("delimiter", [b"\n", b"\0", b"\r\n", b"--", b"aba", b"\n\n\n", "€".encode()])
def test_cuts_anywhere_give_the_same_lines(
    monkeypatch: pytest.MonkeyPatch, stop: Stop, delimiter: bytes
) -> None:
    rng = random.Random(delimiter)
    letters = [delimiter, *(bytes([b]) for b in set(delimiter)), b"a", b"xyz", b"\n"]
    for _ in range(200):
        data = b"".join(rng.choice(letters) for _ in range(rng.randrange(12)))
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(5)))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]
        with monkeypatch.context() as patch:
            assert lines_of(chunks_of(patch, stop, *pieces, delimiter=delimiter)) == expected(data, delimiter)


@pytest.mark.parametrize("delimiter", [b"\r\n", b"<-->"])
def test_a_delimiter_one_byte_at_a_time(
    monkeypatch: pytest.MonkeyPatch, stop: Stop, delimiter: bytes
) -> None:
    data = b"first" + delimiter + b"second" + delimiter + delimiter + b"last"
    pieces = [bytes([b]) for b in data]
    found = lines_of(chunks_of(monkeypatch, stop, *pieces, delimiter=delimiter))
    assert found == [b"first", b"second", b"", b"last"]


def test_a_delimiter_cut_behind_a_long_rest(monkeypatch: pytest.MonkeyPatch, stop: Stop) -> None:
    long = b"x" * 1_000_000
    found = lines_of(chunks_of(monkeypatch, stop, long, long + b"\r", b"\nnext", delimiter=b"\r\n"))
    assert found == [long + long, b"next"]


@pytest.mark.parametrize("delimiter", [b"\n", b"\r\n"])
def test_a_long_line_costs_no_more_than_its_length(
    monkeypatch: pytest.MonkeyPatch, stop: Stop, delimiter: bytes
) -> None:
    """2,000 reads of 64 kB: joined at each read it would be 128 GB copied."""
    piece = b"x" * 65_536
    [chunk] = chunks_of(monkeypatch, stop, *[piece] * 2000, delimiter=delimiter)
    assert len(chunk.lines[0]) == 2000 * 65_536


@pytest.mark.parametrize("delimiter", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([b"x" * 11 + b"END"], id="in one read"),
        pytest.param([b"x" * 6, b"x" * 5 + b"END"], id="ends in a later read"),
        pytest.param([b"x" * 6, b"x" * 5], id="the last one"),
        pytest.param([b"x" * 4] * 1000, id="never ends"),
    ],
)
def test_a_line_that_is_too_long_is_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch, stop: Stop, delimiter: bytes, pieces: list[bytes]
) -> None:
    source = Pieces(
        monkeypatch, b"one" + delimiter + b"two" + delimiter, *(p.replace(b"END", delimiter) for p in pieces)
    )
    chunks = list(read_lines(source.fd, stop, delimiter=delimiter, longest=10))
    os.close(source.fd)
    assert lines_of(chunks) == [b"one", b"two"]
    assert sum(chunk.refused for chunk in chunks) == 1
    assert [chunk.first_refused for chunk in chunks if chunk.refused] == [3]


@pytest.mark.parametrize("delimiter", [b"\n", b"\r\n", b"::END::"])
def test_the_lines_around_one_that_is_too_long_are_kept(
    monkeypatch: pytest.MonkeyPatch, stop: Stop, delimiter: bytes
) -> None:
    """Cut at every place: what is dropped of the long line never takes a delimiter with it."""
    data = delimiter.join([b"one", b"x" * 40, b"two", b"y" * 11, b"three", b""])
    for size in range(1, len(data)):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        source = Pieces(monkeypatch, *pieces)
        chunks = list(read_lines(source.fd, stop, delimiter=delimiter, longest=10))
        os.close(source.fd)
        assert lines_of(chunks) == [b"one", b"two", b"three"], size
        assert next(c.first_refused for c in chunks if c.refused) == 2
        assert sum(c.refused for c in chunks) == 2


def test_a_line_of_the_longest_size_is_fine(monkeypatch: pytest.MonkeyPatch, stop: Stop) -> None:
    found = lines_of(chunks_of(monkeypatch, stop, b"x" * 10 + b"\n", b"y" * 10, longest=10))
    assert found == [b"x" * 10, b"y" * 10]


def test_chunks_count_their_lines_from_one(monkeypatch: pytest.MonkeyPatch, stop: Stop) -> None:
    chunks = chunks_of(monkeypatch, stop, b"1\n2\n3", b"\n4\n", b"5")
    assert [(c.first_line, len(c.lines)) for c in chunks] == [(1, 2), (3, 2), (5, 1)]


def test_sizes_add_up_to_what_was_read(monkeypatch: pytest.MonkeyPatch, stop: Stop) -> None:
    pieces = [b"aa\nbb\n", b"cc\ndd\n"]
    assert sum(c.size for c in chunks_of(monkeypatch, stop, *pieces)) == sum(map(len, pieces))


# --- real pipes ---------------------------------------------------------------------------------------------------


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
        lines = read_lines(read, stop)
        os.write(write, b"first\n")
        chunk = next(lines)
        assert (chunk.lines, chunk.more) == ([b"first"], False)
        os.write(write, b"second\nthird\n")
        os.close(write)
        chunk = next(lines)
        assert chunk.lines == [b"second", b"third"]
        assert chunk.more  # the end of the input waits
        assert list(lines) == []


def test_a_stop_ends_a_wait_for_input(stop: Stop) -> None:
    with pipe() as (read, _):
        threading.Timer(0.0, stop.request).start()
        assert list(read_lines(read, stop)) == []


def test_after_a_stop_nothing_is_read(stop: Stop) -> None:
    with pipe() as (read, write):
        os.write(write, b"line\n")
        stop.request()
        assert list(read_lines(read, stop)) == []
        assert os.read(read, 10) == b"line\n"


def test_a_half_line_is_not_sent_after_a_stop(stop: Stop) -> None:
    with pipe() as (read, write):
        lines = read_lines(read, stop)
        os.write(write, b"whole\nhal")
        assert next(lines).lines == [b"whole"]
        stop.request()
        os.close(write)
        assert list(lines) == []


@pytest.mark.parametrize("kind", ["directory", "closed"])
def test_input_that_cannot_be_read_is_named(stop: Stop, tmp_path: Path, kind: str) -> None:
    stop.fileno()  # its pipe must not get the number of the closed one
    fd = os.open(tmp_path, os.O_RDONLY)
    if kind == "closed":
        os.close(fd)
    try:
        with pytest.raises(InputError, match=r"cannot read numbers\.txt"):
            list(read_lines(fd, stop, name="numbers.txt"))
    finally:
        if kind == "directory":
            os.close(fd)
