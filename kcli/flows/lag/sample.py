"""One look at groups: what they have committed, and where the logs begin and end. Shared by commands and the screen.

The number of round trips does not depend on the number of groups or partitions. Commits are read before ends, so that
a group that goes on reading meanwhile is never shown ahead of the log.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError, UnsupportedError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import assigned
from kcli.flows.groups.offsets import LogEnds, log_ends

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.committed import Committed
    from kcli.core.admin.group_description import GroupDescription

_NONE: Mapping[str, KcliError] = {}
_COMMITS_NOTHING = ("share",)  # their positions are kept elsewhere (KIP-932)


@dataclass(frozen=True, slots=True)
class GroupSample:
    """A group at that moment. ``committed`` has None for a partition that it reads and has not committed.

    ``state`` is Kafka's word, empty where brokers do not tell; ``description`` is there when members were asked for.
    """

    group: str
    state: str
    committed: Mapping[TopicPartition, OffsetAndMetadata | KcliError | None]
    description: GroupDescription | None = None


@dataclass(frozen=True, slots=True)
class LagSample:
    """``at_ms`` is when the commits were read, since the epoch. ``failed``: groups of which nothing is known, and why."""

    at_ms: int
    groups: Sequence[GroupSample]
    bounds: Mapping[TopicPartition, LogEnds]
    failed: Mapping[str, KcliError] = field(default_factory=dict)
    partial: Sequence[KcliError] = ()
    """Why groups may be missing that nobody has named."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """``groups`` empty: all of them. ``topics`` empty: all, else groups that have something of these.

    ``members``: who reads what, as well.
    """

    groups: Sequence[str] = ()
    topics: Collection[str] = ()
    members: bool = False


def take_sample(admin: Admin, wanted: Wanted) -> LagSample:
    """Raises what no answer at all was given for; everything else has its error in its place."""
    states, described, failed, partial = _groups(admin, wanted)
    return sample_of(admin, states, described, topics=wanted.topics, failed=failed, partial=partial)


def sample_of(
    admin: Admin,
    states: Mapping[str, str],
    described: Mapping[str, GroupDescription],
    *,
    topics: Collection[str] = (),
    failed: Mapping[str, KcliError] = _NONE,
    partial: Sequence[KcliError] = (),
) -> LagSample:
    """Of groups whose states are known; see ``take_sample``."""
    failed, at_ms = dict(failed), wall_ms()
    committed = admin.fetch_offsets(dict.fromkeys(states)) if states else {}
    groups = []
    for name, state in states.items():
        offsets, description = committed[name], described.get(name)
        if isinstance(offsets, KcliError):
            failed[name] = offsets
            continue
        places = _of_topics(offsets, description, topics)
        if places or not topics:
            groups.append(GroupSample(name, state, places, description))
    wanted = dict.fromkeys(where for one in groups for where in one.committed)
    return LagSample(at_ms, groups, log_ends(admin, wanted, stable=True), failed, partial)


def _groups(
    admin: Admin, wanted: Wanted
) -> tuple[dict[str, str], dict[str, GroupDescription], dict[str, KcliError], list[KcliError]]:
    """States by name, descriptions where they are wanted, and what is not known."""
    described: dict[str, GroupDescription] = {}
    failed: dict[str, KcliError] = {}
    if wanted.groups:
        for name, told in admin.describe_groups(wanted.groups).items():
            if isinstance(told, KcliError):
                failed[name] = told
            else:
                described[name] = told
        return {name: told.state for name, told in described.items()}, described, failed, []
    listing = admin.list_groups()
    listed = [row for row in listing.groups if row.type not in _COMMITS_NOTHING]
    if wanted.members:
        live = [row.group_id for row in listed if row.state != "Empty"]
        for name, told in (admin.describe_groups(live) if live else {}).items():
            if isinstance(told, KcliError):
                if not isinstance(told, UnsupportedError):
                    failed[name] = told
            else:
                described[name] = told
    states = {row.group_id: row.state for row in listed if row.group_id not in failed}
    return states, described, failed, list(listing.errors.values())


def _of_topics(
    offsets: Committed, description: GroupDescription | None, topics: Collection[str]
) -> dict[TopicPartition, OffsetAndMetadata | KcliError | None]:
    """What is committed, and what members read without having committed anything; in order."""
    places = dict[TopicPartition, OffsetAndMetadata | KcliError | None](offsets)
    for where in assigned(description) if description is not None else ():
        places.setdefault(where, None)
    chosen = places if not topics else {where: at for where, at in places.items() if where.topic in topics}
    return dict(sorted(chosen.items()))
