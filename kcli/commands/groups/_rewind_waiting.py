"""``--wait``: until the members of groups have left, and the transactions with their offsets have ended."""

import time
from collections.abc import Mapping, Sequence

from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.flows.rewind.open_transactions import open_transactions
from kcli.flows.rewind.plan import RewindPlan, not_possible

POLL_SECONDS = 1.0


def wait_until_empty(inv: Invocation, admin: Admin, names: Sequence[str], deadline: float | None) -> None:
    """Returns when no group has members, or at the deadline; the plan reports what is left then."""
    reported = False
    while True:
        described = admin.describe_groups(names)
        live = [name for name, group in described.items() if _may_have_members(group)]
        if not live or (deadline is not None and monotonic() >= deadline):
            return
        if not reported:
            reported = True
            verb = "has" if len(live) == 1 else "have"
            inv.talk.note(f"waiting until {', '.join(live)} {verb} no members …")
        left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, max(0.0, deadline - monotonic()))
        time.sleep(left)


def wait_for_transactions(
    inv: Invocation,
    admin: Admin,
    plan: RewindPlan,
    deadline: float | None,
    refusals: Mapping[str, KcliError],
) -> None:
    """Returns when no transaction on the offsets of the refused groups is open, or at the deadline."""
    for error in refusals.values():
        inv.talk.note(f"waiting: {error.what}; {error.why}")
    wanted = {
        group.group: [item.tp for item in group.todo] for group in plan.groups if group.group in refusals
    }
    while deadline is None or monotonic() < deadline:
        left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, max(0.05, deadline - monotonic()))
        if not open_transactions(admin, wanted, left):
            return


def _may_have_members(group: GroupDescription | KcliError) -> bool:
    """A group that cannot be described for now may have some."""
    if isinstance(group, KcliError):
        return not isinstance(group, NotFoundError | UnsupportedError)
    return bool(group.members) and not_possible(group) is not None
