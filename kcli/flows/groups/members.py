"""How members are named in messages. Pure."""

from collections.abc import Collection
from itertools import islice

from kcli.core.admin.group_description import MemberDescription

NAMED_AT_MOST = 5


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
