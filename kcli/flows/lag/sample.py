"""A sample of groups: their commits, and the start and end of the logs. Shared by commands and the screen.

The number of round trips does not depend on the number of groups or partitions. Commits are read before ends, so that a
group that reads meanwhile is never shown ahead of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.admin.commit_columns import CommitColumns, TopicPartitions
from kcli.core.admin.committed import Committed
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.cluster.everywhere import ALL_LISTED, Unlisted
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.core.names import CHECKPOINTS, GROUP_PREFIXES, own_group_note
from kcli.core.types import GroupPartition, TopicPartition
from kcli.flows.groups.description import SHARE, STREAMS, WITHOUT_MEMBERS, subscribed
from kcli.flows.groups.offsets import (
    LogEnds,
    Topics,
    log_ends,
    missing_offsets,
    reported_lags,
    start_offsets,
    uncommitted,
)

if TYPE_CHECKING:  # loaded where groups are described and listed
    from kcli.core.admin.group_description import GroupDescription
    from kcli.core.admin.groups import GroupListing

_NONE: Mapping[str, KcliError] = {}
_NO_TYPES: Mapping[str, str] = MappingProxyType({})
_NO_LAGS: Mapping[TopicPartition, int] = MappingProxyType({})
_OTHERS = (SHARE, STREAMS)  # described whatever their state is


class GroupSample(NamedTuple):
    """A group at that moment. ``committed`` has None for a partition of its topics without a commit.

    ``state`` and ``type`` are Kafka's words, empty where brokers do not report them; ``description`` is set when members
    were requested. Of a share group ``committed`` are the start offsets, and ``lags`` what its coordinator reports.
    """

    group: str
    state: str
    committed: Committed
    description: GroupDescription | None = None
    type: str = ""
    lags: Mapping[TopicPartition, int] = _NO_LAGS


class LagSample(NamedTuple):
    """``at_ms`` is when the commits were read, since the epoch; ``failed`` has the errors of unreadable groups."""

    at_ms: int
    groups: Sequence[GroupSample]
    bounds: Mapping[TopicPartition, LogEnds]
    failed: Mapping[str, KcliError] = _NONE
    partial: Sequence[KcliError] = ()
    """Why groups that were not named are missing."""
    unsure: bool = False
    """Whether it is not known that each group has a coordinator: then there may be more groups."""
    unlisted: Unlisted = ALL_LISTED
    """Which of those there may be."""
    undescribed: Mapping[str, KcliError] = _NONE
    """Why the members of groups are not known whose offsets are."""

    @property
    def names(self) -> frozenset[str]:
        """The groups that it has, or could not read."""
        return frozenset(one.group for one in self.groups).union(self.failed)

    @property
    def missing(self) -> list[Missing]:
        """What is not in the sample: groups, commits, and offsets of partitions that exist."""
        commits = {
            GroupPartition(one.group, tp): commit
            for one in self.groups
            if not isinstance(one.committed, CommitColumns)
            for tp, commit in one.committed.items()
        }
        return [
            *map(Missing.of, self.partial),
            *(Missing.of(error, f"group {name}") for name, error in self.failed.items()),
            *(Missing.of(error, f"members of group {name}") for name, error in self.undescribed.items()),
            *missing_offsets({tp: log.error for tp, log in self.bounds.items()}, commits),
        ]

    def topics_without_rows(self, topics: Collection[str]) -> list[str]:
        """Those of the topics that no group of the sample reads."""
        read = {tp.topic for one in self.groups for tp in one.committed} if topics else ()
        return sorted(set(topics).difference(read))


def without_rows(topic: str) -> Missing:
    """A topic that was asked for, of groups that were named and do not read it."""
    return Missing.of(
        NotFoundError(
            f"none of these groups has an offset or a member for topic {topic}",
            why="the groups that are named read other topics",
            do="check the topic name, or leave out --topic: without --topic all topics are shown",
        )
    )


Accepts = Callable[[str], bool]
"""Whether a name is wanted."""


class Wanted(NamedTuple):
    """``groups`` empty: all that ``accepts_group`` accepts.

    ``accepts_topic``: partitions of these topics only, and only groups that have some. ``members``: include members and
    assignments. ``internal``: also groups of kcli's own whose commits are positions in a log.
    """

    groups: Sequence[str] = ()
    members: bool = False
    accepts_group: Accepts | None = None
    accepts_topic: Accepts | None = None
    internal: bool = False


def sample_seconds(admin: Admin, interval: float) -> float:
    """How long a sample may take that is repeated every ``interval`` seconds (``Admin.within``)."""
    return max(interval, admin.timeout)


def take_sample(admin: Admin, wanted: Wanted, known: Collection[str] = ()) -> LagSample:
    """Raises an error only if nothing could be read; every other error is part of the sample.

    ``known``: the groups of the sample before. Those that may still exist, though no broker lists them, are ``failed``.
    """
    at_ms = wall_ms() if wanted.groups else None  # commits are asked for together with the groups
    found = _groups(admin, wanted)
    failed, listing = dict(found.failed), found.listing
    if listing is not None:
        failed |= _unlisted(admin, listing, set(known).difference(found.states, failed))
    sample = sample_of(
        admin,
        found.states,
        found.described,
        types=found.types,
        accepts_topic=wanted.accepts_topic,
        failed=failed,
        partial=() if listing is None else listing.missing,
        at_ms=at_ms,
    )
    undescribed = {name: why for name, why in found.undescribed.items() if name not in sample.failed}
    sample = sample._replace(undescribed=undescribed)
    return sample if listing is None else sample._replace(unsure=listing.unsure, unlisted=listing.unlisted)


def _unlisted(admin: Admin, listing: GroupListing, names: Collection[str]) -> dict[str, KcliError]:
    """Why groups that no broker lists may exist all the same; those that do not exist are left out.

    A broker that has just become the coordinator lists none of its groups, without an error, until it has begun to load
    them: metadata names it, it has not heard of that itself. Requests for a group by its name wait until it has.
    """
    found = {name: error for name in sorted(names) if (error := why_unlisted(listing, name)) is not None}
    others = sorted(set(names).difference(found))
    for name, one in (admin.describe_groups(others, all_types=True) if others else {}).items():
        if not isinstance(one, KcliError):
            found[name] = KcliError(f"group {name} could not be listed", why="its coordinator has just moved")
        elif not isinstance(one, NotFoundError):
            found[name] = one
    return found


def why_unlisted(listing: GroupListing, group: str) -> KcliError | None:
    """Why a group may exist, though it is not listed; None where its coordinator has responded. Pure."""
    if not listing.is_partial:
        return None
    from kcli.flows.groups.commit_times import offsets_partition  # only where something is missing

    errors, partitions = listing.unlisted
    place = offsets_partition(group, partitions) if partitions else None
    cause = listing.missing[0] if place is None else errors.get(place.partition)
    if cause is None:
        return None
    found = KcliError(f"group {group} could not be listed", why=cause.why or cause.what, do=cause.do)
    found.__cause__ = cause
    found.exit_code, found.part = cause.exit_code, f"group {group}"
    found.place = cause.place if place is None else str(place)
    return found


def sample_of(
    admin: Admin,
    states: Mapping[str, str],
    described: Mapping[str, GroupDescription],
    *,
    types: Mapping[str, str] = _NO_TYPES,
    accepts_topic: Accepts | None = None,
    failed: Mapping[str, KcliError] = _NONE,
    partial: Sequence[KcliError] = (),
    at_ms: int | None = None,
) -> LagSample:
    """The sample of groups whose states and types are known; see ``take_sample``. ``at_ms``: of commits that were asked
    for before.
    """
    failed, at_ms = dict(failed), wall_ms() if at_ms is None else at_ms
    shared = [name for name in types if types[name] == SHARE and name in states]
    others = dict.fromkeys(states) if not shared else dict.fromkeys(states.keys() - set(shared))
    committed = admin.fetch_offsets(others) if others else {}
    starts = admin.share_offsets(shared) if shared else {}
    groups: list[GroupSample] = []
    for name, state in states.items():  # thousands: few calls
        offsets = committed[name] if name in committed else start_offsets(starts[name])
        if isinstance(offsets, KcliError):
            failed[name] = offsets
            continue
        lags = reported_lags(starts[name]) if name in starts else _NO_LAGS
        description = described[name] if name in described else None  # noqa: SIM401 - unlike get not a call
        groups += (GroupSample(name, state, offsets, description, types.get(name, ""), lags),)
    topics = _topics_of(admin, groups)
    wanted: list[GroupSample] = []
    gaps = _Gaps(topics)
    for one in groups:
        without = gaps(one)
        if without or accepts_topic is not None or not isinstance(one.committed, CommitColumns):
            chosen = _of_topics(one.committed, without, accepts_topic)
            if not chosen and accepts_topic is not None:
                continue
            one = one._replace(committed=chosen)  # noqa: PLW2901 - with these commits
        wanted += (one,)  # unlike append not a call
    bounds = log_ends(admin, _partitions_of(wanted), stable=True, topics=topics)
    return LagSample(at_ms, wanted, bounds, failed, partial)


def _topics_of(admin: Admin, groups: Sequence[GroupSample]) -> Topics:
    """The topics that groups have commits in, or read."""
    partitions = _partitions_of(groups)
    names = {tp.topic for tp in partitions}
    for one in groups:
        if one.description is not None:
            names.update(tp.topic for tp in _assigned(one.description))
            names.update(subscribed(one.description) or ())
    return admin.describe_topics(sorted(names), partitions, similar=False) if names else {}


def _partitions_of(groups: Iterable[GroupSample]) -> set[TopicPartition]:
    """All partitions of the groups. Many groups have the same partitions and share a tuple, which is added once."""
    found = set[TopicPartition]()
    shared: dict[int, TopicPartitions] = {}
    for one in groups:
        if isinstance(one.committed, CommitColumns):
            shared[id(one.committed.partitions)] = one.committed.partitions
        else:
            found.update(one.committed)
    return found.union(*shared.values())


class _Groups(NamedTuple):
    """States and types by name, descriptions if requested, errors, and the list of all groups where none was named.

    ``undescribed``: why the members of groups are not known that can be read otherwise.
    """

    states: dict[str, str]
    types: dict[str, str]
    described: dict[str, GroupDescription]
    failed: dict[str, KcliError]
    undescribed: Mapping[str, KcliError] = _NONE
    listing: GroupListing | None = None


def _groups(admin: Admin, wanted: Wanted) -> _Groups:
    described: dict[str, GroupDescription] = {}
    failed: dict[str, KcliError] = {}
    if wanted.groups:
        admin.begin_fetch_offsets(wanted.groups)
        for name, found in admin.describe_groups(wanted.groups, all_types=True).items():
            if isinstance(found, KcliError):
                failed[name] = found
            elif name.startswith(CHECKPOINTS):
                failed[name] = KcliError(
                    f"group {name} has no lag",
                    why=own_group_note(name) or "",
                    do=f"`kcli groups describe {quote(name)}` shows it",
                )
            else:
                described[name] = found
        states = {name: found.state for name, found in described.items()}
        return _Groups(states, {name: found.type for name, found in described.items()}, described, failed)
    listing = admin.list_groups()
    hidden = CHECKPOINTS if wanted.internal else GROUP_PREFIXES  # has CHECKPOINTS as well
    listed = [
        row
        for row in listing.groups
        if not row.group_id.startswith(hidden)
        and (wanted.accepts_group is None or wanted.accepts_group(row.group_id))
    ]
    undescribed: dict[str, KcliError] = {}
    if wanted.members:
        live = [row.group_id for row in listed if row.state != "Empty" or row.type in _OTHERS]
        for name, found in (admin.describe_groups(live, all_types=True) if live else {}).items():
            if not isinstance(found, KcliError):
                described[name] = found
            elif isinstance(found, UnsupportedError):
                undescribed[name] = found
            else:
                failed[name] = found
    states = {row.group_id: row.state for row in listed if row.group_id not in failed}
    types = {row.group_id: row.type for row in listed}
    return _Groups(states, types, described, failed, undescribed, listing)


def _assigned(description: GroupDescription) -> Iterable[TopicPartition]:
    return chain.from_iterable(member.assignment or () for member in description.members)


class _Gaps:
    """Partitions without a commit: of the topics of a group (see ``uncommitted``), and those that its members read.
    Groups with the same partitions share a tuple of them, which is searched once.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._sets: dict[int, frozenset[TopicPartition]] = {}
        self._known: dict[tuple[int, frozenset[str] | None], list[TopicPartition]] = {}

    def __call__(self, one: GroupSample) -> list[TopicPartition]:
        committed = one.committed
        if one.description is None:
            # Whose members are not known, may read other topics than it has committed in.
            read: frozenset[str] | None = None if one.state in WITHOUT_MEMBERS else frozenset()
            assignments: Iterable[TopicPartition] = ()
        else:
            read, assignments = subscribed(one.description), _assigned(one.description)
        if one.type == SHARE:
            read = frozenset()
        if not isinstance(committed, CommitColumns):
            have = frozenset(committed)
            return [tp for tp in assignments if tp not in have] + uncommitted(self._topics, have, read)
        key = id(committed.partitions), read
        if key not in self._known:
            self._known[key] = uncommitted(self._topics, self._set(committed), read)
        if assignments == ():
            return self._known[key]
        have = self._set(committed)
        return [tp for tp in assignments if tp not in have] + self._known[key]

    def _set(self, committed: CommitColumns) -> frozenset[TopicPartition]:
        known = self._sets.get(id(committed.partitions))
        if known is None:
            known = self._sets[id(committed.partitions)] = frozenset(committed.partitions)
        return known


def _of_topics(
    offsets: Committed, without: Iterable[TopicPartition], accepts_topic: Accepts | None
) -> Committed:
    """Commits, and partitions without one; in order."""
    found = dict.fromkeys(without, None) | dict(offsets)
    return dict(
        sorted((tp, at) for tp, at in found.items() if accepts_topic is None or accepts_topic(tp.topic))
    )
