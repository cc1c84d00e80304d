"""What a journal keeps of a live rewind, so that it can be judged again later. Pure: converts ``LiveFacts`` both ways."""

from collections.abc import Mapping

from kcli.core.group.barrier.arrivals import Arrival, ListedMember
from kcli.core.types import TopicPartition
from kcli.flows.rewind.attendance import SentOut
from kcli.flows.rewind.journal import LiveArrival, LiveEntry, LiveMember, LiveRow
from kcli.flows.rewind.judge import Rewound, Sentence
from kcli.flows.rewind.live import LiveFacts

_KEPT_COMMITS = 20


def entry_of(
    facts: LiveFacts, sentences: Mapping[TopicPartition, Sentence] | None = None, looked_until: float = 0.0
) -> LiveEntry:
    """``sentences``: what was seen until ``looked_until``; of many commits only the first and the last are kept."""
    return LiveEntry(
        facts.let_in_ms,
        facts.sent_out_at,
        facts.type,
        facts.assignor,
        [_member(one) for one in facts.sent_out],
        [_arrival(one) for one in facts.arrivals],
        [
            _row(tp, rewound, None if sentences is None else sentences.get(tp))
            for tp, rewound in facts.partitions.items()
        ],
        looked_until,
    )


def facts_of(entry: LiveEntry) -> LiveFacts:
    """The facts as they were when the members were released."""
    return LiveFacts(
        entry.let_in,
        tuple(
            SentOut(
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
        entry.sent_out_at,
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


def _member(one: SentOut) -> LiveMember:
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


def _row(tp: TopicPartition, rewound: Rewound, sentence: Sentence | None) -> LiveRow:
    commits = [(round(at, 3), offset) for at, offset in sentence.commits] if sentence is not None else []
    if len(commits) > _KEPT_COMMITS:
        commits = [*commits[: _KEPT_COMMITS // 2], *commits[-_KEPT_COMMITS // 2 :]]
    return LiveRow(*tp, rewound.new, rewound.old, rewound.end, commits)
