"""``kcli registry register``: register a schema under a subject."""

import click

from kcli.commands.schema_registry._options import context_option, reference_option, type_option
from kcli.commands.schema_registry._schema import references_of_line, schema_of_line, subject_only
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.registry_client import run_registry_change
from kcli.flows.registry.register import SchemaRegistration


@command(
    "register",
    reads=("XDG_STATE_HOME",),
    exits={
        2: "the schema is not valid",
        7: "the schema is not compatible, or the mode of the subject forbids it",
    },
    examples=(
        ("kcli registry register orders-value order.avsc", "after a plan and a question"),
        ("kcli registry register orders-value order.proto --yes", "in a script"),
        (
            "kcli registry register orders-value order.avsc --reference shop.Customer=customer-value:2",
            "which refers to another schema",
        ),
        ("kcli registry register orders-value order.json --type json --dry-run", "only check it"),
    ),
)
@click.argument("subject", type=SUBJECT, metavar="SUBJECT")
@click.argument("path", metavar="FILE")
@type_option("type of the schema (default: by .avsc, .proto or .json)")
@reference_option()
@context_option()
@pass_invocation
def register_schema(
    inv: Invocation,
    subject: str,
    path: str,
    kind: str | None,
    references: tuple[str, ...],
    context: str | None,
) -> int:
    """Register a schema under a subject: after a plan and a question, and with a check afterwards; - is stdin.

    The registry is asked before whether the schema is valid and compatible, and says why it is not. A schema that the
    subject has already stays as it is, exit code 0. `kcli undo ID` deletes the version again, softly.
    """
    name = subject_only("registry register", subject, context)
    wanted = references_of_line("registry register", references)
    return run_registry_change(inv, SchemaRegistration(name, schema_of_line(inv, path, kind), wanted))
