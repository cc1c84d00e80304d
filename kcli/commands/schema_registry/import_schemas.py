"""``kcli registry import``: register the schemas of a file."""

import click

from kcli.commands.schema_registry._options import context_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation, stdin_is_terminal
from kcli.commands.shared.options import option
from kcli.commands.shared.registry_client import run_registry_change
from kcli.flows.registry.exported import parse_export
from kcli.flows.registry.importing import SchemaImport
from kcli.flows.registry.schema_file import STDIN, read_text


@command(
    "import",
    reads=("XDG_STATE_HOME",),
    exits={
        6: "some were registered",
        7: "the registry has other schemas with these versions or ids, or keeps no ids",
    },
    examples=(
        ("kcli registry import schemas.ndjson", "after a plan and a question"),
        ("kcli registry import schemas.ndjson --dry-run", "only show what would be registered"),
        ("kcli registry import schemas.ndjson --context staging --yes", "into a context of its own"),
        ("kcli registry import schemas.ndjson --new-ids", "into a registry that keeps no ids, as Karapace"),
    ),
)
@click.argument("path", metavar="FILE")
@option("--new-ids", is_flag=True, help="have the registry choose ids and versions")
@context_option("put all subjects into this context; . is the default context")
@pass_invocation
def import_schemas(inv: Invocation, path: str, new_ids: bool, context: str | None) -> int:
    """Register the schemas that `kcli registry export` has written, with their ids and versions; - is stdin.

    Records that have the ids can then be decoded with this registry. What is there already stays; a version or an id
    that is another schema in the registry is refused.

    Each subject is in mode IMPORT meanwhile, and in its own mode again afterwards. Levels of compatibility that subjects
    have of their own are set, too. Rerun an import that was interrupted: it goes on where it ended.

    With --new-ids the registry chooses ids and versions, and references are changed to the new versions. `kcli undo ID`
    deletes what was registered, softly, and sets the levels back.
    """
    if path == STDIN and stdin_is_terminal():
        inv.talk.note("reading the export from the terminal; end with Ctrl-D …")
    name = "stdin" if path == STDIN else path
    exported = parse_export(read_text(path), name, context)
    return run_registry_change(inv, SchemaImport(exported, name, keep=not new_ids))
