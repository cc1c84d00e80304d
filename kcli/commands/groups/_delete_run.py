"""What ``kcli groups delete`` does: deletes groups without members, with all their committed offsets."""

from collections.abc import Sequence

from kcli.commands.groups._losses import deletion_plan, live_error
from kcli.commands.shared.cluster import connect, described_groups, listed_groups, open_admin, unique
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.unknown_group import group_shown
from kcli.core.error_codes import NON_EMPTY_GROUP
from kcli.core.errors import BrokerError, KcliError
from kcli.core.own_names import own_group_danger


def delete(inv: Invocation, names: Sequence[str], match: str | None) -> int:
    """The exit status. ``match``: a shell pattern of further names."""
    _check_confirm(inv, names)
    done = False
    with open_admin(inv) as admin:
        connect(inv, admin)
        admin.require("delete_groups")
        if match is not None:
            matching = [row.group_id for row in listed_groups(inv, admin, match)]
            names = unique((*names, *matching))
            _check_confirm(inv, names)
        found = described_groups(inv, admin, names)
        committed = admin.fetch_offsets(dict.fromkeys(found)) if found else {}
        confirmed = [name for name, group in found.items() if _confirmed(inv, group, committed[name])]
        for name, error in (admin.delete_groups(confirmed) if confirmed else {}).items():
            if error is None:
                done = True
                inv.talk.note(f"deleted group {group_shown(name)}")
                continue
            if isinstance(error, BrokerError) and error.code == NON_EMPTY_GROUP and not error.do:
                error.do = "a member has joined since the plan was made; stop it and try again"
            inv.failed(error)
    return inv.finish(done=done)


def _check_confirm(inv: Invocation, names: Sequence[str]) -> None:
    if inv.values.confirm is not None and len(names) > 1:
        raise usage(
            f"groups delete: --confirm names one group, {len(names)} would be deleted",
            why="nothing was done",
            do="use --yes for all of them, or delete them one at a time",
        )


def _confirmed(inv: Invocation, group: GroupDescription, committed: Committed | KcliError) -> bool:
    plan = deletion_plan(group, committed)
    if group.members:
        show_plan(inv, plan)
        inv.failed(live_error(group, f"group {group.group_id} was not deleted"))
        return False
    own = own_group_danger(group.group_id)
    return confirm(inv, plan, f"Delete group {group_shown(group.group_id)}?", name=group.group_id, danger=own)
