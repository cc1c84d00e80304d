"""``kcli groups delete-offsets``: a group forgets what it has committed for some partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands.groups._topics_option import topics_option
from kcli.commands.shared.cluster import connect, described_groups, open_admin, without_errors
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import TopicPartitions
from kcli.commands.shared.types import GROUP

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kcli.core.admin.committed import Committed
    from kcli.core.admin.group_description import GroupDescription
    from kcli.core.errors import KcliError
    from kcli.core.types import OffsetAndMetadata, TopicPartition


@command(
    "delete-offsets",
    examples=(
        ("kcli groups delete-offsets billing -t orders", "all partitions of a topic"),
        (
            "kcli groups delete-offsets billing -t orders:0,2-4 -t refunds --yes",
            "some of one, all of another",
        ),
        ("kcli groups delete-offsets billing -t orders --dry-run", "only show what would be lost"),
    ),
)
@click.argument("name", type=GROUP, metavar="GROUP")
@topics_option("the topic, or some of its partitions", required=True)
@pass_invocation
def delete_offsets(inv: Invocation, name: str, scopes: tuple[TopicPartitions, ...]) -> int:
    """Delete committed offsets of a group.

    The name of the group has to be typed, or --yes or --confirm NAME be given. Of a running group only topics that no
    member reads any more can be chosen, the others are refused: exit code 7.
    """
    from functools import partial

    from kcli.commands.groups._losses import offsets_plan
    from kcli.commands.shared.confirm import confirm, show_plan
    from kcli.output.progress import counted

    done = False
    with open_admin(inv) as admin:
        connect(inv, admin)
        found = described_groups(inv, admin, [name])
        committed = without_errors(inv, admin.fetch_offsets(dict.fromkeys(found)) if found else {})
        for group in (found[one] for one in committed):
            chosen, missing = _chosen(name, committed[name], scopes)
            kept, refused = _kept(group, {tp.topic for tp in chosen})
            plan = offsets_plan(group, chosen, kept)
            lost = [tp for tp in chosen if tp.topic not in kept]
            report = partial(_report, inv, [*missing, *refused])
            if not lost:
                if chosen:
                    show_plan(inv, plan)
                report()
                continue
            question = f"Delete these offsets of group {name}?"
            if not confirm(inv, plan, question, name=name, remarks=report):
                continue
            outcome = admin.delete_offsets({name: lost})[name]
            gone = without_errors(inv, outcome)
            if gone:
                done = True
                inv.talk.note(f"deleted {counted(len(gone), 'committed offset')} of group {name}")
    return inv.finish(done=done)


def _report(inv: Invocation, errors: Sequence[KcliError]) -> None:
    for error in errors:
        inv.failed(error)


def _chosen(
    name: str, committed: Committed, scopes: Sequence[TopicPartitions]
) -> tuple[dict[TopicPartition, OffsetAndMetadata], list[KcliError]]:
    """The commits that are to go, and why others cannot: what was named and has no commit, or cannot be read."""
    from kcli.core.errors import KcliError, NotFoundError

    errors: list[KcliError] = []
    there = {tp: offset for tp, offset in committed.items() if offset is not None}
    for scope in scopes:
        numbers = scope.partitions
        parts = [scope] if numbers is None else [TopicPartitions(scope.topic, (n,)) for n in numbers]
        for part in parts:
            if not any(tp in part for tp in there):
                errors.append(
                    NotFoundError(
                        f"group {name} has no committed offset of {part}",
                        do=f"it has committed offsets of {', '.join(sorted({tp.topic for tp in there}))}"
                        if there
                        else "nothing is to be deleted: it has no committed offsets at all",
                    )
                )
    named = {tp: offset for tp, offset in there.items() if any(tp in scope for scope in scopes)}
    errors += [offset for offset in named.values() if isinstance(offset, KcliError)]
    return {w: offset for w, offset in named.items() if not isinstance(offset, KcliError)}, errors


def _kept(group: GroupDescription, topics: Collection[str]) -> tuple[set[str], list[KcliError]]:
    """Those of the topics whose offsets the broker keeps because members read them, and the errors that say so."""
    from kcli.commands.groups._losses import live_error, subscribed_error, topics_of
    from kcli.core.group.consumer_protocol import PROTOCOL_TYPE

    if topics and group.members and group.protocol_type != PROTOCOL_TYPE:
        return set(topics), [live_error(group, f"offsets of group {group.group_id} were not deleted")]
    read = set(topics) & {topic for member in group.members for topic in topics_of(member)}
    return read, [subscribed_error(group, topic) for topic in sorted(read)]
