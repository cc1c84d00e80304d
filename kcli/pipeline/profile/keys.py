"""How often each key occurs, in bounded memory: exact up to a number of keys, then the frequent ones with an error bound.

The counters are those of Misra and Gries (1982), which can be merged (Agarwal et al., Mergeable Summaries, 2012). The
number of distinct keys beyond them is estimated by HyperLogLog (Flajolet et al., 2007).
"""

import math
from collections.abc import Iterable, Sequence

from kcli.core.classes import dataclass, field
from kcli.core.kernels.active import partition_keys

CAPACITY = 50_000
"""Keys that are counted exactly."""

_REGISTERS_LOG = 11
_REGISTERS = 1 << _REGISTERS_LOG
_HASHES = (1 << 31) - 1
_HASH_BITS = 31


@dataclass(slots=True, eq=False)
class KeyCounts:
    """``error``: a count in ``counts`` may be too low by as much, and a key with fewer records may be absent."""

    counts: dict[bytes, int] = field(default_factory=dict)
    error: int = 0
    registers: bytearray = field(default_factory=lambda: bytearray(_REGISTERS))

    def add(self, keys: Sequence[bytes], counts: Iterable[int]) -> None:
        """Adds how often each of some keys, none of them twice, occurs."""
        known = self.counts
        for key, count in zip(keys, counts, strict=True):
            known[key] = known.get(key, 0) + count
        self._register(keys)
        if len(known) > 2 * CAPACITY:
            self._reduce()

    def merge(self, other: "KeyCounts") -> None:
        """Adds the counts of other records."""
        for key, count in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count
        self.error += other.error
        self.registers = bytearray(map(max, self.registers, other.registers))
        if len(self.counts) > CAPACITY:
            self._reduce()

    @property
    def is_exact(self) -> bool:
        """Whether all keys are counted."""
        return not self.error

    @property
    def distinct(self) -> int:
        """The number of keys; an estimate (standard error 2.3 %) unless ``is_exact``."""
        return len(self.counts) if self.is_exact else max(len(self.counts), self._estimate())

    def top(self, number: int) -> list[tuple[bytes, int]]:
        """The most frequent keys."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:number]

    def _register(self, keys: Sequence[bytes]) -> None:
        registers = self.registers
        for number in partition_keys(keys, _HASHES):
            place, rest = number & (_REGISTERS - 1), number >> _REGISTERS_LOG
            rank = _HASH_BITS - _REGISTERS_LOG - rest.bit_length() + 1
            registers[place] = max(registers[place], rank)

    def _reduce(self) -> None:
        """Subtracts the count of the most frequent key that is given up from all."""
        bound = sorted(self.counts.values(), reverse=True)[CAPACITY]
        self.counts = {key: count - bound for key, count in self.counts.items() if count > bound}
        self.error += bound

    def _estimate(self) -> int:
        alpha = 0.7213 / (1 + 1.079 / _REGISTERS)
        raw = alpha * _REGISTERS**2 / sum(2.0**-rank for rank in self.registers)
        empty = self.registers.count(0)
        if raw <= 2.5 * _REGISTERS and empty:
            raw = _REGISTERS * math.log(_REGISTERS / empty)
        return round(raw)
