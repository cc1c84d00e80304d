"""``kcli mirror promote``: ends a job for good, and states its recovery point."""

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS, option
from kcli.commands.shared.params import DURATION
from kcli.commands.shared.two_clusters import from_option, job_option, to_option
from kcli.commands.shared.usage import usage
from kcli.flows.mirror.settings import MAX_WAIT


@command(
    "promote",
    exits={
        6: "records of the source may be missing, or an offset of a group is not set; always with --source-lost",
        7: "the target cannot hold an exact copy",
        8: "the clusters differ: nothing was promoted",
    },
    reads=("KCLI_IMPL",),
    outputs=REPORT_KINDS,
    examples=(
        ("kcli mirror promote --from a:9092 --to b:9092", "copy what is left, compare, and end the job"),
        (
            "kcli mirror promote --from a:9092 --to b:9092 --source-lost -o json",
            "without the source: what is there, and what may be missing",
        ),
        ("kcli mirror promote --from a:9092 --to b:9092 --job nightly --dry-run", "how far the job is"),
    ),
)
@options(
    "Promotion",
    from_option("copied", required=True),
    to_option("written", required=True),
    job_option(),
    option("--source-lost", is_flag=True, help="do not contact the source: promote by what is saved"),
    option(
        "--max-wait",
        type=DURATION,
        metavar="DUR",
        help=f"wait so long for producers to be quiet, and for open transactions (default: {MAX_WAIT:.0f}s)",
    ),
    option("--no-verify", is_flag=True, help="do not compare both sides before"),
)
@pass_invocation
def promote(
    inv: Invocation,
    /,
    source: str,
    target: str,
    job: str | None,
    source_lost: bool,
    max_wait: float | None,
    no_verify: bool,
) -> int:
    """End a mirror job for good, so that its target can be written, and state its recovery point.

    What is left is copied, until the source has nothing new. Both sides are compared, the offsets of groups are set for
    the last time, and ACLs that waited for this are created. Then no instance of the job copies any more. For each
    partition the report says up to which offset of the source the records are there, and how many may be missing.

    A job that is promoted already is not changed: its recovery point is shown again.
    """
    if source_lost and (max_wait is not None or no_verify):
        raise usage(
            "kcli mirror promote: --source-lost with --max-wait or --no-verify",
            why="nothing is copied or compared without the source",
            do="leave one of them out",
        )
    from kcli.commands.mirror.promoting import promote_job  # not for --help

    patience = MAX_WAIT if max_wait is None else max_wait
    return promote_job(
        inv, source, target, job, source_lost=source_lost, max_wait=patience, verify=not no_verify
    )
