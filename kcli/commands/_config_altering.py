"""Alters configurations as planned: shows the plan, asks, makes the changes, reads them back, and reports each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from kcli.commands import _config_rows as view
from kcli.commands._config_resources import explained, shown_name
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import not_checked, show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigResource
from kcli.core.admin.new_partitions import NotKnownError
from kcli.core.errors import ConnectError, KcliError, NotValidatedError, TimedOutError
from kcli.flows.config_changes import PlannedChange, make, read_back, rejected
from kcli.flows.read_back import NotAppliedError
from kcli.output.progress import counted

T = TypeVar("T")


class Further(Protocol):
    """A change that is made after those of the configuration, and only if they succeed: added partitions."""

    key: str

    @property
    def needed(self) -> bool:
        """Whether something has to be changed."""

    def rejected(self, admin: Admin) -> KcliError | None:
        """Why it is refused, if it is; NotValidatedError if brokers did not check it. Nothing is changed."""

    def make(self, admin: Admin) -> KcliError | None:
        """Makes it; the error if it failed, NotKnownError if it was made and brokers do not show it."""

    def row(self) -> dict[str, Any]:
        """Its row of the plan."""

    def lines(self) -> list[str]:
        """Its lines of the plan."""


class Plan(NamedTuple):
    """The changes of one resource. ``danger`` says why ``--yes`` is not sufficient."""

    rows: Sequence[PlannedChange]
    further: Further | None = None
    danger: str | None = None

    @property
    def changes(self) -> int:
        """The number of changes to be made."""
        return sum(row.needed for row in self.rows) + (self.further is not None and self.further.needed)


Plans = Mapping[ConfigResource, Plan]


class Alteration:
    """Alters resources of one kind. ``kind`` is that of the documents without ``Plan``; ``named`` the key of names."""

    def __init__(self, inv: Invocation, admin: Admin, cluster: str, *, kind: str, named: str) -> None:
        self.inv, self.admin, self.cluster = inv, admin, cluster
        self.kind, self.named = kind, named
        self._unchecked = ""

    def run(self, plans: Plans) -> int:
        """Returns the exit status. A resource with a refused change is not changed, the others are."""
        inv = self.inv
        refused = self._refusals(plans)

        def remarks() -> None:
            for errors in refused.values():
                for error in errors:
                    inv.failed(error)

        todo = {
            resource: plan for resource, plan in plans.items() if plan.changes and resource not in refused
        }
        self._warn_of_secrets(plans)
        if inv.dry_run or not todo:
            if plans and (inv.dry_run or len(refused) < len(plans)):
                rows = [row for plan in plans.values() for row in self._rows(plan)]
                columns = view.columns(self.named, status=False)
                dangers = [f"{plan.danger}." for plan in todo.values() if plan.danger is not None]
                shown = "\n".join([self._text(plans), *dangers])
                show_plan_only(inv, shown, columns, rows, self.cluster, kind=f"{self.kind}Plan")
            remarks()
        else:
            self._ask(todo, remarks)
        same = [resource for resource, plan in plans.items() if not plan.changes and resource not in refused]
        for resource in same:
            inv.talk.note(f"nothing is to be changed: {resource} is as requested")
        status: dict[ConfigResource, dict[str, str]] = {}
        if not inv.dry_run and (todo or same):
            status = self._altered(todo)
            self._report(plans, refused.keys(), status)
        ends = [end for keys in status.values() for end in keys.values()]
        done = bool(same) or "done" in ends or "unknown" in ends
        return inv.finish(done=done or (inv.dry_run and bool(todo)))

    def _refusals(self, plans: Plans) -> dict[ConfigResource, list[KcliError]]:
        """What stands against changes, before any is made: the errors of the plan, then those of the brokers."""
        found = {
            resource: [row.error for row in plan.rows if row.error is not None]
            for resource, plan in plans.items()
        }
        accepted = {resource: plan.rows for resource, plan in plans.items() if not found[resource]}
        for resource, error in self._checked(partial(rejected, self.admin, accepted)).items():
            self._add(found[resource], error and explained(self.admin, resource, error))
        for resource, plan in plans.items():
            further = plan.further
            error = self._checked(partial(further.rejected, self.admin)) if further is not None else None
            self._add(found[resource], error)
        return {resource: errors for resource, errors in found.items() if errors}

    def _add(self, errors: list[KcliError], error: KcliError | None) -> None:
        """Adds what stands against a change; that no broker has checked it does not."""
        if isinstance(error, NotValidatedError):
            if not self._unchecked:
                self.inv.talk.warnings.append(not_checked(error))
            self._unchecked = not_checked(error)
        elif error is not None:
            errors.append(error)

    def _checked(self, check: Callable[[], T]) -> T:
        """The result of a check before the first change; its errors say that there was none."""
        try:
            return check()
        except (ConnectError, TimedOutError) as error:
            error.why = "; ".join(filter(None, (error.why, "this was a check, and nothing was changed")))
            raise

    def _warn_of_secrets(self, plans: Plans) -> None:
        rows = [row for plan in plans.values() for row in plan.rows]
        for key in sorted({row.change.name for row in rows if row.sensitive and row.change.value}):
            self.inv.talk.warn(
                f"the value of {key} may be a secret: other users of this machine can see command lines"
            )

    def _ask(self, todo: Plans, remarks: Callable[[], object]) -> None:
        """Each dangerous one by its name, then the others together; all questions precede the first change."""
        dangers = [resource for resource, plan in todo.items() if plan.danger is not None]
        parts = [[resource] for resource in dangers]
        if others := [resource for resource in todo if resource not in dangers]:
            parts.append(others)
        for number, part in enumerate(parts):
            confirm(
                self.inv,
                self._text({resource: todo[resource] for resource in part}),
                _question(part),
                name=self._name_to_type(part, todo, alone=len(parts) == 1),
                subject=shown_name(part[0]) if len(part) == 1 else None,
                among=[resource.name for resource in dangers],
                danger=todo[part[0]].danger,
                remarks=remarks if number == 0 else None,
            )

    def _name_to_type(self, part: Sequence[ConfigResource], todo: Plans, *, alone: bool) -> str | None:
        """The name of a dangerous resource, and of the only one where ``--confirm`` names what is to be changed."""
        named = alone and len(part) == 1 and self.inv.values.confirm is not None
        return shown_name(part[0]) if named or todo[part[0]].danger is not None else None

    def _altered(self, todo: Plans) -> dict[ConfigResource, dict[str, str]]:
        """The status of each change by key: ``done``, ``failed``, ``unknown``. Errors are reported."""
        status: dict[ConfigResource, dict[str, str]] = {}
        outcome = make(self.admin, {resource: plan.rows for resource, plan in todo.items()})
        made = {}
        for resource, plan in todo.items():
            keys = [row.change.name for row in plan.rows if row.needed]
            status[resource] = dict.fromkeys(keys, "failed")
            error = outcome.get(resource)
            if error is not None:
                self.inv.failed(explained(self.admin, resource, error))
            elif keys:
                made[resource] = plan.rows
            if plan.further is not None and plan.further.needed:
                self._make_further(resource, plan.further, status[resource], failed=error is not None)
        for resource, error in read_back(self.admin, made, self.inv.timeout).items():
            keys = [row.change.name for row in made[resource] if row.needed]
            unsure = error.keys if isinstance(error, NotAppliedError) else keys if error is not None else ()
            status[resource] |= {key: "unknown" if key in unsure else "done" for key in keys}
            if error is not None:
                self.inv.failed(error)
        for resource, plan in todo.items():
            if done := [key for key, end in status[resource].items() if end == "done"]:
                secret = [row.change.name for row in plan.rows if row.sensitive and row.change.name in done]
                but = (
                    f", of {', '.join(secret)} only that it is set or not: its value is not shown"
                    if secret
                    else ""
                )
                self.inv.talk.note(f"altered {resource}: {counted(len(done), 'change')}, read back{but}")
        return status

    def _make_further(
        self, resource: ConfigResource, further: Further, status: dict[str, str], *, failed: bool
    ) -> None:
        status[further.key] = "failed"
        if failed:
            self.inv.talk.warn(
                f"no {further.key} were added to {resource}, since its configuration was not changed"
            )
            return
        error = further.make(self.admin)
        if error is None or isinstance(error, NotKnownError):
            status[further.key] = "done" if error is None else "unknown"
        if error is not None:
            self.inv.failed(error, partly=len(status) > 1 and status[further.key] == "failed")

    def _text(self, plans: Plans) -> str:
        lines: list[str] = []
        for resource, plan in plans.items():
            lines += view.plan_lines(resource, plan.rows, plan.changes)
            lines += plan.further.lines() if plan.further is not None else []
        return "\n".join([*lines, *filter(None, [self._unchecked])])

    def _rows(self, plan: Plan) -> list[dict[str, Any]]:
        rows = [view.row(self.named, row) for row in plan.rows]
        if plan.further is not None:
            rows.append(plan.further.row())
        return rows

    def _report(self, plans: Plans, refused: Any, status: Mapping[ConfigResource, Mapping[str, str]]) -> None:
        rows = []
        for resource, plan in plans.items():
            otherwise = "failed" if resource in refused else "unchanged"
            ends = status.get(resource, {})
            rows += [row | {"status": ends.get(row["key"], otherwise)} for row in self._rows(plan)]
        print_rows(self.inv, f"{self.kind}Report", view.columns(self.named, status=True), rows, self.cluster)


def _question(resources: Sequence[ConfigResource]) -> str:
    if len(resources) == 1:
        return f"Alter {resources[0]}?"
    return f"Alter the configuration of {counted(len(resources), resources[0].kind.name.lower())}?"
