"""The metadata quorum (KRaft): its leader, and how far the other replicas of its log are behind. Pure."""

from collections.abc import Iterator

from kcli.core.admin.quorum import QuorumDescription, QuorumReplica
from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import GAUGE, Metric

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
VOTER, OBSERVER = "voter", "observer"


def samples(quorum: QuorumDescription) -> Iterator[Sample]:
    """During an election there is no leader to compare with."""
    yield Sample(LEADER, (), quorum.leader)
    yield Sample(EPOCH, (), quorum.leader_epoch)
    yield Sample(HIGH_WATERMARK, (), _known(quorum.high_watermark))
    for role, is_voter in ((VOTER, True), (OBSERVER, False)):
        yield Sample(REPLICAS, (role,), sum(one.is_voter == is_voter for one in quorum.replicas))
    leader = next((one for one in quorum.replicas if one.node == quorum.leader), None)
    for one in quorum.replicas if leader is not None else ():
        labels = one.node, VOTER if one.is_voter else OBSERVER
        yield Sample(LAG_RECORDS, labels, _behind(leader, one, "log_end"))
        behind_ms = _behind(leader, one, "caught_up_ms")
        yield Sample(LAG_SECONDS, labels, None if behind_ms is None else behind_ms / 1000)


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def _behind(leader: QuorumReplica | None, one: QuorumReplica, what: str) -> int | None:
    """By how much it is less than the leader's; the leader may know less of itself than of others, as at its start."""
    theirs, own = getattr(leader, what), getattr(one, what)
    return None if theirs < 0 or own < 0 else max(0, theirs - own)
