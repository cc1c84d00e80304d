"""ACLs as rows: of the list, of plans and of reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from kcli.account.change import Change, Item, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.acls import AclBinding, word
from kcli.core.errors import KcliError
from kcli.flows.acls.columns import ACL
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

AclItem = Item[AclBinding, None]


class AclChange(Change[AclBinding, None]):
    """A change of ACLs. ``done``: the word for it."""

    item_meaning = "An ACL."
    columns = ACL
    quiet_report = True
    done: ClassVar[str]

    @property
    def command(self) -> str:
        """What a journal names as the command: the first that prints it."""
        return self.printed_by.partition(", ")[0]

    def row(self, item: AclItem) -> dict[str, Any]:
        """The values of the columns."""
        return acl_row(item.key)

    def summary(self, items: Sequence[AclItem]) -> Iterable[str]:
        """How many were changed."""
        return (f"{self.done} {counted(len(items), 'ACL')}, read back",) if items else ()


def acl_row(binding: AclBinding) -> dict[str, Any]:
    """The values of the columns."""
    return {
        "principal": binding.principal,
        "permission": word(binding.permission),
        "operation": word(binding.operation),
        "resource_type": word(binding.resource),
        "resource_name": binding.name,
        "pattern": word(binding.pattern),
        "host": binding.host,
    }


def refused(answers: Mapping[AclBinding, KcliError | None]) -> set[AclBinding]:
    """The ACLs that were certainly not changed."""
    return {key for key, error in answers.items() if error is not None and not is_lost(error)}


def count_of(plan: Sequence[AclItem]) -> str:
    """``3 ACLs``: those that are not as they should be."""
    return counted(sum(item.outcome is not Outcome.UNCHANGED for item in plan), "ACL")


def plan_lines(title: str, plan: Sequence[AclItem]) -> str:
    """The plan: the exact ACLs; their status only where some are not to be changed. Empty where all are refused."""
    outcomes = {item.outcome for item in plan}
    if outcomes == {Outcome.REFUSED}:
        return ""
    columns = (*ACL, Column("status")) if len(outcomes) > 1 else ACL
    rows = [acl_row(item.key) | {"status": str(item.outcome)} for item in plan]
    return "\n".join((title, *indented_table(columns, rows)))
