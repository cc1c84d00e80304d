"""Runs inputs under watch: which errors come out, how long an input takes, how much memory. Not a test.

Input number ``index`` of a run with ``seed`` depends on nothing else, so ``seed:index`` names it for ever. Time is the
process's own CPU time: a busy machine makes no hang. Memory is the kernel's high-water mark (``VmHWM``), reset where
something exceeded the allowance, so that each input answers for itself. Linux only.
"""

import mmap
import os
import re
import signal
import struct
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from tests.hostile.target import Family, Target

LONGEST = 1.0
"""CPU seconds for one input."""
GROWTH = 32 << 20
"""Bytes that memory may grow, besides what a parser may use by contract."""
_HIGH = re.compile(rb"VmHWM:\s+(\d+) kB")


class HangError(BaseException):
    """Raised by the timer inside of the parser; no ``except Exception`` there keeps it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that provoked what it must not. ``kind`` is short enough for a file's name."""

    target: str
    kind: str
    where: str
    data: bytes
    name: str = ""

    def __str__(self) -> str:
        return f"{self.target} {self.name}: {self.kind} ({self.where}), {len(self.data)} bytes: {self.data[:60].hex()}"


class Memory:
    """The high-water mark of this process, against where it was when the watch began."""

    def __init__(self, allowance: int = GROWTH) -> None:
        self._allowance = allowance
        self._status = os.open("/proc/self/status", os.O_RDONLY)
        self.reset()

    def peak(self) -> int:
        """In bytes, since the last reset."""
        found = _HIGH.search(os.pread(self._status, 4096, 0))
        assert found is not None
        return int(found[1]) << 10

    def reset(self) -> None:
        """From now on, growth counts from here."""
        Path("/proc/self/clear_refs").write_text("5")
        self.base = self.peak()

    def excess(self, spare: int) -> int:
        """By how much the growth exceeds what is allowed, 0 if it does not."""
        return max(0, self.peak() - self.base - self._allowance - spare)

    def close(self) -> None:
        os.close(self._status)


@contextmanager
def alarm() -> Iterator[Callable[[float], None]]:
    """``arm(seconds)`` starts the timer anew, ``arm(0)`` stops it."""

    def hang(_number: int, _frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, hang)
    try:
        yield lambda seconds: signal.setitimer(signal.ITIMER_PROF, seconds) and None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Watch:
    """Judges one input after the other. ``refused`` counts those that ended in an allowed error."""

    def __init__(self, arm: Callable[[float], None], memory: Memory) -> None:
        self._arm = arm
        self._memory = memory
        self.refused = 0

    def judge(self, target: Target, data: bytes, spare: int, name: str = "") -> Finding | None:
        """What is wrong with how ``target`` treats ``data``."""
        kind = where = ""
        try:
            self._arm(LONGEST)
            try:
                target.run(data)
            finally:
                self._arm(0)
        except target.allowed:
            self.refused += 1
        except HangError as error:
            kind, where = f"no-end-in-{LONGEST:g}-s", _where(error)
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            kind, where = type(error).__name__, f"{_where(error)}: {error}"[:300]
        excess = self._memory.excess(spare)
        if excess:
            if not kind:
                kind, where = "grows", f"{excess >> 20} MiB more than allowed"
            self._memory.reset()
        return Finding(target.name, kind, where, data, name) if kind else None


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/tests/hostile/" not in frame.filename] or frames
    return f"{own[-1].filename.rpartition('/kcli/')[2]}:{own[-1].lineno} in {own[-1].name}"


class Plan:
    """Which input has which number: families in proportion to their shares, their targets in turn."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = tuple(families)
        total = sum(family.share for family in families)
        self._bounds, reached = [], 0.0
        for family in families:
            reached += family.share / total
            self._bounds.append(reached)

    def input(self, seed: int, index: int) -> tuple[Family, Target, bytes]:
        """The family, the target and the bytes of input ``index``."""
        rng = Random(seed << 40 | index)
        drawn = rng.random()
        at = next((i for i, bound in enumerate(self._bounds) if drawn < bound), len(self._bounds) - 1)
        family = self._families[at]
        target = family.targets[rng.randrange(len(family.targets))]
        return family, target, target.make(rng)

    def warm(self) -> None:
        """Makes the samples and compiles the parsers."""
        for family in self._families:
            for target in family.targets:
                with suppress(Exception):
                    target.run(target.make(Random(0)))


DONE = -2
"""In place of an input's number: all were judged."""


class Now:
    """The number of the input being judged, in a file that outlives this process."""

    _NUMBER = struct.Struct("<qq")

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), self._NUMBER.size)

    def write(self, index: int, refused: int) -> None:
        self._NUMBER.pack_into(self._map, 0, index, refused)

    def read(self) -> tuple[int, int]:
        """The input, and how many were refused so far."""
        index, refused = self._NUMBER.unpack_from(self._map)
        return index, refused

    @classmethod
    def create(cls, path: Path) -> "Now":
        path.write_bytes(cls._NUMBER.pack(-1, 0))
        return cls(path)


def run(
    plan: Plan, seed: int, indices: Sequence[int], now: Now | None = None, growth: int = GROWTH
) -> Iterator[Finding]:
    """Judges these inputs; what is made once for all of them does not count as growth."""
    plan.warm()
    memory = Memory(growth)
    with alarm() as arm:
        watch = Watch(arm, memory)
        for index in indices:
            if now is not None:
                now.write(index, watch.refused)
            family, target, data = plan.input(seed, index)
            found = watch.judge(target, data, family.spare, f"{seed}:{index}")
            if found is not None:
                yield found
        if now is not None:
            now.write(DONE, watch.refused)
    memory.close()
