"""``kcli groups why``: why a group is behind, and what to do about it."""

from __future__ import annotations

import click

from kcli.commands.groups._options import empty_group_option, with_empty_group
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP
from kcli.commands.shared.params import serde_option
from kcli.commands.shared.usage import usage


@command(
    "why",
    exits={1: "the group does not exist", 6: "something could not be read"},
    outputs=("table", "wide", "plain", "json", "ndjson", "yaml"),
    examples=(
        ("kcli groups why billing", "its verdict, what it stands at, and what to do"),
        ("kcli groups why billing -s value=json", "whether its next records can be decoded as JSON"),
        ("kcli groups why billing -o json | jq '.items[0].remedies'", "for scripts"),
    ),
)
@click.argument("name", required=False, type=GROUP, metavar="GROUP")
@empty_group_option()
@serde_option("try to decode the next records: {names}; repeatable")
@pass_invocation
def why_group(inv: Invocation, name: str | None, empty_group: bool, serdes: tuple[str, ...]) -> int:
    """Say why a group is behind, and what to do about it.

    Shows its lag and verdict as `kcli groups lag --watch` would after a minute: what has happened since then is in the
    log of commits, __consumer_offsets, and in the times of records. From the same log come changes of the membership,
    which are rebalances, in the last 10 minutes.

    Of each partition with unread records it shows the next one: its time, key, size, and what its value looks like
    (json, text, schema, bytes, empty, null). It is said where -s cannot decode it, or where it does not look like the
    record before. Records that an open transaction holds back are shown with that transaction.

    Nothing is changed; the lines of what to do can be run as they are.
    """
    names = with_empty_group(() if name is None else (name,), empty_group)
    if len(names) != 1:
        raise usage(
            "groups why: missing argument GROUP" if not names else "groups why: --empty-group with a name",
            why="it is about one group",
            do="name one, as in `kcli groups why billing`; `kcli groups list` lists them",
        )
    from kcli.commands.groups._why_page import show_why  # clients are loaded when the command runs

    return show_why(inv, names[0], serdes)
