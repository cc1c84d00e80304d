"""``kcli groups create``: commit offsets for a group that has none, or set start offsets."""

import click

from kcli.commands.groups._options import topics_option
from kcli.commands.groups.rewind.options import spec_target
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.confirm import may_be_agreed
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.offset_spec import has_terminal
from kcli.commands.shared.options import GROUP, START, option
from kcli.commands.shared.params import TopicPartitions
from kcli.commands.shared.usage import usage

KINDS = ("classic", "consumer", "share", "streams")
EXAMPLES = "--from earliest, --from latest, --from @-1h, --from 2026-11-21T10:00Z, --from 1200"


@command(
    "create",
    exits={7: "the group has members"},
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli groups create audit -t orders --from earliest", "from the start of all partitions"),
        ("kcli groups create audit -t orders -t refunds --from @-1h --dry-run", "the plan for one hour back"),
        ("kcli groups create work --type share -t orders --from latest", "a share group, for new records"),
    ),
)
@click.argument("name", type=GROUP, metavar="GROUP")
@topics_option("the topic, or some of its partitions", required=True)
@option(
    "--type",
    "kind",
    type=click.Choice(KINDS),
    default="classic",
    help="of consumers, or of share consumers, KIP-932 (default: classic)",
)
@option(
    "--from",
    "--to",
    "start",
    required=True,
    type=START,
    metavar="SPEC",
    help="earliest, latest, an offset, a time (@-1h, 2026-11-21T10:00Z)",
)
@pass_invocation
def create_group(
    inv: Invocation, name: str, scopes: tuple[TopicPartitions, ...], kind: str, start: str
) -> int:
    """Create a group that starts at a given offset or time, by committing offsets for all partitions of topics.

    The group must not have committed offsets yet (exit code 7: already exists). Shows a plan first; `kcli groups
    rewind GROUP --undo` reverts it. A time means the first record that is not older.

    A group of consumers has the type that its first member chooses. A share group exists from its first start offset
    on; configuration alone, as of `kcli configs alter groups GROUP`, may precede it and makes none.
    """
    if kind == "streams":
        raise usage(
            "groups create: --type streams",
            why="a streams group is made by its application, which reports its topology when it joins",
            do="start the application; without --type, offsets are committed for one that uses the classic protocol",
        )
    from kcli.flows.transfer.create import group_creation  # clients are loaded when the command runs

    target, words = spec_target(start, "groups create: --from", EXAMPLES, terminal=has_terminal(inv))
    if target.is_relative:
        raise usage(
            f"groups create: --from {start} is relative to a committed offset",
            why="a new group has no committed offsets",
            do=f"as in {EXAMPLES}",
        )
    topics = map(str, scopes)
    return run_change(
        inv,
        group_creation(
            name,
            "share" if kind == "share" else "classic",
            target,
            words,
            topics,
            inv.cluster_name,
            again=inv.yes,
            dry=inv.dry_run or not may_be_agreed(inv),
        ),
    )
