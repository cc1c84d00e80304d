"""``kcli registry check``: check whether a schema is compatible with a subject."""

import click

from kcli.commands.schema_registry._options import context_option, reference_option, type_option
from kcli.commands.schema_registry._schema import references_of_line, schema_of_line, subject_only
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.registry_client import open_registry
from kcli.commands.shared.row_output import print_rows
from kcli.core.classes import replace
from kcli.flows.registry.check import COLUMNS, check_row
from kcli.flows.registry.errors import NotCompatibleError
from kcli.flows.registry.schema_file import resolved


@command(
    "check",
    exits={2: "the schema is not valid", 8: "the schema is not compatible"},
    examples=(
        ("kcli registry check orders-value order.avsc", "may it be registered? If not, why?"),
        ("kcli registry check orders-value order.avsc -q", "in a pipeline: exit code 8 if not"),
        ("kcli registry check orders-value - --type protobuf < order.proto", "from stdin"),
    ),
)
@click.argument("subject", type=SUBJECT, metavar="SUBJECT")
@click.argument("path", metavar="FILE")
@type_option("type of the schema (default: by .avsc, .proto or .json)")
@reference_option()
@context_option()
@pass_invocation
def check_schema(
    inv: Invocation,
    subject: str,
    path: str,
    kind: str | None,
    references: tuple[str, ...],
    context: str | None,
) -> int:
    """Check whether a schema is compatible with the versions of a subject, as its level requires; - is stdin.

    The registry decides, and gives its reasons. To a subject that does not exist any valid schema is compatible.
    """
    name = subject_only("registry check", subject, context)
    wanted = references_of_line("registry check", references)
    schema = schema_of_line(inv, path, kind)
    with open_registry(inv) as registry:
        schema = replace(schema, references=resolved(registry, wanted))
        row = check_row(registry, name, schema)
        if not inv.omits_passed or not row["compatible"]:
            print_rows(inv, "SchemaCheckList", COLUMNS, [row], registry.address, item="SchemaCheck")
    if row["compatible"]:
        return inv.finish(done=True)
    error = NotCompatibleError(name, row["compatibility"], row["messages"])
    return inv.finish(done=False, also=[inv.report(error)])
