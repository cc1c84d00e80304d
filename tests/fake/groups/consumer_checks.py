"""What a ConsumerGroupHeartbeat must look like, whatever the group is like (KIP-848). Texts are those of 4.3.1."""

import re

from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.assignors import ASSIGNORS
from tests.fake.groups.consumer_group import LEFT, STATIC_LEFT
from tests.fake.groups.topics import Place

_FIRST_WITH_ID_OF_CLIENT = 1  # KIP-1082


def check_heartbeat(request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """RefusedError for a request that no broker would look at any further."""
    epoch = request.member_epoch
    if not request.member_id and (version >= _FIRST_WITH_ID_OF_CLIENT or epoch != 0):
        raise _invalid("MemberId can't be empty.")
    for value, name in (
        (request.group_id, "GroupId"),
        (request.instance_id, "InstanceId"),
        (request.rack_id, "RackId"),
    ):
        if value == "":
            raise _invalid(f"{name} can't be empty.")
    if epoch == 0:
        _check_join(request)
    elif epoch == STATIC_LEFT and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < STATIC_LEFT:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in ASSIGNORS:
        raise RefusedError(
            Code.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(ASSIGNORS)}.",
        )
    if epoch not in (LEFT, STATIC_LEFT):
        _check_regex(request.subscribed_topic_regex)


def owned_places(request: ConsumerGroupHeartbeatRequest) -> frozenset[Place] | None:
    """What the member says it holds; None when it does not say."""
    if request.topic_partitions is None:
        return None
    return frozenset((bytes(t.topic_id), p) for t in request.topic_partitions for p in t.partitions)


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """A member that joins, or had an error, tells everything and is told its whole assignment."""
    told = (request.subscribed_topic_names, request.topic_partitions)
    return request.member_epoch == 0 or (request.rebalance_timeout_ms != -1 and None not in told)


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _check_regex(regex: str | None) -> None:
    try:
        re.compile(regex or "")
    except re.error as error:
        raise RefusedError(
            Code.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from None


def _invalid(message: str) -> RefusedError:
    return RefusedError(Code.INVALID_REQUEST, message)
