"""Groups that are rewound as they run: their barriers, what is known of them before, and for how long one may be held
while somebody thinks.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from kcli.commands.groups._record_consumer import record_consumer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcli.commands.shared.context import Invocation
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.group_description import GroupDescription, MemberDescription
    from kcli.flows.groups.group_history import GroupHistory
    from kcli.flows.rewind.execute import Doors
    from kcli.flows.rewind.journal import Journals
    from kcli.flows.rewind.live import Before, LiveResult, Shut
    from kcli.flows.rewind.plan import GroupPlan
    from kcli.flows.rewind.watching import Watcher

LONGEST_HOLD = 60.0
"""Seconds that a group may be held for while a plan is looked at."""
_LET_GO = "nothing was committed; the members go on from what they had committed"
_SHORTEST_HOLD = 5.0
_MARGIN = 10.0  # seconds left to the members, who give up on their own when they have waited too long
_SETTLE_SECONDS = 10.0
_LOOK_SECONDS = 0.25
_SESSION_MS, _HEARTBEAT_MS = 10_000, 2_000
_GUARD_MS = 90_000  # after this long a group is let go whatever happens
_READ_BYTES, _READ_SECONDS = 16 << 20, 5.0
_HISTORY_BYTES, _HISTORY_SECONDS, _HISTORY_MS = 4 << 20, 3.0, 300_000


class Guards:
    """The barriers of one run; a context manager, which lets all groups go. ``until`` is when held ones must be.

    ``watcher`` watches them afterwards.
    """

    def __init__(self, inv: Invocation, admin: Admin, watcher: Watcher) -> None:
        self._inv, self._admin, self.watcher = inv, admin, watcher
        self._stack = ExitStack()
        self._held: dict[str, Shut] = {}
        self.before: dict[str, GroupDescription] = {}
        self.until: float | None = None

    def __enter__(self) -> Guards:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    @property
    def doors(self) -> Doors:
        """For ``execute``."""
        from kcli.flows.rewind.execute import Doors

        return Doors(self._shut, self.watcher, frozenset(self._held), self._told)

    def wait_until_settled(self, names: Sequence[str]) -> None:
        """Returns when none of the groups is in a rebalance, or some seconds have passed."""
        import time

        from kcli.core.clock import monotonic
        from kcli.core.errors import KcliError
        from kcli.flows.rewind.plan import EMPTY_STATES, STABLE

        end = monotonic() + _SETTLE_SECONDS
        while True:
            described = self._admin.describe_groups(names).values()
            states = {told.state for told in described if not isinstance(told, KcliError)}
            if states <= {STABLE, *EMPTY_STATES} or monotonic() >= end:
                return
            time.sleep(_LOOK_SECONDS)

    def hold(self, names: Sequence[str], journals: Journals, seconds: float) -> None:
        """Shuts the doors of those groups that have members, before a plan is made, and says until when."""
        from kcli.core.clock import monotonic
        from kcli.core.errors import KcliError
        from kcli.flows.rewind.plan import not_possible

        described = self._admin.describe_groups(names)
        live = {
            name: told for name, told in described.items() if not isinstance(told, KcliError) and told.members
        }
        for told in live.values():
            if (error := not_possible(told, live=True)) is not None:
                raise error
        if not live:
            return
        limit = min(self._allowed(told, seconds) for told in live.values())
        self._stack.enter_context(journals.locked(list(live)))
        self.until = monotonic() + limit
        for name, told in live.items():
            self._held[name] = self._seized(told)
            self.before[name] = told
            self._inv.talk.note(
                f"group {name} is held for at most {limit:.0f} s: its members read nothing now"
            )

    def confirm(self, plan: str, question: str, *, remarks: Callable[[], object] | None = None) -> None:
        """As ``confirm``, as long as held groups may be."""
        from kcli.commands.shared.confirm import TimeLimit, confirm

        limit = TimeLimit(self.until, _LET_GO) if self.until is not None else None
        confirm(self._inv, plan, question, limit=limit, remarks=remarks)

    def _shut(self, plan: GroupPlan) -> Shut:
        from kcli.core.errors import KcliError
        from kcli.flows.rewind.plan import NotPossibleError, not_possible

        if plan.group in self._held:
            return self._held[plan.group]
        self.wait_until_settled([plan.group])
        told = self._admin.describe_groups([plan.group])[plan.group]
        if isinstance(told, KcliError):
            raise told
        if (error := not_possible(told, live=True)) is not None:
            raise error
        if not told.members:
            raise NotPossibleError(
                f"the members of group {plan.group} have left since the plan was made",
                why="nobody is there to be kept out",
                do="nothing was done; look at the plan again",
            )
        return self._seized(told)

    def _seized(self, group: GroupDescription) -> Shut:
        from kcli.core.errors import KcliError
        from kcli.core.group.barrier.external import ExternalBarrier
        from kcli.core.options import ConsumerOptions
        from kcli.flows.rewind.live import Shut, read_topics, seize

        topics: list[str] = []
        if group.type == "consumer":
            names = sorted(read_topics(group))
            topics = [
                n for n, told in self._admin.describe_topics(names).items() if not isinstance(told, KcliError)
            ]
        options = self._inv.inner_options(
            ConsumerOptions,
            group_id=group.group_id,
            group_instance_id="",
            group_protocol=group.type,
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=_HEARTBEAT_MS,
            max_poll_interval_ms=_GUARD_MS,
        )
        before = self._before(group)
        made = ExternalBarrier(options, assignor=group.assignor, topics=topics, hooks=self._inv.hooks)
        self._stack.enter_context(made)
        seize(made)
        return Shut(made, before)

    def _told(self, results: Sequence[LiveResult]) -> None:
        from kcli.commands.groups._rewind_text import let_in_text

        for result in results:
            if result.facts is not None and result.facts.partitions:
                self._inv.talk.note(let_in_text(result.plan.group, result.facts, self.watcher.bound))

    def _before(self, group: GroupDescription) -> Before:
        """What a judge must know of the members before they are sent out."""
        from kcli.core.clock import wall_ms
        from kcli.flows.rewind.live import Before
        from kcli.flows.rewind.pace import paces
        from kcli.flows.rewind.watching import log_ends

        now = wall_ms()
        history = read_history(self._inv, self._admin, group.group_id, since_ms=now - _HISTORY_MS)
        if history is None:
            self._inv.talk.detail(
                f"how often group {group.group_id} commits is not known: __consumer_offsets cannot be read"
            )
            return Before(self._members(group))
        partitions = sorted({commit.partition for commit in history.commits})
        ends = log_ends(self._admin, partitions)
        found = paces(history, now, self._admin.list_offsets, ends)
        return Before(self._members(group), found, history.sessions)

    def _members(self, group: GroupDescription) -> tuple[MemberDescription, ...]:
        """As late as can be."""
        from kcli.core.errors import KcliError

        told = self._admin.describe_groups([group.group_id])[group.group_id]
        return () if isinstance(told, KcliError) else told.members

    def _allowed(self, group: GroupDescription, seconds: float) -> float:
        """Members of the new protocol hold nothing while they wait, and go on waiting; others give up."""
        from kcli.flows.rewind.plan import NotPossibleError

        if group.type != "classic":
            return seconds
        what = f"group {group.group_id} cannot be held while a plan is looked at"
        timeouts = self._timeouts(group.group_id)
        known = [timeouts[m.member_id] for m in group.members if m.member_id in timeouts]
        if len(known) < len(group.members):
            raise NotPossibleError(
                what,
                why="how long its members wait in a rebalance is not known: it is read from __consumer_offsets",
                do="rewind it with --live, without --hold; or allow this user to read that topic",
            )
        limit = min(known) / 1000 - _MARGIN
        if limit < _SHORTEST_HOLD:
            raise NotPossibleError(
                what,
                why=f"its members wait {min(known) / 1000:g} s in a rebalance, then they give up",
                do="rewind it with --live, without --hold: that takes some seconds",
            )
        return min(seconds, limit)

    def _timeouts(self, group: str) -> Mapping[str, int]:
        from kcli.core.errors import KcliError
        from kcli.flows.groups.bounded_reads import Budget
        from kcli.flows.groups.group_history import rebalance_timeouts

        partitions = _offsets_partitions(self._admin)
        budget = Budget(_READ_BYTES, _READ_SECONDS)
        if not partitions:
            return {}
        try:
            with record_consumer(self._inv) as consumer:
                return rebalance_timeouts(consumer, partitions, group, budget, self._inv.timeout)
        except KcliError:
            return {}


def read_history(inv: Invocation, admin: Admin, group: str, *, since_ms: int) -> GroupHistory | None:
    """What a group has done since; None where ``__consumer_offsets`` cannot be read."""
    from kcli.core.errors import KcliError
    from kcli.flows.groups.bounded_reads import Budget
    from kcli.flows.groups.group_history import group_history

    partitions = _offsets_partitions(admin)
    if not partitions:
        return None
    budget = Budget(_HISTORY_BYTES, _HISTORY_SECONDS)
    try:
        with record_consumer(inv) as consumer:
            return group_history(consumer, partitions, group, budget, inv.timeout, since_ms=since_ms)
    except KcliError:
        return None


def _offsets_partitions(admin: Admin) -> int:
    """How many ``__consumer_offsets`` has; 0 where it cannot be told."""
    from kcli.core.errors import KcliError
    from kcli.flows.groups.commit_times import TOPIC

    topic = admin.describe_topics([TOPIC])[TOPIC]
    return 0 if isinstance(topic, KcliError) else len(topic.partitions)
