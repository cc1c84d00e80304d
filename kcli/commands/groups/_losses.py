"""The plans of deletions and removals: which offsets would be lost, which members would be removed. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from shlex import quote

from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.unknown_group import group_shown
from kcli.core.error_codes import GROUP_SUBSCRIBED_TO_TOPIC, NON_EMPTY_GROUP
from kcli.core.errors import BrokerError, KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.members import named
from kcli.flows.rewind.mark import own_metadata
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

MEMBERS = (
    Column("member_id"),
    Column("instance_id", spare=2),
    Column("client_id"),
    Column("host", spare=1),
    Column("partitions", "number"),
)
OFFSETS = (
    Column("topic"),
    Column("partition", "id"),
    Column("committed", "number"),
    Column("metadata", spare=1),
    Column("note", "prose"),
)
TOPICS = (Column("topic"), Column("committed_offsets", "number"))


def deletion_plan(group: GroupDescription, committed: Committed | KcliError) -> str:
    """What goes with the group."""
    if isinstance(committed, KcliError):
        what = f"how many offsets it has committed is not known: {committed}"
        return "\n".join([f"Delete {described(group)}; {what}", *_members(group.members)])
    counts = Counter(tp.topic for tp, offset in committed.items() if offset is not None)
    lines = [f"Delete {described(group)} with {counted(sum(counts.values()), 'committed offset')}."]
    rows = [{"topic": topic, "committed_offsets": count} for topic, count in sorted(counts.items())]
    return "\n".join([*lines, *indented_table(TOPICS, rows), *_members(group.members)])


def offsets_plan(
    group: GroupDescription, chosen: Mapping[TopicPartition, OffsetAndMetadata], kept: Collection[str]
) -> str:
    """The offsets that the group would lose, and what that means for its next consumer; topics in ``kept`` stay."""
    rows = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "committed": offset.offset,
            "metadata": own_metadata(offset) or None,
            "note": "kept: members read the topic" if tp.topic in kept else None,
        }
        for tp, offset in sorted(chosen.items())
    ]
    lost = sum(tp.topic not in kept for tp in chosen)
    return "\n".join(
        [
            f"Delete {counted(lost, 'committed offset')} of {described(group)}.",
            *indented_table(OFFSETS, rows),
            "The next consumer of these partitions in the group starts where its auto.offset.reset says.",
        ]
    )


def removal_plan(group: GroupDescription, leaving: Sequence[MemberDescription]) -> str:
    """The members that would be removed, and what they and the remaining members notice."""
    count = counted(len(group.members), "member")
    lines = [f"Remove {len(leaving)} of {count} from {described(group)}.", *_members(leaving)]
    lines.append(
        "They notice at their next heartbeat, lose their partitions, and can no longer commit what they "
        "have read\nsince their last commit: it will be read again. Consumers that keep running rejoin by themselves: "
        "stop them first\nif they are to stay away."
    )
    if len(leaving) < len(group.members):
        lines.append("The members that stay take over the partitions in one rebalance.")
    return "\n".join(lines)


def described(group: GroupDescription) -> str:
    """``group billing (classic, Empty)``."""
    return f"group {group_shown(group.group_id)} ({group.type}, {group.state})"


def live_error(group: GroupDescription, what: str) -> BrokerError:
    """NON_EMPTY_GROUP before a broker returns it, with the names of the members that have to stop."""
    return BrokerError(
        NON_EMPTY_GROUP,
        what,
        message=f"it has {counted(len(group.members), 'member')}: {named(group.members)}",
        do=f"stop them first; `kcli groups remove-members {quote(group.group_id)} MEMBER` removes one that has died",
    )


def subscribed_error(group: GroupDescription, topic: str) -> BrokerError:
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


def _members(members: Collection[MemberDescription]) -> list[str]:
    rows = [
        {
            "member_id": member.member_id,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "host": member.host,
            "partitions": None if member.assignment is None else len(member.assignment),
        }
        for member in members
    ]
    return indented_table(MEMBERS, rows)
