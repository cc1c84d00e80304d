"""``kcli groups delete-offsets``: deletes committed offsets of some partitions of a group; of a share group the start
offsets of whole topics.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.classes import NamedTuple
from kcli.core.error_codes import GROUP_SUBSCRIBED_TO_TOPIC
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.group.consumer_protocol import PROTOCOL_TYPE
from kcli.core.names import group_argument, own_group_danger
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.groups.losses import FORGOTTEN, StillThereError, journal_of
from kcli.flows.groups.members import described, live_error, named
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.groups.stored_offsets import partly_kept, read_offsets, remove_offsets
from kcli.flows.journal import Draft
from kcli.flows.permitted import denied_groups, denied_topics
from kcli.flows.rewind.mark import own_metadata
from kcli.flows.rewind.plan import NotPossibleError
from kcli.flows.rewind.planning import with_internal_topics
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

Scope = tuple[str, Sequence[int] | None]
"""Partitions of a topic, or all of them (None)."""


class CommittedOffset(NamedTuple):
    """A committed offset of a group. ``partition`` None: those of a whole topic, of which there are none."""

    group: str
    topic: str
    partition: int | None

    @property
    def tp(self) -> TopicPartition:
        """The partition that it is of."""
        assert self.partition is not None, "only what exists is deleted"
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        number = "" if self.partition is None else f"-{self.partition}"
        return f"the offset of {self.topic}{number} of group {self.group}"


OffsetItem = Item[CommittedOffset, OffsetAndMetadata | None]


class OffsetDeletion(Change[CommittedOffset, OffsetAndMetadata | None]):
    """The committed offsets of the group in these partitions. ``may_lack``: there is nothing to do for one that is not
    there.
    """

    kind = "OffsetDelete"
    printed_by = "groups delete-offsets"
    item_meaning = "A committed offset, of a share group a start offset."
    columns = (
        Column("group"),
        Column("topic"),
        Column("partition", "id", meaning="Number of the partition; null for a topic without any offset."),
        Column("committed", "number", meaning="The committed offset, of a share group the start offset."),
        Column("metadata", spare=1, meaning="Metadata of the commit; null where there is none."),
    )
    quiet_report = True
    nothing = "nothing is to be deleted"

    def __init__(self, group: str, scopes: Sequence[Scope], *, may_lack: bool = False) -> None:
        self.group, self.scopes, self._may_lack = group, scopes, may_lack
        self._description: GroupDescription | None = None

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(groups=[self.group])

    def decide(self, admin: Admin) -> list[OffsetItem]:
        """Offsets of topics that members read are refused, and what was named and is not there."""
        found = admin.describe_groups([self.group], include_operations=True, all_types=True)
        name_nearest(admin, found)
        group = found[self.group]
        if isinstance(group, NotFoundError) and self._may_lack:
            return self._chosen({})
        if isinstance(group, KcliError):
            raise group
        self._description = group
        admin.require("delete_share_offsets" if self._of_share else "delete_offsets")
        committed = read_offsets(admin, {self.group: None}, self._shares)[self.group]
        if isinstance(committed, KcliError):
            raise committed
        items = self._chosen(
            {tp: offset for tp, offset in committed.items() if offset is not None or self._of_share}
        )
        topics = tuple(dict.fromkeys(item.key.topic for item in items if item.outcome is Outcome.PLANNED))
        refused: dict[str, KcliError] = denied_topics(admin, topics, "READ", "deleting the offsets of {}")
        allowed = [topic for topic in topics if topic not in refused]
        alone = _kept_for_streams(admin, group, allowed)  # with members and without
        kept = _kept_of_share(group, items, committed) if self._of_share else _kept(group, allowed)
        kept |= alone
        denied = denied_groups({self.group: group}, "DELETE", "deleting offsets of group {}").get(self.group)

        def checked(item: OffsetItem) -> OffsetItem:
            error = denied or refused.get(item.key.topic) or kept.get(item.key.topic)
            if item.outcome is not Outcome.PLANNED or error is None:
                return item
            read = error is kept.get(item.key.topic) and not (self._of_share or alone) and bool(group.members)
            note = "kept: members read the topic" if read else ""
            return item._replace(outcome=Outcome.REFUSED, error=error, note=note)

        return [checked(item) for item in items]

    @property
    def _of_share(self) -> bool:
        return self._description is not None and self._description.type == SHARE

    @property
    def _shares(self) -> Collection[str]:
        return (self.group,) if self._of_share else ()

    def _chosen(self, present: Committed) -> list[OffsetItem]:
        """In the order of the scopes; refused what is not there, or cannot be read."""
        items: dict[CommittedOffset, OffsetItem] = {}
        for topic, numbers in self.scopes:
            for number in numbers or (None,):
                named = sorted(tp for tp in present if tp.topic == topic and number in (None, tp.partition))
                if not named:
                    key = CommittedOffset(self.group, topic, number)
                    if self._may_lack:
                        items.setdefault(key, Item(key, None, Outcome.UNCHANGED, note="it is not there"))
                        continue
                    missing = _missing(key, present, "start offset" if self._of_share else "committed offset")
                    items.setdefault(key, Item(key, None, Outcome.REFUSED, missing))
                for tp in named:
                    key, offset = CommittedOffset(self.group, *tp), present[tp]
                    item: OffsetItem = (
                        Item(key, None, Outcome.REFUSED, offset)
                        if isinstance(offset, KcliError)
                        else Item(key, offset)
                    )
                    items.setdefault(key, item)
        return list(items.values())

    def text(self, plan: Sequence[OffsetItem]) -> str:
        """The offsets that the group would lose, and what that means for its next consumer."""
        text = self._text(plan)
        own = own_group_danger(self.group) if any(item.outcome is Outcome.PLANNED for item in plan) else None
        return text if own is None else f"{text}\n{own}."

    def _text(self, plan: Sequence[OffsetItem]) -> str:
        shown = [item for item in plan if item.facts is not None]
        if not shown:
            return ""
        assert self._description is not None, "what is shown was decided about"
        columns = [column for column in self.columns if column.key != "group"]
        rows = [{**self.row(item), "note": item.note or self._refused(item)} for item in shown]
        lost = sum(item.outcome is Outcome.PLANNED for item in plan)
        noun, reset = "committed offset", "its auto.offset.reset says"
        if self._of_share:
            noun, reset = "start offset", "the group's share.auto.offset.reset says"
        return "\n".join(
            [
                f"Delete {counted(lost, noun)} of {described(self._description)}.",
                *indented_table([*columns, Column("note", "prose")], rows),
                *([FORGOTTEN] if self._of_share else []),
                f"The next consumer of these partitions in the group starts where {reset}.",
            ]
        )

    def _refused(self, item: OffsetItem) -> str | None:
        return None if item.error is None else f"refused: {self.reason(item.error)}"

    def questions(self, plan: Sequence[OffsetItem]) -> list[Question]:
        """The name of the group has to be typed."""
        sentence = f"Delete these offsets of group {self.group}?"
        return [
            Question(self._text(plan), sentence, name=self.group, danger=own_group_danger(self.group)),
        ]

    def journal(self, admin: Admin, todo: Sequence[OffsetItem]) -> Draft | None:
        """The offsets."""
        offsets = {item.key.tp: item.facts for item in todo if item.facts is not None}
        return journal_of(admin, self.printed_by, {self.group: offsets}, self._shares)

    def apply(self, admin: Admin, todo: Sequence[OffsetItem]) -> dict[CommittedOffset, KcliError | None]:
        """Deletes the offsets."""
        wanted = {self.group: [item.key.tp for item in todo]}
        answers = remove_offsets(admin, wanted, self._shares)[self.group]
        return {item.key: answers[item.key.tp] for item in todo}

    def read_back(
        self, admin: Admin, items: Sequence[OffsetItem]
    ) -> Mapping[CommittedOffset, Found[OffsetAndMetadata | None] | KcliError]:
        """Whether the offsets are gone."""
        wanted = {self.group: [item.key.tp for item in items]}
        left = read_offsets(admin, wanted, self._shares)[self.group]
        if isinstance(left, KcliError):
            raise left
        return {item.key: _after(item, left[item.key.tp]) for item in items}

    def row(self, item: OffsetItem) -> dict[str, Any]:
        """The values of the columns."""
        commit = item.facts
        return {
            "group": item.key.group,
            "topic": item.key.topic,
            "partition": item.key.partition,
            "committed": commit.offset if commit else None,
            "metadata": (own_metadata(commit) or None) if commit else None,
        }

    def summary(self, items: Sequence[OffsetItem]) -> Iterable[str]:
        """How many are gone."""
        if items:
            noun = "start offset" if self._of_share else "committed offset"
            yield f"deleted {counted(len(items), noun)} of group {self.group}"


def _missing(key: CommittedOffset, present: Committed, kind: str) -> KcliError:
    part = key.topic if key.partition is None else f"{key.topic}:{key.partition}"
    return NotFoundError(
        f"group {key.group} has no {kind} of {part}",
        why=f"it has {kind}s of {', '.join(sorted({tp.topic for tp in present}))}"
        if present
        else f"it has no {kind}s at all",
        do=f"`kcli groups describe {group_argument(key.group)}` shows its offsets"
        if present
        else "nothing is to be deleted",
    )


def _kept_of_share(
    group: GroupDescription, items: Sequence[OffsetItem], present: Committed
) -> dict[str, KcliError]:
    """The topics whose start offsets cannot be deleted: all of them while the group has members, and those of which not
    all are named.
    """
    removed = [item.key.tp for item in items if item.outcome is Outcome.PLANNED]
    if group.members:
        live: KcliError = live_error(group, f"offsets of group {group.group_id} were not deleted")
        return {tp.topic: live for tp in removed}
    return {
        topic: NotPossibleError(
            f"the start offsets of some partitions of {topic} were not deleted from group {group.group_id}",
            why=f"brokers delete the start offsets of a share group by topic, and {counted(len(others), 'partition')} "
            f"of it would lose them too: {', '.join(map(str, others[:5]))}{', …' if len(others) > 5 else ''}",
            do=f"name the whole topic, as in -t {topic}",
        )
        for topic, others in partly_kept(removed, [tp for tp in present if present[tp] is not None]).items()
    }


def _kept(group: GroupDescription, topics: Collection[str]) -> dict[str, KcliError]:
    """The topics whose offsets the broker keeps because members read them, with the error that it would return."""
    if group.members and group.protocol_type not in (PROTOCOL_TYPE, STREAMS):
        live: KcliError = live_error(group, f"offsets of group {group.group_id} were not deleted")
        return dict.fromkeys(topics, live)
    read = set(topics) & {topic for member in group.members for topic in topics_of(member)}
    return {topic: _subscribed_error(group, topic) for topic in sorted(read)}


def _kept_for_streams(admin: Admin, group: GroupDescription, topics: Collection[str]) -> dict[str, KcliError]:
    """Inputs of a Kafka Streams application with internal topics, whose content would not fit."""
    parts = group.subtopologies
    inputs = [topic for topic in topics if parts is None or any(topic in part.inputs for part in parts)]
    what = "offsets of group {} cannot be deleted alone"
    error = with_internal_topics(admin, group, what) if inputs else None
    return {} if error is None else dict.fromkeys(inputs, error)


def _subscribed_error(group: GroupDescription, topic: str) -> BrokerError:
    """GROUP_SUBSCRIBED_TO_TOPIC before a broker returns it."""
    readers = [member for member in group.members if topic in topics_of(member)]
    return BrokerError(
        GROUP_SUBSCRIBED_TO_TOPIC,
        f"offsets of {topic} were not deleted from group {group.group_id}",
        message=f"it is read by {counted(len(readers), 'member')}: {named(readers)}",
        do="stop them first, or change what they subscribe to",
    )


def topics_of(member: MemberDescription) -> set[str]:
    """What the member subscribes to, has, or is to have: a subscription by pattern shows in the last two only."""
    partitions = (*(member.assignment or ()), *(member.target or ()))
    return {*member.subscription, *(tp.topic for tp in partitions)}


def _after(
    item: OffsetItem, found: OffsetAndMetadata | KcliError | None
) -> Found[OffsetAndMetadata | None] | KcliError:
    if isinstance(found, KcliError):
        return found
    return Found(item.facts, None if found is None else StillThereError(str(item.key)))
