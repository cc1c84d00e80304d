"""How groups and their members are named in messages and plans, and the refusal of what members stand against. Pure."""

from collections.abc import Collection
from itertools import islice
from shlex import quote

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.error_codes import NON_EMPTY_GROUP
from kcli.core.errors import BrokerError
from kcli.core.names import group_shown
from kcli.flows.groups.description import SHARE
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

NAMED_AT_MOST = 5

MEMBERS = (
    Column("member_id"),
    Column("instance_id", spare=2),
    Column("client_id"),
    Column("host", spare=1),
    Column("partitions", "number"),
)


def named(members: Collection[MemberDescription]) -> str:
    """The first few members as an operator knows them: ``billing at 10.0.0.7 (member billing-1-3fa9…) and 2 more``."""
    shown = ", ".join(_named(member) for member in islice(members, NAMED_AT_MOST))
    more = len(members) - NAMED_AT_MOST
    return shown + (f" and {more} more" if more > 0 else "")


def _named(member: MemberDescription) -> str:
    """Client, host, and what ``groups remove-members`` accepts: a static member's instance id (KIP-345), or its id."""
    host = member.host or "an unknown host"
    known_by = f"instance {member.instance_id}" if member.instance_id else f"member {member.member_id}"
    return f"{member.client_id or 'a client without a name'} at {host} ({known_by})"


def described(group: GroupDescription) -> str:
    """``group billing (classic, Empty)``."""
    return f"group {group_shown(group.group_id)} ({group.type}, {group.state})"


def member_row(member: MemberDescription) -> dict[str, object]:
    """The values of ``MEMBERS``."""
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "partitions": None if member.assignment is None else len(member.assignment),
    }


def member_table(members: Collection[MemberDescription]) -> list[str]:
    """The members in a plan."""
    return indented_table(MEMBERS, [member_row(member) for member in members])


def live_error(group: GroupDescription, what: str) -> BrokerError:
    """NON_EMPTY_GROUP before a broker returns it, with the names of the members that have to stop."""
    return BrokerError(
        NON_EMPTY_GROUP,
        what,
        message=f"it has {counted(len(group.members), 'member')}: {named(group.members)}",
        do=stop_share_members(group.group_id)
        if group.type == SHARE
        else f"stop them first; `kcli groups remove-members {quote(group.group_id)} MEMBER` removes one that has died",
    )


def stop_share_members(group: str) -> str:
    """What to do about the members of a share group, which nobody else can remove."""
    return (
        "stop them; one that has died is gone after share.session.timeout.ms: "
        f"`kcli groups describe {quote(group)} --config` shows it"
    )
