"""Checks an earlier live rewind again: what its group has committed since, from its history and now.

Where ``__consumer_offsets`` can be read, the judge sees every commit since the members were released, in order.
Otherwise it sees only the commits recorded then and the offsets committed now, which decides fewer cases.
"""

from collections.abc import Iterator
from shlex import quote

from kcli.core import clock
from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.group_history import GroupHistory
from kcli.flows.rewind.execute import update_journal
from kcli.flows.rewind.journal import Journal, Journals, LiveEntry
from kcli.flows.rewind.judge import Observation
from kcli.flows.rewind.live import LiveFacts
from kcli.flows.rewind.live_record import facts_of
from kcli.flows.rewind.outcomes import GroupReport, PartitionOutcome, outcome_of_verdict
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, RewindItem
from kcli.flows.rewind.watching import BEFORE_MS, GroupWatch, WatchedGroup, Watcher


def check(
    admin: Admin, journals: Journals, journal: Journal, history: GroupHistory | None, watcher: Watcher
) -> GroupReport:
    """Judges the rewind again, watches its group, and updates the journal. ``history``: see ``checked``."""
    described = admin.describe_groups([journal.group])[journal.group]
    group = None if isinstance(described, KcliError) else described
    plan, watched = checked(journal, history, clock.monotonic(), clock.wall_ms(), group)
    seen = watcher.watch(admin, [watched])[journal.group]
    found = outcomes(plan, seen)
    error = update_journal(journals, plan, watched.facts, seen, found)
    return GroupReport(
        plan,
        tuple(found),
        kept=True,
        missing=watched.missing(plan.members),
        evicted=len(watched.facts.evicted),
        journal_error=error,
    )


def checked(
    journal: Journal, history: GroupHistory | None, now: float, now_ms: int, group: GroupDescription | None
) -> tuple[GroupPlan, WatchedGroup]:
    """The rewind as a plan, and its group to be watched from now on. ``history`` since the members were released, None
    if it cannot be read; ``now`` (monotonic) and ``now_ms`` are the same time.

    Raises NotPossibleError for a rewind whose journal has nothing that could be judged.
    """
    entry = journal.live
    if entry is None:
        raise NotPossibleError(
            f"rewind {journal.id} of group {journal.group} cannot be checked",
            why="only rewinds with --live that have set their offsets can be checked",
            do=f"see what is committed now: `kcli groups describe {quote(journal.group)} --offsets`",
        )
    facts = _with_known_ends(facts_of(entry))
    judge = facts.judge
    for seen in _recorded(entry) if history is None else _logged(history, entry.released_ms):
        judge.replay(seen)
    since = (now_ms - entry.released_ms) / 1000
    if history is not None:
        judge.replay(Observation(since))
        judge.confirm(history.commits_since(entry.released_ms - BEFORE_MS))
    return _plan(journal, facts, group), WatchedGroup(journal.group, facts, now - since, judge)


def outcomes(plan: GroupPlan, seen: GroupWatch) -> list[PartitionOutcome]:
    """What is known of each partition now."""
    return [
        outcome_of_verdict(item, seen.verdicts[item.tp], plan, seen.seconds)
        for item in plan.items
        if item.tp in seen.verdicts
    ]


def _with_known_ends(facts: LiveFacts) -> LiveFacts:
    """Without log ends read before all members were back: what the missing ones had read is not known."""
    attendance = facts.attendance
    return replace(
        facts,
        partitions={
            tp: one if all(party.complete for party in attendance.of(tp)) else replace(one, end=None)
            for tp, one in facts.partitions.items()
        },
    )


def _logged(history: GroupHistory, released_ms: int) -> Iterator[Observation]:
    """In order of time; at the same time, membership changes precede commits."""
    events = [(at, 0, None) for at in history.changes if at >= released_ms]
    commits = [(one.at, 1, one) for one in history.commits if one.at >= released_ms]
    for at, _order, commit in sorted([*events, *commits], key=lambda event: event[:2]):
        since = (at - released_ms) / 1000
        yield Observation(
            since, {} if commit is None else {commit.partition: commit.offset}, changed=commit is None
        )


def _recorded(entry: LiveEntry) -> Iterator[Observation]:
    rows = [
        (at, TopicPartition(row.topic, row.partition), offset)
        for row in entry.partitions
        for at, offset in row.commits
    ]
    for at, tp, offset in sorted(rows, key=lambda row: row[0]):
        yield Observation(at, {tp: offset})


def _plan(journal: Journal, facts: LiveFacts, group: GroupDescription | None) -> GroupPlan:
    new = {TopicPartition(row.topic, row.partition): row.new for row in journal.partitions}
    items = tuple(
        RewindItem(tp, before, None if (offset := new[tp]) is None else OffsetAndMetadata(offset))
        for tp, before in journal.before.items()
        if tp in facts.partitions
    )
    return GroupPlan(
        journal.group,
        journal.id,
        journal.to,
        "" if group is None else group.state,
        items,
        members=() if group is None else group.members,
        undoes=journal.undoes,
        type=facts.type,
        assignor=facts.assignor,
        live=True,
    )
