"""What is measured at one moment, and what is wanted. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kcli.account.survey import Missing
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.measure import OFF
from kcli.flows.lag.partition_lag import RecordTimes, Retention
from kcli.flows.lag.sample import LagSample

if TYPE_CHECKING:  # loaded where the cluster is described
    from kcli.core.admin.brokers import ClusterDescription
    from kcli.core.admin.topics import TopicInfo
    from kcli.flows.topics.sizes import TopicSize


class View(NamedTuple):
    """What is wanted beyond the groups, their members and commits, and the ends of the logs that they read.

    ``time`` is how lag in time is found (``exact``, ``estimate``, ``off``), for the groups ``timed`` in this order, or
    for ``all_timed``.
    ``topics``: all topics with their ends and sizes. ``brokers``: the replicas of every broker, and the controller.
    Without ``groups`` these are not read; ``apart``: what else there is, is read also if they cannot be.
    """

    timed: Sequence[str] = ()
    time: str = OFF
    topics: bool = False
    brokers: bool = False
    all_timed: bool = False
    groups: bool = True
    apart: bool = False


class Latency(NamedTuple):
    """Requests to a broker that were answered since the reading before: their number, mean and longest time in ms."""

    requests: int
    mean_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """``topics`` and ``controller`` are None unless they were wanted; ``sizes`` likewise empty.

    ``replicas_at``: brokers that replica lists name, whether they are up or not.
    """

    description: ClusterDescription
    controller: int | None = None
    topics: Sequence[TopicInfo] | None = None
    sizes: Mapping[str, TopicSize] = field(default_factory=dict)
    replicas_at: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """One measurement. ``seconds`` is how long it took, ``requests`` how many requests it needed.

    ``times``, ``retention`` and ``notes`` are for the groups ``timed``. ``ends`` are the logs of all partitions that are
    known, which are those of the sample unless all topics were wanted. ``problems`` are why something is missing.
    ``utc_offset``, in seconds, is the zone in which its times are shown; None is that of this machine.
    """

    sample: LagSample
    cluster: ClusterFacts
    timed: frozenset[str] = frozenset()
    times: RecordTimes = field(default_factory=dict)
    retention: Retention = field(default_factory=dict)
    notes: Mapping[TopicPartition, str] = field(default_factory=dict)
    ends: Mapping[TopicPartition, LogEnds] = field(default_factory=dict)
    latencies: Mapping[int, Latency] = field(default_factory=dict)
    requests: int = 0
    seconds: float = 0.0
    problems: Sequence[KcliError] = ()
    utc_offset: int | None = None

    @property
    def missing(self) -> list[Missing]:
        """What is not in it."""
        of_sample = self.sample.missing
        known = {id(part.error) for part in of_sample}
        return [*of_sample, *(Missing.of(error) for error in self.problems if id(error) not in known)]
