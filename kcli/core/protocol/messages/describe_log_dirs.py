# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeLogDirs (API 35): what lies in a broker's log directories, in bytes (KIP-113, KIP-827)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Array, Struct, field


class DescribeLogDirsPartition(Struct):
    partition_index: int = field(INT32)
    partition_size: int = field(INT64)
    offset_lag: int = field(INT64)
    is_future_key: bool = field(BOOL)


class DescribeLogDirsTopic(Struct):
    name: str = field(STRING)
    partitions: list[DescribeLogDirsPartition] = field(Array(DescribeLogDirsPartition))


class DescribeLogDirsResult(Struct):
    error_code: int = field(INT16)
    log_dir: str = field(STRING)
    topics: list[DescribeLogDirsTopic] = field(Array(DescribeLogDirsTopic))
    total_bytes: int = field(INT64, "4+", default=-1)
    usable_bytes: int = field(INT64, "4+", default=-1)
    is_cordoned: bool = field(BOOL, "5+", default=False)


class DescribeLogDirsResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, "3+", default=0)
    results: list[DescribeLogDirsResult] = field(Array(DescribeLogDirsResult))


class DescribableLogDirTopic(Struct):
    topic: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class DescribeLogDirsRequest(Request, key=35, versions=(1, 5), flexible=2, response=DescribeLogDirsResponse):
    topics: list[DescribableLogDirTopic] | None = field(Array(DescribableLogDirTopic), nullable="0+")
