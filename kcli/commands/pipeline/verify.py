"""``kcli pipeline verify``: the options. A run is in ``_verify_run.py``."""

from collections.abc import Mapping
from typing import Any

import click

from kcli.commands.pipeline._job_options import job_options
from kcli.commands.pipeline._outputs import REPORTS
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import INSTANT
from kcli.commands.shared.two_clusters import from_option, map_topic_option, to_option, topics_option

LEVELS = ("offsets", "digest", "records")


def _changes(flags: Mapping[str, Any]) -> bool:
    return bool(flags["repair"])


@command(
    "verify",
    changes=_changes,
    exits={8: "the topics differ"},
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
    outputs=REPORTS,
    examples=(
        ("kcli pipeline verify --from a:9092 --to b:9092 -t orders", "are all records equal, and in order?"),
        (
            "kcli pipeline verify --from a:9092 --to b:9092 -t '^orders-.*' --level records",
            "which record differs first, and in what",
        ),
        (
            "kcli pipeline verify --from a:9092 --to b:9092 -t users --compacted",
            "compare the last record of each key",
        ),
        (
            "kcli pipeline verify --from a:9092 --to b:9092 -t users --compacted --repair",
            "and write those that differ",
        ),
    ),
)
@options(
    "What to compare",
    from_option("right", required=True),
    to_option("compared with it", required=True),
    topics_option("compare", required=True),
    map_topic_option("topic A is called B on the target"),
    click.option(
        "--since",
        type=INSTANT,
        metavar="TIME",
        help="only records from TIME on: 3h (ago), an ISO date, an epoch",
    ),
    click.option("--until", type=INSTANT, metavar="TIME", help="only records before TIME"),
)
@options(
    "How to compare",
    click.option(
        "--level",
        type=click.Choice(LEVELS),
        default="digest",
        help="offsets: numbers of offsets only, nothing is read; digest: all records, by digests; records: also find the "
        "record that differs (default: digest)",
    ),
    click.option(
        "--compacted",
        is_flag=True,
        help="compare the last record of each key, whatever compaction has removed before it",
    ),
    click.option(
        "--repair",
        is_flag=True,
        help="write to the target what it lacks: records at the end of a partition; with --compacted last records "
        "of keys",
    ),
)
@job_options
@pass_invocation
def verify(inv: Invocation, /, source: str, target: str, **flags: Any) -> int:
    """Compare topics of two clusters, partition by partition.

    Records are equal if key, value, headers and timestamp are, and if they are in the same order; offsets may differ.
    The ends of the partitions are fixed at the start. A record of the source that the target does not have yet is a
    difference, and so is one too many. Exit code 8 if anything differs.

    A topic that is compacted differs between clusters, since each compacts on its own: --compacted compares the last
    record of each key instead, and a deleted key is the same as none.
    """
    from kcli.commands.pipeline._verify_run import run  # not for --help

    return run(inv, source, target, flags)
