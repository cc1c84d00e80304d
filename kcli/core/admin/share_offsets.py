"""Where share groups are in their partitions (DescribeShareGroupOffsets, KIP-932), and their lag (KIP-1226); how their
start offsets are set (AlterShareGroupOffsets) and deleted (DeleteShareGroupOffsets).

The start offset is that of the first record which may still be delivered, as it was last stored. Records after it may
have been acknowledged already: only the lag, which the broker makes of what it has stored, excludes them. To set a start
offset, even to where it is, forgets these acknowledgements: what lies after it is delivered again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from kcli.core.admin.commits import Stored
from kcli.core.admin.group_description import on_describing
from kcli.core.admin.other_groups import NEWER, unserved
from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, ToCoordinator
from kcli.core.cluster.fanout import Items, Part, fan_out, verdict
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, NONE, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import BrokerError, ConfigError, KcliError, UnsupportedError
from kcli.core.names import unknown_group
from kcli.core.permissions import Permission, on_group, on_topic
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from kcli.core.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from kcli.core.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)
from kcli.core.types import GroupPartition, TopicPartition, by_topic


class ShareOffset(NamedTuple):
    """``start`` None: there is none yet, since nothing has been read. ``lag`` None: the broker does not report it, which
    takes Kafka 4.2.
    """

    start: int | None
    leader_epoch: int = -1
    lag: int | None = None


ShareOffsets = Mapping[TopicPartition, ShareOffset | KcliError]


def share_offsets(
    cluster: Cluster, coordinators: Coordinators, names: Collection[str], deadline: float
) -> dict[str, ShareOffsets | KcliError]:
    """The offsets of each share group in all its partitions, sorted, with a result for each; or the group's error.

    UnsupportedError where the coordinator does not serve the request. A partition's error is not retried here.
    """

    def ask(broker: Broker, items: Items[str, None]) -> list[Part[str]]:
        groups = [group for group, _ in items]
        if why := unserved(broker, DescribeShareGroupOffsetsRequest):
            return [
                Part(
                    UnsupportedError(f"the offsets of share group {group} are unknown", why=why, do=NEWER),
                    [group],
                )
                for group in groups
            ]
        rows = [DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None) for group in groups]
        return [Part(DescribeShareGroupOffsetsRequest(groups=rows), groups)]

    def read(
        response: DescribeShareGroupOffsetsResponse, _part: Part[str]
    ) -> Iterator[tuple[str, int | KcliError, ShareOffsets]]:
        for row in response.groups:
            what = f"reading the offsets of share group {row.group_id}"
            outcome = verdict(row.error_code, what, row.error_message, on_describing(row.group_id))
            if row.error_code == GROUP_ID_NOT_FOUND:
                outcome = unknown_group(row.group_id)
            yield row.group_id, outcome, _offsets(row)

    route = ToCoordinator[str](cluster, coordinators, str)
    what = "reading the offsets of share group"
    return fan_out(cluster, dict.fromkeys(names), route, ask, read, deadline, what, needs=on_describing)


def _offsets(group: DescribeShareGroupOffsetsResponseGroup) -> ShareOffsets:
    found: dict[TopicPartition, ShareOffset | KcliError] = {}
    for topic in group.topics:
        for row in topic.partitions:
            tp = TopicPartition(topic.topic_name, row.partition_index)
            if row.error_code:
                found[tp] = BrokerError(
                    row.error_code,
                    f"reading the start offset of {GroupPartition(group.group_id, tp)}",
                    message=row.error_message or "",
                    needs=[on_topic("DESCRIBE", tp.topic), *on_describing(group.group_id)],
                )
            elif row.start_offset < 0:
                found[tp] = ShareOffset(None)
            else:
                lag = row.lag if row.lag >= 0 else None
                found[tp] = ShareOffset(row.start_offset, row.leader_epoch, lag)
    return dict(sorted(found.items()))


def alter_share_offsets(
    cluster: Cluster,
    coordinators: Coordinators,
    wanted: Mapping[str, Mapping[TopicPartition, int]],
    deadline: float,
) -> dict[str, Stored]:
    """Sets start offsets; None for each that is set. The first one makes a share group that does not exist.

    NON_EMPTY_GROUP for a group with members. Brokers check no bounds: a negative offset is rejected here (ConfigError,
    nothing is sent). A lost response is no failure: the same offsets are set again.
    """
    for rows in wanted.values():
        for tp, start in rows.items():
            if start < 0:
                raise ConfigError(f"{start} is not an offset in {tp}", why="offsets begin at 0")
    items = {GroupPartition(group, tp): start for group, rows in wanted.items() for tp, start in rows.items()}

    def request(group: str, keys: Collection[GroupPartition]) -> Request:
        return AlterShareGroupOffsetsRequest(
            group_id=group,
            topics=[
                AlterShareGroupOffsetsRequestTopic(
                    topic_name=topic,
                    partitions=[
                        AlterShareGroupOffsetsRequestPartition(
                            partition_index=number,
                            start_offset=items[GroupPartition(group, TopicPartition(topic, number))],
                        )
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(key.tp for key in keys).items()
            ],
        )

    def rows_of(
        response: AlterShareGroupOffsetsResponse, group: str
    ) -> Iterator[tuple[GroupPartition, int, str | None]]:
        for topic in response.responses:
            for row in topic.partitions:
                tp = TopicPartition(topic.topic_name, row.partition_index)
                yield GroupPartition(group, tp), row.error_code, row.error_message

    found = _change(
        cluster,
        coordinators,
        items,
        request,
        rows_of,
        deadline,
        "setting the start offset of",
        lambda key: [on_topic("READ", key.tp.topic), on_group("READ", key.group)],
    )
    stored: dict[str, Stored] = {group: {} for group in wanted}
    for key, outcome in found.items():
        stored[key.group][key.tp] = outcome
    return stored


def delete_share_offsets(
    cluster: Cluster,
    coordinators: Coordinators,
    wanted: Mapping[str, Collection[str]],
    deadline: float,
) -> dict[str, dict[str, KcliError | None]]:
    """Deletes the start offsets of whole topics, with what is acknowledged there; None for each topic on success.

    NON_EMPTY_GROUP for a group with members.
    """
    unsure: set[_Topic] = set()

    def request(group: str, keys: Collection[_Topic]) -> Request:
        topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=key.topic) for key in keys]
        return DeleteShareGroupOffsetsRequest(group_id=group, topics=topics)

    def rows_of(
        response: DeleteShareGroupOffsetsResponse, group: str
    ) -> Iterator[tuple[_Topic, int, str | None]]:
        for row in response.responses:
            yield _Topic(group, row.topic_name), row.error_code, row.error_message

    found = _change(
        cluster,
        coordinators,
        {_Topic(group, topic): None for group, topics in wanted.items() for topic in topics},
        request,
        rows_of,
        deadline,
        "deleting the start offsets of",
        lambda key: [on_topic("READ", key.topic), on_group("DELETE", key.group)],
        unsure=unsure,
    )
    stored: dict[str, dict[str, KcliError | None]] = {group: {} for group in wanted}
    for key, outcome in found.items():
        stored[key.group][key.topic] = outcome
    return stored


class _Topic(NamedTuple):
    """A topic of a group."""

    group: str
    topic: str

    def __str__(self) -> str:
        return f"{self.topic} of group {self.group}"


def _change(
    cluster: Cluster,
    coordinators: Coordinators,
    items: Mapping[Any, object],
    request: Callable[[str, Collection[Any]], Request],
    rows_of: Callable[[Any, str], Iterable[tuple[Any, int, str | None]]],
    deadline: float,
    what: str,
    needs: Callable[[Any], Iterable[Permission]],
    unsure: set[Any] | None = None,
) -> dict[Any, KcliError | None]:
    """A request for each group; its error is that of each key, or each key has its own."""

    def ask(broker: Broker, some: Items[Any, object]) -> Iterator[Part[Any]]:
        groups: dict[str, list[Any]] = {}
        for key, _ in some:
            groups.setdefault(key.group, []).append(key)
        for group, keys in groups.items():
            asked = request(group, keys)
            if why := unserved(broker, type(asked)):
                yield Part(UnsupportedError(f"{what} group {group} is not possible", why=why, do=NEWER), keys)
            else:
                yield Part(asked, keys)

    def read(response: Any, part: Part[Any]) -> Iterator[tuple[Any, int | KcliError, None]]:
        (group,) = {key.group for key in part.keys}
        if response.error_code != NONE:
            for key in part.keys:
                yield key, _outcome(key, response.error_code, response.error_message), None
            return
        for key, code, message in rows_of(response, group):
            yield key, _outcome(key, code, message), None

    def _outcome(key: Any, code: int, message: str | None) -> int | KcliError:
        if code in (GROUP_ID_NOT_FOUND, UNKNOWN_TOPIC_OR_PARTITION) and unsure is not None and key in unsure:
            return NONE  # deleted by the attempt whose response was lost
        if code == NON_EMPTY_GROUP:
            return BrokerError(
                code,
                f"{what} {key}",
                message="brokers do this only while the share group has no members",
                do="stop its members and try again",
            )
        return verdict(code, f"{what} {key}", message, needs(key))

    return fan_out(
        cluster,
        items,
        ToCoordinator[Any](cluster, coordinators, lambda key: key.group),
        ask,
        read,
        deadline,
        what,
        final=[UNKNOWN_TOPIC_OR_PARTITION],
        unsure=unsure,
        needs=needs,
    )
