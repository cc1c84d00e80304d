"""``kcli undo`` of what deletes offsets of groups: commits them again as a journal has them, or sets start offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.topics import TopicInfo, id_bytes
from kcli.core.cluster.metadata import no_partition
from kcli.core.errors import DataLossError, KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import group_shown, own_group_danger
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.delete_offsets import CommittedOffset
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.members import live_error
from kcli.flows.groups.offsets import LogEnds, log_ends
from kcli.flows.groups.stored_offsets import read_offsets, write_offsets
from kcli.flows.journal import Journal, OffsetEntry
from kcli.flows.permitted import denied_groups, denied_topics
from kcli.flows.rewind.mark import own_metadata
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table, time_text


class CommittedSinceError(KcliError):
    """The group has committed another offset since the one of the journal was deleted."""

    exit_code = ExitCode.REFUSED


class OtherGroupNowError(KcliError):
    """A group of another type has the name of the group whose offsets were deleted."""

    exit_code = ExitCode.REFUSED


class NotRestoredError(KcliError):
    """An offset whose commit was confirmed is not there."""

    exit_code = ExitCode.REFUSED


RestoreItem = Item[CommittedOffset, OffsetEntry]


class OffsetRestore(Change[CommittedOffset, OffsetEntry]):
    """The committed offsets of a journal."""

    kind = "OffsetRestore"
    printed_by = "undo"
    item_meaning = "A committed offset, of a share group a start offset."
    columns = (
        Column("group"),
        Column("topic"),
        Column("partition", "id"),
        Column("committed", "number", meaning="The offset that was deleted, and is set again."),
        Column("metadata", spare=1, meaning="Metadata of the commit; null where there is none."),
    )
    quiet_report = True
    nothing = "nothing is to be restored"

    def __init__(self, journal: Journal) -> None:
        self.made = journal

    def decide(self, admin: Admin) -> list[RestoreItem]:
        """Refused where the group has members or has committed since, and where the topic is not the same one."""
        self.made.check_cluster(admin.cluster_id())
        entries = {
            CommittedOffset(entry.group, entry.topic, entry.partition): entry
            for entry in self.made.entries
            if isinstance(entry, OffsetEntry)
        }
        wanted: dict[str, list[TopicPartition]] = {}
        for key in entries:
            wanted.setdefault(key.group, []).append(key.tp)
        by_group = self._refused_groups(admin, list(wanted))
        by_topic = _refused_topics(admin, entries.values())
        committed = read_offsets(admin, wanted, self._shares)
        logs = log_ends(admin, {key.tp for key in entries})
        items = []
        for key, entry in entries.items():
            of_group = committed[key.group]
            now = of_group if isinstance(of_group, KcliError) else of_group[key.tp]
            item: RestoreItem = Item(key, entry, note=_note(entry, logs[key.tp]))
            if isinstance(now, OffsetAndMetadata) and _is_as(now, entry):
                items.append(item._replace(outcome=Outcome.UNCHANGED, note="it is there"))
                continue
            error = by_group.get(key.group) or by_topic.get(key.tp) or _since(key, now)
            if error is not None:
                item = item._replace(outcome=Outcome.REFUSED, error=error, note="")
            items.append(item)
        return items

    @property
    def _shares(self) -> set[str]:
        """Those of the groups that were share groups."""
        entries = (entry for entry in self.made.entries if isinstance(entry, OffsetEntry))
        return {entry.group for entry in entries if entry.is_share}

    def _refused_groups(self, admin: Admin, names: Sequence[str]) -> dict[str, KcliError]:
        """A group that does not exist is made by its first offset; one of another kind has the name now."""
        found = admin.describe_groups(names, include_operations=True, all_types=True)
        groups = {name: one for name, one in found.items() if not isinstance(one, KcliError)}
        refused = {
            name: one
            for name, one in found.items()
            if isinstance(one, KcliError) and not isinstance(one, NotFoundError)
        }
        refused |= {
            name: live_error(group, f"offsets of group {name} were not restored")
            for name, group in groups.items()
            if group.members
        }
        refused |= {
            name: _other_group(group, shares=name in self._shares)
            for name, group in groups.items()
            if (group.type == SHARE) is not (name in self._shares)
        }
        if self._shares and (unset := admin.lacks("alter_share_offsets")) is not None:
            refused |= dict.fromkeys(self._shares, unset)
        return refused | denied_groups(groups, "READ", "committing offsets of group {}")

    def text(self, plan: Sequence[RestoreItem]) -> str:
        """The offsets, and what made them disappear."""
        todo = [item for item in plan if item.outcome is Outcome.PLANNED]
        own = [own_group_danger(name) for name in dict.fromkeys(item.key.group for item in todo)]
        return "\n".join([self._text(plan), *(f"{danger}." for danger in own if danger)])

    def _text(self, plan: Sequence[RestoreItem]) -> str:
        todo = sum(item.outcome is Outcome.PLANNED for item in plan)
        notes = {item.key: item.note or (self.reason(item.error) if item.error else None) for item in plan}
        rows = [{**self.row(item), "note": notes[item.key]} for item in plan]
        when = time_text(self.made.at)
        return "\n".join(
            [
                f"Restore {counted(todo, self._noun)}, deleted by kcli {self.made.command} at {when}.",
                *indented_table([*self.columns, Column("note", "prose")], rows),
            ]
        )

    @property
    def _noun(self) -> str:
        groups = {entry.group for entry in self.made.entries if isinstance(entry, OffsetEntry)}
        if not self._shares:
            return "committed offset"
        return "start offset" if groups == self._shares else "offset"

    def questions(self, plan: Sequence[RestoreItem]) -> list[Question]:
        """One for all, and one for each group of kcli's own, by its name."""
        text, found = self._text(plan), []
        groups = dict.fromkeys(item.key.group for item in plan if item.outcome is Outcome.PLANNED)
        own = {name: danger for name in groups if (danger := own_group_danger(name))}
        if groups.keys() - own.keys():
            found.append(Question(text, "Restore these offsets?", subject=self.made.id))
        for name, danger in own.items():
            found.append(Question(text, f"Restore the offsets of group {name}?", name=name, danger=danger))
        return found

    def apply(self, admin: Admin, todo: Sequence[RestoreItem]) -> dict[CommittedOffset, KcliError | None]:
        """Commits the offsets, or sets start offsets."""
        wanted: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        for key, entry in ((item.key, item.facts) for item in todo):
            commit = OffsetAndMetadata(
                entry.committed, entry.metadata, entry.leader_epoch, id_bytes(entry.topic_id)
            )
            wanted.setdefault(key.group, {})[key.tp] = commit
        answers = write_offsets(admin, wanted, self._shares)
        return {item.key: answers[item.key.group][item.key.tp] for item in todo}

    def read_back(
        self, admin: Admin, items: Sequence[RestoreItem]
    ) -> Mapping[CommittedOffset, Found[OffsetEntry] | KcliError]:
        """The offsets that are committed now."""
        wanted: dict[str, list[TopicPartition]] = {}
        for item in items:
            wanted.setdefault(item.key.group, []).append(item.key.tp)
        committed = read_offsets(admin, wanted, self._shares)
        found: dict[CommittedOffset, Found[OffsetEntry] | KcliError] = {}
        for item in items:
            of_group = committed[item.key.group]
            found[item.key] = _after(
                item, of_group if isinstance(of_group, KcliError) else of_group[item.key.tp]
            )
        return found

    def row(self, item: RestoreItem) -> dict[str, Any]:
        """The values of the columns."""
        entry = item.facts
        return {
            "group": entry.group,
            "topic": entry.topic,
            "partition": entry.partition,
            "committed": entry.committed,
            "metadata": own_metadata(OffsetAndMetadata(entry.committed, entry.metadata)) or None,
        }

    def summary(self, items: Sequence[RestoreItem]) -> Iterable[str]:
        """A line for each group."""
        for name in dict.fromkeys(item.key.group for item in items):
            count = sum(item.key.group == name for item in items)
            noun = "start offset" if name in self._shares else "committed offset"
            yield f"restored {counted(count, noun)} of group {group_shown(name)}"


