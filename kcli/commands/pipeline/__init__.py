"""``kcli pipeline``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "export": ("kcli.commands.pipeline.export:export", "write the records of topics to files, each once"),
    "import": ("kcli.commands.pipeline.import_topics:import_topics", "restore the topics of an export"),
    "mirror": (
        "kcli.commands.pipeline.mirror:mirror",
        "copy topics to another cluster by many tasks, exactly once",
    ),
    "query": ("kcli.commands.pipeline.query:query", "query topics by SQL"),
    "replay": ("kcli.commands.pipeline.replay:replay", "send dead letters to where they belong, once more"),
    "verify": (
        "kcli.commands.pipeline.verify:verify",
        "compare topics of two clusters, and repair what differs",
    ),
    "profile": (
        "kcli.commands.pipeline.profile:profile",
        "show skew, keys, sizes, times and schema of topics",
    ),
    "perf": (
        "kcli.commands.pipeline.perf:perf",
        "load a topic from many tasks, and measure rate and latency",
    ),
    "doctor": ("kcli.commands.pipeline.doctor:doctor", "find out why jobs do not run on Spark"),
    "pack": ("kcli.commands.pipeline.pack:pack", "write kcli and its libraries to an archive for executors"),
}


@click.group(
    "pipeline",
    cls=LazyGroup,
    table=VERBS,
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
