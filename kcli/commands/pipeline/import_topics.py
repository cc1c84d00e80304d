"""``kcli pipeline import``: restore the topics of an export."""

import click

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
from kcli.commands.shared.command import command
from kcli.commands.shared.context import ClusterName, Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS
from kcli.commands.shared.two_clusters import map_topic_option, partitions_kept_option
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ProducerOptions
from kcli.flows.stop import Stop
from kcli.flows.topics.lifetime import Kept
from kcli.pipeline.arrow_library import check_pyarrow


@command(
    "import",
    reads=(*READS, "AWS_REGION", "AZURE_STORAGE_CONNECTION_STRING", "STORAGE_EMULATOR_HOST"),
    outputs=REPORT_KINDS,
    examples=(
        ("kcli pipeline import exports/orders -b new:9092", "restore a topic in another cluster"),
        ("kcli pipeline import exports/orders --dry-run", "check all files, and show what would be done"),
        ("kcli pipeline import s3://bucket/orders -b new:9092", "from an object store"),
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
@kept_options("import")
@job_options
@pass_invocation
def import_topics(
    inv: Invocation,
    /,
    folder: str,
    renames: tuple[str, ...],
    partitions: str,
    kept: Kept,
    tasks: TaskOptions,
) -> int:
    """Restore the topics of an export, each record once.

    DIR is the folder or the URL of `kcli pipeline export`, as Parquet, ndjson or csv. Only files that its manifest names
    are read, after their sizes and digests are checked.

    Topics that are missing are created with the partitions and the configuration of the export. Keys, values,
    headers, timestamps, order and partitions are restored exactly; offsets are assigned by the brokers.

    An import that was interrupted goes on when it is run again, without storing anything twice. A topic that has records
    of something else is confirmed first. If the export has grown, what is new is added.

    Records that the topic would delete at once, by its retention, or refuse, are counted before anything is sent. Then
    nothing is imported (7), unless --timestamps now, --extend-retention or --force say what becomes of them.
    """
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.import_ import COLUMNS, FIXED, Import
    from kcli.pipeline.store.urls import canonical

    check_pyarrow("reads Parquet and prepares records")
    tasks = chosen_runner(inv, tasks, "import")
    folder = canonical(folder)
    # Before files are read: it refuses what the profile forbids.
    inv.client_options(ProducerOptions, unused=FIXED)
    inv.configuration.check_no_registry()
    cluster = own_cluster(inv, FIXED)
    option = f"--profile {inv.profile.name}" if inv.profile is not None else f"-b {cluster.servers}"
    shown = copy_shown(inv, (ClusterName(folder, ""), ""), (inv.cluster_name, option))
    with Import(cluster, shown, folder, renames, by_key=partitions == "by-key", kept=kept) as driver:
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
            return print_report(
                inv,
                driver.restore(runner, stop),
                COLUMNS,
                stop,
                command="import",
                runner=tasks.runner,
                cluster=inv.cluster_id,
                title="imported",
            )
