"""One run of ``kcli groups rewind``: what is requested, the groups it is about, and what is waited for or held."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from kcli.account.change import Question
from kcli.commands.groups import _rewind_flags as given
from kcli.commands.groups import _rewind_target as target
from kcli.commands.groups._record_consumer import record_consumer
from kcli.commands.groups._rewind_check import check_rewind
from kcli.commands.groups._rewind_journal import list_journals
from kcli.commands.groups._watch_progress import new_watcher
from kcli.commands.shared.changing import change_with
from kcli.commands.shared.cluster import connect, listed_groups, open_admin, unique
from kcli.commands.shared.confirm import check_answerable
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.offset_spec import has_terminal
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.options import ConsumerOptions
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.rewind.barriers import Barriers
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.execute import LiveRewind
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.live import LiveResult
from kcli.flows.rewind.offsets_file import read_targets
from kcli.flows.rewind.offsets_log import OffsetsLog
from kcli.flows.rewind.plan import BY_REWIND, GroupTopic, Remedies, RewindPlan
from kcli.flows.rewind.requests import request_of_group, request_of_undo
from kcli.flows.rewind.survey import RewindRequest
from kcli.flows.rewind.text import released_text
from kcli.flows.rewind.waiting import Wait, survey_when_ready, wait_until_empty
from kcli.flows.transfer.formats.kafka_csv import csv_lines
from kcli.flows.transfer.saved_offset import SavedOffset

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


def run(inv: Invocation, names: Sequence[str], flags: dict[str, Any]) -> int:
    """The exit status."""
    if flags["journal"]:
        why = "--journal only lists the rewinds that were made; nothing was done"
        given.check_alone(flags, "--journal", ("journal",), why)
        return list_journals(inv, names)
    if flags["execute"]:
        inv.yes = True
    names = unique((*names, *flags.pop("more_names")))
    if flags["all_groups"]:
        given.check_all_groups(names, flags)
    elif not names:
        raise usage(
            "groups rewind: missing argument GROUP",
            why="it is required",
            do="`kcli groups list` lists the groups; --journal lists the rewinds made from this machine",
        )
    if flags["check"] is not None:
        why = "it checks a rewind that was made; nothing was done"
        given.check_alone(flags, "--check", ("check", "watch"), why)
        return check_rewind(inv, names, flags["check"], given.watch_limit(flags))
    return _Run(inv, names, flags).run()


class _Run:
    """One rewind, planned and executed. ``live``: groups with members are rewound as they run."""

    def __init__(self, inv: Invocation, names: Sequence[str], flags: dict[str, Any]) -> None:
        self.inv, self.names, self.flags = inv, names, flags
        self.by = target.chosen(flags)
        self.scope = given.topic_scope(flags)
        self.wait_limit = given.wait_limit(flags)
        self.hold_limit = given.hold_limit(flags)
        self.watch_limit = given.watch_limit(flags)
        self.live = flags["live"] or self.hold_limit is not None
        self.dry = inv.dry_run
        self.waits = flags["wait"] is not None and not self.dry
        if flags["watch"] is not None and not self.live:
            raise usage(
                "groups rewind: --watch without --live",
                why="only the members of a group that is rewound as it runs are watched",
                do="give --live, or leave --watch out",
            )
        self._request = None if flags["all_groups"] else self._request_before_contact()

    def run(self) -> int:
        """The exit status."""
        if self.hold_limit is not None:
            self.inv.configuration  # noqa: B018 - the profile may be protected
            check_answerable(
                self.inv, Question("", "Proceed?", subject=self.names[0] if len(self.names) == 1 else None)
            )
        with ExitStack() as stack:
            stack.enter_context(orderly_end())
            admin = stack.enter_context(open_admin(self.inv))
            live = LiveRewind(
                stack.enter_context(self._barriers(admin)),
                new_watcher(self.inv, admin, self.watch_limit),
                self._report_released,
            )
            cluster = connect(self.inv, admin)
            change = OffsetsChange(
                lambda admin: self._plan(admin, cluster, live.barriers),
                self.inv.cluster_name,
                again=self.inv.yes,
                dry=self.dry,
                live=live,
                takes_stdout=self.flags["export"],
            )
            if self.flags["export"] and not self.inv.yes:
                self.inv.dry_run = True
            return change_with(self.inv, admin, cluster, change)

    def _plan(self, admin: Admin, cluster: str, barriers: Barriers) -> RewindPlan:
        """Waits for groups or holds them, as requested, and plans."""
        unread: dict[GroupTopic, KcliError] = {}
        if self.flags["all_groups"]:
            self.names, unread = self._all_groups(admin)
            if not self.names:
                return RewindPlan(cluster, (), unplanned=unread)
            self._request = self._request_before_contact()
        journals = Journals(cluster)
        request = self._request or self._request_of_cluster(admin, journals)
        until = None if self.wait_limit is None else monotonic() + self.wait_limit
        wait = Wait(self.inv.talk.note, until)
        if self.waits:
            if missing := self._missing(admin, request):
                return RewindPlan(cluster, (), asked=tuple(request.targets), unplanned=missing)
            wait_until_empty(admin, list(request.targets), wait)
        if self.live:
            barriers.wait_until_stable(list(request.targets))
        if self.hold_limit is not None and not self.dry:
            barriers.hold_for_review(list(request.targets), journals, self.hold_limit)
        plan = self._survey(admin, cluster, request, barriers, wait)
        if self.flags["export"]:
            self._export(plan)
        return replace(plan, unplanned={**unread, **plan.unplanned})

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

    def _survey(
        self,
        admin: Admin,
        cluster: str,
        request: RewindRequest,
        barriers: Barriers,
        wait: Wait,
    ) -> RewindPlan:
        """The plan, in which groups with open transactions are refused; waits for these if requested."""
        request = replace(
            request,
            live=self.live,
            hold=self.hold_limit is not None,
            held=None if self.dry else barriers.descriptions,
            remedies=(_WAITED if self.waits else _WOULD_WAIT)
            if self.flags["wait"] is not None
            else BY_REWIND
            if admin.lacks("hold_group") is None
            else _NOT_LIVE,
        )
        return survey_when_ready(admin, cluster, request, wait if self.waits else None)

    def _export(self, plan: RewindPlan) -> None:
        rows = [
            SavedOffset(item.tp.topic, item.tp.partition, item.new.offset, group.group)
            for group in plan.groups
            for item in group.items
            if item.new is not None
        ]
        self.inv.out.shown(csv_lines(rows, with_group=len(plan.groups) > 1))
        self.inv.out.flush()

    # what is requested

    def _request_before_contact(self) -> RewindRequest | None:
        """None where the request depends on the cluster or the journal."""
        if self.by in ("to_group", "undo"):
            return None
        if self.by == "from_file":
            path = self.flags["from_file"]
            return RewindRequest(read_targets(path, self.names), f"the offsets in {path}", self.scope)
        one, words = target.simple_target(self.by, self.flags[self.by], terminal=has_terminal(self.inv))
        return RewindRequest(dict.fromkeys(self.names, one), words, self.scope)

    def _request_of_cluster(self, admin: Admin, journals: Journals) -> RewindRequest:
        if self.by == "to_group":
            return request_of_group(admin, self.names, self.flags["to_group"], self.scope)
        return request_of_undo(journals, self.names, self.flags["undo"], self.scope)

    def _missing(self, admin: Admin, request: RewindRequest) -> dict[GroupTopic, KcliError]:
        """Groups that do not exist, before any other is waited for: then none is. An undo may create its group again."""
        names = [name for name in request.targets if name not in request.undoes]
        described = admin.describe_groups(names) if names else {}
        missing = {name: one for name, one in described.items() if isinstance(one, NotFoundError)}
        name_nearest(admin, missing)
        first = next(iter(missing.values()), None)
        return {} if first is None else {(name, None): missing.get(name, first) for name in request.targets}

    def _all_groups(self, admin: Admin) -> tuple[list[str], dict[GroupTopic, KcliError]]:
        """The consumer groups, as in Kafka's script, that have committed offsets within the scope; and those with
        offsets that cannot be read.
        """
        names = [
            row.group_id
            for row in listed_groups(self.inv, admin, None)
            if row.type in ("", "classic", "consumer") and row.protocol_type in ("", "consumer")
        ]
        found: list[str] = []
        unread: dict[GroupTopic, KcliError] = {}
        for name, committed in (admin.fetch_offsets(dict.fromkeys(names)) if names else {}).items():
            if isinstance(committed, KcliError):
                unread[name, None] = committed
            elif self.scope.touches(committed):
                found.append(name)
        return found, unread
