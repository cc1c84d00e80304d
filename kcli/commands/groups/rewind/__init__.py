"""``kcli groups rewind``: the committed offsets of groups moved back or forward, with a plan, a journal and an undo.

Its options; what they mean is in ``options.py``, what a run does in ``run.py``.
"""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

import click

from kcli.commands.groups._options import empty_group_option
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import (
    GROUP,
    LIKE_A_DURATION,
    TARGET,
    TOPIC,
    AttachedOption,
    CountType,
    option,
)
from kcli.commands.shared.params import DURATION, Word
from kcli.core.clock import wall_ms
from kcli.core.positions import parse_instant

DATETIME = Word(
    "time", lambda text: parse_instant(text, wall_ms(), UTC)
)  # without a zone UTC, as in Kafka's script


def _changes(given: Mapping[str, Any]) -> bool:
    # Not for --help.
    from kcli.commands.groups.rewind.options import RewindOptions

    return RewindOptions(**given).changes


@command(
    "rewind",
    changes=_changes,
    exits={
        6: "some partitions are not moved, or not known to be held after --live",
        7: "the group has members, a target cannot be reached, or somebody else moved the offsets",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli groups rewind billing --to @-1h --dry-run", "the plan for one hour back; nothing is changed"),
        ("kcli groups rewind billing --to 2026-11-21T10:00Z --topic orders", "to a time, in one topic"),
        (
            "kcli groups rewind billing --to earliest --topic orders:0,2-4 --yes",
            "some partitions, in a script",
        ),
        (
            "kcli groups rewind billing --to @-10m --live",
            "a running group: its members continue from there",
        ),
        (
            "kcli groups rewind billing --to -1000 --wait=5m",
            "back by 1000 offsets, once its members have left",
        ),
        ("kcli groups rewind billing --undo", "restore what was committed before the last rewind"),
        ("kcli groups rewind --journal", "list the rewinds that can be undone"),
        (
            "kcli groups rewind billing --check 20261121-091403-3fa9c1",
            "what became of a rewind with --live that ended with unknown partitions",
        ),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="GROUP…")
@options(
    "Where to",
    option(
        "--to",
        type=TARGET,
        metavar="SPEC",
        help="earliest, latest, current, an offset, +N or -N from the commit, a time (@-1h, 2026-11-21T10:00Z)",
    ),
    option("--to-group", type=GROUP, metavar="GROUP", help="to what another group has committed"),
    option("--from-file", metavar="FILE", help="to the offsets of a csv: [group,]topic,partition,offset"),
    option(
        "--undo",
        cls=AttachedOption,
        bare="",
        looks=r"\d{8}-\d{6}-[0-9a-f]{6}",
        metavar="[=ID]",
        help="undo the latest rewind of the group, or rewind ID",
    ),
)
@options(
    "Which partitions",
    option(
        "--topic",
        "topics",
        type=TOPIC,
        multiple=True,
        metavar="TOPIC[:LIST]",
        help="only this topic, or some partitions, as in orders:0,2-4; repeatable",
    ),
    option(
        "--exclude-topic",
        "excluded",
        type=TOPIC,
        multiple=True,
        metavar="TOPIC",
        help="all but this topic; repeatable",
    ),
    option("--all-topics", is_flag=True, help="all topics for which the group has committed offsets"),
    empty_group_option(),
    option(
        "--all-groups",
        is_flag=True,
        help="all consumer groups that have committed offsets of the given topics",
    ),
)
@options(
    "Groups with members",
    option(
        "--live", is_flag=True, help="rewind a group that has members: they are held back for some seconds"
    ),
    option(
        "--hold",
        cls=AttachedOption,
        bare="",
        looks=LIKE_A_DURATION,
        metavar="[=DUR]",
        help="like --live, and hold the group while the plan is reviewed, for at most this long",
    ),
    option(
        "--wait",
        cls=AttachedOption,
        bare="",
        looks=LIKE_A_DURATION,
        metavar="[=DUR]",
        help="wait until the members have left and open transactions have ended, then rewind",
    ),
    option(
        "--watch",
        cls=AttachedOption,
        bare="",
        looks=LIKE_A_DURATION,
        metavar="[=DUR]",
        help="with --live: how long to watch the members' commits afterwards, at most; 0s: not at all",
    ),
)
@options(
    "Instead of a rewind",
    option(
        "--journal", is_flag=True, help="list the rewinds of this cluster that were made from this machine"
    ),
    option("--check", metavar="ID", help="check again what became of rewind ID, which was made with --live"),
    option(
        "--export", is_flag=True, help="print the plan as Kafka's csv; without --execute nothing is changed"
    ),
)
@options(
    "As Kafka's script spells it",
    option("--to-earliest", is_flag=True, help="Kafka's spelling of --to earliest"),
    option("--to-latest", is_flag=True, help="Kafka's spelling of --to latest"),
    option("--to-current", is_flag=True, help="Kafka's spelling of --to current"),
    option("--to-offset", type=CountType(0), metavar="N", help="Kafka's spelling of --to N"),
    option(
        "--to-datetime",
        type=DATETIME,
        metavar="TIME",
        help="like --to; as in Kafka's script, UTC if no zone is given",
    ),
    option("--by-duration", type=DURATION, metavar="DUR", help="Kafka's spelling of --to @-DUR"),
    option("--shift-by", type=CountType(), metavar="N", help="Kafka's spelling of --to +N or -N"),
    option(
        "--group",
        "more_names",
        type=GROUP,
        multiple=True,
        metavar="GROUP",
        help="Kafka's spelling of GROUP; repeatable",
    ),
    option("--reset-offsets", is_flag=True, hidden=True),
    option("--execute", is_flag=True, help="Kafka's spelling of --yes"),
)
@pass_invocation
def rewind(inv: Invocation, /, **given: Any) -> int:
    """Move the committed offsets of groups back or forward.

    Shows a plan first: old and new offset of every partition, and how many records will be read again or skipped. The
    previous offsets are kept in a journal, for --undo. Afterwards every partition is read back. No offset is set, also
    by an undo, in a topic that was deleted and recreated since it was planned or journalled.

    A group with members is refused: they would continue from their own positions and commit those. --live evicts them,
    sets the offsets as the only member, and releases them when they can only start there. Their commits are then
    watched until each partition is known to be held or overwritten, for at most 90 seconds (--watch), or 5 minutes
    where a member that is away has a long session. A partition that is not decided by then is unknown (6), and --check
    examines it again. Needs --topic or --all-topics unless the group has commits on one topic only, or a file or
    another group determines the partitions.
    """
    from kcli.commands.groups.rewind.run import run  # the options load no client

    return run(inv, **given)
