"""What a process of a test sends, and by which producer. Can be pickled, but for its secrets."""

from __future__ import annotations

from itertools import pairwise

from kcli.core.classes import dataclass, replace
from kcli.core.options import ProducerOptions
from kcli.flows.perf.marks import prefix
from kcli.flows.perf.payload import Payload, Values


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """What one process sends. ``records`` and ``seconds``: the load ends with the first that is reached; None: never.
    The ``warmup`` records are part of ``records``, and the seconds begin after them.

    ``rate`` is that of all ``processes`` together, records a second; None: no limit. ``number``: of this producer, also
    the seed of its values. With ``run`` they are marked, and with ``verified`` the numbers of those that are confirmed
    are kept. ``transaction``: seconds that a transaction is open; None: nothing is sent in transactions.
    """

    topic: str
    values: Values
    records: int | None = None
    seconds: float | None = None
    warmup: int = 0
    rate: float | None = None
    run: int | None = None
    number: int = 0
    processes: int = 1
    verified: bool = False
    transaction: float | None = None

    def divided(self) -> list[LoadPlan]:
        """A plan for each of the processes: records and warm-up in equal shares."""
        records, warmup = shares(self.records, self.processes), shares(self.warmup, self.processes)
        return [
            replace(self, records=records[number], warmup=warmup[number] or 0, number=number)
            for number in range(self.processes)
        ]

    def payload(self) -> Payload:
        """The values of this process."""
        return Payload(self.values, self.number, None if self.run is None else (self.run, self.number))

    @property
    def head(self) -> bytes | None:
        """What the marks of verified records begin with."""
        return prefix(self.run, self.number) if self.verified and self.run is not None else None


@dataclass(frozen=True, slots=True)
class LoadPart:
    """A plan, and the producer that carries it out. ``timeout``: seconds for the first contact."""

    plan: LoadPlan
    options: ProducerOptions
    timeout: float = 30.0


def shares(total: int | None, count: int) -> list[int | None]:
    """``count`` numbers that differ by one at most, and whose sum is ``total``; None for each: no limit."""
    if total is None:
        return [None] * count
    bounds = [total * number // count for number in range(count + 1)]
    return [stop - start for start, stop in pairwise(bounds)]
