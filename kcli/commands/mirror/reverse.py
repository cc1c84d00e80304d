"""``kcli mirror reverse``: copies back what was written since a job was promoted."""

import click

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP, REPORT_KINDS, option
from kcli.commands.shared.params import DURATION
from kcli.commands.shared.two_clusters import from_option, job_option, to_option
from kcli.commands.shared.usage import usage


@command(
    "reverse",
    exits={
        5: "records were lost, or a topic was created anew",
        6: "a partition has ended with an error, stranded records could not be read, or an offset of a group is not set",
        7: "the job was not promoted, or another job of its name copies the other way",
        8: "an open transaction holds records back; the clusters differ (--verify)",
    },
    reads=("KCLI_IMPL",),
    outputs=REPORT_KINDS,
    examples=(
        (
            "kcli mirror reverse --from a:9092 --to b:9092 --stranded left.ndjson",
            "copy back from b to a, and write what only a has to a file",
        ),
        ("kcli mirror reverse --from a:9092 --to b:9092 --follow", "go on copying from b to a"),
        ("kcli mirror reverse --from a:9092 --to b:9092 --dry-run", "how much would be copied back"),
    ),
)
@options(
    "The job that was promoted",
    from_option("copied back to: the source of that job", required=True),
    to_option("copied back from: the target of that job", required=True),
    job_option(),
)
@options(
    "The way back",
    option("--follow", is_flag=True, help="go on when everything is copied that was there at the start"),
    option(
        "--stranded",
        "path",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="write the records that only the old source has to FILE, as consume -o ndjson does",
    ),
    option(
        "--sync-groups",
        "groups",
        type=GROUP,
        multiple=True,
        metavar="GROUP|GLOB|^REGEX",
        help="also commit the offsets of these groups, besides those of the job; repeatable",
    ),
    option("--verify", is_flag=True, help="compare what was copied back at the end; not with --follow"),
    option(
        "--max-wait",
        type=DURATION,
        metavar="DUR",
        help="end a partition that waits for so long (default: 60s, never with --follow)",
    ),
)
@pass_invocation
def reverse(
    inv: Invocation,
    /,
    source: str,
    target: str,
    job: str | None,
    follow: bool,
    path: str | None,
    groups: tuple[str, ...],
    verify: bool,
    max_wait: float | None,
) -> int:
    """Copy back to the old source what was written at the target since a mirror job was promoted.

    --from, --to and --job are those of the job that was promoted. Each partition is copied from where the recovery point
    ends, so nothing is sent back that came from there. Records of the old source that the target never got are
    stranded: they are counted, and stay where they are, before what is copied back.

    The way back is a job of its own, with the same name and the clusters exchanged: started again it continues, and it
    can be promoted, so that the first direction begins again.
    """
    if follow and verify:
        raise usage(
            "kcli mirror reverse: --follow with --verify",
            why="a comparison is made at the end",
            do="leave one of them out",
        )
    from kcli.commands.mirror.returning import Wishes, copy_back  # not for --help

    return copy_back(inv, source, target, job, Wishes(follow, path, groups, verify, max_wait))
