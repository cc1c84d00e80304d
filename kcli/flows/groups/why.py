"""``kcli groups why``: why a group is behind, and what to do. ``rows_at`` and ``remedies`` are pure.

A verdict compares samples. Those of the last minute that nobody took are made from the log of commits in
``__consumer_offsets`` and from the offsets of times, so that one look is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kcli.account.survey import Missing, Survey
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.names import group_argument
from kcli.core.types import TopicPartition
from kcli.flows.groups.bounded_reads import Budget
from kcli.flows.groups.description import SHARE, WITHOUT_MEMBERS
from kcli.flows.groups.group_history import GroupHistory
from kcli.flows.groups.next_record import NextRecord, next_record
from kcli.flows.groups.offsets import offsets_at
from kcli.flows.groups.records_around import MOST_BYTES, MOST_SECONDS, RecordsAround, records_around
from kcli.flows.lag.measure import EXACT, measure_lag
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.sample import GroupSample, LagSample, Wanted
from kcli.flows.lag.verdicts import LOSS_RISK, REBALANCING, SLOW, STALLED, STOPPED, History, Verdict
from kcli.flows.rewind.offsets_log import OffsetsLog
from kcli.flows.transactions.coordinated import ReadLog
from kcli.flows.transactions.held import PartitionState, survey
from kcli.flows.transactions.remedies import remedies as of_transactions
from kcli.output.progress import counted

if TYPE_CHECKING:  # loaded where groups are described and records are read
    from kcli.core.admin.group_description import MemberDescription
    from kcli.core.consumer.consumer import Consumer
    from kcli.serde.opening import Serdes

LOOKED_BACK_MS = 600_000
"""How far the log of commits is read, for changes of the membership."""
_BEFORE_MS = (60_000, 40_000, 20_000)
"""When the samples would have been taken: a stall shows after 20 s, and without any commit after 30 s."""
_TOGETHER = 20
"""Partitions whose next records are read at the same time."""


class Part(NamedTuple):
    """A partition: ``word`` is its verdict; ``committed_ms`` when it was committed last, as far as the log was read."""

    row: PartitionLag
    word: str | None
    committed_ms: int | None
    next: NextRecord | None
    held: PartitionState | None


class Why(NamedTuple):
    """``history`` None: the log of commits could not be read. ``idle``: members without partitions."""

    sample: GroupSample
    verdict: Verdict
    parts: Sequence[Part]
    history: GroupHistory | None
    since_ms: int
    idle: Sequence[MemberDescription]

    @property
    def changes(self) -> Sequence[int]:
        """When members or assignments changed, since ``since_ms``."""
        return [] if self.history is None else [at for at in self.history.changes if at >= self.since_ms]


def why(
    admin: Admin,
    group: str,
    open_consumer: Callable[[], Consumer],
    read_log: ReadLog,
    serdes: Serdes | None,
) -> Survey[Why]:
    """Raises the error of a group that cannot be read."""
    found = measure_lag(admin, Wanted((group,), members=True), EXACT)
    if group in found.sample.failed:
        raise found.sample.failed[group]
    (one,) = found.sample.groups
    rows, now = list(found.rows[group]), found.sample.at_ms
    missing = list(found.sample.missing)
    since = now - LOOKED_BACK_MS
    history = OffsetsLog(admin, open_consumer, admin.timeout).history(group, since)
    if history is None:
        error = KcliError(
            "the recent commits and rebalances of the group could not be read",
            why="they are in __consumer_offsets, which this client may not read, or which did not respond in time",
        )
        missing.append(Missing.of(error, f"recent commits and rebalances of group {group}"))
    verdict = _verdict(admin, found.sample, one, rows, history)
    states = _held(admin, rows, read_log, missing)
    unread = [row for row in rows if row.lag and row.committed is not None]
    records = _next_records(open_consumer, unread, serdes, admin.timeout, missing)
    committed = {} if history is None else {commit.partition: commit.at for commit in history.commits}
    parts = [
        Part(row, word, committed.get(row.tp), records.get(row.tp), states.get(row.tp))
        for row, word in zip(rows, verdict.of(rows), strict=True)
    ]
    return Survey(Why(one, verdict, parts, history, since, idle_members(one)), missing)


def idle_members(one: GroupSample) -> list[MemberDescription]:
    """Members that have no partition; those whose assignment is unknown are none. Pure."""
    members = () if one.description is None else one.description.members
    return [member for member in members if member.assignment is not None and not member.assignment]


def _verdict(
    admin: Admin, sample: LagSample, one: GroupSample, rows: list[PartitionLag], history: GroupHistory | None
) -> Verdict:
    made, now = History(), sample.at_ms
    steady = history is not None and one.type != SHARE
    # After a change of the members nothing is known of what the group had been doing.
    last = max(history.changes, default=0) if history is not None else 0
    readable = [
        row.tp for row in rows if row.end is not None
    ]  # the others were waited for, and are no part of it
    moments = [now - before for before in _BEFORE_MS if now - before >= last] if steady and readable else []
    looked = admin.together(*(partial(offsets_at, admin, readable, at) for at in moments))
    for at, found in zip(moments, looked, strict=True):
        assert history is not None
        ends = {
            tp: row.offset if row.offset >= 0 else None
            for tp, row in found.items()
            if isinstance(row, OffsetInfo)
        }
        made.add_rows(at, one.group, rows_at(rows, at, history, ends), one.state)
    made.add_rows(now, one.group, rows, one.state)
    return made.verdict(one.group, one.state, rows)


def rows_at(
    rows: Sequence[PartitionLag],
    at_ms: int,
    history: GroupHistory,
    ends: Mapping[TopicPartition, int | None],
) -> list[PartitionLag]:
    """The rows as they were then, without partitions whose commit of that time is unknown.

    ``ends``: the first offset written since; None where nothing was. Pure.
    """
    commits: dict[TopicPartition, list[tuple[int, int | None]]] = {}
    for commit in history.commits:
        commits.setdefault(commit.partition, []).append((commit.at, commit.offset))
    found = []
    for row in rows:
        own = commits.get(row.tp, [])
        earlier = [offset for at, offset in own if at <= at_ms]
        committed = earlier[-1] if earlier else row.committed if not own and history.complete else None
        if committed is None or row.end is None or row.tp not in ends:
            continue
        end = ends[row.tp]
        end = max(committed, row.end if end is None else end)
        stable = None if row.stable is None else min(row.stable, end)
        found.append(row._replace(committed=committed, end=end, stable=stable, lag=end - committed))
    return found


def _held(
    admin: Admin, rows: Sequence[PartitionLag], read_log: ReadLog, missing: list[Missing]
) -> dict[TopicPartition, PartitionState]:
    """The partitions that an open transaction holds back."""
    below = [
        row.tp for row in rows if row.stable is not None and row.end is not None and row.stable < row.end
    ]
    if not below:
        return {}
    try:
        found = survey(admin, below, read_log)
    except KcliError as error:
        missing.append(Missing.of(error, "the transactions that hold partitions back"))
        return {}
    missing += [Missing.of(error) for error in found.coordinated.errors]
    missing += [Missing.of(error, f"transactions in {tps[0]}") for tps, error in found.unread]
    return {state.tp: state for state in found.partitions if state.holder is not None}


def _next_records(
    open_consumer: Callable[[], Consumer],
    rows: Sequence[PartitionLag],
    serdes: Serdes | None,
    timeout: float,
    missing: list[Missing],
) -> dict[TopicPartition, NextRecord]:
    """The first unread record of each partition, of the furthest behind first."""
    budget = Budget(MOST_BYTES, MOST_SECONDS)
    if not rows:
        return {}
    ordered = sorted(rows, key=lambda row: -(row.lag or 0))
    found: dict[TopicPartition, NextRecord] = {}
    with open_consumer() as consumer:
        for first in range(0, len(ordered), _TOGETHER):
            few = ordered[first : first + _TOGETHER]
            for tp, around in _around(consumer, few, budget, timeout, missing).items():
                if around.next:
                    before = around.read[-1] if around.read else None
                    found[tp] = next_record(around.next[0], before, serdes)
    return found


def _around(
    consumer: Consumer, rows: Sequence[PartitionLag], budget: Budget, timeout: float, missing: list[Missing]
) -> dict[TopicPartition, RecordsAround]:
    """Together; where that fails each by itself, as one of them may be damaged."""
    found: dict[TopicPartition, RecordsAround] = {}
    if not budget.spent:
        try:
            found = records_around(consumer, {row.tp: row.committed or 0 for row in rows}, 2, budget, timeout)
        except KcliError as error:
            if len(rows) == 1:
                missing.append(Missing.of(error, _next_of(rows[0])))
                return {}
            for row in rows:
                found |= _around(consumer, [row], budget, timeout, missing)
            return found
    if budget.spent:
        unread = [row for row in rows if row.tp not in found or not found[row.tp].next]
        why = "the records before it took the time, or the bytes"
        missing += [
            Missing.of(KcliError(f"{_next_of(row)} was not read", why=why), _next_of(row)) for row in unread
        ]
    return found


def _next_of(row: PartitionLag) -> str:
    return f"the next record of {row.tp}"


def remedies(one: Why) -> list[str]:
    """What to do, the most certain first."""
    return list(dict.fromkeys(_remedies(one)))


def _remedies(one: Why) -> Iterator[str]:
    group, state = group_argument(one.sample.group), one.sample.state
    alone = state in WITHOUT_MEMBERS
    yield from of_transactions([part.held for part in one.parts if part.held is not None])
    words = {part.word for part in one.parts}
    if one.verdict.word == REBALANCING:
        yield (
            "the group is rebalancing: look again in a moment; if it lasts, a member joins and leaves over and over"
        )
    if alone and STOPPED in words:
        yield "the group has no members: start its consumers"
    for part in one.parts:
        yield from _of_part(one, part, group, alone=alone)
    lost = [part.row for part in one.parts if part.word == LOSS_RISK and not part.row.lost]
    for topic in dict.fromkeys(row.topic for row in lost):
        yield f"retention will delete unread records of {topic}: raise its retention.ms until they are read"
    members = 0 if one.sample.description is None else len(one.sample.description.members)
    if SLOW in words and members < len(one.parts):
        yield f"start more consumers: {counted(members, 'member')} for {counted(len(one.parts), 'partition')}"
    if one.idle:
        yield f"{counted(len(one.idle), 'member')} without partitions: they can take over, but add no speed"


def _of_part(one: Why, part: Part, group: str, *, alone: bool) -> Iterator[str]:
    row, found = part.row, part.next
    if row.lost:
        then = "it goes on at the log start" if row.type == SHARE else "consumers apply auto.offset.reset"
        yield f"{row.tp}: records that retention has deleted cannot be read any more; {then}"
    if found is None or not (part.word == STALLED or found.trouble) or one.sample.type == SHARE:
        return
    at = f"-p {row.partition} --offset {found.offset}"
    yield f"{row.tp}: to see its next record: `kcli consume {row.topic} {at} -n 1 -o ndjson`"
    if row.member is not None:
        who = row.member
        yield (
            f"{row.tp}: look at the log of its consumer, {who.client_id} at {who.host}; if that process is gone, "
            f"`kcli groups remove-members {group} {who.instance_id or who.member_id}` frees its partitions"
        )
    live = "" if alone else " --live"
    yield (
        f"{row.tp}: to skip that record: `kcli groups rewind {group} --topic {row.topic}:{row.partition} "
        f"--to {found.offset + 1}{live}`"
    )


def shown(parts: Collection[Part]) -> list[Part]:
    """Those of which something is to be said: the others have been read to their ends."""
    return [part for part in parts if part.row.lag != 0 or part.held is not None or part.row.note]
