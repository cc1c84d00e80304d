"""``kcli pipeline mirror``: the options. A run is in ``_mirror_run.py``."""

from typing import Any

import click

from kcli.commands.pipeline._job_options import job_options
from kcli.commands.pipeline._outputs import REPORTS
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import POSITIVE_DURATION
from kcli.commands.shared.params import INSTANT, OFFSET_RANGE
from kcli.commands.shared.two_clusters import from_option, map_topic_option, to_option, topics_option


@command(
    "mirror",
    changes=True,
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
    outputs=REPORTS,
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
    from_option("copied", required=True),
    to_option("written", required=True),
    topics_option("copy", required=True),
    map_topic_option("Copy topic A to B"),
    click.option(
        "--offset",
        "span",
        type=OFFSET_RANGE,
        metavar="SPEC",
        help="Where a new job begins, and may end: earliest, latest, N, N:M, @TIME.  [default: earliest]",
    ),
    click.option(
        "--since",
        type=INSTANT,
        metavar="TIME",
        help="A new job begins with records from TIME on: 3h (ago), an ISO date.",
    ),
    click.option("--until", type=INSTANT, metavar="TIME", help="Only records before TIME."),
)
@options(
    "How to copy",
    click.option(
        "--delivery",
        type=click.Choice(["exactly-once", "at-least-once"]),
        default="exactly-once",
        help="Copy in transactions of the target, so that nothing is stored twice, or without: after a kill, records of "
        "about the last second may be.  [default: exactly-once]",
    ),
    click.option("--continuous", is_flag=True, help="Follow the source, slice by slice, until Ctrl-C."),
    click.option(
        "--slice",
        "slice_ms",
        type=POSITIVE_DURATION,
        metavar="DURATION",
        help="With --continuous: how often it looks for new records, topics and partitions.  [default: 30s]",
    ),
    click.option(
        "--job", metavar="NAME", help="Name of the job.  [default: from the source, -t and --map-topic]"
    ),
)
@job_options
@pass_invocation
def mirror(inv: Invocation, /, source: str, target: str, **flags: Any) -> int:
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
    from kcli.commands.pipeline._mirror_run import run  # not for --help

    return run(inv, source, target, flags)
