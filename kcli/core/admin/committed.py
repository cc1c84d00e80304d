"""Committed offsets of groups (OffsetFetch), read from their coordinators for many groups at once.

Every partition has its own result. "No commit" is a valid result; a partition missing from the response, or unstable
because of a transaction, is requested again and finally an error. Blocks only in the loop's poll.

Whether a response is about several groups follows from the request: an empty response looks like one of an old
version. For a moment after a change of coordinator, brokers with the coordinator of KIP-848 may not return the
last commits: they respond from below the high watermark, which was older while they were followers (KAFKA-15910).
Seen once in some hundred kills.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kcli.core.admin.commit_columns import GROUP, CommitColumns, CommitReader
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, ToCoordinator
from kcli.core.cluster.fanout import FanOut, Items, LeftOutError, Part
from kcli.core.cluster.retry import classify_error, given_up
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import GROUP_ID_NOT_FOUND, NONE, UNSTABLE_OFFSET_COMMIT
from kcli.core.errors import BrokerError, KcliError, ProtocolError, TimedOutError, too_old
from kcli.core.permissions import on_group, on_topic
from kcli.core.protocol.messages import offset_fetch as wire
from kcli.core.protocol.table import Table
from kcli.core.types import GroupPartition, OffsetAndMetadata, TopicPartition, by_topic

Committed = Mapping[TopicPartition, OffsetAndMetadata | KcliError | None]
"""None: nothing is committed for the partition."""

Topics = Sequence[wire.OffsetFetchResponseTopics | wire.OffsetFetchResponseTopic]

LAST_BY_NAME = 9
"""From version 10 on OffsetFetch and OffsetCommit name topics by id."""
_FIRST_FOR_ALL = 2
_FIRST_STABLE = 7
_FIRST_WITH_GROUPS = 8
_NO_COMMIT = -1


class UnstableOffsetError(TimedOutError):
    """A transaction on the offset was still open at the deadline: the committed offset is not known before its end."""


def begin_fetch_offsets(
    cluster: Cluster,
    coordinators: Coordinators,
    wanted: Mapping[str, Collection[TopicPartition] | None],
    deadline: float,
    *,
    require_stable: bool = False,
) -> Callable[[float], dict[str, Committed | KcliError]]:
    """Asks for the committed offsets of each group for the given partitions (None: all committed ones), and returns what
    waits for the responses until a deadline.

    One request per coordinator (KIP-709), below v8 one per group, pipelined. ``require_stable`` waits for open
    transactions to end, until the deadline (KIP-447).
    """
    run, started = OffsetFetch(wanted, require_stable=require_stable), cluster.loop.now()
    asked = FanOut(
        cluster,
        {group: None for group in wanted if run.left[group] != []},
        ToCoordinator[str](cluster, coordinators, str),
        run.ask,
        run.read,
        deadline,
        "asking for the offsets of group",
    )
    asked.needs = lambda group: [on_group("DESCRIBE", group)]
    asked.begin()

    def finish(until: float) -> dict[str, Committed | KcliError]:
        asked.extend(until)
        found = asked.run()
        seconds = cluster.loop.now() - started
        return run.outcomes(found, seconds)

    return finish


class OffsetFetch:
    """Requests and their results so far, by group. ``left``: the partitions still to be fetched, None for all."""

    def __init__(
        self, wanted: Mapping[str, Collection[TopicPartition] | None], *, require_stable: bool
    ) -> None:
        self._require_stable = require_stable
        self.left = {g: None if asked is None else list(dict.fromkeys(asked)) for g, asked in wanted.items()}
        self._asked = dict(self.left)
        self._found: dict[str, dict[TopicPartition, OffsetAndMetadata | KcliError | None]] = {}
        self._errors: dict[GroupPartition, KcliError] = {}
        self._columns: dict[str, CommitColumns] = {}
        self._reader = CommitReader()

    def ask(self, broker: Broker, items: Items[str, None]) -> list[Part[str]]:
        """One request for all groups if the broker supports it, else one per group."""
        version = min(broker.version(wire.OffsetFetchRequest), LAST_BY_NAME)
        groups = [group for group, _ in items]
        if self._require_stable and version < _FIRST_STABLE:
            what = f"{broker.name} cannot wait for stable offsets"
            return [Part(too_old(what, _FIRST_STABLE, version), groups)]
        if version >= _FIRST_WITH_GROUPS:
            return [Part(self._request(groups), frozenset(groups))]
        return [Part(self._single(broker, group, version), [group]) for group in groups]

    def read(
        self, response: wire.OffsetFetchResponse, part: Part[str]
    ) -> Iterator[tuple[str, int | KcliError, None]]:
        """Keeps final results. A group with partitions left continues with their error."""
        if getattr(part.request, "groups", ()):
            return self._read_groups(response.groups, part)
        (group,) = part.keys
        return iter([(group, self._taken(group, response.error_code, response.topics), None)])

    def _read_groups(
        self, groups: Sequence[wire.OffsetFetchResponseGroup], part: Part[str]
    ) -> Iterator[tuple[str, int | KcliError, None]]:
        by_tuple = groups.tuples if isinstance(groups, Table) and groups.names == GROUP else None
        for place in range(len(groups)):
            if by_tuple is not None:  # without objects, for the groups that need none
                name, topics, code = by_tuple[place]
                if not code and name in part.keys and self.left[name] is None:
                    columns = self._reader.read_tuples(topics)
                    if columns is not None:
                        self._columns[name] = columns
                        yield name, NONE, None
                        continue
            row = groups[place]
            if row.group_id in part.keys:
                yield row.group_id, self._taken(row.group_id, row.error_code, row.topics), None

    def outcomes(
        self, errors: Mapping[str, KcliError | None], seconds: float
    ) -> dict[str, Committed | KcliError]:
        """Those of all groups, in the order in which they were asked for."""
        columns = self._columns
        return {
            group: columns[group] if group in columns else self.outcome(group, errors.get(group), seconds)
            for group in self._asked
        }

    def outcome(self, group: str, error: KcliError | None, seconds: float) -> Committed | KcliError:
        """All requested partitions, in that order; the group's error if nothing was returned."""
        if group in self._columns:
            return self._columns[group]
        found, left, asked = self._found.get(group, {}), self.left[group], self._asked[group]
        if error is not None:
            if left is None or not (found or any(GroupPartition(group, tp) in self._errors for tp in left)):
                return error
            for tp in left:
                key = GroupPartition(group, tp)
                own = self._errors.get(key)
                found[tp] = error if own is None else _given_up(key, own, seconds)
        return found if asked is None else {tp: found[tp] for tp in asked}

    # --- internal ----------------------------------------------------------------------------------

    def _request(self, groups: list[str]) -> wire.OffsetFetchRequest:
        rows: list[wire.OffsetFetchRequestGroup] = []
        for group in groups:
            left = self.left[group]
            topics = None if left is None else [
                wire.OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
                for name, numbers in by_topic(left).items()
            ]  # fmt: skip
            rows.append(wire.OffsetFetchRequestGroup(group_id=group, topics=topics))
        request = wire.OffsetFetchRequest(groups=rows, require_stable=self._require_stable)
        request.cap_version(LAST_BY_NAME)
        return request

    def _single(self, broker: Broker, group: str, version: int) -> wire.OffsetFetchRequest | KcliError:
        left = self.left[group]
        if left is None and version < _FIRST_FOR_ALL:
            return too_old(f"{broker.name} cannot list what a group has committed", _FIRST_FOR_ALL, version)
        topics = None if left is None else [
            wire.OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
            for name, numbers in by_topic(left).items()
        ]  # fmt: skip
        return wire.OffsetFetchRequest(group_id=group, topics=topics, require_stable=self._require_stable)

    def _taken(self, group: str, code: int, topics: Topics) -> int | KcliError:
        """Kafka returns no commits for a group that does not exist, other brokers (kfake) GROUP_ID_NOT_FOUND."""
        if code != GROUP_ID_NOT_FOUND:
            return code or self._take(group, topics)
        self._found.setdefault(group, {}).update(dict.fromkeys(self.left[group] or ()))
        self.left[group] = []
        return NONE

    def _take(self, group: str, topics: Topics) -> int | KcliError:
        """Records the partitions of a response; returns 0, or the error for which the group must be requested again."""
        left = self.left[group]
        columns = self._reader.read(topics) if left is None else None
        if columns is not None:
            self._columns[group] = columns
            return NONE
        found = self._found.setdefault(group, {})
        again: dict[TopicPartition, KcliError] = {}
        missing = set(left or ())
        for topic in topics:
            for row in topic.partitions:
                tp = TopicPartition(topic.name, row.partition_index)
                if left is not None and tp not in missing:
                    continue  # repeated, or not requested
                missing.discard(tp)
                if not row.error_code and row.committed_offset >= 0:
                    found[tp] = OffsetAndMetadata(
                        row.committed_offset, row.metadata or "", row.committed_leader_epoch
                    )
                    continue
                outcome = _outcome(GroupPartition(group, tp), row)
                if isinstance(outcome, KcliError) and classify_error(outcome).retriable:
                    again[tp] = outcome
                elif left is not None or outcome is not None:
                    found[tp] = outcome
        again |= dict.fromkeys(missing, LeftOutError("the response does not contain it"))
        self._errors |= {GroupPartition(group, tp): error for tp, error in again.items()}
        self.left[group] = [tp for tp in (again if left is None else left) if tp in again]
        return next(iter(again.values()), NONE)


def _outcome(
    key: GroupPartition, row: wire.OffsetFetchResponsePartition | wire.OffsetFetchResponsePartitions
) -> KcliError | None:
    """The error of a row without an offset; None if nothing is committed."""
    if row.error_code == GROUP_ID_NOT_FOUND:  # before version 2 errors of the group are in the rows
        return None
    if row.error_code != NONE:
        return BrokerError(
            row.error_code,
            f"reading the offset of {key}",
            needs=[on_topic("DESCRIBE", key.tp.topic), on_group("DESCRIBE", key.group)],
        )
    if row.committed_offset == _NO_COMMIT:
        return None
    why = f"the broker returned {row.committed_offset}"
    return ProtocolError(f"reading the offset of {key}", why=why)


def _given_up(key: GroupPartition, error: KcliError, seconds: float) -> KcliError:
    found = given_up(f"reading the offset of {key}", error, seconds)
    if isinstance(error, BrokerError) and error.code == UNSTABLE_OFFSET_COMMIT:
        return UnstableOffsetError(found.what, why=found.why, do=found.do)
    return found
