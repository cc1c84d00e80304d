"""The values that a performance test sends: made, or the lines of a file; the same for the same seed.

They are prepared once, as lines of a text that is sent over and over: a portion of them costs no work but for their
sequence numbers, which are written in place (``marks.py``).
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import ConfigError
from kcli.core.kernels.active import index_text, mark_lines
from kcli.core.kernels.shapes import PER_SLICE
from kcli.flows.perf.marks import MARK_SIZE, PREFIX_SIZE, mark

_LEAST = 4 << 20  # bytes: more than a batch, so that no batch has a value twice
_MOST_VALUES = 400_000
LARGEST_TEXT = 1 << 30  # bytes: the positions of lines are int32
_LETTERS = bytes(ord("A") + number % 26 for number in range(256))
_NO_NEWLINE = bytes(11 if number == 10 else number for number in range(256))
_NEWLINE = b"\n"
_FILLING = b"x"
KEY_DELIMITER = b"\t"
_PRODUCERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys 0 to ``count`` (exclusive), as digits: one after the other, or chosen at random."""

    count: int
    at_random: bool

    def __str__(self) -> str:
        return f"{'random' if self.at_random else 'range'}:{self.count}"


@dataclass(frozen=True, slots=True)
class Values:
    """What values are like: from ``low`` to ``high`` bytes, all sizes equally often, or the lines of ``file`` in order;
    and their ``keys``, None without.

    ``compressible``: the share of a value that a codec reduces to nothing, the rest being random bytes; None: random
    capital letters, as Kafka's tool sends them, of which a codec leaves about 60 %. The same ``seed`` makes the same.
    """

    low: int
    high: int
    compressible: float | None = None
    file: str | None = None
    delimiter: bytes = _NEWLINE
    keys: Keys | None = None
    seed: int = 0


class Portion(NamedTuple):
    """Consecutive lines ``first`` to ``stop`` (exclusive), which are ``text[start:end]``."""

    first: int
    stop: int
    start: int
    end: int

    @property
    def records(self) -> int:
        """How many values."""
        return self.stop - self.first


class Payload:
    """Lines of ``text`` that end with ``delimiter``, of a value or of key, ``key_delimiter`` and value.

    With ``marked_as`` (run, producer) values begin with a mark. ``number``: producers have different values.
    """

    def __init__(self, values: Values, number: int, marked_as: tuple[int, int] | None = None) -> None:
        self.delimiter = values.delimiter
        self.key_delimiter = None if values.keys is None else KEY_DELIMITER
        self.marked = marked_as is not None
        chance = random.Random(values.seed * _PRODUCERS + number)
        if values.file is not None:
            self.text, self._starts = _of_file(values.file, values.delimiter)
        else:
            self.text, self._starts = _made(values, chance)
        self._heads: Sequence[int] | None = None
        marked = self._starts
        if values.keys is not None:
            self.text, self._starts, self._heads = _with_keys(self.text, self._starts, values.keys, chance)
            marked = array("i", map(int.__add__, self._starts, _sizes_of_heads(self._heads)))
        if marked_as is not None and values.file is None:
            _write_marks(self.text, marked, mark(*marked_as, 0))
        self._packed = marked.tobytes()
        self._values = len(self._starts) - 1
        self._at = 0

    @property
    def mean_size(self) -> float:
        """Bytes of a value, on average."""
        return self.size(0, self._values) / self._values

    @property
    def largest(self) -> int:
        """Bytes of the largest line: a value, with its key."""
        return max(map(int.__sub__, self._starts[1:], self._starts)) - len(self.delimiter)

    def take(self, most: int) -> Portion:
        """The next values, ``most`` or fewer."""
        first = self._at
        stop = min(self._values, first + most)
        self._at = stop % self._values
        return Portion(first, stop, self._starts[first], self._starts[stop])

    def number(self, portion: Portion, sequence: int) -> None:
        """Writes the sequence numbers from ``sequence`` on into the marks of a portion."""
        if self.marked:
            mark_lines(self.text, self._packed, portion.first, portion.stop, PREFIX_SIZE, sequence)

    def size_of(self, sequence: int) -> int:
        """Bytes of the value that was the ``sequence``-th to be taken, from 0 on."""
        line = sequence % self._values
        return self.size(line, line + 1)

    def size(self, first: int, stop: int) -> int:
        """Bytes of the values ``first`` to ``stop`` (exclusive), without delimiters."""
        keys = 0 if self._heads is None else self._heads[stop] - self._heads[first]
        return self._starts[stop] - self._starts[first] - (stop - first) * len(self.delimiter) - keys


