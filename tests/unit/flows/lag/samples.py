"""Samples for the tests of this folder."""

from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.sample import GroupSample, LagSample

NOW = 1_700_000_000_000
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def sample(
    commits: dict[TopicPartition, int | KcliError | None],
    bounds: dict[TopicPartition, LogEnds],
    *,
    state: str = "Empty",
) -> LagSample:
    """One group, g."""
    committed = {tp: OffsetAndMetadata(at) if isinstance(at, int) else at for tp, at in commits.items()}
    return LagSample(NOW, [GroupSample("g", state, committed)], bounds)


def row(
    lag: int | None = 0, *, seconds: float | None = 0.0, committed: int | None = 0, **more: object
) -> PartitionLag:
    """A row of group g; its end is the commit and the lag."""
    end = None if lag is None or committed is None else committed + lag
    plain = PartitionLag("g", P0, committed, end, 0, lag, seconds, "read", None, 0, None, "")
    return plain._replace(**more)
