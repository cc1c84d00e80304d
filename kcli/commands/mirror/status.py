"""``kcli mirror status``: the jobs that write to a cluster, and how far each partition is."""

import click

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sides import Side
from kcli.commands.shared.two_clusters import to_option
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ClientOptions
from kcli.flows.mirror.state import PartitionProgress, SavedJob, is_running
from kcli.flows.mirror.store import saved_jobs
from kcli.output.progress import counted
from kcli.output.tables import Column

COLUMNS = (
    Column("job", values="string", meaning="Name of the job."),
    Column("topic"),
    Column("partition", "number"),
    Column("target", spare=3, values="string", meaning="Name of the topic on the target."),
    Column("position", "number", values="count", meaning="The next offset to be copied."),
    Column(
        "lag_records",
        "number",
        meaning="Offsets that were left when the job was last seen; null where that was not known.",
    ),
    Column("records", "number", spare=1, values="count", meaning="Records that were copied."),
    Column(
        "state",
        values=("running", "ended", "unknown"),
        meaning="unknown: it has not been seen for a while.",
    ),
    Column("updated_at", "time", spare=2, values="time", meaning="When it was last seen."),
    Column("delivery", wide=True, values="string", meaning="exactly once, or at least once."),
    Column("source_cluster", wide=True, values="string", meaning="Id of the source."),
    Column("host", wide=True, values="string", meaning="The machine that runs it."),
)


@command(
    "status",
    outputs=("table", "plain", "wide", "tsv", "csv", "json", "ndjson", "yaml"),
    examples=(
        ("kcli mirror status --to b:9092", "the jobs that write to a cluster"),
        ("kcli mirror status --to b:9092 --job nightly -o json", "one of them"),
    ),
)
@options(
    "Jobs",
    to_option("written", required=True),
    click.option("--job", metavar="NAME", help="list this job only"),
)
@pass_invocation
def status(inv: Invocation, /, target: str, job: str | None) -> int:
    """List the mirror jobs that write to a cluster, and how far each partition is.

    The jobs keep their positions on the target, so the source is not contacted.
    """
    side = Side(inv, "--to", target, changes=False)
    with Admin(side.options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
        with inv.first_contact(target):
            cluster = admin.cluster_id()
        jobs = saved_jobs(side, admin, inv.hooks, wait=False)
    if job is not None and job not in jobs:
        raise NotFoundError(
            f"mirror job {job} does not exist",
            why=f"this cluster has {counted(len(jobs), 'job')}",
            do="`kcli mirror status --to HOST:PORT` lists the jobs",
        )
    now = wall_ms()
    rows = (row for name in sorted(jobs) if job in (None, name) for row in _rows(jobs[name], now))
    print_rows(inv, "MirrorJobList", COLUMNS, rows, cluster, item="MirrorJob")
    return ExitCode.DONE


def _lag(progress: PartitionProgress) -> int | None:
    return None if progress.source_end < 0 else max(0, progress.source_end - progress.position)


def _rows(job: SavedJob, now: int) -> list[dict[str, object]]:
    state = job.state
    status = "ended" if state.ended else "running" if is_running(state, now) else "unknown"
    return [
        {
            "job": state.job,
            "topic": tp.topic,
            "partition": tp.partition,
            "target": saved.progress.target,
            "position": saved.progress.position,
            "lag_records": _lag(saved.progress),
            "records": saved.progress.records,
            "delivery": state.delivery,
            "updated_at": saved.progress.updated_ms,
            "state": status,
            "source_cluster": state.source,
            "host": state.host,
        }
        for tp, saved in sorted(job.partitions.items())
    ]