def can_be_marked(values: Values) -> bool:
    """Whether every value has room for a mark, and may be changed."""
    return values.file is None and values.low >= MARK_SIZE


def _made(values: Values, chance: random.Random) -> tuple[bytearray, array[int]]:
    low, high = values.low, values.high
    count = min(_MOST_VALUES, max(1, _LEAST // ((low + high) // 2 + 1)))
    sizes = _sizes(low, high, count, chance)
    starts = array("i", [0, *accumulate(size + 1 for size in sizes)])
    alphabet = _LETTERS if values.compressible is None else _NO_NEWLINE
    text = bytearray(chance.randbytes(starts[-1]).translate(alphabet))
    if values.compressible:
        _fill(text, starts, values.compressible)
    for end in starts[1:]:
        text[end - 1 : end] = _NEWLINE
    return text, starts


def _with_keys(
    text: bytearray, starts: Sequence[int], keys: Keys, chance: random.Random
) -> tuple[bytearray, array[int], list[int]]:
    """The lines with keys before them, in whole rounds of a range; where they begin, and how many bytes of keys and
    delimiters come before each.
    """
    lines = [text[start:end] for start, end in pairwise(starts)]
    times = 1 if keys.at_random else -(-keys.count // len(lines))
    size = times * (len(text) + len(lines) * (len(str(keys.count)) + 1))
    if size > LARGEST_TEXT:
        raise ConfigError(
            f"keys {keys} need about {size:,} bytes of records",
            why="a record of each key is made before the test begins, at most 1 GiB",
            do=f"fewer keys, smaller values, or random:{keys.count}",
        )
    if keys.at_random:
        heads = [b"%d%b" % (chance.randrange(keys.count), KEY_DELIMITER) for _ in lines]
    else:
        whole = times * len(lines) // keys.count * keys.count
        heads = [b"%d%b" % (number % keys.count, KEY_DELIMITER) for number in range(whole)]
    pairs = list(zip(heads, lines * times, strict=False))
    sizes = (len(head) + len(line) for head, line in pairs)
    before = [0, *accumulate(len(head) for head, _ in pairs)]
    return (
        bytearray().join(part for pair in pairs for part in pair),
        array("i", [0, *accumulate(sizes)]),
        before,
    )


def _sizes_of_heads(before: Sequence[int]) -> list[int]:
    """Of each line; none behind the last."""
    return [end - start for start, end in pairwise(before)] + [0]


def _sizes(low: int, high: int, count: int, chance: random.Random) -> list[int]:
    """One out of each of ``count`` equal parts of the range, shuffled: large values are few, and sent over and over."""
    if low == high:
        return [low] * count
    part = (high - low + 1) / count
    sizes = [min(high, low + int((number + chance.random()) * part)) for number in range(count)]
    chance.shuffle(sizes)
    return sizes


def _fill(text: bytearray, starts: Sequence[int], share: float) -> None:
    """Makes the last ``share`` of each value the same letter."""
    for start, end in pairwise(starts):
        size = round((end - start - 1) * share)
        text[end - 1 - size : end - 1] = _FILLING * size


def _write_marks(text: bytearray, starts: Sequence[int], first: bytes) -> None:
    for start in starts[:-1]:
        text[start : start + MARK_SIZE] = first


def _of_file(path: str, delimiter: bytes) -> tuple[bytearray, array[int]]:
    """Its lines, repeated until they are enough; a last delimiter begins no further line."""
    text = _read(path)
    if not text.endswith(delimiter):
        text += delimiter
    slices, count, _ = index_text(text, 0, len(text), delimiter, None, None, False, len(text))
    starts = array("i", slices)[2::PER_SLICE]
    times = max(1, min(-(-_LEAST // len(text)), _MOST_VALUES // count))
    size = len(text)
    repeated = array("i", [start + turn * size for turn in range(times) for start in starts])
    repeated.append(times * size)
    return text * times, repeated


def _read(path: str) -> bytearray:
    file = Path(path)
    if not file.is_file():
        raise ConfigError(
            f"{path} is not a regular file",
            why="it is read more than once, and a pipe has its bytes once",
            do="write the values to a file first",
        )
    size = file.stat().st_size
    if size > LARGEST_TEXT:
        raise ConfigError(
            f"{path} has {size:,} bytes",
            why="values are read into memory before the test begins, at most 1 GiB",
            do="use a part of the file: its lines are sent over and over",
        )
    text = bytearray(file.read_bytes())
    if not text:
        raise ConfigError(
            f"{path} is empty", why="its lines are the values to send", do="choose another file"
        )
    return text
