"""What readings show, ready for a screen or a page of metrics. Values only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kcli.account.survey import Missing
from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import ConnectError
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import ONLINE, BrokerState
from kcli.flows.lag.pace import Trend
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.summary import Summary
from kcli.flows.lag.verdicts import Verdict
from kcli.flows.monitor.cluster_reading import Latency, Reading


class GroupLine(NamedTuple):
    """A group. ``members`` and ``reading`` (those with partitions) are None where they are not known.

    ``summary.seconds`` is known for groups whose times were looked up. ``recent`` are the lags of the last five
    minutes, oldest first; None where the lag was not known. Of a group that could not be read, ``last`` is the summary
    when it was, ``age`` seconds ago; both are None otherwise, and where it never was.
    """

    group: str
    type: str
    state: str
    members: int | None
    reading: int | None
    topics: int | None
    summary: Summary
    trend: Trend
    judged: Verdict
    recent: Sequence[int | None]
    last: Summary | None = None
    age: float | None = None

    @property
    def verdict(self) -> str | None:
        """The word."""
        return self.judged.word

    @property
    def idle(self) -> int | None:
        """Members without partitions."""
        return None if self.members is None or self.reading is None else self.members - self.reading


class TopicLine(NamedTuple):
    """A topic. ``records`` is the number of offsets that are kept, ``size`` the bytes of the leaders' logs.

    ``groups`` read it; ``worst`` is the one with the most lag there, of ``lag`` records. None is unknown. ``at_least``:
    groups could not be read, which may read it, too.
    """

    topic: str
    partitions: int
    under_replicated: int | None
    offline: int | None
    records: int | None
    size: int | None
    produced: float | None
    groups: int
    worst: str | None
    lag: int | None
    at_least: bool = False


class BrokerLine(NamedTuple):
    """A broker. ``counted``: its replicas were counted, which they are only where brokers were wanted."""

    broker: BrokerState
    counted: bool
    controller: bool
    latency: Latency | None


class Event(NamedTuple):
    """Something that changed between two readings. ``kind`` is one of ``events.KINDS``; ``group`` may be empty.

    ``text`` is what has changed; it follows the group and the kind wherever it is shown, and repeats neither.
    """

    at_ms: int
    kind: str
    group: str
    text: str


class Totals(NamedTuple):
    """Of all groups: how many have each verdict, their lag, and records per second in (produced) and out (consumed).

    The verdict of a group is an empty word while it is not known.
    """

    verdicts: Mapping[str, int]
    lag: int
    produced: float | None
    consumed: float | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``rows`` are the partitions of each group. ``topics`` is empty unless topics were wanted.

    ``recent`` are the totals of the last five minutes, oldest first; ``lags`` those of the partitions of the group
    that is followed.
    """

    reading: Reading
    groups: Sequence[GroupLine]
    rows: Mapping[str, Collection[PartitionLag]]
    topics: Sequence[TopicLine]
    brokers: Sequence[BrokerLine]
    totals: Totals
    recent: Sequence[Totals] = ()
    events: Sequence[Event] = ()
    lags: Mapping[TopicPartition, Sequence[int | None]] = field(default_factory=dict)
    unread: Sequence[GroupLine] = ()
    """Groups that could not be read: ``summary.note`` says why, ``last`` what was known."""

    @property
    def lacks(self) -> Sequence[Missing]:
        """What is missing: of the reading, and brokers that are down."""
        down = [
            Missing.of(
                ConnectError(
                    f"broker {one.broker.number} is {one.broker.state}",
                    why="it is down, or cannot reach the controller",
                    do="see the log of that broker",
                ),
                f"broker {one.broker.number}",
            )
            for one in self.brokers
            if one.broker.state != ONLINE
        ]
        return [*self.reading.missing, *down]
