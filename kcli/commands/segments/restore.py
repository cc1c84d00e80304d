"""``kcli segments restore``: its options, and what contradicts what. The restore itself is in ``_restoring.py``."""

from typing import Any

import click

from kcli.commands.segments._paths import check_paths, path_arguments
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS, option
from kcli.commands.shared.params import DURATION, Rate, rate_option
from kcli.commands.shared.two_clusters import (
    check_excludes,
    config_options,
    exclude_option,
    job_option,
    map_topic_option,
    to_option,
    topics_option,
)
from kcli.flows.mirror.settings import MirrorSettings, Pace


@command(
    "restore",
    exits={
        5: "a batch is damaged (--on-corrupt stop)",
        6: "partitions, replicas in sync, damaged batches, topics of the brokers, or offsets of groups are missing",
        7: "a topic of the target has records that are not of this restore, or cannot hold an exact copy",
        8: "what was restored differs from the files",
    },
    reads=("KCLI_IMPL",),
    outputs=REPORT_KINDS,
    examples=(
        ("kcli segments restore /mnt/disk1 /mnt/disk2 /mnt/disk3 --to new --dry-run", "what could be restored"),
        ("kcli segments restore /mnt/disk1 /mnt/disk2 /mnt/disk3 --to new --with-groups", "all topics, with groups"),
        ("kcli segments restore /mnt/kafka --to new -t orders --map-topic orders=orders-rescued", "one topic"),
        ("kcli segments restore /mnt/kafka --to new --on-corrupt skip", "what is left around damaged batches"),
    ),
)  # fmt: skip
@path_arguments
@options(
    "What to restore",
    to_option("written", required=True),
    topics_option("restore", required=False),
    exclude_option("restore"),
    map_topic_option("restore topic A as B"),
    option(
        "--with-groups",
        is_flag=True,
        help="also set the committed offsets of all groups, translated to the offsets of the restored records",
    ),
)
@options(
    "How to restore",
    option(
        "--on-corrupt",
        type=click.Choice(["skip", "stop"]),
        default="stop",
        help="at a damaged batch: leave it out and continue, or end that partition there (default: stop)",
    ),
    option(
        "--replication-factor",
        "replicas",
        type=click.IntRange(1, 32767),
        metavar="N",
        help="replicas of topics that are created (default: as many as they had, and the target has brokers)",
    ),
    *config_options(),
    option(
        "--max-wait",
        type=DURATION,
        metavar="DUR",
        help="end a partition that waits for so long for the cluster, or for a disk (default: 60s)",
    ),
    rate_option("limit: records per second, or 10MB/s"),
    job_option("restore"),
)
@pass_invocation
def restore(
    inv: Invocation,
    /,
    paths: tuple[str, ...],
    target: str,
    topics: tuple[str, ...],
    with_groups: bool,
    on_corrupt: str,
    rate: Rate | None,
    **given: Any,
) -> int:
    """Restore topics of a broker's log directories to a cluster, each record exactly once, and prove that it is there.

    PATH is a log directory, as log.dirs names it; give those of all brokers and disks that are left. Without -t, all
    topics are restored but the internal ones. Of the replicas of a partition, the one that is whole and has most is
    taken. Topics are created with the partitions and the configuration that they had, as far as the metadata log is
    there.

    Batches are sent as the bytes in which they were stored, where brokers accept that. What a reader with
    read_committed would get is restored: no record of a transaction that was aborted. A transaction that was open when
    the brokers ended is aborted, unless its coordinator had decided to commit it.

    The plan says what is whole, damaged, or missing. Killed at any moment and run again, the same line continues, and
    nothing is stored twice. At the end, all restored records are read back and compared, and the report says for each
    partition up to which offset its records are there. The restore is a job of `kcli mirror`, as `kcli mirror status`
    lists it.
    """
    check_paths(paths)
    check_excludes("segments restore", topics, given["excludes"])
    settings = MirrorSettings(
        topics=topics or ("*",),
        groups=("*",) if with_groups else (),
        on_gap="record" if on_corrupt == "skip" else "fail",
        pace=Pace() if rate is None else Pace(records_per_second=rate.records, bytes_per_second=rate.bytes),
        exactly_once=True,
        until_caught_up=True,
        verify=True,
        **given,
    )
    from kcli.commands.segments._restoring import restore_topics  # not for --help

    return restore_topics(inv, paths, target, settings)
