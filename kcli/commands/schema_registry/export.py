"""``kcli registry export``: write schemas of a registry."""

import click

from kcli.commands.schema_registry._options import context_option
from kcli.commands.schema_registry._schema import subject_only
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.registry_client import open_registry
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.flows.registry.exported import COLUMNS, KIND, LIST, head_line, read_export, rows
from kcli.flows.registry.rows import chosen_subjects
from kcli.output.progress import counted

OUTPUTS = ("ndjson", "json")


@command(
    "export",
    outputs=OUTPUTS,
    examples=(
        ("kcli registry export > schemas.ndjson", "all subjects, one version a line"),
        ("kcli registry export orders-value --profile prod", "one subject, and what it refers to"),
        (
            "kcli registry export --profile prod | kcli registry import - --profile staging",
            "copy a registry; ids are kept",
        ),
    ),
)
@click.argument("names", type=SUBJECT, nargs=-1, metavar="[SUBJECT…]")
@option("--match", metavar="GLOB", help="only subjects whose names match this shell pattern")
@context_option("only subjects of this context; . is the default context")
@pass_invocation
def export_schemas(inv: Invocation, names: tuple[str, ...], match: str | None, context: str | None) -> int:
    """Write the versions of subjects to stdout, each after those to which it refers.

    Without SUBJECT these are all subjects. What they refer to of other subjects is added, so that `kcli registry import`
    has all it needs; deleted versions are left out. -o json is one document, the default ndjson has a line for each
    version. Where something could not be read, the exit code is 6, and `kcli registry import` refuses what was written.
    """
    if names and match is not None:
        raise usage(
            "registry export: SUBJECT and --match together",
            why="each chooses the subjects",
            do="give one of them",
        )
    chosen = [subject_only("registry export", name, context) for name in dict.fromkeys(names)]
    inv.out.kind = inv.out.kind or OUTPUTS[0]
    with open_registry(inv) as registry:
        found, added = read_export(registry, chosen or chosen_subjects(registry, match, context))
        for part in found.missing:
            inv.lacks(part)
        for name in added:
            inv.talk.note(f"added {name}, to which others refer")
        if inv.missing and inv.out.kind == "ndjson":
            inv.out.text(head_line(inv.missing))
        print_rows(inv, LIST, COLUMNS, rows(found.items), registry.address, item=KIND)
    subjects = counted(len({schema.subject for schema in found.items.schemas}), "subject")
    inv.talk.note(f"exported {counted(len(found.items.schemas), 'version')} of {subjects}")
    return inv.finish(done=bool(found.items.schemas) or not found.missing)
