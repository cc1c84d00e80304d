"""``kcli schema``: what the JSON of ``-o json`` and ``-o ndjson`` looks like."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import OfferedType
from kcli.docgen.kinds import names


@command(
    "schema",
    changes=False,
    local=True,
    examples=(
        ("kcli schema", "all kinds, and which command prints them"),
        ("kcli schema GroupLagList", "what `kcli groups lag -o json` prints"),
        ("kcli schema Record > record.schema.json", "a record of `kcli consume -o ndjson`, for a validator"),
    ),
)
@click.argument("kind", required=False, type=OfferedType("kind", tuple(names())), metavar="[KIND]")
@pass_invocation
def schema(inv: Invocation, /, kind: str | None) -> int:
    """Print the JSON Schema of a kind of document, or list the kinds.

    What kcli prints as JSON has a `kind`: a document of -o json, the items of -o ndjson, errors, progress; only records
    have none. Within the version kcli/v1 of the format, properties are added, but not removed and not changed.
    """
    from kcli.commands._schema_run import run  # not for --help

    return run(inv, kind)
