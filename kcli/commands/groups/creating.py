"""``kcli groups create``: a group's first commits, made before its first member comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands.groups._topics_option import topics_option
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import GROUP, START
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    from kcli.commands.shared.params import TopicPartitions
    from kcli.flows.rewind.survey import RewindRequest

EXAMPLES = "--from earliest, --from latest, --from @-1h, --from 2026-11-21T10:00Z, --from 1200"


@command(
    "create",
    examples=(
        ("kcli groups create audit -t orders --from earliest", "from the start of all partitions"),
        ("kcli groups create audit -t orders -t refunds --from @-1h --dry-run", "the plan for one hour back"),
    ),
)
@click.argument("name", type=GROUP, metavar="GROUP")
@topics_option("the topic, or some of its partitions", required=True)
@click.option(
    "--from",
    "start",
    required=True,
    type=START,
    metavar="SPEC",
    help="earliest, latest, an offset, a time (@-1h, 2026-11-21T10:00Z)",
)
@pass_invocation
def create_group(inv: Invocation, name: str, scopes: tuple[TopicPartitions, ...], start: str) -> int:
    """Create a group that starts at a given offset or time, by committing it for all partitions of topics.

    The group must not have committed anything yet (exit code 7: already exists). Shows a plan first; `kcli groups
    rewind GROUP --undo` takes it back. A time is the first record that is not older.
    """
    from functools import partial

    from kcli.commands.groups._executing import confirm_and_execute
    from kcli.core.clock import wall_ms
    from kcli.flows.rewind.spans import time_spans
    from kcli.flows.rewind.survey import survey
    from kcli.flows.transfer.stopping import to_be_stopped

    request = _asked(inv, name, scopes, start)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        plan, failures = survey(admin, cluster, request, wall_ms(), partial(time_spans, admin))
        return confirm_and_execute(inv, admin, to_be_stopped(plan, lambda _group: ""), failures)


def _asked(inv: Invocation, name: str, scopes: tuple[TopicPartitions, ...], start: str) -> RewindRequest:
    from kcli.commands.groups._rewind_target import has_terminal, spec_target
    from kcli.flows.rewind.scope import Scope, parse_topics
    from kcli.flows.rewind.survey import RewindRequest

    target, words = spec_target(start, "groups create: --from", EXAMPLES, terminal=has_terminal(inv))
    if target.is_relative:
        raise usage(
            f"groups create: --from {start} is from a commit",
            why="a group that is made has none yet",
            do=f"as in {EXAMPLES}",
        )
    scope = Scope(parse_topics(map(str, scopes)))
    return RewindRequest({name: target}, words, scope, act="Create group", makes=True, only_new=True)
