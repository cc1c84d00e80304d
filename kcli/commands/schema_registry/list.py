"""``kcli registry list``: list subjects."""

from kcli.commands.schema_registry._options import context_option, type_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.registry_client import open_registry
from kcli.commands.shared.row_output import print_rows
from kcli.flows.registry.names import TYPES
from kcli.flows.registry.rows import SUBJECTS, chosen_subjects, read_subjects


@command(
    "list",
    examples=(
        ("kcli registry list -X schema.registry.url=http://registry:8081", "all subjects"),
        ("kcli registry list --match 'orders-*' --deleted", "with those that are deleted softly"),
        ("kcli registry list --context staging -o name", "of one context, names only"),
    ),
)
@option("--match", metavar="GLOB", help="only subjects whose names match this shell pattern")
@option("--deleted", is_flag=True, help="subjects of which only deleted versions are left, too")
@type_option("only subjects whose latest schema has this type")
@context_option("only subjects of this context; . is the default context")
@pass_invocation
def list_subjects(
    inv: Invocation, match: str | None, deleted: bool, kind: str | None, context: str | None
) -> int:
    """List the subjects of the schema registry, with the latest version of each.

    Without --context these are the subjects of all contexts.
    """
    inv.page()
    with open_registry(inv) as registry:
        names = chosen_subjects(registry, match, context, deleted=deleted)
        found = read_subjects(registry, names, TYPES[kind] if kind else None, deleted=deleted)
        for part in found.missing:
            inv.lacks(part)
        if not found.items and not found.missing:
            chosen = match is not None or context is not None or kind is not None
            inv.talk.note("no subject matches" if chosen else "there are no subjects")
        columns = [column for column in SUBJECTS if deleted or not column.sometimes]
        print_rows(inv, "SubjectList", columns, found.items, registry.address, item="Subject")
    return inv.finish(done=bool(found.items) or not found.missing)
