"""``kcli registry delete``: delete versions of a subject."""

import click

from kcli.commands.schema_registry._options import context_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.registry_client import run_registry_change
from kcli.flows.registry.delete import SchemaDeletion
from kcli.flows.registry.names import parse_named


@command(
    "delete",
    reads=("XDG_STATE_HOME",),
    exits={1: "there is no such subject or version", 7: "other schemas refer to it, or the mode forbids it"},
    examples=(
        ("kcli registry delete orders-value", "all its versions, softly, after its name is typed"),
        ("kcli registry delete orders-value:2 --yes", "one version, in a script"),
        ("kcli registry delete orders-value --permanent --dry-run", "show what would be deleted for good"),
    ),
)
@click.argument("name", type=SUBJECT, metavar="SUBJECT[:VERSION]")
@option("--permanent", is_flag=True, help="delete for good, also what is softly deleted already")
@context_option()
@pass_invocation
def delete_subject(inv: Invocation, name: str, permanent: bool, context: str | None) -> int:
    """Delete a version of a subject, or all its versions, softly or for good.

    Records with the ids of softly deleted schemas can still be decoded; those of schemas that are deleted for good
    cannot. SUBJECT[:VERSION] has to be typed as it was given, or --yes or --confirm given. What other schemas refer to
    is refused.

    A journal on this machine keeps the schemas. `kcli undo ID` registers them again: with their ids, those deleted for
    good only if the registry has the mode IMPORT.
    """
    return run_registry_change(inv, SchemaDeletion(parse_named(name, context), permanent=permanent))
