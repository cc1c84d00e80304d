"""``kcli topics copy``: a copy of a topic within its cluster, with its records or without."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, option
from kcli.commands.shared.params import DURATION, Rate, check_topic_name, config_option, rate_option
from kcli.commands.shared.usage import usage


@command(
    "copy",
    exits={
        5: "records of the source were removed before they were copied, or a batch is damaged",
        7: "a topic of the copy's name exists and does not fit",
        8: "an open transaction holds records back, or the topics differ",
    },
    examples=(
        ("kcli topics copy orders orders.v2 --dry-run", "what would be copied, and with which settings"),
        ("kcli topics copy orders orders.v2", "the records that are there now, compared afterwards"),
        ("kcli topics copy orders orders.v2 --rate 20MB/s", "slowly, beside other clients"),
        ("kcli topics copy orders orders.test --settings-only", "an empty topic with the same settings"),
    ),
)
@click.argument("source", type=TOPIC, metavar="A")
@click.argument("target", metavar="B")
@option("--settings-only", is_flag=True, help="create B with the same settings, without records")
@config_option("configuration of B, whatever A has, as in retention.ms=7d; repeatable")
@rate_option("limit: records per second, or 10MB/s")
@option(
    "--max-wait",
    type=DURATION,
    metavar="DUR",
    help="end a partition that waits for so long, as for an open transaction (default: 60s)",
)
@pass_invocation
def copy_topic(
    inv: Invocation,
    source: str,
    target: str,
    settings_only: bool,
    configs: tuple[tuple[str, str], ...],
    rate: Rate | None,
    max_wait: float | None,
) -> int:
    """Copy topic A to a topic B of the same cluster: settings and records, each once, compared afterwards.

    B is created with the partitions, the replicas and the configuration of A, where --config does not say otherwise. The
    records that are there at the start are copied in whole batches, with their keys, values, headers and timestamps, to
    the same partitions; then all of them are read back and compared.

    Records of aborted transactions are not copied. Of a compacted topic, what its log still has is copied. Offsets are
    others in B.

    Stopped in the middle, the same line continues where it ended, and nothing is stored twice; run again later, it adds
    what has come since. A topic B that exists is taken if it is empty and has the same settings, else exit code 7. The
    copy is a job of `kcli mirror`, as `kcli mirror status` lists it; that has more options, as for other partitions.
    """
    for name in (source, target):
        check_topic_name(name, "topics copy")
    if source == target:
        raise usage(
            f"kcli topics copy: {source} would be copied to itself",
            why="both names are the same",
            do=f"choose another name: `kcli topics copy {source} {source}.copy`",
        )
    if settings_only:
        for option, given in (("--rate", rate), ("--max-wait", max_wait)):
            if given is not None:
                raise usage(
                    f"kcli topics copy: {option} with --settings-only",
                    why="no records are copied",
                    do="leave one of them out",
                )
        # Clients are loaded when the command runs.
        from kcli.commands.shared.changing import run_change
        from kcli.core.types import TopicSpec
        from kcli.flows.topics.create import TopicCreation

        spec = TopicSpec(target, configs=dict(configs))
        change = TopicCreation([spec], may_exist=True, dry_run=inv.dry_run, like=source, exactly=True)
        return run_change(inv, change)
    from kcli.commands.topics._copying import copy_records  # as above

    return copy_records(inv, source, target, dict(configs), rate, max_wait)
