"""Where groups are, and how that is set, whatever their type: committed offsets, or the start offsets of share groups
(KIP-932), which take their place. Brokers keep no metadata with start offsets, and delete those of whole topics only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kcli.core.admin.admin import Admin
from kcli.core.admin.commits import Stored
from kcli.core.admin.committed import Committed
from kcli.core.admin.share_offsets import ShareOffset
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.offsets import start_offsets

Wanted = Mapping[str, Collection[TopicPartition] | None]
"""The partitions of each group; None: all of them."""


def read_offsets(admin: Admin, wanted: Wanted, shares: Collection[str]) -> dict[str, Committed | KcliError]:
    """As ``Admin.fetch_offsets``; ``shares`` are those of the groups that are share groups. None: there is no offset.
    A group that does not exist has none.
    """
    others = {group: rows for group, rows in wanted.items() if group not in shares}
    commits = admin.fetch_offsets(others) if others else {}
    named = [group for group in wanted if group in shares]
    starts = admin.share_offsets(named) if named else {}
    found: dict[str, Committed | KcliError] = {}
    for group, partitions in wanted.items():
        if group not in starts:
            found[group] = commits[group]
            continue
        of_group = starts[group]
        offsets = start_offsets({} if isinstance(of_group, NotFoundError) else of_group)
        if isinstance(offsets, KcliError) or partitions is None:
            found[group] = offsets
        else:
            found[group] = {tp: offsets.get(tp) for tp in partitions}
    return found


def offsets_and_type(admin: Admin, group: str) -> tuple[Committed, str]:
    """The offsets of a group whose type is not known, and its type. Raises the error of what cannot be read; a group that
    does not exist has no offsets and no type.
    """
    described = admin.describe_groups([group], all_types=True)[group]
    if isinstance(described, KcliError) and not isinstance(described, NotFoundError):
        raise described
    kind = "" if isinstance(described, KcliError) else described.type
    found = read_offsets(admin, {group: None}, [group] if kind == SHARE else [])[group]
    if isinstance(found, KcliError):
        raise found
    return found, kind


def write_offsets(
    admin: Admin, wanted: Mapping[str, Mapping[TopicPartition, OffsetAndMetadata]], shares: Collection[str]
) -> dict[str, Stored]:
    """Commits offsets, or sets start offsets."""
    commits: dict[str | GroupMetadata, Mapping[TopicPartition, OffsetAndMetadata]] = {
        GroupMetadata(group): rows for group, rows in wanted.items() if group not in shares
    }
    starts = {
        group: {tp: one.offset for tp, one in rows.items()}
        for group, rows in wanted.items()
        if group in shares
    }
    stored = admin.commit_offsets(commits) if commits else {}
    return {**stored, **(admin.alter_share_offsets(starts) if starts else {})}


def remove_offsets(
    admin: Admin, wanted: Mapping[str, Collection[TopicPartition]], shares: Collection[str]
) -> dict[str, Stored]:
    """Deletes committed offsets, or start offsets, which have to be all of their topics in a group."""
    commits = {group: rows for group, rows in wanted.items() if group not in shares}
    topics = {group: {tp.topic for tp in rows} for group, rows in wanted.items() if group in shares}
    stored = admin.delete_offsets(commits) if commits else {}
    answers = admin.delete_share_offsets(topics) if topics else {}
    starts = {group: {tp: answers[group][tp.topic] for tp in wanted[group]} for group in answers}
    return {**stored, **starts}


def partly_kept(
    removed: Collection[TopicPartition], present: Collection[TopicPartition]
) -> dict[str, list[TopicPartition]]:
    """By topic, the partitions that would lose their start offset too, though they are not to be ``removed``. Pure."""
    found: dict[str, list[TopicPartition]] = {}
    topics = {tp.topic for tp in removed}
    for tp in sorted(present):
        if tp.topic in topics and tp not in removed:
            found.setdefault(tp.topic, []).append(tp)
    return found


def acknowledged(
    starts: Mapping[TopicPartition, ShareOffset | KcliError], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """How many records after the start offset are acknowledged at least, where the coordinator reports the lag. ``ends``
    were read before the lags. Pure.
    """
    return {
        tp: max(0, ends[tp] - one.start - one.lag)
        for tp, one in starts.items()
        if isinstance(one, ShareOffset) and one.start is not None and one.lag is not None and tp in ends
    }


def forgotten(old: int, new: int, end: int, acknowledged: int) -> tuple[int, str]:
    """How many of the ``acknowledged`` records after a start offset are delivered again once it is set to ``new``, in a
    log with this end; and what is said of it. Pure.
    """
    count = min(acknowledged, max(0, end - new))
    most = "up to " if new > old else ""
    return count, f"{most}{count:,} acknowledged after it, delivered again" if count else ""
