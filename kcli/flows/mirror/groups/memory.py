"""What a job knows of the groups whose offsets it syncs, over all its runs; and when each was synced last.

The offsets that it made are written to the job's state before they are committed: a later run, or this one after a lost
answer, recognises them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.groups.offsets import Mapped, Verdict, remembered
from kcli.flows.mirror.job.state import (
    NO_GROUPS,
    GroupCommit,
    GroupProgress,
    GroupTopic,
    JobId,
    StateRecord,
    group_record,
)


class Decision(NamedTuple):
    """What is decided about an offset: ``seen`` on the source, ``there``: what the target has."""

    group: str
    source: TopicPartition
    mapped: Mapped
    seen: OffsetAndMetadata
    there: int | None
    verdict: Verdict


class GroupMemory:
    """``saved``: what earlier runs of ``job`` have written. ``write`` has records in the state on return, or raises
    KcliError.
    """

    def __init__(
        self,
        job: JobId,
        saved: Mapping[GroupTopic, GroupProgress] = NO_GROUPS,
        write: Callable[[Sequence[StateRecord]], None] = lambda _records: None,
    ) -> None:
        self._job = job
        self._progress = dict(saved)
        self._write = write
        self.synced_at: dict[str, int] = {}
        """Group → when each of its offsets was last found or set on the target, milliseconds since the epoch."""
        self.done: dict[tuple[str, TopicPartition], int] = {}
        """Target offsets that this run has set, by group and partition of the source."""

    def groups(self) -> set[str]:
        """The groups of which offsets were seen."""
        return {key.group for key in self._progress}

    def commits(self, group: str, maps: Iterable[TopicPartition]) -> dict[TopicPartition, GroupCommit]:
        """What is known of a group's offsets in these partitions."""
        found = {}
        for tp in sorted(maps):
            progress = self._progress.get(GroupTopic(group, tp.topic))
            if progress is not None and tp.partition in progress.partitions:
                found[tp] = progress.partitions[tp.partition]
        return found

    def known(self, group: str, tp: TopicPartition, mapped: Mapped) -> GroupCommit | None:
        """What is known of an offset; None where its target is another topic by now."""
        progress = self._progress.get(GroupTopic(group, tp.topic))
        if progress is None or not _is_of(progress, mapped):
            return None
        return progress.partitions.get(tp.partition)

    def remember(self, decisions: Iterable[Decision], now: int) -> None:
        """Writes what is new, before the offsets are committed; KcliError if that fails, and nothing is to be committed.

        ``now``: milliseconds since the epoch.
        """
        changed: dict[GroupTopic, GroupProgress] = {}
        for group, tp, mapped, seen, there, verdict in decisions:
            known = self.known(group, tp, mapped)
            new = remembered(seen, verdict, there, known, now)
            if new == known:
                continue
            key = GroupTopic(group, tp.topic)
            if key not in changed:
                before = self._progress.get(key)
                changed[key] = GroupProgress(
                    target=mapped.target.topic,
                    target_topic_id=mapped.topic_id,
                    partitions={}
                    if before is None or not _is_of(before, mapped)
                    else dict(before.partitions),
                )
            changed[key].partitions[tp.partition] = new
        if changed:
            self._write([group_record(self._job, key, progress) for key, progress in changed.items()])
            self._progress |= changed


def _is_of(progress: GroupProgress, mapped: Mapped) -> bool:
    """Whether the offsets that were made are of this target: another topic of its name has others."""
    ids = progress.target_topic_id, mapped.topic_id
    return progress.target == mapped.target.topic and (not all(ids) or ids[0] == ids[1])
