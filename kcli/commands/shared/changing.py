"""The one workflow of everything that changes a cluster, or a schema registry: plan, question, another look, act,
read-back, report, exit code.

``--dry-run`` ends after the plan, with the exit code that the act would have. Verbs supply a ``Change``; what becomes of
each item of its scope is in an ``Account``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcli.account.change import A, Change, ChangeOf, Item, Journal, planned
from kcli.account.outcomes import Account, Outcome
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import ask, check_answerable, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.output.tables import Column

Plan = Sequence[Item[Any, Any]]

ROW_KINDS = ("json", "ndjson", "yaml", "csv", "tsv", "name")
"""The values of ``-o`` with which a plan is rows on stdout."""


def run_change(inv: Invocation, change: Change[Any, Any]) -> int:
    """Runs the change on the command's cluster. Returns the exit status."""
    with open_admin(inv) as admin:
        change.begin(admin)
        cluster = connect(inv, admin)
        return change_with(inv, admin, cluster, change)


def change_with(inv: Invocation, client: A, cluster: str, change: ChangeOf[A, Any, Any]) -> int:
    """The same with a client that is open; it is what the change calls ``admin``."""
    return _ChangeRun(inv, client, cluster, change).run()


def report_change(inv: Invocation, cluster: str, change: Change[Any, Any], items: Plan) -> int:
    """Reports what became of the items, of an act that has ended. Returns the exit status."""
    return _ChangeRun(inv, None, cluster, change).end(items, items)


def plan_columns(change: ChangeOf[Any, Any, Any] | type[ChangeOf[Any, Any, Any]]) -> tuple[Column, ...]:
    """The columns of a plan: the status is the last one, so that those before keep their place in csv and tsv."""
    return (*change.columns, *change.plan_columns, Column("note", "prose"), Column("status"))


def report_columns(change: ChangeOf[Any, Any, Any] | type[ChangeOf[Any, Any, Any]]) -> tuple[Column, ...]:
    """The columns of a report."""
    return (*change.columns, *change.report_columns, Column("status"), Column("note", "prose"))


class _ChangeRun:
    def __init__(self, inv: Invocation, admin: Any, cluster: str, change: ChangeOf[Any, Any, Any]) -> None:
        self.inv, self.admin, self.cluster, self.change = inv, admin, cluster, change
        self.journal: Journal | None = None

    def run(self) -> int:
        plan = self.change.together(self.change.decide(self.admin))
        if self.inv.dry_run:
            self._show_only(plan)
            self._clean_up()
            return self._code(plan)
        if self.change.is_idle(plan):
            self._show(plan)
            self._clean_up()
            return self.end(plan, ())
        plan = self._asked(plan)
        try:
            after = self._acted(plan)
        finally:
            self._clean_up()
        said = {id(item.error) for item in plan}
        return self.end(after, [item for item in after if id(item.error) not in said])

    def end(self, items: Plan, new: Plan) -> int:
        """Reports the items: errors of ``new`` ones, rows, a summary. Returns the exit status."""
        self._print_errors(new, partly=self._account(items).partly)
        for warning in self.change.noticed(items):
            self.inv.talk.warn(warning)
        try:
            self._print_report(items)
        finally:  # a full disk or a closed pipe must not hide what was done
            for sentence in self.change.summary([one for one in items if one.outcome is Outcome.DONE]):
                self.inv.talk.note(sentence)
            self._say_undo()
        if self.change.interruption is not None:
            raise self.change.interruption
        return self._code(items)

    def _code(self, items: Plan) -> int:
        account = self._account(items)
        also = [account.exit_code(), self.change.stopped_by]
        return self.inv.finish(done=account.anything_good, also=also)

    def _show_only(self, plan: Plan) -> None:
        """``--dry-run``: the plan is the result, and the questions are taken as answered."""
        if self.change.takes_stdout or self.inv.out.kind in ROW_KINDS:
            self._remark(plan)
        else:
            self._show(plan)
        if not self.change.takes_stdout and self.inv.out.kind in ROW_KINDS:
            rows = [self._row(item, self.change.row(item)) for item in plan]
            print_rows(self.inv, f"{self.change.kind}Plan", plan_columns(self.change), rows, self.cluster)
        for question in [] if self.change.is_idle(plan) else self.change.questions(plan):
            check_answerable(self.inv, question)

    def _show(self, plan: Plan) -> None:
        shown = self.inv.dry_run or self.change.tells_refusals or not all_refused(plan)
        if shown and (text := self.change.text(plan)):
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
        now = self.change.decided_again(self.admin, plan)
        refused = [new for old, new in zip(plan, now, strict=True) if new.error is not old.error]
        self._print_errors(refused, partly=self._account(now).partly)
        return now

    def _acted(self, plan: Plan) -> list[Item[Any, Any]]:
        """The act, after its journal; which goes again if nothing can have been changed. Without it nothing is done."""
        todo = planned(plan)
        journal = self.change.journal(self.admin, todo) if todo else None
        if journal is not None:
            journal.write(self.cluster)
        self.journal = journal
        try:
            after = self.change.act(self.admin, plan)
        except BaseException:  # Ctrl-C, too: it is not known then what was changed
            for warning in self.change.stopped(plan):
                self.inv.talk.warn(warning)
            self._say_undo()
            raise
        if self.journal is not None and not self.change.may_have_changed:
            self.journal.remove()
            self.journal = None
        return after

    def _clean_up(self) -> None:
        for error in self.change.clean_up(self.admin, dry_run=self.inv.dry_run):
            self.inv.failed(error)

    def _print_report(self, plan: Plan) -> None:
        if self.change.takes_stdout:
            return
        if self.inv.out.kind is not None or not (self.change.quiet_report or all_refused(plan)):
            rows = [self._row(item, self.change.report_row(item)) for item in plan]
            kind, columns = f"{self.change.kind}Report", report_columns(self.change)
            head = {"undo": self.journal.id} if self.journal is not None and self.journal.can_undo else {}
            print_rows(self.inv, kind, columns, rows, self.cluster, head=head)

    def _say_undo(self) -> None:
        if self.journal is not None and self.journal.can_undo:
            self.inv.talk.note(f"Undo with: kcli undo {self.journal.id}")

    def _row(self, item: Item[Any, Any], row: dict[str, Any]) -> dict[str, Any]:
        note = self.change.reason(item.error) if item.error is not None and not item.note else item.note
        return {"note": note or None, **row, "status": str(item.outcome)}

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
