"""The moves of a reassignment: replicas before and after, bytes, and what forbids them. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.partition_failures import partition_names
from kcli.flows.reassign.replicas import ClusterReplicas
from kcli.output.progress import counted


class OutdatedError(KcliError):
    """The cluster is not as the file of a reassignment requires."""

    exit_code = ExitCode.REFUSED


class HeldBackError(OutdatedError):
    """A partition could be moved, but another one of the file cannot be: it is all of them or none."""

    def __init__(self) -> None:
        super().__init__("no partition is moved", why="another partition of the plan cannot be moved")


class Move(NamedTuple):
    """A partition, its replicas ``old`` (none: it does not exist) and ``new``, its leader (−1: none) and size in bytes
    (None: unknown).
    """

    tp: TopicPartition
    old: tuple[int, ...]
    new: tuple[int, ...]
    leader: int = -1
    size: int | None = None

    @property
    def needed(self) -> bool:
        """Whether anything changes, were it only the order of the replicas."""
        return self.old != self.new

    @property
    def changes_factor(self) -> bool:
        """Whether a partition that exists gets more or fewer replicas."""
        return bool(self.old) and len(self.old) != len(self.new)

    @property
    def adding(self) -> tuple[int, ...]:
        """The brokers that get a replica."""
        return tuple(number for number in self.new if number not in self.old)

    @property
    def removing(self) -> tuple[int, ...]:
        """The brokers that lose one."""
        return tuple(number for number in self.old if number not in self.new)

    @property
    def copied(self) -> int | None:
        """The bytes to be copied."""
        return 0 if not self.adding else None if self.size is None else self.size * len(self.adding)


class BrokerTraffic(NamedTuple):
    """What a broker has before and after, and the bytes that it receives and sends."""

    broker: int
    replicas: int
    new_replicas: int
    leaders: int
    new_leaders: int
    received: int
    sent: int


def planned_moves(wanted: Mapping[TopicPartition, Sequence[int]], found: ClusterReplicas) -> list[Move]:
    """The moves to these replicas."""
    moves = []
    for tp, new in sorted(wanted.items()):
        part = found.partitions.get(tp)
        old, leader = ((), -1) if part is None else (part.replicas, part.leader)
        moves.append(Move(tp, old, tuple(new), leader, found.sizes.get(tp)))
    return moves


def without_leader(moves: Iterable[Move]) -> Iterator[str]:
    """A warning where nobody has what is to be copied: the cluster accepts such a move, and it does not end."""
    found = [move.tp for move in moves if move.old and move.adding and move.leader < 0]
    if found:
        yield (
            f"nothing can be copied of {partition_names(found)} while it has no leader: such a move ends only when a "
            "broker with a replica in sync is back"
        )


class FactorChangeError(OutdatedError):
    """A move that would change how many replicas a partition has, where that is not wanted."""

    def __init__(self, move: Move) -> None:
        super().__init__(
            f"{move.tp} cannot be moved",
            why=f"it has {counted(len(move.old), 'replica')}, and would have {len(move.new)}",
            do="correct the file, or leave out --disallow-replication-factor-change",
        )


def refusals(
    moves: Iterable[Move],
    found: ClusterReplicas,
    shown: Mapping[TopicPartition, Move],
    correct: str = "make a new plan with `kcli reassign plan`",
) -> dict[TopicPartition, KcliError]:
    """The partitions that cannot be moved: they do not exist, a broker is not alive, they are being moved already, or are
    not any more as they were when the moves were ``shown``. ``correct``: how other moves are asked for.
    """
    refused: dict[TopicPartition, KcliError] = {}
    topics = {tp.topic for tp in found.partitions}
    for move in moves:
        dead = [broker for broker in move.adding if broker not in found.racks]
        if not move.old:
            missing = move.tp if move.tp.topic in topics else f"topic {move.tp.topic}"
            refused[move.tp] = OutdatedError(
                f"{move.tp} cannot be moved",
                why=f"{missing} does not exist; perhaps it was deleted since the plan was made",
                do=correct,
            )
        elif dead:
            refused[move.tp] = OutdatedError(
                f"{move.tp} cannot be moved",
                why=f"broker {_numbers(dead)} is not alive; the brokers are {_numbers(sorted(found.racks))}",
                do=f"start it, or {correct}",
            )
        elif move.tp in found.ongoing:
            refused[move.tp] = OutdatedError(
                f"{move.tp} cannot be moved",
                why="it is being moved already",
                do="wait for it with `kcli reassign status --watch`, or cancel it: "
                f"`kcli reassign cancel --topic {move.tp.topic}`",
            )
        elif move.needed and move.tp in shown and move.old != shown[move.tp].old:
            refused[move.tp] = OutdatedError(
                f"{move.tp} cannot be moved",
                why="it is not as it was when the plan was shown: its replicas were changed meanwhile",
                do="run it again; nothing was changed",
            )
    return refused


def traffic(
    moves: Iterable[Move], brokers: Collection[int], *, others: Iterable[tuple[int, ...]] = ()
) -> list[BrokerTraffic]:
    """Each broker's replicas, preferred leaders and bytes. ``others``: replicas of partitions that stay."""
    rows = {number: [0] * 6 for number in brokers}
    pairs = [(move, move.old, move.new) for move in moves]
    for _, old, new in [*pairs, *((None, row, row) for row in others)]:
        for column, replicas in ((0, old), (1, new), (2, old[:1]), (3, new[:1])):
            for number in replicas:
                rows.setdefault(number, [0] * 6)[column] += 1
    for move, _, _ in pairs:
        size = move.size or 0
        for number in move.adding:
            rows[number][4] += size
        if move.leader >= 0:
            rows.setdefault(move.leader, [0] * 6)[5] += size * len(move.adding)
    return [BrokerTraffic(number, *row) for number, row in sorted(rows.items())]


def seconds_at(rate: float, rows: Iterable[BrokerTraffic]) -> float:
    """How long it takes at least: the busiest broker, at ``rate`` bytes a second each way."""
    return max((max(row.received, row.sent) / rate for row in rows), default=0.0)


def _numbers(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
