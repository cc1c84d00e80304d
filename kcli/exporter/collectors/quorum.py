"""The metadata quorum (KRaft): its leader, and how far the other replicas of its log are behind. Pure."""

from collections.abc import Iterator

from kcli.core.admin.quorum import QuorumDescription
from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import GAUGE, Metric
from kcli.flows.quorum.standings import OBSERVER, VOTER, known, standings

_REPLICA = ("node", "role")
LEADER = Metric(
    "kcli_quorum_leader", GAUGE, (), "Node id of the active controller; -1 while none is elected."
)
EPOCH = Metric("kcli_quorum_leader_epoch", GAUGE, (), "Its epoch, which grows with each election.")
HIGH_WATERMARK = Metric(
    "kcli_quorum_high_watermark", GAUGE, (), "The offset up to which the metadata log is committed."
)
REPLICAS = Metric("kcli_quorum_replicas", GAUGE, ("role",), "Voters and observers of the quorum.")
LAG_RECORDS = Metric(
    "kcli_quorum_lag_records", GAUGE, _REPLICA, "Records of the metadata log that the replica lacks."
)
LAG_SECONDS = Metric(
    "kcli_quorum_lag_seconds",
    GAUGE,
    _REPLICA,
    "How long ago, by the leader's clock, the replica had all records of the leader.",
)
METRICS = (LEADER, EPOCH, HIGH_WATERMARK, REPLICAS, LAG_RECORDS, LAG_SECONDS)


def samples(quorum: QuorumDescription) -> Iterator[Sample]:
    """During an election there is no leader to compare with."""
    yield Sample(LEADER, (), quorum.leader)
    yield Sample(EPOCH, (), quorum.leader_epoch)
    yield Sample(HIGH_WATERMARK, (), known(quorum.high_watermark))
    found = standings(quorum)
    for role in (VOTER, OBSERVER):
        yield Sample(REPLICAS, (role,), sum(one.role == role for one in found))
    for one in found if any(one.leads for one in found) else ():
        labels = one.node, one.role
        yield Sample(LAG_RECORDS, labels, one.lag)
        yield Sample(LAG_SECONDS, labels, one.behind)
