"""``kcli groups remove-members``: members are taken out of their group by somebody else (KIP-345)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands.shared.cluster import connect, described_groups, open_admin, unique, without_errors
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.core.admin.group_description import GroupDescription, MemberDescription
    from kcli.core.errors import KcliError

REASON = "removed by an operator with kcli groups remove-members"


@command(
    "remove-members",
    examples=(
        ("kcli groups remove-members billing billing-3", "a static member, by its instance id"),
        ("kcli groups remove-members billing --yes", "all members, without a question"),
        ("kcli groups remove-members billing --dry-run", "only show who would be removed"),
    ),
)
@click.argument("name", type=GROUP, metavar="GROUP")
@click.argument("words", nargs=-1, metavar="[MEMBER…]")
@pass_invocation
def remove_members(inv: Invocation, name: str, words: tuple[str, ...]) -> int:
    """Remove members from a group.

    MEMBER is a member id or an instance id; without one, all members are removed. For members that have died and are
    waited for, static ones above all: a consumer that runs joins again at once.
    """
    from functools import partial

    from kcli.commands.groups._losses import removal_plan
    from kcli.commands.shared.confirm import confirm
    from kcli.core.admin.members import GroupMember
    from kcli.output.progress import counted

    done = False
    with open_admin(inv) as admin:
        connect(inv, admin)
        for group in described_groups(inv, admin, [name]).values():
            leaving, unknown = _leaving(group, unique(words))
            report = partial(_report, inv, unknown)
            if not leaving and not words:
                inv.talk.note(f"group {name} has no members")
            plan = removal_plan(group, leaving)
            if not leaving:
                report()
                continue
            question = f"Remove these members of group {name}?"
            if not confirm(inv, plan, question, name=name, remarks=report):
                continue
            members = [GroupMember(member.member_id, member.instance_id) for member in leaving]
            outcome = admin.remove_members({name: members}, reason=REASON)[name]
            gone = without_errors(inv, outcome)
            if gone:
                done = True
                inv.talk.note(f"removed {counted(len(gone), 'member')} from group {name}")
    return inv.finish(done=done)


def _report(inv: Invocation, errors: Sequence[KcliError]) -> None:
    for error in errors:
        inv.failed(error)


def _leaving(
    group: GroupDescription, words: Sequence[str]
) -> tuple[list[MemberDescription], list[KcliError]]:
    """The members that the words name, and an error for each word that names none."""
    from shlex import quote

    from kcli.core.errors import NotFoundError

    if not words:
        return list(group.members), []
    named = {
        word: [member for member in group.members if word in (member.member_id, member.instance_id)]
        for word in words
    }
    errors: list[KcliError] = [
        NotFoundError(
            f"group {group.group_id} has no member {word}",
            do=f"`kcli groups describe {quote(group.group_id)} --members` shows them all",
        )
        for word, members in named.items()
        if not members
    ]
    chosen = {member.member_id for members in named.values() for member in members}
    return [member for member in group.members if member.member_id in chosen], errors
