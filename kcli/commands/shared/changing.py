"""The one workflow of everything that changes a cluster: plan, question, another look, act, read-back, report, exit code.

``--dry-run`` ends after the plan, with the exit code that the act would have. Verbs supply a ``Change``; what becomes of
each item of its scope is in an ``Account``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Journal, is_lost, settled
from kcli.account.outcomes import Account, Outcome
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import ask, check_answerable, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import ROW_KINDS
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.output.progress import counted
from kcli.output.tables import Column

Plan = Sequence[Item[Any, Any]]


def run_change(inv: Invocation, change: Change[Any, Any]) -> int:
    """Runs the change on the command's cluster. Returns the exit status."""
    with open_admin(inv) as admin:
        change.begin(admin)
        cluster = connect(inv, admin)
        return _Run(inv, admin, cluster, change).run()


def plan_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a plan: the status is the last one, so that those before keep their place in csv and tsv."""
    return (*columns, Column("note", "prose"), Column("status"))


def report_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a report."""
    return (*columns, Column("status"), Column("note", "prose"))


class _Run:
    def __init__(self, inv: Invocation, admin: Admin, cluster: str, change: Change[Any, Any]) -> None:
        self.inv, self.admin, self.cluster, self.change = inv, admin, cluster, change
        self.journal: Journal | None = None

    def run(self) -> int:
        plan = self.change.together(self.change.decide(self.admin))
        if self.inv.dry_run:
            self._show_only(plan)
            self._clean_up()
        elif not planned(plan):
            self._show(plan)
            self._clean_up()
            self._report(plan)
        else:
            plan = self._asked(plan)
            try:
                plan = self._acted(plan, planned(plan))
            finally:
                self._clean_up()
            for warning in self.change.noticed(plan):
                self.inv.talk.warn(warning)
            self._report(plan)
        account = self._account(plan)
        also = [account.exit_code(), self.change.stopped_by]
        return self.inv.finish(done=account.anything_good, also=also)

    def _show_only(self, plan: Plan) -> None:
        """``--dry-run``: the plan is the result, and the questions are taken as answered."""
        if self.inv.out.kind in ROW_KINDS:
            self._remark(plan)
            rows = [self._row(item) for item in plan]
            print_rows(
                self.inv, f"{self.change.kind}Plan", plan_columns(self.change.columns), rows, self.cluster
            )
        else:
            self._show(plan)
        for question in self.change.questions(plan) if planned(plan) else ():
            check_answerable(self.inv, question)

    def _show(self, plan: Plan) -> None:
        if (self.inv.dry_run or not all_refused(plan)) and (text := self.change.text(plan)):
            show_plan(self.inv, text)
        self._remark(plan)

    def _remark(self, plan: Plan) -> None:
        """What is easily overlooked in the plan, what of it is refused, and what is as it should be already."""
        for warning in self.change.warnings(plan):
            self.inv.talk.warn(self.inv.with_user(warning))
        self._print_errors(plan, partly=self._account(plan).partly)
        for sentence in self.change.unchanged(plan):
            self.inv.talk.note(sentence)

    def _asked(self, plan: list[Item[Any, Any]]) -> list[Item[Any, Any]]:
        """The plan after all questions. It is decided again, and what has changed since it was shown is refused."""
        questions = self.change.questions(plan)
        if not questions:
            self._remark(plan)
            return plan
        for number, question in enumerate(questions):
            ask(self.inv, question, (lambda: self._remark(plan)) if number == 0 else None)
        self.change.confirmed()
        again = {item.key: item for item in self.change.decide(self.admin)}
        looked = [
            self.change.again(item, again.get(item.key)) if item.outcome is Outcome.PLANNED else item
            for item in plan
        ]
        now = self.change.together(looked)
        refused = [new for old, new in zip(plan, now, strict=True) if new.error is not old.error]
        self._print_errors(refused, partly=self._account(now).partly)
        return now

    def _acted(self, plan: Plan, todo: Plan) -> list[Item[Any, Any]]:
        """The items with what became of them: changed, and read back."""
        if not todo:
            return list(plan)
        self.journal = self.change.journal(self.admin, todo)
        if self.journal is not None:
            self.journal.write(self.cluster)
        answers = self._applied(todo)
        changed = any(one is None or is_lost(one) for one in answers.values())
        found = self._read_back(todo) if changed else {}
        if self.journal is not None and not changed:
            self.journal.remove()
            self.journal = None
        ended = {item.key: self._ended(item, answers[item.key], found.get(item.key)) for item in todo}
        after = [ended.get(item.key, item) for item in plan]
        self._print_errors(list(ended.values()), partly=self._account(after).partly)
        return after

    def _applied(self, todo: Plan) -> Mapping[Any, KcliError | None]:
        try:
            return self.change.apply(self.admin, todo)
        except KcliError as error:
            return dict.fromkeys((item.key for item in todo), error)
        except KeyboardInterrupt:
            self.inv.talk.warn(f"stopped: some of {counted(len(todo), 'change')} may have been made")
            self._say_undo()
            raise

    def _read_back(self, todo: Plan) -> Mapping[Any, Found[Any] | KcliError]:
        try:
            return self.change.read_back(self.admin, todo)
        except KcliError as error:
            return {item.key: self.change.not_read_back(item, error) for item in todo}

    def _ended(
        self, item: Item[Any, Any], answer: KcliError | None, found: Found[Any] | KcliError | None
    ) -> Item[Any, Any]:
        end = settled(answer, found)
        item = item._replace(outcome=end.outcome, error=end.error)
        if isinstance(found, Found):
            return item._replace(facts=found.facts, note=found.note or item.note)
        return item._replace(facts=self.change.unread(item))

    def _clean_up(self) -> None:
        for error in self.change.clean_up(self.admin, dry_run=self.inv.dry_run):
            self.inv.failed(error)

    def _report(self, plan: Plan) -> None:
        if self.inv.out.kind is not None or not (self.change.quiet_report or all_refused(plan)):
            only = self.change.plan_only
            columns = report_columns([column for column in self.change.columns if column.key not in only])
            rows = [
                {key: value for key, value in self._row(item).items() if key not in only} for item in plan
            ]
            head = {"undo": self.journal.id} if self.journal is not None else {}
            print_rows(self.inv, f"{self.change.kind}Report", columns, rows, self.cluster, head=head)
        for sentence in self.change.summary([item for item in plan if item.outcome is Outcome.DONE]):
            self.inv.talk.note(sentence)
        self._say_undo()

    def _say_undo(self) -> None:
        if self.journal is not None:
            self.inv.talk.note(f"Undo with: kcli undo {self.journal.id}")

    def _row(self, item: Item[Any, Any]) -> dict[str, Any]:
        note = self.change.reason(item.error) if item.error is not None and not item.note else item.note
        return {**self.change.row(item), "status": str(item.outcome), "note": note or None}

    def _print_errors(self, items: Plan, *, partly: bool) -> None:
        wrong = [item for item in items if item.error is not None]
        for whole in (True, False):
            for error in self.change.failures([item for item in wrong if self.change.whole(item) is whole]):
                self.inv.report(error, partly=partly and not whole)

    def _account(self, items: Plan) -> Account[Any]:
        account = Account([item.key for item in items], parts=self.change.parts)
        for item in items:
            account.settle(item.key, item.outcome, item.error, whole=self.change.whole(item))
        return account


def all_refused(plan: Plan) -> bool:
    """Whether the plan, or the report, is of nothing but what is refused: people read that in its errors."""
    return all(item.outcome is Outcome.REFUSED for item in plan)


def planned(plan: Plan) -> list[Item[Any, Any]]:
    """What is to be done of a plan."""
    return [item for item in plan if item.outcome is Outcome.PLANNED]
