"""``kcli pipeline mirror``: copy topics to another cluster by many tasks."""

import shlex
from contextlib import ExitStack

import click

from kcli.commands.pipeline.jobs import (
    READS,
    TaskOptions,
    check_slices,
    chosen_runner,
    cluster_of,
    copy_shown,
    job_options,
    print_report,
    runner_of,
    wanted_range,
)
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.from_dir import check_ends, from_dir_option
from kcli.commands.shared.options import POSITIVE_DURATION, REPORT_KINDS, option
from kcli.commands.shared.params import since_option, until_option
from kcli.commands.shared.sides import Side, source_side
from kcli.commands.shared.two_clusters import (
    begin_option,
    check_excludes,
    config_options,
    exclude_option,
    from_option,
    job_option,
    map_topic_option,
    to_option,
    topics_option,
)
from kcli.core.positions import RangeSpec
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.stop import Stop


@command(
    "mirror",
    reads=READS,
    outputs=REPORT_KINDS,
    examples=(
        (
            "kcli pipeline mirror --from a:9092 --to b:9092 -t orders",
            "copy a topic as it is now, nothing twice",
        ),
        (
            "kcli pipeline mirror --from a:9092 --to b:9092 -t '^orders-.*' --runner processes --local 4",
            "several topics, in four processes of this machine",
        ),
        (
            "kcli pipeline mirror --from a:9092 --to b:9092 -t '*' --continuous --slice 10s",
            "follow all topics, and look for more every 10 seconds",
        ),
        (
            r"kcli pipeline mirror --from a:9092 --to b:9092 -t '*' --map-topic '^(.*)$=eu.\1'",
            "all topics, renamed",
        ),
        ("kcli pipeline mirror --from a:9092 --to b:9092 -t orders --dry-run", "what would be copied"),
    ),
)
@options(
    "What to copy",
    from_option("copied", required=False),
    from_dir_option("copy"),
    to_option("written", required=True),
    topics_option("copy", required=True),
    exclude_option("copy"),
    map_topic_option("copy topic A to B"),
    begin_option(),
    since_option("a new job begins with records from TIME on: 3h (ago), an ISO date"),
    until_option("only records before TIME"),
)
@options(
    "How to copy",
    option(
        "--delivery",
        type=click.Choice(["exactly-once", "at-least-once"]),
        default="exactly-once",
        help="copy in transactions of the target, so that nothing is stored twice, or without: after a kill, records of "
        "about the last second may be (default: exactly-once)",
    ),
    option("--continuous", is_flag=True, help="follow the source, slice by slice, until Ctrl-C"),
    option(
        "--slice",
        "seconds",
        type=POSITIVE_DURATION,
        metavar="DUR",
        help="with --continuous: how often it looks for new records, topics and partitions (default: 30s)",
    ),
    job_option("from the source, -t and --map-topic"),
    *config_options(),
)
@job_options
@pass_invocation
def mirror(
    inv: Invocation,
    /,
    source: str | None,
    target: str,
    topics: tuple[str, ...],
    excludes: tuple[str, ...],
    renames: tuple[str, ...],
    span: RangeSpec | None,
    since: int | None,
    until: int | None,
    delivery: str,
    continuous: bool,
    seconds: float | None,
    job: str | None,
    tasks: TaskOptions,
    sync_configs: str,
    configs: tuple[tuple[str, str], ...],
    timestamps: str,
) -> int:
    """Copy topics from one cluster to another by many tasks, exactly once.

    Each partition is a task. Batches are passed on as the bytes in which they were stored, where brokers accept that:
    keys, values, headers, timestamps, order and compression are kept.

    Transactions that were aborted are not copied. Topics that the target lacks are created with the partitions and
    the configuration of the source.

    How far each partition is copied is a committed offset on the target, in the transaction of its records. So a job
    that was killed anywhere continues where it ended, with the same command, and stores nothing twice; one that is
    finished copies nothing.

    For one process, with group offsets, headers of origin or a rate limit, see `kcli mirror`.
    """
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.mirror import COLUMNS, TaskMirror

    check_excludes("pipeline mirror", topics, excludes)
    tasks = chosen_runner(inv, tasks, "mirror")
    spec = wanted_range("mirror", offset=span, since=since, until=until)
    check_slices("mirror", spec, continuous=continuous, sliced=seconds is not None)
    settings = MirrorSettings(
        topics=topics,
        excludes=excludes,
        renames=renames,
        exactly_once=delivery == "exactly-once",
        until_caught_up=not continuous,
        job=job,
        sync_configs=sync_configs,
        configs=configs,
        timestamps=timestamps,
    )
    here, there = source_side(inv, source), Side(inv, "--to", target, changes=True)
    if continuous and source is None:
        check_ends(here.configuration.resolved, "pipeline mirror", "--continuous")
    shown = copy_shown(inv, (here.name, here.option), (there.name, there.option))
    sides = cluster_of(inv, here), cluster_of(inv, there)
    with TaskMirror(settings, *sides, shown, spec=spec, seconds=seconds) as driver, ExitStack() as stack:
        if not driver.prepare():
            return shown.end()
        # Before topics are created: Spark may not come up.
        runner = stack.enter_context(runner_of(inv, tasks)) if driver.needs_runner else None
        driver.create()
        with Stop() as stop:
            report = driver.copy(runner, stop)
            code = print_report(
                inv,
                report,
                COLUMNS,
                stop,
                command="mirror",
                runner=tasks.runner,
                cluster=driver.source_id,
                title="copied",
            )
        if stop:
            inv.talk.note("stopped; the same command continues from here")
        elif (
            report.totals["records"]
            and not report.failures
            and (span, since, until, timestamps) == (None, None, None, "keep")
        ):
            words = ["kcli", "pipeline", "verify", *here.words, *there.words]
            for option, values in (("-t", topics), ("--exclude", excludes), ("--map-topic", renames)):
                words += [word for value in values for word in (option, value)]
            inv.talk.note(f"to compare both sides: {shlex.join(words)}")
        return code
