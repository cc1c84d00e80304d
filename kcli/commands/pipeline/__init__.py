"""``kcli pipeline``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "pipeline",
    cls=Group,
    examples=(
        ('kcli pipeline query orders --sql "select count(*) from source"', "how many records are there?"),
        ("kcli pipeline export orders exports/orders", "write a topic to files"),
        ("kcli pipeline import exports/orders", "restore it"),
        ("kcli pipeline mirror --from a:9092 --to b:9092 -t orders", "copy a topic, nothing twice"),
        ("kcli pipeline verify --from a:9092 --to b:9092 -t orders", "are two topics equal?"),
        ("kcli pipeline doctor", "do jobs run on this machine, and reach the brokers from there?"),
    ),
)
def pipeline() -> None:
    """Query, export, copy and compare whole topics, by jobs that run on Spark.

    A job is a list of tasks, each of which reads a range of offsets that was fixed before. Spark runs them, on this
    machine or on a cluster; --runner processes and --runner inline run the same tasks without Spark.
    """