def _other_group(group: GroupDescription, *, shares: bool) -> KcliError:
    return OtherGroupNowError(
        f"offsets of group {group.group_id} were not restored",
        why=f"it is a {group.type} group now, and was {'a' if shares else 'no'} share group then",
        do="nothing was done to it",
    )


def _refused_topics(admin: Admin, entries: Iterable[OffsetEntry]) -> dict[TopicPartition, KcliError]:
    """A topic of the same name that was created since is another one: the offsets mean nothing there."""
    entries = list(entries)
    names = list(dict.fromkeys(entry.topic for entry in entries))
    topics = admin.describe_topics(names)
    there = [name for name in names if not isinstance(topics[name], KcliError)]
    refused: dict[str, KcliError] = denied_topics(admin, there, "READ", "committing the offsets of {}")
    found: dict[TopicPartition, KcliError] = {}
    for entry in entries:
        tp, topic = TopicPartition(entry.topic, entry.partition), topics[entry.topic]
        error = topic if isinstance(topic, KcliError) else refused.get(entry.topic)
        if error is None and isinstance(topic, TopicInfo):
            error = _other(entry, topic)
        if error is not None:
            found[tp] = error
    return found


def _other(entry: OffsetEntry, topic: TopicInfo) -> KcliError | None:
    if entry.topic_id and topic.topic_id and entry.topic_id != topic.topic_id:
        return DataLossError(
            f"topic {topic.name} was deleted and created anew",
            why="the offsets are of a topic that does not exist any more",
            do="nothing was committed for it",
        )
    if entry.partition not in {part.partition for part in topic.partitions}:
        return no_partition(TopicPartition(topic.name, entry.partition), len(topic.partitions))
    return None


def _since(key: CommittedOffset, now: OffsetAndMetadata | KcliError | None) -> KcliError | None:
    if not isinstance(now, OffsetAndMetadata):
        return now
    return CommittedSinceError(
        f"{key} was not restored: it is {now.offset:,}",
        why=f"the group has committed {now.offset:,} since, which would be lost",
        do="if the older offset is meant, rewind the group to it",
    )


def _is_as(now: OffsetAndMetadata, entry: OffsetEntry) -> bool:
    return (now.offset, now.metadata) == (entry.committed, entry.metadata)


def _note(entry: OffsetEntry, log: LogEnds) -> str:
    if log.start is not None and entry.committed < log.start:
        return f"before the start of the log, {log.start:,}"
    if log.end is not None and entry.committed > log.end:
        return f"beyond the end of the log, {log.end:,}"
    return ""


def _after(item: RestoreItem, now: OffsetAndMetadata | KcliError | None) -> Found[OffsetEntry] | KcliError:
    if isinstance(now, KcliError):
        return now
    if now is not None and _is_as(now, item.facts):
        return Found(item.facts)
    error = NotRestoredError(
        f"{item.key} was committed, and is not there",
        why="nothing is committed"
        if now is None
        else f"it reads {now.offset:,}: another client has committed it",
        do="run it again",
    )
    return Found(item.facts, error)
