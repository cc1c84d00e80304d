"""Committed offsets of groups, translated to the target. The plan is pure; ``sync_groups`` reads and commits.

A translation is exact or unknown, never beyond the end of the target. A group that has members on the target is left
alone: they commit themselves. An offset that a group committed on the target is never moved backwards, since its
consumers have moved over already.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_bytes
from kcli.core.error_codes import (
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import KcliError
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.offset_map import OffsetMap, Unknown

_HAS_MEMBERS = frozenset({UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS})

SET = "set"
SAME = "same"
KEPT = "kept"
UNKNOWN = "unknown"
LIVE = "live"
FAILED = "failed"


class Translated(NamedTuple):
    """One committed offset. ``target_offset`` is None where it is unknown; ``why`` explains every status but SET."""

    group: str
    source: TopicPartition
    target: TopicPartition
    source_offset: int
    target_offset: int | None
    status: str
    why: str = ""


class Mapped(NamedTuple):
    """The target of a partition and its offset map; None where partitions are chosen by key. ``topic_id``: of the target,
    in Kafka's text form; an offset is committed for no other topic of its name.
    """

    target: TopicPartition
    offsets: OffsetMap | None
    topic_id: str = ""


def translate_group(
    group: str,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    there: Mapping[TopicPartition, OffsetAndMetadata | None],
    maps: Mapping[TopicPartition, Mapped],
) -> list[Translated]:
    """What the group's offsets are on the target; ``there`` is what it has committed there already.

    Partitions that are not mirrored are left out.
    """
    found = []
    for tp in sorted(committed.keys() & maps.keys()):
        mapped, offset = maps[tp], committed[tp].offset
        row = Translated(group, tp, mapped.target, offset, None, UNKNOWN)
        if mapped.offsets is None:
            found.append(row._replace(why="its records went to partitions by key"))
            continue
        translated = mapped.offsets.translate(offset)
        if isinstance(translated, Unknown):
            found.append(row._replace(why=translated.why))
            continue
        before = there.get(mapped.target)
        if before is None or before.offset < translated:
            status, why = SET, ""
        elif before.offset == translated:
            status, why = SAME, "it is committed already"
        else:
            status, why = (
                KEPT,
                f"the group has committed offset {before.offset} on the target, which is later",
            )
        found.append(row._replace(target_offset=translated, status=status, why=why))
    return found


def sync_groups(
    source: Admin, target: Admin, groups: Sequence[str], maps: Mapping[TopicPartition, Mapped]
) -> tuple[list[Translated], dict[str, KcliError]]:
    """Translates and commits the offsets of ``groups``; also returns the groups that could not be read."""
    found: list[Translated] = []
    errors: dict[str, KcliError] = {}
    # Brokers before 2.5 cannot wait for transactions that are open. What they return was committed before these, thus
    # is never ahead of the group; a later look finds the rest.
    stable = source.lacks("fetch_stable") is None
    here = source.fetch_offsets({group: list(maps) for group in groups}, require_stable=stable)
    there = target.fetch_offsets({group: [mapped.target for mapped in maps.values()] for group in groups})
    commits: dict[str | GroupMetadata, dict[TopicPartition, OffsetAndMetadata]] = {}
    for group in groups:
        committed, already = here[group], there[group]
        if isinstance(committed, KcliError):
            errors[group] = committed
            continue
        if isinstance(already, KcliError):
            errors[group] = already
            continue
        rows = translate_group(group, _read(committed), _read(already), maps)
        found += rows
        metadata = {row.source: committed[row.source] for row in rows}
        new = {
            row.target: OffsetAndMetadata(
                row.target_offset,
                _metadata(metadata[row.source]),
                topic_id=id_bytes(maps[row.source].topic_id),
            )
            for row in rows
            if row.status == SET and row.target_offset is not None
        }
        if new:
            commits[group] = new
    stored = target.commit_offsets(commits) if commits else {}
    return [_with_outcome(row, stored) for row in found], errors


def _with_outcome(
    row: Translated, stored: Mapping[str, Mapping[TopicPartition, KcliError | None]]
) -> Translated:
    error = stored.get(row.group, {}).get(row.target) if row.status == SET else None
    if error is None:
        return row
    if getattr(error, "code", None) in _HAS_MEMBERS:
        return row._replace(status=LIVE, why="the group has members on the target, which commit themselves")
    return row._replace(status=FAILED, why=str(error))


def _read(
    committed: Mapping[TopicPartition, OffsetAndMetadata | KcliError | None],
) -> dict[TopicPartition, OffsetAndMetadata]:
    return {tp: one for tp, one in committed.items() if isinstance(one, OffsetAndMetadata)}


def _metadata(committed: OffsetAndMetadata | KcliError | None) -> str:
    return committed.metadata if isinstance(committed, OffsetAndMetadata) else ""
