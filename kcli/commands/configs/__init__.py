"""``kcli configs``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "describe": (
        "kcli.commands.configs.describe:describe_configs",
        "show configurations: each value with where it comes from",
    ),
    "alter": (
        "kcli.commands.configs.alter:alter_configs",
        "change configurations: after a plan and a question, and with a check of the values afterwards",
    ),
}


@click.group(
    "configs",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli configs describe topics orders", "what is set for a topic, and where"),
        ("kcli configs alter topics orders --set retention.ms=3600000", "change one key"),
    ),
)
def configs() -> None:
    """Show and change configurations of topics, brokers and groups."""
