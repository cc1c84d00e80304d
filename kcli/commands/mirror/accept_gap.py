"""``kcli mirror accept-gap``: acknowledges gaps of a job."""

import click

from kcli.commands.shared.changing import change_with
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import TOPIC_PARTITIONS, TopicPartitions
from kcli.commands.shared.sides import Side
from kcli.commands.shared.two_clusters import job_option, to_option
from kcli.commands.shared.usage import usage
from kcli.core.names import DEFAULT_JOB
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition


@command(
    "accept-gap",
    exits={1: "a partition has no gap"},
    examples=(
        ("kcli mirror accept-gap orders:3 --to b:9092", "acknowledge the gaps of a partition"),
        ("kcli mirror accept-gap --all --to b:9092 --job nightly --dry-run", "all gaps of a job"),
    ),
)
@click.argument("partitions", type=TOPIC_PARTITIONS, nargs=-1, metavar="TOPIC:LIST…")
@options(
    "Gaps",
    to_option("written", required=True),
    job_option(),
    option("--all", "everything", is_flag=True, help="all gaps of the job"),
)
@pass_invocation
def accept_gap(
    inv: Invocation,
    /,
    target: str,
    job: str | None,
    partitions: tuple[TopicPartitions, ...],
    everything: bool,
) -> int:
    """Acknowledge gaps of a mirror job: records that it has not copied, which was accepted or ordered.

    They stay in mirror status until then. Nothing is copied, and the job may run. Afterwards the gaps are read back.
    """
    from kcli.core.admin.admin import Admin  # clients are loaded when the command runs
    from kcli.flows.mirror.job.accept_gaps import GapAcceptance
    from kcli.flows.mirror.job.writer import Target

    chosen = _chosen(partitions, everything=everything)
    side = Side(inv, "--to", target, changes=True)
    with Admin(side.options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
        with inv.first_contact(target):
            cluster = admin.cluster_id()
        change = GapAcceptance(Target(side, admin, inv.hooks, inv.timeout), job or DEFAULT_JOB, chosen)
        return change_with(inv, admin, cluster, change)


def _chosen(partitions: tuple[TopicPartitions, ...], *, everything: bool) -> list[TopicPartition] | None:
    """The partitions that are named; None for all."""
    if everything == bool(partitions):
        raise usage(
            "mirror accept-gap: partitions with --all" if everything else "mirror accept-gap: no partition",
            why="the gaps are those of partitions, or all of the job",
            do="give TOPIC:P, or --all",
        )
    for one in partitions:
        if one.partitions is None:
            raise usage(
                f"mirror accept-gap: {one.topic} is a topic",
                why="gaps are acknowledged partition by partition",
                do=f"as in {one.topic}:0, or --all",
            )
    return (
        None
        if everything
        else [TopicPartition(one.topic, number) for one in partitions for number in one.partitions or ()]
    )
