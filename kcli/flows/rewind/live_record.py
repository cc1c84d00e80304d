"""What a journal keeps of a live rewind, so that it can be judged again later. Pure: converts ``LiveFacts`` both ways."""

from collections.abc import Mapping

from kcli.core.group.barrier.arrivals import Arrival, ListedMember
from kcli.core.types import TopicPartition
from kcli.flows.rewind.attendance import EvictedMember
from kcli.flows.rewind.journal import LiveArrival, LiveEntry, LiveMember, LiveRow
from kcli.flows.rewind.judge import PartitionVerdict, Rewound
from kcli.flows.rewind.live import LiveFacts

_KEPT_COMMITS = 20


def entry_of(
    facts: LiveFacts,
    verdicts: Mapping[TopicPartition, PartitionVerdict] | None = None,
    observed_until: float = 0.0,
) -> LiveEntry:
    """``verdicts``: what was seen until ``observed_until``; of many commits only the first and the last are kept."""
    return LiveEntry(
        facts.released_ms,
        facts.evicted_at,
        facts.type,
        facts.assignor,
        [_member(one) for one in facts.evicted],
        [_arrival(one) for one in facts.arrivals],
        [
            _row(tp, rewound, None if verdicts is None else verdicts.get(tp))
            for tp, rewound in facts.partitions.items()
        ],
        observed_until,
    )


def facts_of(entry: LiveEntry) -> LiveFacts:
    """The facts as they were when the members were released."""
    return LiveFacts(
        entry.released_ms,
        tuple(
            EvictedMember(
                ListedMember(one.member_id, one.instance_id, one.client_id, one.client_host),
                frozenset(
                    TopicPartition(topic, number)
                    for topic, numbers in one.partitions.items()
                    for number in numbers
                ),
                one.pace,
                one.session,
            )
            for one in entry.members
        ),
        entry.evicted_at,
        tuple(
            Arrival(
                ListedMember(one.member_id, one.instance_id, one.client_id, one.client_host),
                one.at,
                one.unassigned_since,
                one.left_at,
            )
            for one in entry.arrivals
        ),
        {
            TopicPartition(row.topic, row.partition): Rewound(row.new, row.old, row.end)
            for row in entry.partitions
        },
        entry.type,
        entry.assignor,
    )


def _member(one: EvictedMember) -> LiveMember:
    member = one.member
    partitions: dict[str, list[int]] = {}
    for tp in sorted(one.partitions):
        partitions.setdefault(tp.topic, []).append(tp.partition)
    return LiveMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        partitions,
        round(one.pace, 3),
        one.session,
    )


def _arrival(one: Arrival) -> LiveArrival:
    member = one.member
    return LiveArrival(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        round(one.at, 3),
        _rounded(one.unassigned_since),
        _rounded(one.left_at),
    )


def _rounded(at: float | None) -> float | None:
    return None if at is None else round(at, 3)


def _row(tp: TopicPartition, rewound: Rewound, verdict: PartitionVerdict | None) -> LiveRow:
    commits = [(round(at, 3), offset) for at, offset in verdict.commits] if verdict is not None else []
    if len(commits) > _KEPT_COMMITS:
        commits = [*commits[: _KEPT_COMMITS // 2], *commits[-_KEPT_COMMITS // 2 :]]
    return LiveRow(*tp, rewound.new, rewound.old, rewound.end, commits)
