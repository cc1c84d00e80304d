"""``kcli groups delete``: groups without members, with all that they have committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands.shared.cluster import connect, described_groups, listed_groups, open_admin, unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import GROUP
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.core.admin.committed import Committed
    from kcli.core.admin.group_description import GroupDescription
    from kcli.core.errors import KcliError


@command(
    "delete",
    examples=(
        ("kcli groups delete billing", "asks for the name to be typed"),
        ("kcli groups delete billing --yes", "in a script"),
        ("kcli groups delete billing --dry-run", "only show what would be lost"),
        ("kcli groups delete --match 'console-consumer-*' --dry-run", "of all that match"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@click.option("--match", metavar="GLOB", help="all groups whose names match this shell pattern")
@pass_invocation
def delete_groups(inv: Invocation, names: tuple[str, ...], match: str | None) -> int:
    """Delete groups with all that they have committed.

    There is no way back but a file of `kcli groups export`, so each name has to be typed, or --yes or --confirm NAME be
    given. All questions come before the first group is deleted. A group with members is refused: exit code 7.
    """
    names = unique(names)
    if not names and match is None:
        raise usage(
            "groups delete: missing argument GROUP",
            why="it is required without --match",
            do="name some, or use --match GLOB: `kcli groups list --match GLOB` shows which these are",
        )
    _check_confirm(inv, names)
    done = False
    with open_admin(inv) as admin:
        connect(inv, admin)
        if match is not None:
            matching = [row.group_id for row in listed_groups(inv, admin, match)]
            if not matching:
                inv.talk.note(f"no group matches {match}")
            names = unique((*names, *matching))
            _check_confirm(inv, names)
        found = described_groups(inv, admin, names)
        committed = admin.fetch_offsets(dict.fromkeys(found)) if found else {}
        agreed = [name for name, group in found.items() if _agreed(inv, group, committed[name])]
        for name, error in (admin.delete_groups(agreed) if agreed else {}).items():
            if error is None:
                done = True
                inv.talk.note(f"deleted group {name}")
            else:
                inv.failed(_with_remedy(error))
    return inv.finish(done=done)


def _check_confirm(inv: Invocation, names: Sequence[str]) -> None:
    if inv.values.confirm is not None and len(names) > 1:
        raise usage(
            f"groups delete: --confirm names one group, {len(names)} would be deleted",
            why="nothing was done",
            do="--yes for all of them, or one after the other",
        )


def _agreed(inv: Invocation, group: GroupDescription, committed: Committed | KcliError) -> bool:
    from kcli.commands.groups._losses import deletion_plan, live_error
    from kcli.commands.shared.confirm import confirm, show_plan

    plan = deletion_plan(group, committed)
    if group.members:
        show_plan(inv, plan)
        inv.failed(live_error(group, f"group {group.group_id} was not deleted"))
        return False
    return confirm(inv, plan, f"Delete group {group.group_id}?", name=group.group_id)


def _with_remedy(error: KcliError) -> KcliError:
    from kcli.core.error_codes import NON_EMPTY_GROUP
    from kcli.core.errors import BrokerError

    if isinstance(error, BrokerError) and error.code == NON_EMPTY_GROUP and not error.do:
        error.do = "a member has joined since the plan was made; stop it and try again"
    return error
