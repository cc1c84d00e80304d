"""What a journal keeps of a live rewind, so that it can be judged again later. Pure: converts ``LiveFacts`` both ways."""

from collections.abc import Iterable, Mapping, Sequence

from kcli.core.group.barrier.arrivals import Arrival, ListedMember
from kcli.core.types import TopicPartition
from kcli.flows.rewind.attendance import EvictedMember
from kcli.flows.rewind.journal import LiveArrival, LiveEntry, LiveMember, LiveRow
from kcli.flows.rewind.judge import PartitionVerdict
from kcli.flows.rewind.live import LiveFacts
from kcli.flows.rewind.trail import Rewound

_KEPT_COMMITS = 20
_NONE: Mapping[TopicPartition, PartitionVerdict] = {}


def entry_of(
    facts: LiveFacts,
    verdicts: Mapping[TopicPartition, PartitionVerdict] = _NONE,
    observed_until: float = 0.0,
) -> LiveEntry:
    """``verdicts``: what was seen until ``observed_until``; of many commits only the first and the last are kept."""
    members = [
        LiveMember(*one.member, _by_topic(one.partitions), round(one.pace, 3), one.session)
        for one in facts.evicted
    ]
    arrivals = [
        LiveArrival(*one.member, round(one.at, 3), _rounded(one.unassigned_since), _rounded(one.left_at))
        for one in facts.arrivals
    ]
    rows = [
        LiveRow(*tp, one.new, one.old, one.end, _kept_commits(verdicts.get(tp)))
        for tp, one in facts.partitions.items()
    ]
    return LiveEntry(
        facts.released_ms,
        facts.evicted_at,
        facts.type,
        facts.assignor,
        members,
        arrivals,
        rows,
        observed_until,
    )


def facts_of(entry: LiveEntry) -> LiveFacts:
    """The facts as they were when the members were released."""
    evicted = tuple(
        EvictedMember(_listed(one), _partitions(one.partitions), one.pace, one.session)
        for one in entry.members
    )
    arrivals = tuple(
        Arrival(_listed(one), one.at, one.unassigned_since, one.left_at) for one in entry.arrivals
    )
    partitions = {
        TopicPartition(row.topic, row.partition): Rewound(row.new, row.old, row.end)
        for row in entry.partitions
    }
    return LiveFacts(
        entry.released_ms, evicted, entry.evicted_at, arrivals, partitions, entry.type, entry.assignor
    )


def _listed(one: LiveMember | LiveArrival) -> ListedMember:
    return ListedMember(one.member_id, one.instance_id, one.client_id, one.client_host)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for tp in sorted(partitions):
        found.setdefault(tp.topic, []).append(tp.partition)
    return found


def _partitions(by_topic: Mapping[str, Sequence[int]]) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic, number) for topic, numbers in by_topic.items() for number in numbers
    )


def _rounded(at: float | None) -> float | None:
    return None if at is None else round(at, 3)


def _kept_commits(verdict: PartitionVerdict | None) -> list[tuple[float, int | None]]:
    commits = [(round(at, 3), offset) for at, offset in verdict.commits] if verdict is not None else []
    half = _KEPT_COMMITS // 2
    return [*commits[:half], *commits[-half:]] if len(commits) > _KEPT_COMMITS else commits
