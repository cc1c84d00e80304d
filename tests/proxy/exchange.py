"""A request and what became of it, as the proxy saw it. Written by the proxy's thread, read by any.

Times are ``time.monotonic()``. "Over" is the client's point of view: it has its answer, or has seen its connection
end; a swallowed answer is over only when the connection is.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kcli.core.protocol.api import Request
from tests.proxy.tables import name_of_api


class Fate(StrEnum):
    """What the client got for a request."""

    OPEN = "open"
    ANSWERED = "answered"
    SWALLOWED = "swallowed"
    LOST = "lost with its connection"
    NO_ANSWER = "wants no answer"


@dataclass(frozen=True, slots=True)
class BatchHead:
    """What the header of a batch in a Produce request says. ``topic`` is an id in hex while no name is known."""

    topic: str
    partition: int
    producer_id: int
    epoch: int
    base_sequence: int
    count: int
    codec: int
    transactional: bool
    crc: int
    size: int

    @property
    def place(self) -> tuple[str, int, int, int, int]:
        """What a broker knows it by."""
        return self.topic, self.partition, self.producer_id, self.epoch, self.base_sequence

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}] {self.producer_id}/{self.epoch} #{self.base_sequence}+{self.count}"


@dataclass(slots=True, eq=False)
class Exchange:
    """``reached``: all of it was sent on to the broker; ``answered_at``: when the broker's answer came."""

    at: float
    node: int
    connection: int
    api: int
    version: int
    correlation_id: int
    size: int
    fate: Fate = Fate.OPEN
    reached: bool = False
    answered_at: float | None = None
    over_at: float | None = None
    swallowed: str = ""
    batches: tuple[BatchHead, ...] = ()
    errors: dict[tuple[str, int], int] = field(default_factory=dict)
    body: Any = None

    def is_for(self, api: "type[Request] | int | None") -> bool:
        """Whether it is a request of ``api``; None stands for all."""
        return api is None or self.api == (api if isinstance(api, int) else api.api_key)

    def end(self, fate: Fate, now: float) -> None:
        """It is over for the client; only the first end counts."""
        if self.over_at is None:
            self.over_at = now
            if self.fate is Fate.OPEN:
                self.fate = fate

    def __str__(self) -> str:
        name, failed = name_of_api(self.api), {w: e for w, e in self.errors.items() if e}
        end = "-" if self.over_at is None else f"{self.over_at - self.at:.3f}"
        answered = "-" if self.answered_at is None else f"{self.answered_at - self.at:.3f}"
        return (
            f"{self.at:.3f} node {self.node} connection {self.connection} {name} v{self.version}"
            f" id {self.correlation_id}: {'reached' if self.reached else 'did not reach'} the broker,"
            f" answered +{answered}, over +{end}, {self.fate}{' by ' + self.swallowed if self.swallowed else ''}"
            f"{''.join(f'; {batch}' for batch in self.batches)}{f'; errors {failed}' if failed else ''}"
        )


@dataclass(slots=True, eq=False)
class ConnectionRecord:
    """One connection of a client. ``truncated``: bytes there of a last frame's size, when it was cut off."""

    number: int
    node: int
    opened_at: float
    ended_at: float | None = None
    how: str = ""
    requests: int = 0
    silent: bool = False
    truncated: tuple[int, int] | None = None

    @property
    def alive(self) -> bool:
        """Whether the client may still think that it stands."""
        return self.ended_at is None
