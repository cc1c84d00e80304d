"""What was committed just before offsets are set: an OffsetFetch is sent together with the commit, ahead of it.

A broker carries out the requests of a connection one after the other, so the OffsetFetch shows what the commit replaced,
but for the moment between the two at the broker, however long requests and responses travel. Sends nothing itself.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from kcli.core.admin.committed import OffsetFetch
from kcli.core.classes import dataclass, field
from kcli.core.cluster.fanout import Ask, Items, Part, Read
from kcli.core.connection.plan import Broker
from kcli.core.errors import BrokerError, KcliError, OutcomeUnknownError
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.offset_fetch import OffsetFetchResponse
from kcli.core.types import GroupPartition, OffsetAndMetadata

V = TypeVar("V")

Outcomes = Iterator[tuple[GroupPartition, int | KcliError, None]]


@dataclass(slots=True, eq=False, repr=False)
class Preceding:
    """Filled by one call that sets offsets, through ``around``.

    ``found``: what each partition had, once for each attempt to set it; there are several after an error and after a lost
    response. An error where the read has failed, or its response was lost: the attempt may still have been carried out.
    ``begun``: when each of these reads was sent, plus a round trip; ``answered``: when the response to the last attempt
    was there.
    """

    found: dict[GroupPartition, list[OffsetAndMetadata | KcliError | None]] = field(default_factory=dict)
    begun: dict[GroupPartition, list[float]] = field(default_factory=dict)
    answered: dict[GroupPartition, float] = field(default_factory=dict)
    _reads: list[tuple[Request | KcliError, Mapping[GroupPartition, int], OffsetFetch]] = field(
        default_factory=list
    )

    def window(self, key: GroupPartition, attempt: int) -> float | None:
        """The longest time, in seconds, that can have passed at the broker between the read of this attempt and the last
        attempt to set the partition; None without a response to the last one.
        """
        answered = self.answered.get(key)
        return None if answered is None else max(0.0, answered - self.begun[key][attempt])

    def around(
        self,
        ask: Ask[GroupPartition, V],
        read: Read[GroupPartition, None],
        now: Callable[[], float],
    ) -> tuple[Ask[GroupPartition, V], Read[GroupPartition, None]]:
        """``ask`` and ``read`` of a ``fan_out`` with a part for each group, and the reads ahead of these parts."""

        def ask_ahead(broker: Broker, items: Items[GroupPartition, V]) -> Iterable[Part[GroupPartition]]:
            for part in ask(broker, items):
                if not isinstance(part.request, KcliError):
                    yield self._ahead(broker, part.keys, now())
                yield part

        def read_both(response: Any, part: Part[GroupPartition]) -> Outcomes:
            if isinstance(response, OffsetFetchResponse):
                self._take(response, part)
                return
            self.answered |= dict.fromkeys(part.keys, now())
            yield from read(response, part)

        return ask_ahead, read_both

    def _ahead(self, broker: Broker, keys: Collection[GroupPartition], now: float) -> Part[GroupPartition]:
        group = _group(keys)
        fetch = OffsetFetch({group: [key.tp for key in keys]}, require_stable=False)
        (asked,) = fetch.ask(broker, [(group, None)])
        self._reads.append((asked.request, {key: len(self.found.get(key, ())) for key in keys}, fetch))
        for key in keys:
            self.found.setdefault(key, []).append(OutcomeUnknownError("no response"))
            # A round trip is no part of the window: the read follows the way there, the commit precedes the way back.
            self.begun.setdefault(key, []).append(now + broker.round_trip)
            self.answered.pop(key, None)
        return Part(asked.request, ())  # decides about no key

    def _take(self, response: OffsetFetchResponse, part: Part[GroupPartition]) -> None:
        ((attempts, fetch),) = [(keys, fetch) for asked, keys, fetch in self._reads if asked is part.request]
        group = _group(attempts)
        error: KcliError | None = None
        for _, code, _ in fetch.read(response, Part(part.request, (group,))):
            if code:
                reading = f"reading the offsets of group {group}"
                error = code if isinstance(code, KcliError) else BrokerError(code, reading)
        outcome = fetch.outcome(group, error, 0.0)
        for key, attempt in attempts.items():
            self.found[key][attempt] = outcome if isinstance(outcome, KcliError) else outcome[key.tp]


def _group(keys: Iterable[GroupPartition]) -> str:
    (group,) = {key.group for key in keys}
    return group
