"""``kcli schema``: what the JSON of ``-o json`` and ``-o ndjson`` looks like."""

import json
from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import OfferedType
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import nearest, usage
from kcli.docgen import kinds as catalogue
from kcli.output.tables import Column

APPLY = "apply"
"""The documents that kcli reads: what it prints has no kind in small letters."""
COLUMNS = (
    Column("name", values="string", meaning="Name of the kind."),
    Column("printed_by", "prose", values="strings", meaning="Commands and options that print it."),
    Column("description", "prose", wide=True, values="string", meaning="What it is."),
)


@command(
    "schema",
    examples=(
        ("kcli schema", "all kinds, and which command prints them"),
        ("kcli schema GroupLagList", "what `kcli groups lag -o json` prints"),
        ("kcli schema Record > record.schema.json", "a record of `kcli consume -o ndjson`, for a validator"),
        ("kcli schema apply > kcli.schema.json", "the files of `kcli apply`, for an editor"),
    ),
)
@click.argument(
    "kind", required=False, type=OfferedType("kind", (*catalogue.names(), APPLY)), metavar="[KIND]"
)
@pass_invocation
def schema(inv: Invocation, /, kind: str | None) -> int:
    """Print the JSON Schema of a kind of document, or list the kinds.

    What kcli prints as JSON has a `kind`: a document of -o json, the items of -o ndjson, errors, progress; only records
    have none. Within the version kcli/v1 of the format, properties are added, but not removed and not changed.

    `kcli schema apply` is the one of what kcli reads: the documents of `kcli apply` and `kcli diff`. In VS Code, the
    extension YAML uses it by the setting `yaml.schemas`, or by a line `# yaml-language-server: $schema=kcli.schema.json`
    at the top of a file.
    """
    if kind is None:
        inv.page()
        print_rows(inv, "SchemaList", COLUMNS, (one._asdict() for one in catalogue.kinds()), item="Schema")
        return 0
    name = _checked(inv, kind)
    inv.page()
    inv.out.text(json.dumps(_schema_of(name), ensure_ascii=False, indent=2) + "\n")
    inv.out.flush()
    return 0


def _schema_of(name: str) -> dict[str, Any]:
    if name != APPLY:
        return catalogue.schema_of(name)
    from kcli.flows.resources.schema import documents_schema  # only for this one

    return documents_schema()


def _checked(inv: Invocation, given: str) -> str:
    """The kind as it is spelt; capitals do not matter."""
    known = [*catalogue.names(), APPLY]
    name = next((one for one in known if one.lower() == given.lower()), given)
    if name not in known:
        near = nearest(name, known) or _printed_by(name)
        raise usage(
            f"schema: there is no kind {name!r}",
            why="no JSON that kcli prints is of this kind",
            do=(f"did you mean `kcli schema {near}`? " if near else "") + "`kcli schema` lists the kinds",
        )
    if inv.out.kind not in (None, "json"):
        raise usage(
            f"schema: -o {inv.out.kind} is for the list of kinds",
            why="a schema is a JSON document",
            do=f"`kcli schema {name}`",
        )
    return name


def _printed_by(word: str) -> str | None:
    """The first kind that a command with this word prints: ``lag``."""
    return next(
        (kind.name for kind in catalogue.kinds() if any(word in line.split() for line in kind.printed_by)),
        None,
    )
