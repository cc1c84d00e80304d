"""Facts by hand, as the brokers of a cluster report them. Not a test."""

from kcli.core.admin.brokers import LogDir, ReplicaSize
from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.quorum import QuorumDescription, QuorumReplica
from kcli.core.admin.quotas import QuotaEntity
from kcli.core.admin.transactions import TransactionDescription
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.exporter.collectors.reading import Facts
from kcli.exporter.collectors.topics import Required
from kcli.flows.transactions.coordinated import Coordinated
from tests.unit.flows.monitor.readings import NOW

OFFLINE = KcliError("log directory /b cannot be used")


def transaction(name: str, seconds: float, *topics: str) -> TransactionDescription:
    """Open for so long at NOW."""
    places = tuple(TopicPartition(topic, number) for topic in topics for number in (0, 1))
    return TransactionDescription(name, "Ongoing", 1, 0, 60_000, NOW - round(seconds * 1000), places, 1)


def entry(name: str, value: str | None, source: str = "default") -> ConfigEntry:
    return ConfigEntry(name, value, source, is_sensitive=value is None)


QUORUM = QuorumDescription(
    3,
    7,
    (3, 4),
    90,
    (
        QuorumReplica(3, True, 100, 50_000),
        QuorumReplica(4, True, 100, 50_000),
        QuorumReplica(1, False, 60, 48_500),
        QuorumReplica(2, False, -1, -1),
    ),
)
ALL_FACTS = Facts(
    quorum=QUORUM,
    transactions=Coordinated((transaction("a", 30, "t"), transaction("b", 5, "t", "u"))),
    quotas={QuotaEntity.of([("user", None), ("client-id", "app")]): {"producer_byte_rate": 1_048_576.0}},
    commits={0: 10, 1: 20},
    log_dirs={
        1: [
            LogDir("/b", OFFLINE, {}),
            LogDir("/a", None, {TopicPartition("t", 0): ReplicaSize(700, 0, False)}, 1 << 30, 1 << 29),
        ]
    },
    required=Required({"t": 2}, capped=True),
    configs={
        "t": [
            entry("retention.ms", "60000"),
            entry("segment.bytes", "5"),
            entry("cleanup.policy", "compact", "topic"),
            entry("unclean.leader.election.enable", "true", "topic"),
            entry("some.secret", None, "topic"),
        ]
    },
)
