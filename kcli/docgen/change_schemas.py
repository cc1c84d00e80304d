"""The JSON Schemas of what changes print: made from their columns, so that they are written down once."""

from typing import Any

from kcli.account.change import ChangeOf
from kcli.account.outcomes import Outcome
from kcli.core.classes import replace
from kcli.docgen.list_schemas import Schema, document, item, titled
from kcli.output.tables import Column

_PLANNED = (Outcome.PLANNED, Outcome.UNCHANGED, Outcome.REFUSED)
_REPORTED = (Outcome.DONE, Outcome.UNCHANGED, Outcome.REFUSED, Outcome.FAILED, Outcome.UNKNOWN)
_ENDINGS = {
    "Plan": ("What would be changed.", _PLANNED, "What would become of it."),
    "Report": ("What was changed.", _REPORTED, "What became of it; unknown: the result could not be seen."),
}
_UNDO = Column(
    "undo",
    values="string",
    sometimes=True,
    meaning="Id that `kcli undo` takes; absent where nothing that was destroyed can be made again.",
)


def change_schemas(change: type[ChangeOf[Any, Any, Any]]) -> dict[str, Schema]:
    """The four schemas by name."""
    made: dict[str, Schema] = {}
    columns = {
        "Plan": (*change.columns, *change.plan_columns),
        "Report": (*change.columns, *change.report_columns),
    }
    further = {"Plan": change.plan_keys, "Report": change.report_keys}
    for ending, (meaning, outcomes, status) in _ENDINGS.items():
        kind = change.kind + ending
        also = f", {change.also_planned_by}" if ending == "Plan" and change.also_planned_by else ""
        printed_by = change.printed_by + also
        whole = document(kind, {"$ref": f"{kind}Item.json"}, (_UNDO,) if ending == "Report" else ())
        made[kind] = titled(kind, meaning, printed_by, whole)
        ended = Column("status", values=tuple(map(str, outcomes)), meaning=status)
        rest = (replace(column, sometimes=True) for column in further[ending])
        of = item(f"{kind}Item", (*columns[ending], ended, Column("note"), *rest))
        made[f"{kind}Item"] = titled(f"{kind}Item", change.item_meaning, printed_by, of)
    return made
