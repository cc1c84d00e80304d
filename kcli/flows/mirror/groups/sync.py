"""Commits the offsets of groups on the target, translated. ``offsets`` decides; this reads, commits and reads back.

1. What the groups have committed on the source (``source_commits``).
2. What they have on the target, and where its logs begin. From these follows what becomes of each offset.
3. The job writes what it is about to commit, commits, and reads back.

Errors of brokers are in the account; the functions raise none of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from kcli.account.change import is_lost
from kcli.account.outcomes import GOOD, Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.commits import Stored
from kcli.core.admin.committed import Committed
from kcli.core.admin.topics import id_bytes
from kcli.core.clock import wall_ms
from kcli.core.cluster.offsets import EARLIEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.groups.memory import Decision, GroupMemory
from kcli.flows.mirror.groups.offsets import (
    GroupsAccount,
    Mapped,
    SyncedOffset,
    Verdict,
    decide,
    failed,
    settle,
    translation,
)
from kcli.flows.mirror.groups.selection import GroupSelectors
from kcli.flows.mirror.groups.source_commits import Maps, SourceCommits
from kcli.flows.mirror.job.state import SavedJob
from kcli.flows.rewind.mark import own_metadata


def maps_of_copies(copies: Iterable[PartitionCopy]) -> dict[TopicPartition, Mapped]:
    """The offset maps of a copy, as far as it is confirmed."""
    return {
        copy.source: Mapped(copy.target, copy.offsets, copy.topic_ids.target, copy.end_seen)
        for copy in copies
    }


def maps_of_job(saved: SavedJob) -> dict[TopicPartition, Mapped]:
    """The offset maps of a job that does not run, as it has saved them."""
    by_key = saved.state.partitions == "by-key"
    return {
        tp: Mapped(
            TopicPartition(one.progress.target, one.progress.target_partition),
            None if by_key else one.offsets,
            one.progress.target_topic_id,
        )
        for tp, one in saved.partitions.items()
    }


def sync_groups(
    source: Admin | None, target: Admin, selectors: GroupSelectors, maps: Maps, memory: GroupMemory
) -> GroupsAccount:
    """Sets the offsets of the selected groups on the target, and returns what became of each.

    ``source`` None: it is lost, and the offsets are those that the job has seen last (``memory``).
    """
    found = SourceCommits(selectors, maps, memory)
    if source is None:
        found.recall()
    else:
        found.read(source)
    decisions = _decide(target, found.commits, maps, memory)
    offsets = [*found.absent, *_carry_out(target, decisions, memory)]
    offsets.sort(key=lambda one: (one.group, one.source or ("", -1)))
    good = {one.group: True for one in offsets}
    for one in offsets:
        good[one.group] &= one.status in GOOD
    memory.synced_at.update(dict.fromkeys((group for group, all_good in good.items() if all_good), wall_ms()))
    return GroupsAccount(offsets, found.missing)


def _decide(
    target: Admin,
    commits: Mapping[str, Mapping[TopicPartition, OffsetAndMetadata]],
    maps: Maps,
    memory: GroupMemory,
) -> list[Decision]:
    translated = {
        group: [tp for tp in rows if translation(rows[tp].offset, maps[tp]).offset is not None]
        for group, rows in commits.items()
    }
    wanted = {group: [maps[tp].target for tp in rows] for group, rows in translated.items() if rows}
    there: Mapping[str, Committed | KcliError] = {}
    starts: Mapping[TopicPartition, OffsetInfo | KcliError] = {}
    if wanted:
        try:
            there = target.fetch_offsets(wanted)
            starts = target.list_offsets(dict.fromkeys(chain.from_iterable(wanted.values()), EARLIEST))
        except KcliError as error:
            there = dict.fromkeys(wanted, error)
    found = []
    for group, rows in commits.items():
        for tp, seen in rows.items():
            mapped = maps[tp]
            verdict, before = translation(seen.offset, mapped), None
            if verdict.offset is not None:
                committed, start = there[group], starts.get(mapped.target)
                now = committed if isinstance(committed, KcliError) else committed[mapped.target]
                if isinstance(now, KcliError):
                    verdict = failed(now, verdict.offset)
                elif not isinstance(start, OffsetInfo):
                    assert start is not None
                    verdict = failed(start, verdict.offset)
                else:
                    before = None if now is None else now.offset
                    verdict = decide(
                        seen.offset, mapped, start.offset, before, memory.known(group, tp, mapped)
                    )
            found.append(Decision(group, tp, mapped, seen, before, verdict))
    return found


def _carry_out(target: Admin, decisions: Sequence[Decision], memory: GroupMemory) -> list[SyncedOffset]:
    """Commits what is planned, and reads it back."""
    now = wall_ms()
    planned = [one for one in decisions if one.verdict.status is Outcome.PLANNED]
    try:
        memory.remember(decisions, now)
    except KcliError as error:
        settled = {(one.group, one.source): failed(error, one.verdict.offset) for one in planned}
    else:
        settled = _commit(target, planned)
    found = []
    for one in decisions:
        key = one.group, one.source
        verdict = settled.get(key, one.verdict)
        at = verdict.offset
        if verdict.status is Outcome.DONE and at is not None:
            memory.done[key] = at
        elif verdict.status is Outcome.UNCHANGED and at == one.there == memory.done.get(key):
            verdict = Verdict(Outcome.DONE, at)
        known = memory.known(one.group, one.source, one.mapped)
        last = known.made_ms if known is not None and known.made else None
        since = now if verdict.status in GOOD else last
        found.append(SyncedOffset(one.group, one.source, one.mapped.target, one.seen.offset, verdict, since))
    return found


def _commit(target: Admin, planned: Sequence[Decision]) -> dict[tuple[str, TopicPartition], Verdict]:
    wanted: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
    for one in planned:
        assert one.verdict.offset is not None
        wanted.setdefault(one.group, {})[one.mapped.target] = OffsetAndMetadata(
            one.verdict.offset, own_metadata(one.seen), topic_id=id_bytes(one.mapped.topic_id)
        )  # without a leader epoch: that of the source means nothing to the target
    if not wanted:
        return {}
    stored: Mapping[str, Stored]
    back: Mapping[str, Committed | KcliError]
    try:
        stored = target.commit_offsets({GroupMetadata(group): rows for group, rows in wanted.items()})
    except KcliError as error:
        stored = {group: dict.fromkeys(rows, error) for group, rows in wanted.items()}
    doubtful = {
        group: [tp for tp, error in rows.items() if error is None or is_lost(error)]
        for group, rows in stored.items()
    }
    try:
        back = target.fetch_offsets({group: rows for group, rows in doubtful.items() if rows})
    except KcliError as error:
        back = dict.fromkeys(wanted, error)
    found = {}
    for one in planned:
        read = back.get(one.group, {})
        now = read if isinstance(read, KcliError) else read.get(one.mapped.target)
        found[one.group, one.source] = settle(one.verdict, stored[one.group][one.mapped.target], now)
    return found
