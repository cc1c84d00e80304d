"""What is measured at one moment, and what is wanted. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from kcli.account.survey import Missing
from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.measure import OFF
from kcli.flows.lag.partition_lag import RecordTimes, Retention
from kcli.flows.lag.sample import LagSample

if TYPE_CHECKING:  # loaded where the cluster is described
    from kcli.core.admin.brokers import ClusterDescription
    from kcli.core.admin.quorum import QuorumDescription
    from kcli.core.admin.topics import TopicInfo
    from kcli.flows.mirror.job.job_line import JobLine
    from kcli.flows.topics.sizes import TopicSize
    from kcli.flows.transactions.listed import OpenTransaction

T = TypeVar("T")


class View(NamedTuple):
    """What is wanted beyond the groups, their members and commits, and the ends of the logs that they read.

    ``time`` is how lag in time is found (``exact``, ``estimate``, ``off``), for the groups ``timed`` in this order, or
    for ``all_timed``.
    ``topics``: all topics with their ends and sizes. ``brokers``: the replicas of every broker, and the controller.
    Without ``groups`` these are not read; ``apart``: what else there is, is read also if they cannot be.
    ``quorum``, ``transactions``, ``mirrors``: see ``Parts``; ``topic``: the one that is opened, empty for none.
    ``configs``: what is set on each topic.
    """

    timed: Sequence[str] = ()
    time: str = OFF
    topics: bool = False
    brokers: bool = False
    all_timed: bool = False
    groups: bool = True
    apart: bool = False
    quorum: bool = False
    transactions: bool = False
    mirrors: bool = False
    topic: str = ""
    configs: bool = False


class Latency(NamedTuple):
    """Requests to a broker that were answered since the reading before: their number, mean and longest time in ms."""

    requests: int
    mean_ms: float
    max_ms: float


class SetValue(NamedTuple):
    """A configuration key that is set on a topic, or by brokers for all of them. ``value`` is None where it is hidden."""

    name: str
    value: str | None
    source: str


class TopicFacts(NamedTuple):
    """A topic that is opened. ``sizes`` are bytes of the leaders' logs; None where they are not known.

    ``configs`` are the values that differ from Kafka's defaults; None where they were not read.
    """

    info: TopicInfo
    ends: Mapping[TopicPartition, LogEnds]
    sizes: Mapping[int, int | None]
    configs: Sequence[SetValue] | None = None


class Part(NamedTuple, Generic[T]):
    """What one screen shows besides groups. ``value`` is None where it was never read; it is as of ``at_ms``, which is
    before the reading where a later one failed. ``errors``: why something is missing; ``absent`` says that the
    cluster has no such thing, and why.
    """

    value: T | None = None
    at_ms: int = 0
    errors: Sequence[KcliError] = ()
    absent: str = ""

    @property
    def lacks(self) -> Sequence[Missing]:
        """What is missing."""
        return [Missing.of(error) for error in self.errors]


@dataclass(frozen=True, slots=True)
class Parts:
    """Each is None unless it was wanted. ``mirrors`` are the jobs that write to the cluster. ``configs``: by topic."""

    quorum: Part[QuorumDescription] | None = None
    transactions: Part[Sequence[OpenTransaction]] | None = None
    mirrors: Part[Sequence[JobLine]] | None = None
    topic: Part[TopicFacts] | None = None
    configs: Part[Mapping[str, Sequence[SetValue]]] | None = None


NO_PARTS = Parts()


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
    Those of ``parts`` are with each of them.
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
    parts: Parts = NO_PARTS

    @property
    def missing(self) -> list[Missing]:
        """What is not in it."""
        of_sample = self.sample.missing
        known = {id(part.error) for part in of_sample}
        return [*of_sample, *(Missing.of(error) for error in self.problems if id(error) not in known)]
