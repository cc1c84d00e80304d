"""Rewinds from ``kcli top``: ``kcli groups rewind``, for the screen in place of stdout and stderr.

Loaded when the first one is asked for: what it needs would delay the first screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from kcli.account.change import Question
from kcli.commands.groups.rewind.options import RewindOptions
from kcli.commands.shared.confirm import protected, with_cluster
from kcli.commands.shared.context import Invocation
from kcli.core import clock
from kcli.core.admin.admin import Admin
from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.core.names import own_group_danger
from kcli.core.options import ConsumerOptions
from kcli.flows.rewind import text
from kcli.flows.rewind.barriers import Barriers
from kcli.flows.rewind.change import subject
from kcli.flows.rewind.execute import LiveRewind, execute
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.live import LiveResult
from kcli.flows.rewind.offsets_log import OffsetsLog
from kcli.flows.rewind.outcomes import GroupReport
from kcli.flows.rewind.plan import GroupPlan, Remedies, RewindPlan
from kcli.flows.rewind.preparing import Wait, survey_when_ready, wait_until_empty
from kcli.flows.rewind.remarks import outcome_errors, plan_remarks
from kcli.flows.rewind.requests import request_of_group, request_of_undo
from kcli.flows.rewind.survey import RewindRequest
from kcli.flows.rewind.watching import OpenPartition, Watcher
from kcli.tui.actions import TO_GROUP, UNDO, Actions, CancelledError, Proposal, Result, Trouble, Voice, Wish

_REMEDIES = Remedies(
    "x waits until they have left; or l rewinds the group as it runs",
    "x waits for its end; or end its application",
)


_WAITABLE = (_REMEDIES.members, _REMEDIES.transactions)


class Rewinds:
    """One rewind after the other."""

    def __init__(self, inv: Invocation, actions: Actions, admin: Admin, cluster: str, voice: Voice) -> None:
        self._inv, self._actions, self._admin, self._voice = inv, actions, admin, voice
        self._journals = Journals(cluster)
        self._log = OffsetsLog(admin, actions.open_consumer, actions.timeout)
        self._plan: RewindPlan | None = None
        self._released_ms: int | None = None
        """When the members of a live group had its offsets: what they commit later, they have read."""

    def propose(self, wish: Wish, *, wait: bool = False) -> Proposal:
        """The plan of ``kcli groups rewind``, with why some of it will not be done."""
        self._plan = None
        waiting = Wait(self._voice.note, sleep=self._voice.sleep) if wait else None
        request = replace(self._request(wish), live=wish.live, remedies=_REMEDIES)
        if waiting is not None:
            wait_until_empty(self._admin, [wish.group], waiting)
        if wish.live:
            with self._barriers() as barriers:
                barriers.wait_until_stable([wish.group])
        plan = survey_when_ready(self._admin, self._journals.cluster, request, waiting)
        self._plan = plan
        shown = text.plan_text(plan, self._inv.cluster_name) if plan.groups else ""
        return Proposal(
            replace(wish, value=request.undoes.get(wish.group, wish.value)),
            with_cluster(shown, self._inv) if shown else "",
            tuple(self._remark(one) for one in plan_remarks(plan)),
            plan.possible,
            occupied=any(one.refusal is not None and one.refusal.do in _WAITABLE for one in plan.groups),
            caution=self._caution(plan),
            table=tuple(line for one in plan.groups for line in text.table_lines(one.items)),
        )

    def execute(self) -> Result:
        """As the command does after the confirmation."""
        plan, self._plan = self._plan, None
        assert plan is not None
        begun: list[GroupPlan] = []
        began_ms, self._released_ms = clock.wall_ms(), None
        with ExitStack() as stack:
            barriers = stack.enter_context(self._barriers())
            watcher = Watcher(
                now=clock.monotonic, sleep=self._watch_sleep,
                on_open=self._show_open, history=self._log.history,
            )  # fmt: skip
            live = LiveRewind(barriers, watcher, self._show_released)
            try:
                reports = execute(self._admin, plan, self._journals, written=begun.append, live=live)
            except BaseException as error:
                if not begun:
                    raise
                return Result(
                    (),
                    (
                        self._actions.trouble(error),
                        *(
                            Trouble(f"offsets may have been set; undo with: {text.undo_command(one)}")
                            for one in begun
                        ),
                    ),
                    _undo_of(begun[0]),
                    set_between=(began_ms, clock.wall_ms()),
                )
        return self._result(reports[0], (began_ms, self._released_ms or clock.wall_ms()))

    def _result(self, report: GroupReport, set_between: tuple[int, int]) -> Result:
        plan = report.plan
        if report.error is not None:
            return Result((text.undone_text(plan),), (self._actions.trouble(report.error),))
        troubles = [self._actions.trouble(error) for error in outcome_errors(report)]
        if report.missing:
            troubles.append(Trouble(text.missing_text(report)))
        if report.journal_error is not None:
            troubles.append(Trouble(text.not_recorded_text(report)))
        undo = _undo_of(plan) if report.kept else None
        event = None
        if undo is not None:
            proven = " known to be held" if plan.live else ""
            event = f"from here to {plan.to}: {report.done} of {len(plan.items)} partitions{proven}; undo: {plan.id}"
        return Result((text.done_text(report),), tuple(troubles), undo, event, set_between)

    def _request(self, wish: Wish) -> RewindRequest:
        asked = RewindOptions(to=wish.value, topics=wish.topics, all_topics=wish.all_topics)
        scope = asked.scope()
        names = [wish.group]
        if wish.by == TO_GROUP:
            return request_of_group(self._admin, names, wish.value, scope)
        if wish.by == UNDO:
            return request_of_undo(self._journals, names, wish.value, scope)
        one, words = asked.simple_target(terminal=True)
        return RewindRequest({wish.group: one}, words, scope)

    def _barriers(self) -> Barriers:
        return Barriers(
            self._admin, self._log, partial(self._inv.inner_options, ConsumerOptions), report=self._voice.note
        )

    def _caution(self, plan: RewindPlan) -> str:
        group = subject(plan)
        question = Question("", "", subject=group, danger=own_group_danger(group or ""))
        danger = protected(self._inv, question).danger
        return "" if danger is None else f"{danger}."

    def _remark(self, remark: KcliError | str) -> Trouble:
        return Trouble(remark) if isinstance(remark, str) else self._actions.trouble(remark)

    def _watch_sleep(self, seconds: float) -> None:
        """Cancelled, the watch ends as by Ctrl-C: with a report of what is known."""
        try:
            self._voice.sleep(seconds)
        except CancelledError:
            raise KeyboardInterrupt from None

    def _show_open(self, partitions: Sequence[OpenPartition], seconds_left: float) -> None:
        self._voice.progress(f"{text.awaited_text(partitions, seconds_left)} ({seconds_left:.0f} s at most)")

    def _show_released(self, results: Sequence[LiveResult]) -> None:
        for result in results:
            if result.facts is not None:
                self._released_ms = result.facts.released_ms
            if result.facts is not None and result.facts.partitions:
                self._voice.note(text.released_text(result.plan.group, result.facts, None))


def _undo_of(plan: GroupPlan) -> Wish:
    return Wish(plan.group, UNDO, plan.id, live=plan.live)
