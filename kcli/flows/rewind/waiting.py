"""Waits until groups can be rewound: until their members have left, and the transactions with their offsets have ended.

``report`` receives lines for the user; ``sleep`` waits between two polls, and may raise what ends the wait.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.clock import monotonic, wall_ms
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.flows.rewind.open_transactions import SHORT_SECONDS, open_transactions, refused_for_transactions
from kcli.flows.rewind.plan import RewindPlan, not_possible
from kcli.flows.rewind.spans import time_spans
from kcli.flows.rewind.survey import RewindRequest, survey

POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Wait:
    """``until``: seconds of the monotonic clock, None without a limit."""

    report: Callable[[str], object]
    until: float | None = None
    sleep: Callable[[float], object] = time.sleep

    def over(self) -> bool:
        """Whether the limit is reached."""
        return self.until is not None and monotonic() >= self.until

    def left(self, least: float = 0.0) -> float:
        """Seconds to the next poll."""
        return POLL_SECONDS if self.until is None else min(POLL_SECONDS, max(least, self.until - monotonic()))


def wait_until_empty(admin: Admin, names: Sequence[str], wait: Wait) -> None:
    """Returns when no group has members, or at the deadline; the plan reports what is left then."""
    reported = False
    while True:
        described = admin.describe_groups(names)
        live = [name for name, group in described.items() if _may_have_members(group)]
        if not live or wait.over():
            return
        if not reported:
            reported = True
            verb = "has" if len(live) == 1 else "have"
            wait.report(f"waiting until {', '.join(live)} {verb} no members …")
        wait.sleep(wait.left())


def survey_when_ready(admin: Admin, cluster: str, request: RewindRequest, wait: Wait | None) -> RewindPlan:
    """The plan, in which groups with open transactions are refused; with ``wait`` these are waited for before."""
    spans = partial(time_spans, admin)
    plan = survey(admin, cluster, request, wall_ms(), spans)
    refusals = refused_for_transactions(admin, plan.groups, SHORT_SECONDS if wait is None else POLL_SECONDS)
    if refusals and wait is not None:
        _wait_for_transactions(admin, plan, refusals, wait)
        plan = survey(admin, cluster, request, wall_ms(), spans)
        refusals = refused_for_transactions(admin, plan.groups, POLL_SECONDS / 2)
    groups = (replace(group, refusal=group.refusal or refusals.get(group.group)) for group in plan.groups)
    return replace(plan, groups=tuple(groups))


def _wait_for_transactions(
    admin: Admin, plan: RewindPlan, refusals: Mapping[str, KcliError], wait: Wait
) -> None:
    """Returns when no transaction on the offsets of the refused groups is open, or at the deadline."""
    for error in refusals.values():
        wait.report(f"waiting: {error.what}; {error.why}")
    wanted = {
        group.group: [item.tp for item in group.todo] for group in plan.groups if group.group in refusals
    }
    while not wait.over() and open_transactions(admin, wanted, wait.left(0.05)):
        wait.sleep(0.0)


def _may_have_members(group: GroupDescription | KcliError) -> bool:
    """A group that cannot be described for now may have some."""
    if isinstance(group, KcliError):
        return not isinstance(group, NotFoundError | UnsupportedError)
    return bool(group.members) and not_possible(group) is not None
