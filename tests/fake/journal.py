"""What the cluster saw: every request and what became of it, every connection. Written by the loop, read by the test."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import Struct
from kcli.core.records.batch import split_batches
from kcli.core.records.view import BatchView
from kcli.core.types import TopicPartition

T = TypeVar("T")
Matcher = type[Request] | tuple[type[Request], ...] | Callable[["Seen"], bool] | None
"""Which requests: an API, several, a predicate, or all."""


@dataclass(frozen=True, slots=True)
class ProducedBatch:
    """One batch of a Produce request as it was sent."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    raw: bytes
    batch: BatchView = field(repr=False, compare=False)

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(eq=False, slots=True)
class ConnectionSeen:
    """A connection that was accepted; times are those of ``time.monotonic``."""

    number: int
    node: int
    port: int
    """The client's port."""
    opened: float
    closed: float | None = None
    how: str = ""
    """Why it ended: ``by the client``, ``reset``, ``closed``."""
    client_id: str | None = None


@dataclass(eq=False, slots=True)
class Seen:
    """A request that arrived. ``outcome`` is empty while nothing has been decided about it."""

    number: int
    node: int
    connection: int
    at: float
    kind: type[Request]
    version: int
    correlation_id: int
    client_id: str
    request: Request
    names: Callable[[bytes], str] = field(repr=False)
    outcome: str = ""
    """``answered``, ``swallowed``, ``dropped``, ``cut``, ``closed``, or ``no answer`` (acks=0)."""
    applied: bool = False
    answer: Response | None = None
    answered_at: float | None = None
    faults: list[str] = field(default_factory=list)

    @property
    def api(self) -> str:
        return self.kind.api_name

    @property
    def codes(self) -> set[int]:
        """All error codes of the answer but 0."""
        return set(_codes(self.answer)) if self.answer is not None else set()

    def batches(self) -> list[ProducedBatch]:
        """Of a Produce request: the batches in it."""
        found = []
        request: Any = self.request
        for topic in request.topic_data:
            name = topic.name or self.names(topic.topic_id)
            for partition in topic.partition_data:
                for batch in split_batches(partition.records or b""):
                    found.append(_produced(name, partition.index, batch))
        return found


class Journal:
    """Lists that grow; ``wait_for`` blocks the test's thread until enough of a kind has come."""

    def __init__(self, names: Callable[[bytes], str]) -> None:
        self.requests: list[Seen] = []
        self.connections: list[ConnectionSeen] = []
        self.notes: list[str] = []
        """What was refused before it could be read as a request."""
        self._names = names
        self._changed = threading.Condition()
        self._version = 0

    def connected(self, node: int, port: int) -> ConnectionSeen:
        with self._changed:
            seen = ConnectionSeen(len(self.connections) + 1, node, port, time.monotonic())
            self.connections.append(seen)
            self._tell()
        return seen

    def disconnected(self, connection: ConnectionSeen, how: str) -> None:
        with self._changed:
            connection.closed = time.monotonic()
            connection.how = how
            self._tell()

    def arrived(
        self,
        connection: ConnectionSeen,
        kind: type[Request],
        request: Request,
        version: int,
        correlation: int,
    ) -> Seen:
        with self._changed:
            number = len(self.requests) + 1
            client = connection.client_id or ""
            seen = Seen(
                number, connection.node, connection.number, time.monotonic(),
                kind, version, correlation, client, request, self._names,
            )  # fmt: skip
            self.requests.append(seen)
            self._tell()
        return seen

    def settled(self, seen: Seen, outcome: str) -> None:
        with self._changed:
            if not seen.outcome:
                seen.outcome = outcome
                seen.answered_at = time.monotonic()
            self._tell()

    def note(self, text: str) -> None:
        with self._changed:
            self.notes.append(text)
            self._tell()

    def seen(self, matcher: Matcher = None, node: int | None = None) -> list[Seen]:
        """The requests that match, in the order in which they came."""
        with self._changed:
            return [s for s in self.requests if matches(s, matcher) and (node is None or s.node == node)]

    def wait_for(
        self, matcher: Matcher, count: int, timeout: float, *, node: int | None = None, settled: bool = False
    ) -> list[Seen]:
        """The first ``count`` requests that match; ``settled`` waits until they have their outcome too."""

        def enough() -> list[Seen] | None:
            found = [s for s in self.requests if matches(s, matcher) and (node is None or s.node == node)]
            if settled:
                found = [s for s in found if s.outcome]
            return found[:count] if len(found) >= count else None

        return self.wait_until(enough, timeout, f"{count} x {matcher}")

    def wait_until(self, condition: Callable[[], T | None], timeout: float, what: str) -> T:
        """The first true value of ``condition``, looked at whenever something is seen."""
        end = time.monotonic() + timeout
        while True:
            before = self._version
            # Not under the lock: the condition may ask the loop's thread, which may be waiting for the lock.
            if value := condition():
                return value
            with self._changed:
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{what} did not come in {timeout:g} s; seen: {self._summary()}")
                if self._version == before:
                    self._changed.wait(left)

    def poke(self) -> None:
        """Something that a waiting condition may look at has changed."""
        with self._changed:
            self._tell()

    def _tell(self) -> None:
        self._version += 1
        self._changed.notify_all()

    def _summary(self) -> str:
        lines = [f"{s.api} v{s.version} at node {s.node}: {s.outcome or 'open'}" for s in self.requests[-12:]]
        return f"{len(self.requests)} requests, the last: {'; '.join(lines)}"


def matches(seen: Seen, matcher: Matcher) -> bool:
    if matcher is None:
        return True
    if isinstance(matcher, tuple):
        return seen.kind in matcher
    if isinstance(matcher, type):
        return seen.kind is matcher
    return matcher(seen)


def _produced(topic: str, partition: int, batch: BatchView) -> ProducedBatch:
    return ProducedBatch(
        topic,
        partition,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.count,
        bytes(batch.raw),
        batch,
    )


def _codes(value: Struct) -> Iterator[int]:
    for row in value.fields:
        found = getattr(value, row.name)
        if row.name.endswith("error_code") and found:
            yield found
        elif isinstance(found, Struct):
            yield from _codes(found)
        elif isinstance(found, list) and found and isinstance(found[0], Struct):
            for item in found:
                yield from _codes(item)
