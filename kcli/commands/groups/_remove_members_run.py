"""What ``kcli groups remove-members`` does (KIP-345)."""

from collections.abc import Sequence
from shlex import quote

from kcli.commands.groups._losses import removal_plan
from kcli.commands.shared.cluster import connect, described_groups, open_admin, without_errors
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.members import GroupMember
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.own_names import own_group_danger
from kcli.output.progress import counted

REASON = "removed by an operator with kcli groups remove-members"


def run(inv: Invocation, name: str, words: Sequence[str]) -> int:
    """The exit status. ``words`` are ids of members, none of them: all members."""
    with open_admin(inv) as admin:
        connect(inv, admin)
        group = described_groups(inv, admin, [name]).get(name)
        if group is None:
            return inv.finish(done=False)
        leaving, unknown = _leaving(group, words)

        def remarks() -> None:
            for error in unknown:
                inv.failed(error)

        if not leaving:
            if not words:
                inv.talk.note(f"group {name} has no members")
            remarks()
            return inv.finish(done=False)
        plan, question = removal_plan(group, leaving), f"Remove these members of group {name}?"
        if not confirm(inv, plan, question, name=name, danger=own_group_danger(name), remarks=remarks):
            return inv.finish(done=False)
        members = [GroupMember(member.member_id, member.instance_id) for member in leaving]
        removed = without_errors(inv, admin.remove_members({name: members}, reason=REASON)[name])
        if removed:
            inv.talk.note(f"removed {counted(len(removed), 'member')} from group {name}")
    return inv.finish(done=bool(removed))


def _leaving(
    group: GroupDescription, words: Sequence[str]
) -> tuple[list[MemberDescription], list[KcliError]]:
    """The members that the words name, and an error for each word that names none."""
    if not words:
        return list(group.members), []
    ids = {id_ for member in group.members for id_ in (member.member_id, member.instance_id)}
    errors: list[KcliError] = [
        NotFoundError(
            f"group {group.group_id} has no member {word}",
            why="members are named by their member id or their instance id",
            do=f"`kcli groups describe {quote(group.group_id)} --members` lists the members",
        )
        for word in words
        if word not in ids
    ]
    chosen = [one for one in group.members if one.member_id in words or one.instance_id in words]
    return chosen, errors
