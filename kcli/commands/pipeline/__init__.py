"""``kcli pipeline``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "query": ("kcli.commands.pipeline.query:query", "query topics by SQL"),
    "replay": ("kcli.commands.pipeline.replay:replay", "send dead letters to where they belong, once more"),
}


@click.group(
    "pipeline",
    cls=LazyGroup,
    table=VERBS,
    examples=(('kcli pipeline query orders --sql "select count(*) from source"', "the number of records"),),
)
def pipeline() -> None:
    """Query, export, copy and compare whole topics, by jobs that run on Spark.

    A job is a list of tasks, each of which reads a range of offsets that was fixed before. Spark runs them, on this
    machine or on a cluster; --runner processes and --runner inline run the same tasks without Spark.
    """
