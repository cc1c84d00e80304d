"""What ``kcli groups create`` and ``kcli groups copy`` do: commit offsets with the plan and the undo of a rewind."""

from collections.abc import Sequence
from functools import partial
from shlex import join

from kcli.commands.groups._executing import confirm_and_execute
from kcli.commands.groups._rewind_target import group_target, spec_target
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.offset_spec import has_terminal
from kcli.commands.shared.params import TopicPartitions
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.flows.rewind.scope import Scope, parse_topics
from kcli.flows.rewind.spans import time_spans
from kcli.flows.rewind.survey import RewindRequest, survey
from kcli.flows.transfer.stopping import advise_stopping

EXAMPLES = "--from earliest, --from latest, --from @-1h, --from 2026-11-21T10:00Z, --from 1200"


def create(inv: Invocation, name: str, scopes: Sequence[TopicPartitions], start: str) -> int:
    """The exit status. ``start`` is an offset or a time, as users write it."""
    target, words = spec_target(start, "groups create: --from", EXAMPLES, terminal=has_terminal(inv))
    if target.is_relative:
        raise usage(
            f"groups create: --from {start} is relative to a committed offset",
            why="a new group has no committed offsets",
            do=f"as in {EXAMPLES}",
        )
    scope = Scope(parse_topics(map(str, scopes)))
    asked = RewindRequest({name: target}, words, scope, act="Create group", makes=True, only_new=True)
    with open_admin(inv) as admin:
        return _execute(inv, admin, connect(inv, admin), asked)


def copy(inv: Invocation, source: str, name: str) -> int:
    """The exit status. ``name`` gets the offsets of ``source``."""
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        targets = {name: group_target(admin, source, exact=True)}
        asked = RewindRequest(
            targets, f"the committed offsets of group {source}", act="Copy into group", makes=True
        )
        live = join(["kcli", "groups", "rewind", name, "--to-group", source, "--live"])
        return _execute(inv, admin, cluster, asked, live)


def _execute(
    inv: Invocation, admin: Admin, cluster: str, asked: RewindRequest, live_command: str = ""
) -> int:
    """``live_command`` does the same to a group with members; empty where there is none."""
    plan, failures = survey(admin, cluster, asked, wall_ms(), partial(time_spans, admin))
    if admin.lacks("hold_group") is not None:
        live_command = ""
    return confirm_and_execute(inv, admin, advise_stopping(plan, lambda _group: live_command), failures)
