"""``kcli pipeline``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "mirror": (
        "kcli.commands.pipeline.mirror:mirror",
        "copy topics to another cluster by many tasks, exactly once",
    ),
    "verify": (
        "kcli.commands.pipeline.verify:verify",
        "compare topics of two clusters, and repair what differs",
    ),
    "doctor": ("kcli.commands.pipeline.doctor:doctor", "find out why jobs do not run on Spark"),
    "pack": ("kcli.commands.pipeline.pack:pack", "write kcli and its libraries to an archive for executors"),
}


@click.group(
    "pipeline",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli pipeline doctor", "do jobs run on this machine, and reach the brokers from there?"),
        ("kcli pipeline mirror --from a:9092 --to b:9092 -t orders", "copy a topic, nothing twice"),
        ("kcli pipeline verify --from a:9092 --to b:9092 -t orders", "are two topics equal?"),
    ),
)
def pipeline() -> None:
    """Query, export, copy and compare whole topics, by jobs that run on Spark.

    A job is a list of tasks, each of which reads a range of offsets that was fixed before. Spark runs them, on this
    machine or on a cluster; --runner processes and --runner inline run the same tasks without Spark.
    """
