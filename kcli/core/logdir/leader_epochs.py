"""``leader-epoch-checkpoint``: which leader epoch begins at which offset. Pure."""

from collections.abc import Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import DamagedFileError
from kcli.core.logdir.checkpoints import checkpoint_rows

NAME = "leader-epoch-checkpoint"


class EpochStart(NamedTuple):
    """The first offset that a leader of this epoch wrote."""

    epoch: int
    start_offset: int


def parse_leader_epochs(data: bytes, where: str) -> tuple[EpochStart, ...]:
    """The epochs, rising, at rising offsets."""
    found: list[EpochStart] = []
    for epoch, offset in checkpoint_rows(data, where, 2):
        try:
            entry = EpochStart(int(epoch), int(offset))
        except ValueError as error:
            raise DamagedFileError(where, 0, why=f"'{epoch} {offset}' are not two numbers") from error
        last = found[-1] if found else EpochStart(-1, -1)
        if not last.epoch < entry.epoch < 1 << 31 or not last.start_offset <= entry.start_offset < 1 << 63:
            raise DamagedFileError(
                where,
                0,
                why=f"epoch {epoch} at offset {offset} after epoch {last.epoch} at {last.start_offset}",
            )
        found.append(entry)
    return tuple(found)


def end_of_epoch(epochs: Sequence[EpochStart], end_offset: int, epoch: int) -> EpochStart:
    """The largest epoch up to ``epoch``, and the offset after its last record; (−1, −1) without one (KIP-101).

    ``end_offset`` is the end of the log.
    """
    best = EpochStart(-1, -1)
    for index, entry in enumerate(epochs):
        if entry.epoch > epoch:
            break
        behind = epochs[index + 1].start_offset if index + 1 < len(epochs) else end_offset
        best = EpochStart(entry.epoch, behind)
    return best


def diverges_at(one: Sequence[EpochStart], one_end: int, other: Sequence[EpochStart], other_end: int) -> int:
    """The first offset at which two replicas may differ, by their epochs: that of the shorter end, if nothing differs."""
    mine = {entry.epoch: end_of_epoch(one, one_end, entry.epoch).start_offset for entry in one}
    theirs = {entry.epoch: end_of_epoch(other, other_end, entry.epoch).start_offset for entry in other}
    common = [epoch for epoch in mine if epoch in theirs]
    if not common:
        starts = [entries[0].start_offset for entries in (one, other) if entries]
        return min([one_end, other_end, *starts])
    last = max(common)
    return min(mine[last], theirs[last])
