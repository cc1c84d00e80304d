"""``kcli mirror reset``: moves the positions of a job."""

import click

from kcli.commands.shared.changing import change_with
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.offset_spec import has_terminal, offset_spec
from kcli.commands.shared.options import OfferedType, option
from kcli.commands.shared.params import TOPIC_PARTITIONS, TopicPartitions
from kcli.commands.shared.sides import Side
from kcli.commands.shared.two_clusters import from_option, job_option, to_option
from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms
from kcli.core.names import DEFAULT_JOB
from kcli.core.options import ClientOptions

_EXAMPLES = "--offset 1200, --offset earliest, --offset latest (skips what is not copied), --offset @-1h, --offset -1000"


@command(
    "reset",
    exits={7: "the job runs, or was promoted"},
    examples=(
        (
            "kcli mirror reset orders --from a:9092 --to b:9092 --offset earliest",
            "copy all of a topic again",
        ),
        (
            "kcli mirror reset orders:3 --from a:9092 --to b:9092 --offset 1200 --dry-run",
            "what would be copied again of a partition, or skipped",
        ),
    ),
)
@click.argument("topics", type=TOPIC_PARTITIONS, nargs=-1, required=True, metavar="TOPIC|TOPIC:LIST…")
@options(
    "Positions",
    from_option("copied", required=True),
    to_option("written", required=True),
    job_option(),
    option(
        "--offset",
        required=True,
        type=OfferedType("offset", ("earliest", "latest")),
        metavar="SPEC",
        help="the new position in the source: an offset, +N, -N, earliest, latest, or a time",
    ),
)
@pass_invocation
def reset(
    inv: Invocation,
    /,
    source: str,
    target: str,
    job: str | None,
    topics: tuple[TopicPartitions, ...],
    offset: str,
) -> int:
    """Move positions of a mirror job, so that it copies records again, or skips some.

    The plan says how many records are copied again, and so are on the target twice, or are never copied: those are
    gaps in mirror status then. The job must not run, and must not be promoted; a topic that was deleted on one side and
    created again begins anew. Afterwards the positions are read back.
    """
    from kcli.core.admin.admin import Admin  # clients are loaded when the command runs
    from kcli.flows.mirror.job.reset import PositionReset
    from kcli.flows.mirror.job.writer import Target

    spec = offset_spec(offset, wall_ms(), "mirror reset: --offset", _EXAMPLES, terminal=has_terminal(inv))
    if spec.kind == "stored":
        raise usage(
            f"mirror reset: --offset {offset} is not an offset of a log",
            why="it means a group's committed offset, and no group is given",
            do=f"as in {_EXAMPLES}",
        )
    here = Side(inv, "--from", source, changes=False)
    there = Side(inv, "--to", target, changes=True)
    with (
        Admin(here.options(ClientOptions), inv.hooks, timeout=inv.timeout) as reader,
        Admin(there.options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin,
    ):
        with inv.first_contact(source):
            reader.connect()
        with inv.first_contact(target):
            cluster = admin.cluster_id()
        change = PositionReset(
            reader,
            Target(there, admin, inv.hooks, inv.timeout),
            job or DEFAULT_JOB,
            here.servers,
            [(one.topic, one.partitions) for one in topics],
            spec,
        )
        return change_with(inv, admin, cluster, change)
