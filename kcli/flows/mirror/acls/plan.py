"""What becomes of the ACLs of a job: in its plan, and at its end. Pure."""

from collections.abc import Iterable, Sequence

from kcli.account.change import Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.acls import AclBinding
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.flows.acls.rows import acl_row
from kcli.flows.mirror.acls.columns import COLUMNS, CREATE, DELETE, HOLD
from kcli.flows.mirror.topics.preflight import Denied
from kcli.output.tables import Column, indented_table

HELD = "not before the job is promoted"
"""Why an ACL is held."""


class AclRow(NamedTuple):
    """An ACL of the account: of the target, or, with an error, of the source."""

    binding: AclBinding
    act: str
    outcome: Outcome
    error: KcliError | None = None
    note: str = ""

    @property
    def values(self) -> dict[str, object]:
        """By the keys of ``COLUMNS``, and ``status`` and ``note``."""
        note = self.note or (self.error and (self.error.why or self.error.what)) or None
        return {"act": self.act, **acl_row(self.binding), "status": str(self.outcome), "note": note}


class AclPlan(NamedTuple):
    """What becomes of ACLs. ``question``: of what is deleted; ``denied``: permissions that are missing for all of it."""

    rows: Sequence[AclRow]
    question: Question | None
    denied: Sequence[Denied]
    warnings: Sequence[str]

    @property
    def errors(self) -> list[KcliError]:
        """Why ACLs of the source would not be carried over."""
        return [row.error for row in self.rows if row.error is not None]

    def lines(self) -> list[str]:
        """For people: those that exist are only counted."""
        if self.denied:
            return []
        counts = [
            (_count(self.rows, CREATE, Outcome.PLANNED), "to be created"),
            (_count(self.rows, CREATE, Outcome.UNCHANGED), "there already"),
            (_count(self.rows, DELETE, Outcome.PLANNED), "to be deleted"),
            (_count(self.rows, HOLD, Outcome.UNCHANGED), HELD),
            (sum(row.outcome is Outcome.REFUSED for row in self.rows), "refused"),
        ]
        said = ", ".join(f"{count:,} {what}" for count, what in counts if count)
        shown = [row.values for row in self.rows if row.act != CREATE or row.outcome is not Outcome.UNCHANGED]
        table = indented_table((*COLUMNS, Column("note", "prose")), shown)
        return [
            f"  ACLs: {said or 'none concerns these topics and groups'}",
            *(f"  {line}" for line in table),
        ]


class AclAccount(NamedTuple):
    """What became of them. ``failure``: why they could not be looked at any more while the source was followed."""

    rows: Sequence[AclRow]
    failure: KcliError | None

    @property
    def errors(self) -> list[KcliError]:
        """What is not as it should be."""
        found = [row.error for row in self.rows if row.error is not None]
        return found if self.failure is None else [*found, self.failure]


def _count(rows: Iterable[AclRow], act: str, outcome: Outcome) -> int:
    return sum(row.act == act and row.outcome is outcome for row in rows)
