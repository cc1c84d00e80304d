"""The columns of the ACLs of a job. Its plan and its report have them also where no ACLs are synced."""

from kcli.flows.acls.columns import ACL
from kcli.output.tables import Column

CREATE, DELETE, HOLD = "create", "delete", "hold"

COLUMNS = (
    Column(
        "act",
        values=(CREATE, DELETE, HOLD),
        meaning="What the job does with it; hold: the target does not get it before the job is promoted.",
    ),
    *ACL,
)
