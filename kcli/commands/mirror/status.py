"""``kcli mirror status``: the jobs that write to a cluster, who runs them, and how far each partition is."""

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS, option
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sides import Side
from kcli.commands.shared.two_clusters import to_option
from kcli.core.admin.admin import Admin
from kcli.core.errors import NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ClientOptions
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.job.status import known_jobs
from kcli.output.progress import counted
from kcli.output.tables import Column

COLUMNS = (
    Column("job", values="string", meaning="Name of the job."),
    Column("topic"),
    Column("partition", "number"),
    Column("target", spare=4, values="string", meaning="Name of the topic on the target."),
    Column("position", "number", values="count", meaning="The next offset to be copied."),
    Column(
        "lag_records",
        "number",
        meaning="Offsets that were left when the source was read last; null while it is not read.",
    ),
    Column(
        "end_seen_at",
        "time",
        wide=True,
        values="time?",
        meaning="When the end of the source was read last; null if it never was.",
    ),
    Column("records", "number", spare=3, values="count", meaning="Records that were copied."),
    Column(
        "state",
        values=tuple(state.value for state in State),
        meaning="not_selected: its last run did not select the topic; ended: nothing is copied any more.",
    ),
    Column("since", "time", wide=True, meaning="Since when; null where it is not known."),
    Column("why", "prose", spare=2, meaning="What it waits for, or why it has ended."),
    Column(
        "gaps",
        spare=1,
        values="spans",
        meaning="First and last offset of what was not copied, which nobody has acknowledged (mirror accept-gap).",
    ),
    Column(
        "running", values="boolean?", meaning="Whether a process runs the job; null where that is not known."
    ),
    Column("host", spare=5, values="string", meaning="The machine that runs it, or ran it last."),
    Column("pid", "id", wide=True, meaning="Its process; null where it is not known."),
    Column(
        "running_since",
        "time",
        wide=True,
        meaning="Since when that process is there; null where none runs it.",
    ),
    Column(
        "standbys",
        wide=True,
        values="objects",
        inner=(
            Column("host", values="string", meaning="The machine."),
            Column("pid", values="integer", meaning="The process."),
            Column("since", "time", values="time", meaning="Since when it is there."),
        ),
        meaning="Instances that take over when the one that runs ends.",
    ),
    Column("delivery", wide=True, values="string", meaning="exactly once, or at least once."),
    Column("updated_at", "time", wide=True, values="time", meaning="When its position was saved last."),
    Column("source_cluster", wide=True, values="string", meaning="Id of the source."),
)


@command(
    "status",
    outputs=REPORT_KINDS,
    examples=(
        ("kcli mirror status --to b:9092", "the jobs that write to a cluster"),
        ("kcli mirror status --to b:9092 --job nightly -o json", "one of them"),
    ),
)
@options(
    "Jobs",
    to_option("written", required=True),
    option("--job", metavar="NAME", help="list the jobs of this name only"),
)
@pass_invocation
def status(inv: Invocation, /, target: str, job: str | None) -> int:
    """List the mirror jobs that write to a cluster, who runs them, and how far each partition is.

    The jobs keep their positions on the target, so the source is not contacted. Whether a job runs is known from the
    group of its instances; without the permission to describe it, that is null.
    """
    side = Side(inv, "--to", target, changes=False)
    with Admin(side.options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
        with inv.first_contact(target):
            cluster = admin.cluster_id()
        jobs = known_jobs(side, admin, inv.hooks)
    chosen = [one for one in jobs if job in (None, one.id.job)]
    if job is not None and not chosen:
        raise NotFoundError(
            f"mirror job {job} does not exist",
            why=f"this cluster has {counted(len(jobs), 'job')}",
            do="`kcli mirror status --to HOST:PORT` lists the jobs",
        )
    for one in chosen:
        if not one.saved.partitions:
            inv.talk.warn(f"mirror job {one.id.job} has no partition: its last run has begun with none")
    rows = (row for one in chosen for row in one.rows())
    print_rows(inv, "MirrorJobList", COLUMNS, rows, cluster, item="MirrorJob")
    return ExitCode.DONE
