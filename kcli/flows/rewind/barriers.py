"""The barriers of one rewind: which groups are held, since when, and for how long a group may be held for a review.

Polls the groups and limits the times; what a state allows is decided by ``plan.not_possible``.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from kcli.core import clock
from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.errors import KcliError
from kcli.core.group.barrier.external import ExternalBarrier
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.options import ConsumerOptions
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.live import BeforeEviction, HeldGroup, refused
from kcli.flows.rewind.offsets_log import OffsetsLog
from kcli.flows.rewind.pace import paces
from kcli.flows.rewind.plan import EMPTY_STATES, STABLE, GroupPlan, NotPossibleError, not_possible
from kcli.flows.rewind.watching import log_ends

LONGEST_HOLD = 60.0
"""Seconds that a group may be held for while a plan is reviewed."""
_SHORTEST_HOLD = 5.0
_MARGIN = (
    10.0  # seconds left to members, which leave the group when they have waited for their rebalance timeout
)
_SEIZE_SECONDS = 20.0  # for the members to be evicted and stay out until the barrier owns every partition
_STABLE_SECONDS, _POLL_SECONDS = 10.0, 0.25
_SESSION_MS, _HEARTBEAT_MS = 10_000, 2_000
_BARRIER_MS = 90_000  # after this time a group is released whatever happens
_HISTORY_MS = 300_000


class Barriers:
    """A context manager that releases all groups on exit.

    ``descriptions``: the groups that ``hold_for_review`` holds, as they were before that; ``until`` is when they have to
    be released. ``options`` makes the options of a barrier from its overrides. ``report`` receives a line for the user,
    ``detail`` one for ``-v``.
    """

    def __init__(
        self,
        admin: Admin,
        log: OffsetsLog,
        options: Callable[..., ConsumerOptions],
        *,
        hooks: Hooks = NO_HOOKS,
        report: Callable[[str], object] = lambda _line: None,
        detail: Callable[[str], object] = lambda _line: None,
    ) -> None:
        self._admin, self._log, self._options = admin, log, options
        self._hooks, self._report, self._detail = hooks, report, detail
        self._stack = ExitStack()
        self._held: dict[str, HeldGroup] = {}
        self.descriptions: dict[str, GroupDescription] = {}
        self.until: float | None = None

    def __enter__(self) -> "Barriers":
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def wait_until_stable(self, names: Sequence[str]) -> None:
        """Returns when none of the groups is in a rebalance, or after some seconds."""
        end = clock.monotonic() + _STABLE_SECONDS
        while True:
            described = self._admin.describe_groups(names).values()
            states = {group.state for group in described if not isinstance(group, KcliError)}
            if states <= {STABLE, *EMPTY_STATES} or clock.monotonic() >= end:
                return
            time.sleep(_POLL_SECONDS)

    def hold_for_review(self, names: Sequence[str], journals: Journals, seconds: float) -> None:
        """Holds those of the groups that have members, before a plan is made, for at most ``seconds``."""
        described = self._admin.describe_groups(names).items()
        live = {
            name: group for name, group in described if not isinstance(group, KcliError) and group.members
        }
        for group in live.values():
            if (error := not_possible(group, live=True, unheld=self._admin.lacks("hold_group"))) is not None:
                raise error
        if not live:
            return
        limit = min(self._allowed_hold(group, seconds) for group in live.values())
        self._stack.enter_context(journals.locked(list(live)))
        self.until = clock.monotonic() + limit
        for name, group in live.items():
            self._held[name] = self._hold(group)
            self.descriptions[name] = group
            self._report(
                f"group {name} is held for at most {limit:.0f} s: its members read nothing meanwhile"
            )

    def hold_group(self, plan: GroupPlan) -> HeldGroup:
        """Holds the group of a plan, unless it is held already. Raises KcliError if that is not possible."""
        if plan.group in self._held:
            return self._held[plan.group]
        self.wait_until_stable([plan.group])
        group = self._admin.describe_groups([plan.group])[plan.group]
        if isinstance(group, KcliError):
            raise group
        if (error := not_possible(group, live=True)) is not None:
            raise error
        if not group.members:
            raise NotPossibleError(
                f"the members of group {plan.group} have left since the plan was made",
                why="--live rewinds a group that has members",
                do="nothing was done; review the plan again",
            )
        return self._hold(group)

    def _hold(self, group: GroupDescription) -> HeldGroup:
        topics: list[str] = []
        if group.type == "consumer":
            described = self._admin.describe_topics(sorted(read_topics(group)))
            topics = [name for name, topic in described.items() if not isinstance(topic, KcliError)]
        options = self._options(
            group_id=group.group_id,
            group_instance_id="",
            group_protocol=group.type,
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=_HEARTBEAT_MS,
            max_poll_interval_ms=_BARRIER_MS,
        )
        before = self._before_eviction(group)
        barrier = ExternalBarrier(options, assignor=group.assignor, topics=topics, hooks=self._hooks)
        self._stack.enter_context(barrier)
        try:
            barrier.seize(_SEIZE_SECONDS)
        except KcliError as error:
            barrier.release()
            raise refused(error) from error
        return HeldGroup(barrier, before)

    def _before_eviction(self, group: GroupDescription) -> BeforeEviction:
        now = clock.wall_ms()
        history = self._log.history(group.group_id, now - _HISTORY_MS)
        if history is None:
            self._detail(
                f"how often group {group.group_id} commits is not known: __consumer_offsets cannot be read"
            )
            return BeforeEviction(self._members(group.group_id))
        ends = log_ends(self._admin, sorted({commit.partition for commit in history.commits}))
        found = paces(history, now, self._admin.list_offsets, ends)
        return BeforeEviction(self._members(group.group_id), found, history.sessions)

    def _members(self, group: str) -> tuple[MemberDescription, ...]:
        """Described as late as possible."""
        described = self._admin.describe_groups([group])[group]
        return () if isinstance(described, KcliError) else described.members

    def _allowed_hold(self, group: GroupDescription, seconds: float) -> float:
        """Members of a classic group wait for their rebalance timeout only, members of the new protocol for any time."""
        if group.type != "classic":
            return seconds
        what = f"group {group.group_id} cannot be held while a plan is reviewed"
        timeouts = self._log.rebalance_timeouts(group.group_id)
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
                why=f"its members wait {min(known) / 1000:g} s in a rebalance, then they leave the group",
                do="rewind it with --live, without --hold: that takes some seconds",
            )
        return min(seconds, limit)


def read_topics(group: GroupDescription) -> frozenset[str]:
    """The topics that the members of a group read or may read."""
    names: set[str] = set()
    for member in group.members:
        names.update(member.subscription)
        names.update(tp.topic for tp in (*(member.assignment or ()), *(member.target or ())))
    return frozenset(names)
