"""``kcli pipeline import``: restore the topics of an export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.account.outcomes import Outcome
from kcli.account.survey import Missing
from kcli.commands.pipeline.jobs import (
    READS,
    TaskOptions,
    chosen_runner,
    copy_shown,
    job_options,
    kept_options,
    own_cluster,
    print_report,
    runner_of,
)
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import ClusterName, Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS, option
from kcli.commands.shared.two_clusters import map_topic_option, partitions_kept_option
from kcli.commands.shared.usage import usage
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ProducerOptions
from kcli.flows.stop import Stop
from kcli.flows.topics.lifetime import Kept
from kcli.pipeline.arrow_library import check_pyarrow

if TYPE_CHECKING:
    from kcli.flows.mirror.groups.offsets import GroupsAccount


@command(
    "import",
    reads=(*READS, "AWS_REGION", "AZURE_STORAGE_CONNECTION_STRING", "STORAGE_EMULATOR_HOST"),
    outputs=REPORT_KINDS,
    examples=(
        ("kcli pipeline import exports/orders -b new:9092", "restore a topic in another cluster"),
        ("kcli pipeline import exports/orders --dry-run", "check all files, and show what would be done"),
        ("kcli pipeline import s3://bucket/orders -b new:9092", "from an object store"),
        (
            "kcli pipeline import s3://bucket/backup --with-groups --with-config -b new:9092",
            "a whole backup: topics, their configuration, and where groups go on",
        ),
        (
            r"kcli pipeline import exports/all --map-topic '^(.*)$=restored.\1'",
            "all topics of an export, under other names",
        ),
        (
            "kcli pipeline import exports/orders --map-topic orders=orders-12 --partitions by-key",
            "into a topic with another number of partitions",
        ),
    ),
)
@click.argument("folder", metavar="DIR")
@map_topic_option("restore topic A as B")
@partitions_kept_option("restore")
@options(
    "Beside the records",
    option(
        "--with-groups", is_flag=True, help="set the positions of groups, each at the record that it was at"
    ),
    option("--with-config", is_flag=True, help="configure the topics as those of the export"),
)
@kept_options("import")
@job_options
@pass_invocation
def import_topics(
    inv: Invocation,
    /,
    folder: str,
    renames: tuple[str, ...],
    partitions: str,
    with_groups: bool,
    with_config: bool,
    kept: Kept,
    tasks: TaskOptions,
) -> int:
    """Restore the topics of an export, each record once.

    DIR is the folder or the URL of `kcli pipeline export`, as Parquet, ndjson or csv. Only files that its manifest names
    are read, after their sizes and digests are checked.

    Topics that are missing are created with the partitions and the configuration of the export, but for what is of one
    cluster. With --with-config they also get that, and topics that are there are configured like those of the export,
    which has to be made with the same option. With --with-groups the groups go on at the record that they were at,
    whatever its offset is now; a group that has members on the target is refused (7), and nothing is imported. What is
    not as it was is named (6).

    Keys, values, headers, timestamps, order and partitions are restored exactly; offsets are assigned by the brokers.

    An import that was interrupted goes on when it is run again, without storing anything twice. A topic that has records
    of something else is confirmed first. If the export has grown, what is new is added.

    Records that the topic would delete at once, by its retention, or refuse, are counted before anything is sent. Then
    nothing is imported (7), unless --timestamps now, --extend-retention or --force say what becomes of them.
    """
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.import_ import COLUMNS, FIXED, Import
    from kcli.pipeline.store.urls import canonical

    if with_groups and partitions == "by-key":
        raise usage(
            "kcli pipeline import: --with-groups with --partitions by-key",
            why="a position is one of a partition, whose records go to several by key",
            do="leave one of them out",
        )
    check_pyarrow("it reads Parquet and prepares records")
    tasks = chosen_runner(inv, tasks, "import")
    folder = canonical(folder)
    # Before files are read: it refuses what the profile forbids.
    inv.client_options(ProducerOptions, unused=FIXED)
    inv.configuration.check_no_registry()
    cluster = own_cluster(inv, FIXED)
    option = f"--profile {inv.profile.name}" if inv.profile is not None else f"-b {cluster.servers}"
    shown = copy_shown(inv, (ClusterName(folder, ""), ""), (inv.cluster_name, option))
    with Import(
        cluster,
        shown,
        folder,
        renames,
        by_key=partitions == "by-key",
        kept=kept,
        with_groups=with_groups,
        with_config=with_config,
    ) as driver:
        driver.prepare()
        inv.cluster_id = driver.cluster
        with runner_of(inv, tasks) as runner, Stop() as stop:
            driver.count_times(runner, stop)
            if stop:
                return inv.finish(done=False, also=[stop.exit_code])
            if not inv.dry_run:
                driver.may_begin()
            if not driver.check_files(runner, stop):
                return inv.finish(done=False, also=[stop.exit_code])
            if inv.dry_run:
                driver.may_begin()
                return ExitCode.DONE
            report = driver.restore(runner, stop)
            head = driver.head()
            return print_report(
                inv,
                report._replace(failures=[*report.failures, *_not_set(inv, driver.groups)]),
                COLUMNS,
                stop,
                command="import",
                runner=tasks.runner,
                cluster=inv.cluster_id,
                title="imported",
                head=head,
            )


def _not_set(inv: Invocation, account: GroupsAccount) -> list[KcliError]:
    """The positions that were not set; those for which the export lacks something are missing."""
    # Clients are loaded when the command runs.
    from kcli.flows.mirror.result import not_synced

    others: list[KcliError] = []
    for one in not_synced(account.offsets):
        if one.status is Outcome.MISSING:
            inv.lacks(Missing(f"the position of group {one.group}", one.partitions, one.error))
        else:
            others.append(one.error)
    if account.offsets:
        inv.talk.note(account.text)
    return others
