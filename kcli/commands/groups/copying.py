"""``kcli groups copy``: a group gets what another one has committed, with the plan and the undo of a rewind."""

from __future__ import annotations

import click

from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import GROUP
from kcli.commands.shared.usage import usage


@command(
    "copy",
    examples=(
        ("kcli groups copy billing billing-test", "a group that starts where billing is now"),
        ("kcli groups copy billing billing-v2 --dry-run", "the plan; nothing is changed"),
    ),
)
@click.argument("source", type=GROUP, metavar="A")
@click.argument("name", type=GROUP, metavar="B")
@pass_invocation
def copy_group(inv: Invocation, source: str, name: str) -> int:
    """Commit for group B what group A has committed: offsets, metadata and leader epochs.

    A may be running; B must have no members, and need not exist. What B has committed elsewhere stays. Shows a plan
    first, keeps what B had committed before for `kcli groups rewind B --undo`, and reads every partition back.
    """
    from functools import partial
    from shlex import join

    from kcli.commands.groups._executing import confirm_and_execute
    from kcli.commands.groups._rewind_target import group_target
    from kcli.core.clock import wall_ms
    from kcli.flows.rewind.spans import time_spans
    from kcli.flows.rewind.survey import RewindRequest, survey
    from kcli.flows.transfer.stopping import to_be_stopped

    if source == name:
        raise usage("groups copy: A and B are the same group", why="nothing would change", do="name two")
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        request = RewindRequest(
            {name: group_target(admin, source, exact=True)},
            f"what group {source} has committed",
            act="Copy into group",
            makes=True,
        )
        plan, failures = survey(admin, cluster, request, wall_ms(), partial(time_spans, admin))
        live = join(["kcli", "groups", "rewind", name, "--to-group", source, "--live"])
        return confirm_and_execute(inv, admin, to_be_stopped(plan, lambda _group: live), failures)
