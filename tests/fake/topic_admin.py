"""CreateTopics, DeleteTopics, CreatePartitions, as the controller answers them. Any node may be asked, as with KRaft."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kcli.core.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kcli.core.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tests.fake.codes import Code, RefusedError

if TYPE_CHECKING:
    from tests.fake.state import Context, State

_BY_TOPIC, _BY_DEFAULT = 1, 5
_FIRST_BY_STATE = 6
DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "follower.replication.throttled.replicas": "",
    "leader.replication.throttled.replicas": "",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "unclean.leader.election.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
}


async def create_topics(ctx: "Context", request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Each topic on its own."""
    dry = request.validate_only and ctx.state.settings.honours_validate_only
    rows = [_create(ctx.state, topic, dry=dry) for topic in request.topics]
    ctx.state.changed()
    return CreateTopicsResponse(topics=rows)


def _create(state: "State", asked: CreatableTopic, *, dry: bool) -> CreatableTopicResult:
    configs = {row.name: row.value for row in asked.configs if row.value is not None}
    assignments = {row.partition_index: list(row.broker_ids) for row in asked.assignments}
    try:
        made = state.topics.create(
            asked.name, asked.num_partitions, asked.replication_factor, configs, assignments, dry=dry
        )
    except RefusedError as refused:
        return CreatableTopicResult(
            name=asked.name, error_code=refused.code, error_message=refused.message, configs=[]
        )
    return CreatableTopicResult(
        name=asked.name,
        topic_id=made.topic_id,
        error_code=0,
        error_message=None,
        num_partitions=len(made.partitions),
        replication_factor=len(made.partitions[0].replicas),
        configs=[
            CreatableTopicConfigs(
                name=name,
                value=made.config(name, default),
                config_source=_BY_TOPIC if name in made.configs else _BY_DEFAULT,
            )
            for name, default in DEFAULTS.items()
        ],
    )


async def delete_topics(ctx: "Context", request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """By name; since v6 by name or id."""
    asked = request.topics if ctx.version >= _FIRST_BY_STATE else [
        DeleteTopicState(name=name) for name in request.topic_names
    ]  # fmt: skip
    rows = [_delete(ctx.state, row) for row in asked]
    ctx.state.changed()
    return DeleteTopicsResponse(responses=rows)


def _delete(state: "State", asked: DeleteTopicState) -> DeletableTopicResult:
    try:
        topic = state.topics.find(asked.name, asked.topic_id)
        state.delete_topic(topic.name)
    except RefusedError as refused:
        return DeletableTopicResult(name=asked.name, topic_id=asked.topic_id, error_code=refused.code)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=0)


async def create_partitions(ctx: "Context", request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Each topic on its own."""
    dry = request.validate_only and ctx.state.settings.honours_validate_only
    rows = [_grow(ctx.state, topic, dry=dry) for topic in request.topics]
    ctx.state.changed()
    return CreatePartitionsResponse(throttle_time_ms=0, results=rows)


def _grow(state: "State", asked: CreatePartitionsTopic, *, dry: bool) -> CreatePartitionsTopicResult:
    code, message = 0, None
    try:
        has = len(state.topics.find(asked.name).partitions)
        if asked.count == has:
            raise RefusedError(Code.INVALID_PARTITIONS, f"Topic already has {has} partition(s).")
        if asked.count < has:
            what = f"The topic {asked.name} currently has {has} partition(s); {asked.count} would not be an increase."
            raise RefusedError(Code.INVALID_PARTITIONS, what)
        if not dry:
            state.topics.grow(asked.name, asked.count)
    except RefusedError as refused:
        code, message = refused.code, refused.message
    return CreatePartitionsTopicResult(name=asked.name, error_code=code, error_message=message)
