"""DescribeLogDirs and AlterReplicaLogDirs: what a node has on its disks, and moves between them.

``Settings.log_dirs`` says how many directories a node has. A move is over at once, unless ``hold_log_dir_moves`` is set:
then ``finish_log_dir_move`` of the cluster ends it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kcli.core.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kcli.core.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.topics import Partition

if TYPE_CHECKING:
    from tests.fake.state import Context, State


def paths(state: "State", node: int) -> list[str]:
    """The directories of a node."""
    return [f"/fake/{node}", *(f"/fake/{node}-{n}" for n in range(2, state.settings.log_dirs + 1))]


async def describe_log_dirs(ctx: "Context", request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """All replicas that are on this node, or those asked for, and the future ones."""
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, number) for topic in request.topics for number in topic.partitions}
    results = []
    for path in paths(ctx.state, ctx.node):
        topics = []
        for topic in ctx.state.topics.by_name.values():
            rows = [
                row
                for place in topic.partitions
                if ctx.node in place.replicas or ctx.node in place.futures
                if wanted is None or (topic.name, place.index) in wanted
                for row in _rows(ctx, place, path)
            ]
            if rows:
                topics.append(DescribeLogDirsTopic(name=topic.name, partitions=rows))
        results.append(
            DescribeLogDirsResult(
                error_code=0,
                log_dir=path,
                topics=topics,
                total_bytes=1 << 30,
                usable_bytes=ctx.state.settings.usable_bytes,
            )
        )
    return DescribeLogDirsResponse(throttle_time_ms=0, results=results)


def _rows(ctx: "Context", place: Partition, path: str) -> list[DescribeLogDirsPartition]:
    found = []
    size = sum(len(batch.raw) for batch in place.log.batches)
    if ctx.node in place.replicas and place.directories.get(ctx.node, f"/fake/{ctx.node}") == path:
        here = place.copied.get(ctx.node, 0) if ctx.node in place.adding else size
        found.append(_row(place, here, is_future=False))
    if place.futures.get(ctx.node) == path:
        found.append(_row(place, size // 2, is_future=True))
    return found


def _row(place: Partition, size: int, *, is_future: bool) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=place.index, partition_size=size, offset_lag=0, is_future_key=is_future
    )


async def alter_replica_log_dirs(
    ctx: "Context", request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Each replica on its own."""

    def moved(name: str, number: int, path: str) -> int:
        try:
            _move(ctx, name, number, path)
        except RefusedError as refused:
            return refused.code
        return 0

    answer = _answer(request, moved)
    ctx.state.changed()
    return answer


def refused_moves(request: AlterReplicaLogDirsRequest, code: int) -> AlterReplicaLogDirsResponse:
    """The answer in which everything is refused."""
    return _answer(request, lambda _name, _number, _path: code)


def _answer(
    request: AlterReplicaLogDirsRequest, code: Callable[[str, int, str], int]
) -> AlterReplicaLogDirsResponse:
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for row in request.dirs:
        for topic in row.topics:
            for number in topic.partitions:
                result = AlterReplicaLogDirPartitionResult(
                    partition_index=number, error_code=code(topic.name, number, row.path)
                )
                results.setdefault(topic.name, []).append(result)
    return AlterReplicaLogDirsResponse(
        throttle_time_ms=0,
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=rows) for name, rows in results.items()
        ],
    )


def _move(ctx: "Context", name: str, number: int, path: str) -> None:
    if path not in paths(ctx.state, ctx.node):
        raise RefusedError(Code.LOG_DIR_NOT_FOUND)
    place = ctx.state.topics.partition(name, bytes(16), number)
    if ctx.node not in place.replicas:
        raise RefusedError(Code.REPLICA_NOT_AVAILABLE)
    place.futures.pop(ctx.node, None)
    if place.directories.get(ctx.node, f"/fake/{ctx.node}") != path:
        place.futures[ctx.node] = path
        if not ctx.state.settings.hold_log_dir_moves:
            finish_move(place, ctx.node)


def finish_move(place: Partition, node: int) -> None:
    """The future replica takes the place of the present one."""
    place.directories[node] = place.futures.pop(node)
