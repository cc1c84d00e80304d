"""Where the replicas of brokers that are drained go: balanced by bytes and by count, and no rack less than before. Pure.

Only replicas on these brokers move; the others stay where they are. The largest are placed first, each on the broker that
has least by then: of bytes and of replicas, both as shares of what brokers have on average.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from kcli.core.types import TopicPartition
from kcli.flows.reassign.assignment import Placement
from kcli.flows.reassign.moves import OutdatedError
from kcli.output.progress import counted


class TooFewBrokersError(OutdatedError):
    """A partition would have fewer replicas, or fewer racks, without the brokers."""


class _Loads:
    """What the brokers that may get replicas have, and are to have."""

    def __init__(self, brokers: Iterable[int], placements: Iterable[Placement]) -> None:
        self._bytes = dict.fromkeys(brokers, 0)
        self._count = dict.fromkeys(self._bytes, 0)
        self._leads = dict.fromkeys(self._bytes, 0)
        self._of_topic: dict[tuple[str, int], int] = {}
        size, count = 0, 0
        for row in placements:
            size, count = size + row.size * len(row.replicas), count + len(row.replicas)
            self.add(row, [number for number in row.replicas if number in self._bytes])
            self.lead(row.replicas[0])
        self._mean_bytes = max(1.0, size / max(1, len(self._bytes)))
        self._mean_count = max(1.0, count / max(1, len(self._bytes)))

    def add(self, row: Placement, brokers: Iterable[int]) -> None:
        """The brokers have replicas of the partition."""
        for number in brokers:
            self._bytes[number] += row.size
            self._count[number] += 1
            key = row.tp.topic, number
            self._of_topic[key] = self._of_topic.get(key, 0) + 1

    def lead(self, number: int) -> None:
        """The broker is the preferred leader of one more partition."""
        if number in self._leads:
            self._leads[number] += 1

    def of(self, number: int, topic: str) -> tuple[float, int, int]:
        """How much a broker has, of a topic at last; the least is the next to get something."""
        share = self._bytes[number] / self._mean_bytes + self._count[number] / self._mean_count
        return share, self._of_topic.get((topic, number), 0), number

    def fewest_led(self, brokers: Iterable[int]) -> int:
        """The broker that leads least; of several the first."""
        return min(brokers, key=lambda number: self._leads.get(number, 0))


def drain_targets(
    scope: Sequence[Placement],
    others: Iterable[Placement],
    racks: Mapping[int, str | None],
    drained: Collection[int],
    candidates: Collection[int],
    *,
    rack_aware: bool,
) -> tuple[dict[TopicPartition, tuple[int, ...]], dict[TopicPartition, TooFewBrokersError]]:
    """The replicas of each partition of ``scope`` without the ``drained`` brokers, the preferred leader first; and
    an error for each that cannot have them.

    ``others`` are the partitions that stay. ``racks`` are all brokers that are known, ``candidates`` those that may get
    replicas. The preferred leader is that of now, if it may stay, else one on the broker that leads least.
    """
    loads = _Loads(candidates, [*scope, *others])
    found, refused = {}, {}
    for row in sorted(scope, key=lambda row: (-row.size, row.tp)):
        kept = [number for number in row.replicas if number not in drained]
        added = _added(row, kept, racks, candidates, loads, rack_aware=rack_aware)
        if len(kept) + len(added) < len(row.replicas):
            refused[row.tp] = _too_few_brokers(row, {*candidates, *kept})
            continue
        before, after = _spread(row.replicas, racks), _spread([*kept, *added], racks)
        if rack_aware and after < before:
            refused[row.tp] = _too_few_racks(row, before, after)
            continue
        loads.add(row, added)
        first = _leader(row, [*kept, *added], drained, loads)
        if first != row.replicas[0]:
            loads.lead(first)
        found[row.tp] = (first, *(number for number in (*kept, *added) if number != first))
    return found, refused


def leader_targets(
    scope: Sequence[Placement], others: Iterable[Placement], drained: Collection[int]
) -> tuple[dict[TopicPartition, tuple[int, ...]], dict[TopicPartition, TooFewBrokersError]]:
    """The same replicas in another order, so that another broker is preferred; an error where all of them are drained."""
    brokers = {number for row in scope for number in row.replicas if number not in drained}
    loads = _Loads(brokers, [*scope, *others])
    found, refused = {}, {}
    for row in scope:
        kept = [number for number in row.replicas if number not in drained]
        if not kept:
            refused[row.tp] = _no_other_replica(row)
            continue
        first = _leader(row, kept, drained, loads)
        if first != row.replicas[0]:
            loads.lead(first)
        found[row.tp] = led_elsewhere(row.replicas, (first, *kept), drained)
    return found, refused


def led_elsewhere(old: Sequence[int], new: Sequence[int], drained: Collection[int]) -> tuple[int, ...]:
    """The present replicas in the order that makes another one the leader: those that stay as they are to be afterwards,
    then the drained ones. Empty where none stays.
    """
    kept = list(dict.fromkeys(number for number in new if number in old and number not in drained))
    return (*kept, *(number for number in old if number not in kept)) if kept else ()


def _added(
    row: Placement,
    kept: Sequence[int],
    racks: Mapping[int, str | None],
    candidates: Collection[int],
    loads: _Loads,
    *,
    rack_aware: bool,
) -> list[int]:
    added: list[int] = []
    while len(kept) + len(added) < len(row.replicas):
        taken = [*kept, *added]
        free = [number for number in candidates if number not in taken]
        if not free:
            break
        used = [racks.get(number) for number in taken] if rack_aware else []
        added.append(
            min(free, key=lambda number: (used.count(racks.get(number)), *loads.of(number, row.tp.topic)))
        )
    return added


def _leader(row: Placement, kept: Sequence[int], drained: Collection[int], loads: _Loads) -> int:
    first = row.replicas[0]
    return first if first not in drained else loads.fewest_led(kept)


def _spread(brokers: Iterable[int], racks: Mapping[int, str | None]) -> int:
    """How many racks, of those that are known."""
    return len({racks[number] for number in brokers if racks.get(number) is not None})


def _too_few_brokers(row: Placement, left: Collection[int]) -> TooFewBrokersError:
    count = len(row.replicas)
    return TooFewBrokersError(
        f"{row.tp} cannot be moved",
        why=f"a partition of {counted(count, 'replica')} needs as many brokers, and there "
        f"{'is' if len(left) == 1 else 'are'} {len(left)} without those that are drained",
        do="start another broker, or have fewer replicas first: "
        f"`kcli reassign plan --topic {row.tp.topic} --replication-factor {len(left)} moves.json`"
        if left
        else "start another broker",
    )


def _no_other_replica(row: Placement) -> TooFewBrokersError:
    return TooFewBrokersError(
        f"{row.tp} cannot be moved",
        why="it has no replica elsewhere that could lead it",
        do="leave --leaders-only out, so that its replicas are moved too",
    )


def _too_few_racks(row: Placement, before: int, after: int) -> TooFewBrokersError:
    return TooFewBrokersError(
        f"{row.tp} cannot be moved",
        why=f"its replicas are on {counted(before, 'rack')}, and would be on {after}",
        do="start a broker in another rack, or accept it with --disable-rack-aware",
    )
