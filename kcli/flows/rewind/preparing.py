"""What precedes the plan of a rewind, as it is asked for: its groups are held, or waited for until they can be rewound:
until their members have left, and the transactions with their offsets have ended.

``report`` receives lines for the user; ``sleep`` waits between two polls, and may raise what ends the wait.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.classes import dataclass, replace
from kcli.core.clock import monotonic, wall_ms
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.rewind.barriers import Barriers
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.open_transactions import SHORT_SECONDS, open_transactions, refused_for_transactions
from kcli.flows.rewind.plan import BY_REWIND, NOT_LIVE, GroupTopic, Remedies, RewindPlan, not_possible
from kcli.flows.rewind.planning import with_internal_topics
from kcli.flows.rewind.scope import Scope
from kcli.flows.rewind.spans import time_disorders, time_spans
from kcli.flows.rewind.survey import RewindRequest, survey

POLL_SECONDS = 1.0
_WAITED = Remedies(
    "stop its members; or wait longer, as in --wait=1h",
    "stop its application; or wait longer, as in --wait=1h",
)
_WOULD_WAIT = Remedies(
    "stop its members; or without --dry-run, --wait waits for that",
    "stop its application; or without --dry-run, --wait waits for that",
)


@dataclass(frozen=True, slots=True)
class Preparation:
    """``request`` says what is asked for of the groups ``names``. ``live``: groups with members are rewound as they run;
    ``hold``: they are held for so many seconds, while the plan is reviewed. ``waits``: until members have left, for
    ``wait_limit`` seconds at most. A ``dry`` run neither waits nor holds. ``report`` receives lines for the user.
    """

    request: Callable[[Admin, Journals, Sequence[str]], RewindRequest]
    names: Sequence[str]
    waits: bool
    wait_limit: float | None
    live: bool
    hold: float | None
    dry: bool
    report: Callable[[str], object]

    def plan(self, admin: Admin, cluster: str, barriers: Barriers) -> RewindPlan:
        """The plan, in which groups with open transactions are refused. The ``barriers`` hold groups from then on."""
        journals = Journals(cluster)
        request = self.request(admin, journals, self.names)
        names = list(request.targets)
        until = None if self.wait_limit is None else monotonic() + self.wait_limit
        wait = Wait(self.report, until) if self.waits and not self.dry else None
        if wait is not None:
            if missing := _missing(admin, request):
                return RewindPlan(cluster, (), asked=tuple(names), unplanned=missing)
            wait_until_empty(admin, _awaited(admin, request), wait)
        # A group is held before its offsets are read: a plan that was reviewed meanwhile is the one that is carried out.
        if self.live:
            barriers.wait_until_stable(names)
        if self.hold is not None and not self.dry:
            barriers.hold_for_review(names, journals, self.hold)
        request = replace(
            request,
            live=self.live,
            hold=self.hold is not None,
            held=None if self.dry else barriers.descriptions,
            remedies=self._remedies(admin),
        )
        return survey_when_ready(admin, cluster, request, wait)

    def _remedies(self, admin: Admin) -> Remedies:
        if self.waits:
            return _WOULD_WAIT if self.dry else _WAITED
        return BY_REWIND if admin.lacks("hold_group") is None else NOT_LIVE


def _missing(admin: Admin, request: RewindRequest) -> dict[GroupTopic, KcliError]:
    """Groups that do not exist, before any other is waited for: then none is. An undo may create its group again."""
    names = [name for name in request.targets if name not in request.undoes]
    described = admin.describe_groups(names, all_types=True) if names else {}
    missing = {name: one for name, one in described.items() if isinstance(one, NotFoundError)}
    name_nearest(admin, missing)
    first = next(iter(missing.values()), None)
    return {} if first is None else {(name, None): missing.get(name, first) for name in request.targets}


def _awaited(admin: Admin, request: RewindRequest) -> list[str]:
    """The groups that are waited for: not those that are refused without members, too."""
    described = admin.describe_groups(list(request.targets), all_types=True)
    return [
        name
        for name, group in described.items()
        if request.resets or isinstance(group, KcliError) or with_internal_topics(admin, group) is None
    ]


def groups_within(
    admin: Admin, names: Sequence[str], scope: Scope
) -> tuple[list[str], dict[GroupTopic, KcliError]]:
    """Those of the groups that have committed offsets within the scope; and those with offsets that cannot be read."""
    found: list[str] = []
    unread: dict[GroupTopic, KcliError] = {}
    for name, committed in (admin.fetch_offsets(dict.fromkeys(names)) if names else {}).items():
        if isinstance(committed, KcliError):
            unread[name, None] = committed
        elif scope.touches(committed):
            found.append(name)
    return found, unread


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
        described = admin.describe_groups(names, all_types=True)
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
    spans, disorders = partial(time_spans, admin), partial(time_disorders, admin)
    plan = survey(admin, cluster, request, wall_ms(), spans, disorders)
    refusals = refused_for_transactions(admin, plan.groups, SHORT_SECONDS if wait is None else POLL_SECONDS)
    if refusals and wait is not None:
        _wait_for_transactions(admin, plan, refusals, wait)
        plan = survey(admin, cluster, request, wall_ms(), spans, disorders)
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
