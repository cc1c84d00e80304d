"""``kcli quotas``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "list": ("kcli.commands.quotas.list:list_quotas", "list quotas: a line for each key"),
    "alter": (
        "kcli.commands.quotas.alter:alter_quotas",
        "change quotas: after a plan and a question, and with a check of the values afterwards",
    ),
}


@click.group(
    "quotas",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli quotas list", "all quotas"),
        ("kcli quotas alter --user alice --set producer_byte_rate=10MB/s", "limit a user"),
    ),
)
def quotas() -> None:
    """Show and change quotas of users, client ids and IP addresses."""
