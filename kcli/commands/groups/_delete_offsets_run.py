"""What ``kcli groups delete-offsets`` does: deletes committed offsets of some partitions."""

from collections.abc import Collection, Sequence

from kcli.commands.groups._losses import live_error, offsets_plan, subscribed_error, topics_of
from kcli.commands.groups._options import single_partitions
from kcli.commands.shared.cluster import connect, described_groups, open_admin, without_errors
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import TopicPartitions
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.unknown_group import group_argument
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.group.consumer_protocol import PROTOCOL_TYPE
from kcli.core.own_names import own_group_danger
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.output.progress import counted


def run(inv: Invocation, name: str, scopes: Sequence[TopicPartitions]) -> int:
    """The exit status."""
    with open_admin(inv) as admin:
        connect(inv, admin)
        admin.require("delete_offsets")
        found = described_groups(inv, admin, [name])
        committed = without_errors(inv, admin.fetch_offsets(dict.fromkeys(found)) if found else {})
        if not committed:
            return inv.finish(done=False)
        chosen, missing = _chosen(name, committed[name], scopes)
        kept, refused = _kept(found[name], {tp.topic for tp in chosen})
        plan = offsets_plan(found[name], chosen, kept)
        lost = [tp for tp in chosen if tp.topic not in kept]

        def remarks() -> None:
            for error in (*missing, *refused):
                inv.failed(error)

        if not lost:
            if chosen:
                show_plan(inv, plan)
            remarks()
            return inv.finish(done=False)
        question, own = f"Delete these offsets of group {name}?", own_group_danger(name)
        if not confirm(inv, plan, question, name=name, danger=own, remarks=remarks):
            return inv.finish(done=False)
        deleted = without_errors(inv, admin.delete_offsets({name: lost})[name])
        if deleted:
            inv.talk.note(f"deleted {counted(len(deleted), 'committed offset')} of group {name}")
    return inv.finish(done=bool(deleted))


def _chosen(
    name: str, committed: Committed, scopes: Sequence[TopicPartitions]
) -> tuple[dict[TopicPartition, OffsetAndMetadata], list[KcliError]]:
    """The commits to be deleted; and errors for partitions that were named and have no commit, or an unreadable one."""
    present = {tp: offset for tp, offset in committed.items() if offset is not None}
    errors: list[KcliError] = [
        NotFoundError(
            f"group {name} has no committed offset of {part}",
            why=f"it has committed offsets of {', '.join(sorted({tp.topic for tp in present}))}"
            if present
            else "it has no committed offsets at all",
            do=f"`kcli groups describe {group_argument(name)}` shows its offsets"
            if present
            else "nothing is to be deleted",
        )
        for part in single_partitions(scopes)
        if not any(tp in part for tp in present)
    ]
    named = {tp: offset for tp, offset in present.items() if any(tp in scope for scope in scopes)}
    errors += [offset for offset in named.values() if isinstance(offset, KcliError)]
    return {tp: offset for tp, offset in named.items() if not isinstance(offset, KcliError)}, errors


def _kept(group: GroupDescription, topics: Collection[str]) -> tuple[set[str], list[KcliError]]:
    """The topics whose offsets the broker keeps because members read them, and the errors that say so."""
    if topics and group.members and group.protocol_type != PROTOCOL_TYPE:
        return set(topics), [live_error(group, f"offsets of group {group.group_id} were not deleted")]
    read = set(topics) & {topic for member in group.members for topic in topics_of(member)}
    return read, [subscribed_error(group, topic) for topic in sorted(read)]
