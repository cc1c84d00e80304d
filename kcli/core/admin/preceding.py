"""What was committed just before offsets are set: an OffsetFetch is sent together with the commit, ahead of it.

A broker carries out the requests of a connection one after the other, so the OffsetFetch shows what the commit replaced,
but for the moment between the two at the broker, however long requests and responses travel. Sends nothing itself.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kcli.core.admin.committed import GroupPartition, OffsetFetch
from kcli.core.cluster.fanout import Ask, Items, Part, Read
from kcli.core.connection.plan import Broker
from kcli.core.errors import BrokerError, KcliError
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.offset_fetch import OffsetFetchResponse
from kcli.core.types import OffsetAndMetadata

V = TypeVar("V")

Outcomes = Iterator[tuple[GroupPartition, int | KcliError, None]]


@dataclass(slots=True, eq=False, repr=False)
class Preceding:
    """Filled by one call that sets offsets, through ``around``.

    ``found``: what each partition had, once for each attempt to set it; there are several after a lost response.
    ``windows``: the longest time, in seconds, that can have passed at the broker between the first of these reads and the
    last attempt, for each group with a response to it.
    """

    found: dict[GroupPartition, list[OffsetAndMetadata | KcliError | None]] = field(default_factory=dict)
    windows: dict[str, float] = field(default_factory=dict)
    _reads: list[tuple[Request | KcliError, Collection[GroupPartition], OffsetFetch]] = field(
        default_factory=list
    )
    _begun: dict[str, float] = field(default_factory=dict)

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
            group = _group(part.keys)
            self.windows[group] = max(0.0, now() - self._begun[group])
            yield from read(response, part)

        return ask_ahead, read_both

    def _ahead(self, broker: Broker, keys: Collection[GroupPartition], now: float) -> Part[GroupPartition]:
        group = _group(keys)
        fetch = OffsetFetch({group: [key.tp for key in keys]}, require_stable=False)
        (asked,) = fetch.ask(broker, [(group, None)])
        self._reads.append((asked.request, keys, fetch))
        # A round trip is no part of the window: the read follows the way there, and the commit precedes the way back.
        self._begun.setdefault(group, now + broker.round_trip)
        return Part(asked.request, ())  # decides about no key

    def _take(self, response: OffsetFetchResponse, part: Part[GroupPartition]) -> None:
        ((keys, fetch),) = [(keys, fetch) for asked, keys, fetch in self._reads if asked is part.request]
        group = _group(keys)
        error: KcliError | None = None
        for _, code, _ in fetch.read(response, Part(part.request, (group,))):
            if code:
                reading = f"reading the offsets of group {group}"
                error = code if isinstance(code, KcliError) else BrokerError(code, reading)
        outcome = fetch.outcome(group, error, 0.0)
        for key in keys:
            found = outcome if isinstance(outcome, KcliError) else outcome[key.tp]
            self.found.setdefault(key, []).append(found)


def _group(keys: Iterable[GroupPartition]) -> str:
    (group,) = {key.group for key in keys}
    return group
