"""What precedes the plan of a rewind: its groups are found, waited for or held, as it is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import ListedGroup
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError, NotFoundError
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.groups.readers import of_consumers
from kcli.flows.rewind.barriers import Barriers
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.plan import BY_REWIND, GroupTopic, Remedies, RewindPlan
from kcli.flows.rewind.scope import Scope
from kcli.flows.rewind.survey import RewindRequest
from kcli.flows.rewind.waiting import Wait, survey_when_ready, wait_until_empty

_WAITED = Remedies(
    "stop its members; or wait longer, as in --wait=1h",
    "stop its application; or wait longer, as in --wait=1h",
)
_WOULD_WAIT = Remedies(
    "stop its members; or without --dry-run, --wait waits for that",
    "stop its application; or without --dry-run, --wait waits for that",
)
_NOT_LIVE = replace(BY_REWIND, members="stop them and try again; --wait waits for their end")
"""For brokers that cannot keep members out."""


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
            wait_until_empty(admin, names, wait)
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
        return BY_REWIND if admin.lacks("hold_group") is None else _NOT_LIVE


def _missing(admin: Admin, request: RewindRequest) -> dict[GroupTopic, KcliError]:
    """Groups that do not exist, before any other is waited for: then none is. An undo may create its group again."""
    names = [name for name in request.targets if name not in request.undoes]
    described = admin.describe_groups(names) if names else {}
    missing = {name: one for name, one in described.items() if isinstance(one, NotFoundError)}
    name_nearest(admin, missing)
    first = next(iter(missing.values()), None)
    return {} if first is None else {(name, None): missing.get(name, first) for name in request.targets}


def groups_within(
    admin: Admin, listed: Sequence[ListedGroup], scope: Scope
) -> tuple[list[str], dict[GroupTopic, KcliError]]:
    """The consumer groups, as in Kafka's script, that have committed offsets within the scope; and those with offsets
    that cannot be read.
    """
    names = [row.group_id for row in of_consumers(listed)]
    found: list[str] = []
    unread: dict[GroupTopic, KcliError] = {}
    for name, committed in (admin.fetch_offsets(dict.fromkeys(names)) if names else {}).items():
        if isinstance(committed, KcliError):
            unread[name, None] = committed
        elif scope.touches(committed):
            found.append(name)
    return found, unread
