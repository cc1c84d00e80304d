"""``kcli acls``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "list": ("kcli.commands.acls.list:list_acls", "list ACLs"),
    "create": (
        "kcli.commands.acls.create:create_acls",
        "create ACLs: after a plan and a question, and with a check afterwards",
    ),
    "delete": (
        "kcli.commands.acls.delete:delete_acls",
        "delete ACLs: those that are selected and shown in the plan, and no others",
    ),
}


@click.group(
    "acls",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli acls list --topic orders --pattern match", "who may do what with a topic"),
        ("kcli acls create --principal User:alice --operation read --topic orders", "allow it"),
    ),
)
def acls() -> None:
    """List, create and delete ACLs: who may do what."""
