"""Values to load a topic with: random capital letters, the same for the same seed. Pure."""

import random
from itertools import accumulate

_LEAST = 4 << 20  # bytes: more than a batch, so that no batch has a value twice
_MOST_VALUES = 400_000
_LETTERS = bytes(ord("A") + number % 26 for number in range(256))


class Payload:
    """Lines of ``text``, over and over; a value has from ``low`` to ``high`` bytes, all sizes equally often."""

    def __init__(self, low: int, high: int, seed: int) -> None:
        chance = random.Random(seed)
        count = min(_MOST_VALUES, max(1, _LEAST // ((low + high) // 2 + 1)))
        sizes = [low] * count if low == high else chance.choices(range(low, high + 1), k=count)
        self._ends = [0, *accumulate(size + 1 for size in sizes)]
        text = bytearray(chance.randbytes(self._ends[-1]).translate(_LETTERS))
        for end in self._ends[1:]:
            text[end - 1] = ord("\n")
        self.text = bytes(text)
        self._values = count
        self._at = 0

    def take(self, most: int) -> tuple[int, int, int]:
        """The next values, ``most`` or fewer: where they begin and end in ``text``, and how many they are."""
        start = self._at
        stop = min(self._values, start + most)
        self._at = stop % self._values
        return self._ends[start], self._ends[stop], stop - start
