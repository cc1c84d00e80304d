"""``kcli pipeline``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "export": ("kcli.commands.pipeline.export:export", "write the records of topics to files, each once"),
    "import": ("kcli.commands.pipeline.import_topics:import_topics", "restore the topics of an export"),
}


@click.group(
    "pipeline",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli pipeline export orders exports/orders", "write a topic to files"),
        ("kcli pipeline import exports/orders", "restore it"),
    ),
)
def pipeline() -> None:
    """Query, export, copy and compare whole topics, by jobs that run on Spark.

    A job is a list of tasks, each of which reads a range of offsets that was fixed before. Spark runs them, on this
    machine or on a cluster; --runner processes and --runner inline run the same tasks without Spark.
    """
