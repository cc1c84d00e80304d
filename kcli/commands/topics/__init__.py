"""``kcli topics``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "list": ("kcli.commands.topics.list:list_topics", "list topics"),
    "describe": (
        "kcli.commands.topics.describe:describe_topics",
        "show the partitions, offsets and configuration of topics",
    ),
    "offsets": ("kcli.commands.topics.offsets:topic_offsets", "show the offsets of topics, by partition"),
    "create": ("kcli.commands.topics.create:create_topics", "create topics"),
    "alter": (
        "kcli.commands.topics.alter:alter_topic",
        "change the configuration of a topic, and add partitions",
    ),
    "trim": (
        "kcli.commands.topics.trim:trim_topic",
        "delete the records of a topic before an offset or a time",
    ),
    "delete": ("kcli.commands.topics.delete:delete_topics", "delete topics with all their records"),
}


@click.group(
    "topics",
    cls=LazyGroup,
    table=VERBS,
    examples=(("kcli topics list", "all topics"), ("kcli topics describe orders", "one topic")),
)
def topics() -> None:
    """List, describe, create, change, trim and delete topics."""
