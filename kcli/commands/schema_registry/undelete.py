"""``kcli registry undelete``: bring softly deleted versions back."""

import click

from kcli.commands.schema_registry._options import context_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.registry_client import run_registry_change
from kcli.flows.registry.names import parse_named
from kcli.flows.registry.undelete import SchemaUndeletion


@command(
    "undelete",
    reads=("XDG_STATE_HOME",),
    exits={
        1: "there is no such subject or version",
        7: "it is not compatible any more, or the mode forbids it",
    },
    examples=(
        ("kcli registry list --deleted", "what can be undeleted"),
        ("kcli registry undelete orders-value", "all its deleted versions"),
        ("kcli registry undelete orders-value:2 --dry-run", "only show what would be done"),
    ),
)
@click.argument("name", type=SUBJECT, metavar="SUBJECT[:VERSION]")
@context_option()
@pass_invocation
def undelete_subject(inv: Invocation, name: str, context: str | None) -> int:
    """Bring softly deleted versions of a subject back.

    Registries have no request for that: the schemas are registered again. They keep their ids, and their versions get
    new numbers; of several versions with the same schema the newest comes back.
    """
    return run_registry_change(inv, SchemaUndeletion(parse_named(name, context)))
