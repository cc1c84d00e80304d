# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""CreateTopics (API 19): new topics, sent to the controller; topic ids in the answer since v7."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, NO_UUID, STRING, UUID, Array, Struct, field


class CreatableTopicConfigs(Struct):
    name: str = field(STRING, "5+", default="")
    value: str | None = field(STRING, "5+", default="", nullable="5+")
    read_only: bool = field(BOOL, "5+", default=False)
    config_source: int = field(INT8, "5+", default=-1)
    is_sensitive: bool = field(BOOL, "5+", default=False)


class CreatableTopicResult(Struct):
    name: str = field(STRING)
    topic_id: bytes = field(UUID, "7+", default=NO_UUID)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "1+", default="", nullable="0+")
    topic_config_error_code: int = field(INT16, "5+", default=0, tag=0)
    num_partitions: int = field(INT32, "5+", default=-1)
    replication_factor: int = field(INT16, "5+", default=-1)
    configs: list[CreatableTopicConfigs] | None = field(
        Array(CreatableTopicConfigs), "5+", default_factory=list, nullable="5+"
    )


class CreateTopicsResponse(Response):
    throttle_time_ms: int = field(INT32, "2+", default=0)
    topics: list[CreatableTopicResult] = field(Array(CreatableTopicResult))


class CreatableReplicaAssignment(Struct):
    partition_index: int = field(INT32)
    broker_ids: list[int] = field(Array(INT32))


class CreatableTopicConfig(Struct):
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")


class CreatableTopic(Struct):
    name: str = field(STRING)
    num_partitions: int = field(INT32)
    replication_factor: int = field(INT16)
    assignments: list[CreatableReplicaAssignment] = field(Array(CreatableReplicaAssignment))
    configs: list[CreatableTopicConfig] = field(Array(CreatableTopicConfig))


class CreateTopicsRequest(Request, key=19, versions=(2, 7), flexible=5, response=CreateTopicsResponse):
    topics: list[CreatableTopic] = field(Array(CreatableTopic))
    timeout_ms: int = field(INT32, default=60000)
    validate_only: bool = field(BOOL, "1+", default=False)
