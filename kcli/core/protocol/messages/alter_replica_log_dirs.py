# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""AlterReplicaLogDirs (API 34): replicas to be moved to another log directory of the same broker (KIP-113)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, Array, Struct, field


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class AlterReplicaLogDirTopicResult(Struct):
    topic_name: str = field(STRING)
    partitions: list[AlterReplicaLogDirPartitionResult] = field(Array(AlterReplicaLogDirPartitionResult))


class AlterReplicaLogDirsResponse(Response):
    throttle_time_ms: int = field(INT32)
    results: list[AlterReplicaLogDirTopicResult] = field(Array(AlterReplicaLogDirTopicResult))


class AlterReplicaLogDirTopic(Struct):
    name: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class AlterReplicaLogDir(Struct):
    path: str = field(STRING)
    topics: list[AlterReplicaLogDirTopic] = field(Array(AlterReplicaLogDirTopic))


class AlterReplicaLogDirsRequest(
    Request, key=34, versions=(1, 2), flexible=2, response=AlterReplicaLogDirsResponse
):
    dirs: list[AlterReplicaLogDir] = field(Array(AlterReplicaLogDir))
