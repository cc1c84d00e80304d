"""``kcli registry describe``: show versions of a subject."""

import click

from kcli.commands.schema_registry._options import context_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.registry_client import open_registry
from kcli.commands.shared.row_output import print_rows
from kcli.flows.registry.names import parse_named
from kcli.flows.registry.rows import DESCRIBED, described, described_rows


@command(
    "describe",
    exits={1: "there is no such subject or version"},
    examples=(
        ("kcli registry describe orders-value", "all versions, and the text of the latest"),
        ("kcli registry describe orders-value:2", "one version"),
        (
            "kcli registry describe orders-value:latest --references",
            "with all to which it refers, and what refers to it",
        ),
        ("kcli registry describe orders-value -o json", "for scripts, with the texts of all versions"),
    ),
)
@click.argument("name", type=SUBJECT, metavar="SUBJECT[:VERSION]")
@option("--deleted", is_flag=True, help="softly deleted versions, too")
@option("--references", is_flag=True, help="all schemas to which it refers, and those that refer to it")
@context_option()
@pass_invocation
def describe_subject(inv: Invocation, name: str, deleted: bool, references: bool, context: str | None) -> int:
    """Show the versions of a subject, with ids, references, compatibility and mode, and the text of the latest.

    VERSION is a number or latest; one that is deleted softly is shown where it is named, and with --deleted.
    """
    named = parse_named(name, context)
    inv.page()
    with open_registry(inv) as registry:
        versions = described(registry, named, deleted=deleted)
        rows = described_rows(registry, named.subject, versions, references=references)
        columns = [column for column in DESCRIBED if references or not column.sometimes]
        print_rows(inv, "SubjectDescriptionList", columns, rows, registry.address, item="SubjectDescription")
    if inv.out.list_kind() in ("table", "plain", "wide"):
        for word, key in (("refers to", "all_references"), ("referred to by", "referenced_by")):
            for one in rows[-1].get(key, ()):
                inv.out.shown(f"{word} {one}\n")
        inv.out.shown("\n" + rows[-1]["schema"].rstrip("\n") + "\n")
        inv.out.flush()
    return inv.finish(done=True)
