"""Simulated days of groups: what is written, read and committed, and the right verdict at each moment. Not a test."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kcli.core.types import TopicPartition
from kcli.flows.lag.partition_lag import PartitionLag

HOUR, DAY = 3_600.0, 86_400.0
TICK = 0.5  # seconds
STABLE, EMPTY, MOVING = "Stable", "Empty", "PreparingRebalance"
Rate = Callable[[float], float | None]
"""Records a second at a time of the day; None of readers: they stand still, and commit nothing."""


def _normally(_at: float) -> float:
    return 100.0


def _quickly(_at: float) -> float:
    return 300.0


def _ok(_at: float) -> str:
    return "ok"


def _stable(_at: float) -> str:
    return STABLE


@dataclass(frozen=True)
class Life:
    """A day. ``special`` of ``partitions`` are read as ``reads`` says, the others quickly. ``word``: the right verdict.

    ``commits``: seconds between two. ``held``: whether a transaction is open. ``back``: when commits are set back by an
    hour. ``loss``: when retention is near.
    """

    name: str
    word: Callable[[float], str] = _ok
    writes: Rate = _normally
    reads: Rate = _quickly
    commits: float = 5.0
    state: Callable[[float], str] = _stable
    partitions: int = 2
    special: int = 2
    held: Callable[[float], bool] = field(default=lambda _at: False)
    loss: Callable[[float], bool] = field(default=lambda _at: False)
    back: float = math.inf


class _Partition:
    """One partition, in steps of ``TICK``."""

    def __init__(self, life: Life, rng: random.Random, reads: Rate) -> None:
        self._life, self._rng, self._reads = life, rng, reads
        self._written = self._read = 0.0
        self._next = rng.uniform(0, life.commits)
        self._back = life.back
        self.stable = self.committed = 0

    @property
    def end(self) -> int:
        """The end of the log."""
        return int(self._written)

    def step(self, at: float) -> None:
        life, rng = self._life, self._rng
        mean = (life.writes(at) or 0.0) * TICK
        if mean > 5:
            self._written += max(0.0, rng.gauss(mean, math.sqrt(mean)))
        elif mean:
            self._written += sum(rng.random() < mean / 10 for _ in range(10))
        if not life.held(at):
            self.stable = self.end
        rate = self._reads(at) if life.state(at) == STABLE else None
        if at >= self._back:
            self._read = self.committed = max(0, self.committed - 360_000)
            self._back = math.inf
        if rate is not None:
            self._read = min(self.stable, self._read + rate * TICK)
            if at >= self._next:
                self._next = at + life.commits * rng.uniform(0.95, 1.1)
                self.committed = int(self._read)


def samples(life: Life, every: float, seed: int = 1) -> Iterator[tuple[float, str, Sequence[PartitionLag]]]:
    """Times in seconds, states, and rows, about ``every`` seconds."""
    rng = random.Random(f"{life.name} {every} {seed}")
    parts = [
        _Partition(life, rng, life.reads if number < life.special else _quickly)
        for number in range(life.partitions)
    ]
    places = [TopicPartition("t", number) for number in range(life.partitions)]
    at, due = 0.0, every
    while at < DAY:
        for part in parts:
            part.step(at)
        at += TICK
        if at < due:
            continue
        due += every * rng.uniform(0.95, 1.05)
        yield (
            at,
            life.state(at),
            [
                PartitionLag(
                    "g", tp, one.committed, one.end, 0, one.end - one.committed, None, "unknown", None, 0, None, "",
                    at_risk=life.loss(at), stable=one.stable,
                )
                for tp, one in zip(places, parts, strict=True)
            ],
        )  # fmt: skip


def _between(first: float, last: float, word: str) -> Callable[[float], str]:
    return lambda at: word if first <= at < last else "ok"


def _drift(share: float) -> Life:
    """From 6 to 12 o'clock it reads only a share of what is written; then it catches up."""

    def reads(at: float) -> float:
        return 100 * share if 6 * HOUR <= at < 12 * HOUR else 300 if at < 6 * HOUR else 200

    late = 10 / (1 - share)  # until it is ten seconds further behind
    return Life(
        f"reads {share:.0%}", _between(6 * HOUR + late, 12 * HOUR + 10, "slow"), reads=reads, special=1
    )


def _cron(at: float) -> str:
    return STABLE if at % HOUR < 600 else EMPTY


def _deployed(at: float) -> str:
    return EMPTY if at % (4 * HOUR) > 4 * HOUR - 60 else STABLE


def _rebalanced(at: float) -> str:
    return MOVING if at % (2 * HOUR) > 2 * HOUR - 60 else STABLE


LIVES = (
    Life("steady"),
    Life("steady, a commit each 30 s", commits=30),
    Life("idle", writes=lambda _at: 0.0),
    Life("a record a minute", writes=lambda _at: 1 / 60, reads=lambda _at: 0.2),
    Life("a record a second, of which it could read three in two", writes=lambda _at: 1.0, reads=lambda _at: 1.5),
    Life("just fast enough", reads=lambda _at: 105.0),
    _drift(0.9),
    _drift(0.5),
    _drift(0.1),
    Life(
        "one partition of 10 is stuck",
        _between(8 * HOUR + 20, 10 * HOUR, "stalled"),
        reads=lambda at: None if 8 * HOUR <= at < 10 * HOUR else 300.0,
        partitions=10,
        special=1,
    ),
    Life("bursts", writes=lambda at: 20_000.0 if at % (3 * HOUR) < 10 else 100.0),
    Life("pauses of 12 s", reads=lambda at: None if at % 600 < 12 else 300.0),
    Life(
        "hourly job",
        lambda at: "ok" if _cron(at) == STABLE else "stopped",
        state=_cron,
        reads=lambda _at: 5_000.0,
    ),
    Life("paused producer", writes=lambda at: 0.0 if 5 * HOUR < at < 7 * HOUR else 100.0),
    Life(
        "deployed", lambda at: "ok" if _deployed(at) == STABLE else "stopped", state=_deployed
    ),
    Life(
        "rebalances", lambda at: "ok" if _rebalanced(at) == STABLE else "rebalancing", state=_rebalanced
    ),
    Life("set back by an hour", _between(9 * HOUR, 9 * HOUR + 60, "rewound"), back=9 * HOUR),
    Life(
        "held by a transaction",
        _between(5 * HOUR + 20, 5 * HOUR + 600, "held"),
        held=lambda at: 5 * HOUR <= at < 5 * HOUR + 600,
    ),
    Life(
        "retention is near",
        _between(7 * HOUR, 8 * HOUR, "loss risk"),
        loss=lambda at: 7 * HOUR <= at < 8 * HOUR,
    ),
)  # fmt: skip
