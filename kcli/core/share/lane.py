"""The conversation with one broker about share groups: its session, and what waits to be acknowledged there. No I/O."""

from __future__ import annotations

from kcli.core.classes import dataclass, field
from kcli.core.cluster.retry import Backoff
from kcli.core.share.acquired import Decision
from kcli.core.share.pending import Pending
from kcli.core.share.session import Runs, ShareSession, TopicIds
from kcli.core.types import TopicPartition


@dataclass(slots=True, eq=False, repr=False)
class Lane:
    """``asked``: whether a request is in flight, since ``sent_at``; ``waits``: how long that one may wait at the broker.

    ``buffered``: responses with records that were not handed out yet. ``fetching``: the request may bring some.
    ``flows``: the last fetch did; ``idle``: it did not. ``exhausted``: it did not although it waited its whole time.
    """

    node_id: int
    backoff: Backoff
    session: ShareSession = field(default_factory=ShareSession)
    pending: dict[TopicPartition, Pending] = field(default_factory=dict)
    topic_ids: TopicIds = field(default_factory=dict)
    asked: bool = False
    sent: list[TopicPartition] = field(default_factory=list)
    sent_at: float = 0.0
    waits: float = 0.0
    full_wait: bool = False
    not_before: float = 0.0
    buffered: int = 0
    fetching: bool = False
    flows: bool = False
    idle: bool = False
    exhausted: bool = False

    def worked(self) -> None:
        """The broker gave a useful response."""
        self.backoff.reset()
        self.not_before = 0.0

    def failed(self, now: float) -> None:
        """It did not: waits before the next request."""
        self.not_before = now + self.backoff.next()

    def add(self, decision: Decision) -> None:
        """Queues what was decided of a range of this broker's."""
        self.of(decision).add(decision)

    def of(self, decision: Decision) -> Pending:
        """What waits for the partition of a decision."""
        tp = decision.acquired.tp
        self.topic_ids[tp] = decision.acquired.topic_id
        return self.pending.setdefault(tp, Pending())

    @property
    def has_pending(self) -> bool:
        """Whether something waits to be acknowledged."""
        return any(pending.is_waiting for pending in self.pending.values())

    @property
    def has_renewals(self) -> bool:
        """Whether locks are to be extended: no fetch may do that."""
        return any(pending.waits_for_renewal for pending in self.pending.values())

    def send(self) -> Runs:
        """The acknowledgements of the next request, by partition."""
        runs = {tp: pending.send() for tp, pending in self.pending.items() if pending.is_waiting}
        self.sent = list(runs)
        return runs

    def take_sent(self) -> list[tuple[TopicPartition, Pending]]:
        """What was sent with the request that has ended."""
        sent, self.sent = self.sent, []
        return [(tp, self.pending[tp]) for tp in sent if tp in self.pending]

    def tidy(self) -> None:
        """Forgets partitions about which there is nothing to say."""
        for tp in [tp for tp, pending in self.pending.items() if not pending]:
            del self.pending[tp]
            self.topic_ids.pop(tp, None)
