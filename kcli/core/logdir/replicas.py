"""Which replica of a partition is read where several folders have one. Pure."""

from collections.abc import Collection, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.logdir.leader_epochs import EpochStart, diverges_at


class Replica(NamedTuple):
    """A replica as its log has it; ``last_epoch`` is that of its last batch."""

    node_id: int
    last_epoch: int
    end_offset: int
    epochs: tuple[EpochStart, ...] = ()
    start_offset: int = 0


class Difference(NamedTuple):
    """What a replica has that was not chosen: its offsets from ``offset`` up to its end are beyond the end of the
    chosen one (``beyond``), or instead of its records.
    """

    number: int
    offset: int
    end_offset: int
    beyond: bool


class Choice(NamedTuple):
    """The number of the chosen replica, and where others differ from it (those that only end earlier do not)."""

    number: int
    differences: tuple[Difference, ...]


def choose_replica(replicas: Sequence[Replica], isr: Collection[int] = ()) -> Choice:
    """The one with the highest leader epoch in its last batch, then the highest end offset, then the lowest start.

    Only among ``isr``, the ids of the replicas that were in sync, if one of them is there.
    """
    able = [index for index, one in enumerate(replicas) if one.node_id in isr] or list(range(len(replicas)))

    def rank(index: int) -> tuple[int, int, int, int]:
        one = replicas[index]
        return one.last_epoch, one.end_offset, -one.start_offset, -index

    best = max(able, key=rank)
    chosen = replicas[best]
    differences = []
    for index, other in enumerate(replicas):
        if index == best:
            continue
        at = diverges_at(chosen.epochs, chosen.end_offset, other.epochs, other.end_offset)
        if at < other.end_offset:
            differences.append(Difference(index, at, other.end_offset, at >= chosen.end_offset))
    return Choice(best, tuple(differences))
