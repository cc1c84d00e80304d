"""ShareGroupDescribe and DescribeShareGroupOffsets (KIP-932): as the coordinators of share groups have stored it."""

from base64 import urlsafe_b64encode

from kcli.core.error_codes import NONE
from kcli.core.offline import share_state
from kcli.core.offline.directories import Directories
from kcli.core.offline.group_state import SHARE, StoredGroup
from kcli.core.offline.groups import EMPTY, assignment_epoch, find_group, group_epoch
from kcli.core.offline.metadata_log import NotHereError
from kcli.core.offline.reading import read
from kcli.core.offline.share_state import SharePartition, ShareStart
from kcli.core.offline.states import coordinated, share_starts
from kcli.core.protocol.messages import describe_share_group_offsets as offsets
from kcli.core.protocol.messages import share_group_describe as share
from kcli.core.protocol.stored import group_records as stored
from kcli.core.types import TopicPartition

_UNKNOWN = -1


def share_group_describe(
    directories: Directories, request: share.ShareGroupDescribeRequest, _version: int
) -> share.ShareGroupDescribeResponse:
    """Share groups (KIP-932)."""

    def row(group_id: str) -> share.DescribedGroup:
        code, message, found = find_group(directories, group_id, SHARE)
        return share.DescribedGroup(
            error_code=code,
            error_message=message,
            group_id=group_id,
            group_state=EMPTY if found is not None else "",
            group_epoch=group_epoch(found),
            assignment_epoch=assignment_epoch(found, stored.ShareGroupTargetAssignmentMetadataValue),
            assignor_name="",
            members=[],
        )

    return share.ShareGroupDescribeResponse(
        throttle_time_ms=0, groups=[row(group_id) for group_id in request.group_ids]
    )


def describe_share_group_offsets(
    directories: Directories, request: offsets.DescribeShareGroupOffsetsRequest, _version: int
) -> offsets.DescribeShareGroupOffsetsResponse:
    """Topics null means all that the group has begun with."""
    return offsets.DescribeShareGroupOffsetsResponse(
        throttle_time_ms=0, groups=[_offsets(directories, asked) for asked in request.groups]
    )


def _offsets(
    directories: Directories, asked: offsets.DescribeShareGroupOffsetsRequestGroup
) -> offsets.DescribeShareGroupOffsetsResponseGroup:
    code, message, found = find_group(directories, asked.group_id, SHARE)
    topics = _topics(found) if found is not None else {}
    if asked.topics is not None:
        ids = {name: topic_id for topic_id, name in topics}
        topics = {
            (ids.get(row.topic_name, bytes(16)), row.topic_name): row.partitions for row in asked.topics
        }
    return offsets.DescribeShareGroupOffsetsResponseGroup(
        group_id=asked.group_id,
        error_code=code,
        error_message=message,
        topics=[
            offsets.DescribeShareGroupOffsetsResponseTopic(
                topic_name=name,
                topic_id=topic_id,
                partitions=[
                    _partition(directories, SharePartition(asked.group_id, topic_id, number), name)
                    for number in numbers
                ],
            )
            for (topic_id, name), numbers in (topics.items() if not code else ())
        ],
    )


def _topics(found: StoredGroup) -> dict[tuple[bytes, str], list[int]]:
    value: stored.ShareGroupStatePartitionMetadataValue | None = found.value(
        stored.ShareGroupStatePartitionMetadataValue
    )
    rows = value.initialized_topics if value is not None else []
    return {(row.topic_id, row.topic_name): sorted(row.partitions) for row in rows}


def _partition(
    directories: Directories, part: SharePartition, topic: str
) -> offsets.DescribeShareGroupOffsetsResponsePartition:
    code, message, start = _start(directories, part)
    lag = _UNKNOWN
    if start.start_offset >= 0 and start.delivered >= 0:
        tp = TopicPartition(topic, part.partition)
        _code, end = read(directories, tp, lambda log: log.end_offset)
        if end is not None:
            lag = end - start.start_offset - start.delivered
    return offsets.DescribeShareGroupOffsetsResponsePartition(
        partition_index=part.partition,
        start_offset=start.start_offset,
        leader_epoch=start.leader_epoch,
        lag=lag,
        error_code=code,
        error_message=message,
    )


def _start(directories: Directories, part: SharePartition) -> tuple[int, str | None, ShareStart]:
    nothing = ShareStart(_UNKNOWN, _UNKNOWN, _UNKNOWN)
    try:
        known = coordinated(directories, share_state.TOPIC)
        lacks = known.lacks(
            f"{part.group_id}:{urlsafe_b64encode(part.topic_id).rstrip(b'=').decode()}:{part.partition}"
        )
        if lacks is not None:
            raise lacks
    except NotHereError as error:
        return error.code, error.why, nothing
    return NONE, None, share_starts(directories).starts.get(part, nothing)
