"""One run of ``kcli groups rewind``: what is requested of which groups, as a change; or a look at earlier rewinds."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from kcli.account.change import Question
from kcli.commands.groups.rewind.journal import list_journals
from kcli.commands.groups.rewind.options import RewindOptions
from kcli.commands.groups.rewind.watch import new_watcher
from kcli.commands.shared.changing import change_with, report_change
from kcli.commands.shared.cluster import connect, listed_groups, open_admin
from kcli.commands.shared.confirm import check_answerable, may_be_agreed
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.offset_spec import has_terminal
from kcli.commands.shared.record_consumer import record_consumer
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.classes import replace
from kcli.core.options import ConsumerOptions
from kcli.flows.rewind.barriers import Barriers
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.check import check
from kcli.flows.rewind.execute import LiveRewind
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.live import LiveResult
from kcli.flows.rewind.offsets_file import read_targets
from kcli.flows.rewind.offsets_log import OffsetsLog
from kcli.flows.rewind.plan import RewindPlan
from kcli.flows.rewind.preparing import Preparation, groups_within
from kcli.flows.rewind.requests import request_of_group, request_of_undo
from kcli.flows.rewind.survey import RewindRequest
from kcli.flows.rewind.text import released_text
from kcli.flows.rewind.watching import BEFORE_MS
from kcli.flows.transfer.formats.kafka_csv import csv_lines
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.output.progress import counted

Request = Callable[[Admin, Journals, Sequence[str]], RewindRequest]


def run(inv: Invocation, **given: Any) -> int:
    """``given``: the fields of ``RewindOptions``. Returns the exit status."""
    asked = RewindOptions(**given)
    if asked.journal:
        why = "--journal only lists the rewinds that were made; nothing was done"
        asked.check_alone("--journal", ("journal",), why)
        return list_journals(inv, asked.groups)
    if asked.execute:
        inv.yes = True
    asked.check_groups()
    if asked.check is not None:
        why = "it checks a rewind that was made; nothing was done"
        asked.check_alone("--check", ("check", "watch", "more_names"), why)
        return check_rewind(inv, asked.groups, asked.check, asked.watch_limit())
    return _Run(inv, asked).run()


class _Run:
    """One rewind, planned and executed."""

    def __init__(self, inv: Invocation, asked: RewindOptions) -> None:
        self.inv, self.asked = inv, asked
        self.by, self.scope = asked.target(), asked.scope()
        self.preparation = Preparation(
            self._request,
            asked.groups,
            waits=asked.wait is not None,
            wait_limit=asked.wait_limit(),
            live=asked.runs,
            hold=asked.hold_limit(),
            dry=inv.dry_run,
            report=inv.talk.note,
        )
        self.watch_limit = asked.watch_limit()
        asked.check_watch()
        if not asked.all_groups and self.by not in ("to_group", "undo"):
            request = self._own_request(
                asked.groups
            )  # what is wrong with it is known before the first contact
            self.preparation = replace(self.preparation, request=lambda _admin, _journals, _names: request)

    def run(self) -> int:
        """The exit status."""
        names = self.asked.groups
        if self.preparation.hold is not None:
            self.inv.configuration  # noqa: B018 - the profile may be protected
            check_answerable(
                self.inv, Question("", "Proceed?", subject=names[0] if len(names) == 1 else None)
            )
        with ExitStack() as stack:
            stack.enter_context(orderly_end())
            admin = stack.enter_context(open_admin(self.inv))
            live = LiveRewind(
                stack.enter_context(self._barriers(admin)),
                new_watcher(self.inv, admin, self.watch_limit),
                self._report_released,
            )
            if not self.asked.all_groups:
                admin.foresee(groups=names)
            cluster = connect(self.inv, admin)
            change = OffsetsChange(
                lambda admin: self._plan(admin, cluster, live.barriers),
                self.inv.cluster_name,
                again=self.inv.yes,
                dry=self.inv.dry_run or not may_be_agreed(self.inv),
                live=live,
                takes_stdout=self.asked.export,
            )
            if self.asked.export and not self.inv.yes:
                self.inv.dry_run = True
            return change_with(self.inv, admin, cluster, change)

    def _plan(self, admin: Admin, cluster: str, barriers: Barriers) -> RewindPlan:
        if not self.asked.all_groups:
            plan = self.preparation.plan(admin, cluster, barriers)
        else:
            listed = listed_groups(self.inv, admin, None)
            rows = [row.group_id for row in listed if row.is_of_consumers]
            if others := len(listed) - len(rows):
                self.inv.talk.note(
                    f"{counted(others, 'group')} left out, not of consumers: name them to rewind them"
                )
            names, unread = groups_within(admin, rows, self.scope)
            if not names:
                return RewindPlan(cluster, (), unplanned=unread)
            plan = replace(self.preparation, names=names).plan(admin, cluster, barriers)
            plan = replace(plan, unplanned={**unread, **plan.unplanned})
        if self.asked.export:
            self._export(plan)
        return plan

    def _request(self, admin: Admin, journals: Journals, names: Sequence[str]) -> RewindRequest:
        if self.asked.to_group is not None:
            return request_of_group(admin, names, self.asked.to_group, self.scope)
        if self.asked.undo is not None:
            return request_of_undo(journals, names, self.asked.undo, self.scope)
        return self._own_request(names)

    def _own_request(self, names: Sequence[str]) -> RewindRequest:
        """Of a target that depends on neither the cluster nor the journal."""
        if (path := self.asked.from_file) is not None:
            return RewindRequest(read_targets(path, names), f"the offsets in {path}", self.scope)
        one, words = self.asked.simple_target(terminal=has_terminal(self.inv))
        return RewindRequest(dict.fromkeys(names, one), words, self.scope)

    def _barriers(self, admin: Admin) -> Barriers:
        return Barriers(
            admin,
            OffsetsLog(admin, partial(record_consumer, self.inv), self.inv.timeout),
            partial(self.inv.inner_options, ConsumerOptions),
            hooks=self.inv.hooks,
            report=self.inv.talk.note,
            detail=self.inv.talk.detail,
        )

    def _report_released(self, results: Sequence[LiveResult]) -> None:
        for result in results:
            if result.facts is not None and result.facts.partitions:
                self.inv.talk.note(released_text(result.plan.group, result.facts, self.watch_limit))

    def _export(self, plan: RewindPlan) -> None:
        rows = [
            SavedOffset(item.tp.topic, item.tp.partition, item.new.offset, group.group)
            for group in plan.groups
            for item in group.items
            if item.new is not None
        ]
        self.inv.out.shown(csv_lines(rows, with_group=len(plan.groups) > 1))
        self.inv.out.flush()


def check_rewind(inv: Invocation, names: Sequence[str], journal_id: str, bound: float | None) -> int:
    """``--check ID``: a live rewind of the journal is judged again, and the journal updated. The exit status is as that
    of the rewind: 0, 6 where partitions are still unknown, 7 for overwritten ones.
    """
    if len(names) > 1:
        raise usage(
            "groups rewind: --check with several groups",
            why="a rewind in the journal is of one group",
            do="name the group of the rewind",
        )
    with orderly_end(), open_admin(inv) as admin:
        watcher = new_watcher(inv, admin, bound)
        journals = Journals(connect(inv, admin))
        journal = journals.of(names[0], journal_id)
        history = None
        if journal.live is not None:
            log = OffsetsLog(admin, partial(record_consumer, inv), inv.timeout)
            history = log.history(journal.group, journal.live.released_ms - BEFORE_MS)
            if history is None or not history.complete:
                history = None
                inv.talk.warn(
                    "the commits since then cannot be read from __consumer_offsets, only what is committed now"
                )
        report = check(admin, journals, journal, history, watcher)
        plan = RewindPlan(journals.cluster, (report.plan,))
        change = OffsetsChange(lambda _admin: plan, inv.cluster_name, again=False, dry=False)
        change.interruption = watcher.interruption
        return report_change(inv, journals.cluster, change, change.settled([report]))
