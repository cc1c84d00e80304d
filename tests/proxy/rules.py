"""What happens to frames, one class per kind of fault. A rule picks frames, counts them, and treats each when its
turn has come. ``treat`` runs in the proxy's thread; everything else may be called from any.
"""

import asyncio
import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Self

from kcli.core.protocol.api import Request
from tests.proxy.exchange import Exchange
from tests.proxy.log import Log
from tests.proxy.passing import RESPONSE, Passing

Api = type[Request] | int | None
Rng = random.Random


@dataclass(frozen=True, slots=True)
class Pick:
    """Which frames: of an API and a node, that ``when`` is true of; of those the ``nth`` (from 1 on), or a share.

    ``times`` ends it after so many. ``when`` is asked when the frame is there whole and its exchange filled in.
    """

    api: Api = None
    node: int | None = None
    nth: int | Collection[int] | None = None
    when: Callable[[Exchange], bool] | None = None
    times: int | None = None
    share: float | None = None
    rng: Rng = field(default_factory=Rng)

    def concerns(self, exchange: Exchange) -> bool:
        return exchange.is_for(self.api) and self.node in (None, exchange.node)

    def chooses(self, index: int) -> bool:
        """Whether the ``index``-th frame that it concerns is one of those meant."""
        if self.nth is not None:
            return index == self.nth if isinstance(self.nth, int) else index in self.nth
        return self.share is None or self.rng.random() < self.share


class Rule:
    """``hits`` counts the frames treated. Also a context manager that takes the rule away at its end."""

    way = RESPONSE

    def __init__(self, pick: Pick, way: str = RESPONSE) -> None:
        self.pick = pick
        self.way = way
        self.hits = 0
        self.seen = 0
        self.removed = False

    def remove(self) -> None:
        """Frames whose turn has not come pass untouched from now on."""
        self.removed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.remove()

    @property
    def spent(self) -> bool:
        """Whether it will treat no more frames."""
        return self.removed or (self.pick.times is not None and self.hits >= self.pick.times)

    def takes(self, passing: Passing) -> bool:
        """Counts the frame; whether it is one to be treated."""
        pick, exchange = self.pick, passing.exchange
        if self.spent or passing.way != self.way or not pick.concerns(exchange):
            return False
        if pick.when is not None and not pick.when(exchange):
            return False
        self.seen += 1
        if not pick.chooses(self.seen):
            return False
        self.hits += 1
        return True

    def needs_whole(self, passing: Passing) -> bool:
        """Whether the frame must be there whole before it can be judged."""
        return not self.spent and passing.way == self.way and self.pick.when is not None

    async def treat(self, passing: Passing) -> None:
        raise NotImplementedError


class Swallow(Rule):
    """The broker has done what it was asked for; its answer goes no further, and the connection is dead."""

    def __init__(self, pick: Pick, kinds: Iterable[str]) -> None:
        super().__init__(pick)
        self.counts: Counter[str] = Counter()
        self._kinds = itertools.cycle(kinds)

    async def treat(self, passing: Passing) -> None:
        passing.swallow = next(self._kinds)
        self.counts[passing.swallow] += 1


class Delay(Rule):
    """``seconds`` ± ``jitter`` from the time at which the frame came; order is kept, frames wait side by side."""

    def __init__(self, pick: Pick, way: str, seconds: float, jitter: float) -> None:
        super().__init__(pick, way)
        self._seconds, self._jitter = seconds, jitter

    async def treat(self, passing: Passing) -> None:
        wait = self._seconds + self.pick.rng.uniform(-self._jitter, self._jitter)
        await asyncio.sleep(max(0.0, passing.frame.at + wait - time.monotonic()))


class Cut(Rule):
    """``at`` bytes of the frame go out (its length included; negative: from its end), then the connection ends."""

    def __init__(self, pick: Pick, way: str, at: int, then: str) -> None:
        super().__init__(pick, way)
        self._cut = (at, then)

    async def treat(self, passing: Passing) -> None:
        passing.cut = self._cut


class Drip(Rule):
    """The frame goes out in pieces of ``size`` bytes, with a pause after each."""

    def __init__(self, pick: Pick, way: str, size: int, pause: float) -> None:
        super().__init__(pick, way)
        self._size, self._pause = size, pause

    async def treat(self, passing: Passing) -> None:
        passing.piece, passing.pause = self._size, self._pause


class Hold(Rule):
    """Frames wait, and what is behind them on their connection, until they are released or dropped."""

    def __init__(self, pick: Pick, way: str, log: Log, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(pick, way)
        self.held: list[Exchange] = []
        self._log = log
        self._loop = loop
        self._decided = asyncio.Event()
        self._drop = False

    async def treat(self, passing: Passing) -> None:
        self.held.append(passing.exchange)
        self._log.changed()
        await self._decided.wait()
        passing.dropped = self._drop

    def wait(self, timeout: float = 120.0, count: int = 1) -> Exchange:
        """Returns the first frame's exchange once ``count`` frames are held."""
        self._log.wait_for(lambda: len(self.held) >= count, timeout, f"{count} held")
        return self.held[0]

    def release(self) -> None:
        """What is held continues its way, even if its client is long gone; nothing more is held."""
        self._decide(drop=False)

    def drop(self) -> None:
        """What is held is thrown away; nothing more is held."""
        self._decide(drop=True)

    def __exit__(self, *_exc: object) -> None:
        self.release()

    def _decide(self, *, drop: bool) -> None:
        self.remove()
        if not self._decided.is_set():
            self._drop = drop
            self._loop.call_soon_threadsafe(self._decided.set)


class Rules:
    """All rules, oldest first; the tuple is replaced whole, so that only those who add need the lock."""

    def __init__(self) -> None:
        self._all: tuple[Rule, ...] = ()
        self._adding = threading.Lock()

    def add(self, rule: Rule) -> None:
        with self._adding:
            self._all = (*(one for one in self._all if not one.spent), rule)

    def needs_whole(self, passing: Passing) -> bool:
        return any(rule.needs_whole(passing) for rule in self._all)

    async def treat(self, passing: Passing) -> None:
        """Every rule in turn, until one has dropped the frame."""
        for rule in self._all:
            if rule.takes(passing):
                await rule.treat(passing)
                if passing.dropped:
                    return
