"""AlterPartitionReassignments, ListPartitionReassignments, ElectLeaders, as a KRaft controller answers them.

A reassignment is over at once, unless ``FakeCluster.hold_reassignments`` was called: then ``copy`` and
``finish_reassignment`` say how far it is.
"""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kcli.core.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kcli.core.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.topics import Partition

if TYPE_CHECKING:
    from tests.fake.state import Context, State

_UNCLEAN = 1


async def alter_partition_reassignments(
    ctx: "Context", request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Each partition on its own."""
    topics = [
        ReassignableTopicResponse(
            name=topic.name,
            partitions=[
                _alter(ctx.state, topic.name, p.partition_index, p.replicas) for p in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    ctx.state.changed()
    return AlterPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, responses=topics)


def _alter(
    state: "State", name: str, index: int, replicas: list[int] | None
) -> ReassignablePartitionResponse:
    code, message = 0, None
    try:
        place = state.topics.partition(name, bytes(16), index)
        if replicas is None:
            cancel(place)
        else:
            _begin(state, place, list(replicas))
    except RefusedError as refused:
        code, message = refused.code, refused.message
    return ReassignablePartitionResponse(partition_index=index, error_code=code, error_message=message)


def _begin(state: "State", place: Partition, target: list[int]) -> None:
    what = "The manual partition assignment includes"
    if not target:
        raise RefusedError(Code.INVALID_REPLICA_ASSIGNMENT, f"{what} an empty replica list.")
    if len(set(target)) < len(target):
        raise RefusedError(Code.INVALID_REPLICA_ASSIGNMENT, f"{what} a broker more than once.")
    for number in target:
        if number not in state.nodes:
            raise RefusedError(
                Code.INVALID_REPLICA_ASSIGNMENT,
                f"{what} broker {number}, but no such broker is registered.",
            )
    # As KRaft's controller does it: a new move without replicas to add keeps those that an earlier one is adding.
    adding = [number for number in target if number not in place.replicas]
    removing = [number for number in place.replicas if number not in target]
    place.adding, place.removing = adding or place.adding, removing or place.removing
    place.replicas = target + removing
    if not place.adding or not state.settings.hold_reassignments:
        finish(place)


def cancel(place: Partition) -> None:
    """Back to the replicas before."""
    if not place.adding and not place.removing:
        raise RefusedError(Code.NO_REASSIGNMENT_IN_PROGRESS)
    place.replicas = [number for number in place.replicas if number not in place.adding]
    place.isr = [number for number in place.isr if number in place.replicas]
    place.adding, place.removing, place.copied = [], [], {}


def finish(place: Partition) -> None:
    """The new replicas are in sync, the old ones go."""
    place.replicas = [number for number in place.replicas if number not in place.removing]
    place.isr = [number for number in place.replicas if number in place.isr or number in place.adding]
    place.adding, place.removing, place.copied = [], [], {}
    if place.leader not in place.replicas:
        place.lead(place.isr[0])


async def list_partition_reassignments(
    ctx: "Context", request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Those in progress, of all partitions or of those asked for."""
    wanted = None
    if request.topics is not None:
        wanted = {(topic.name, number) for topic in request.topics for number in topic.partition_indexes}
    found = []
    for topic in ctx.state.topics.by_name.values():
        rows = [
            OngoingPartitionReassignment(
                partition_index=place.index,
                replicas=list(place.replicas),
                adding_replicas=list(place.adding),
                removing_replicas=list(place.removing),
            )
            for place in topic.partitions
            if (place.adding or place.removing) and (wanted is None or (topic.name, place.index) in wanted)
        ]
        if rows:
            found.append(OngoingTopicReassignment(name=topic.name, partitions=rows))
    return ListPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=0, error_message=None, topics=found
    )


async def elect_leaders(ctx: "Context", request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Each partition on its own; null means all, and then those that need none are left out."""
    every = request.topic_partitions is None
    if request.topic_partitions is None:
        asked = {t.name: [p.index for p in t.partitions] for t in ctx.state.topics.by_name.values()}
    else:
        asked = {row.topic: list(row.partitions) for row in request.topic_partitions}
    unclean = ctx.version >= _UNCLEAN and request.election_type == _UNCLEAN
    results = []
    for name, numbers in asked.items():
        rows = [_elect(ctx.state, name, number, unclean=unclean) for number in numbers]
        rows = [row for row in rows if not every or row.error_code != Code.ELECTION_NOT_NEEDED]
        results.append(ReplicaElectionResult(topic=name, partition_result=rows))
    ctx.state.changed()
    return ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=results)


def _elect(state: "State", name: str, index: int, *, unclean: bool) -> PartitionResult:
    code, message = 0, None
    try:
        place = state.topics.partition(name, bytes(16), index)
        live = {node.id for node in state.listed()}
        if unclean:
            _elect_any(place, live)
        else:
            _elect_preferred(place, live)
    except RefusedError as refused:
        code, message = refused.code, refused.message
    return PartitionResult(partition_id=index, error_code=code, error_message=message)


def _elect_preferred(place: Partition, live: set[int]) -> None:
    preferred = place.replicas[0]
    if place.leader == preferred:
        raise RefusedError(Code.ELECTION_NOT_NEEDED)
    if preferred not in live or preferred not in (*place.isr, *place.elr):
        raise RefusedError(
            Code.PREFERRED_LEADER_NOT_AVAILABLE,
            "The preferred leader was not available.",
        )
    place.lead(preferred)


def _elect_any(place: Partition, live: set[int]) -> None:
    if place.leader >= 0:
        raise RefusedError(Code.ELECTION_NOT_NEEDED)
    eligible = [number for number in place.replicas if number in live]
    if not eligible:
        raise RefusedError(Code.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    whole = [number for number in eligible if number in (*place.isr, *place.elr)]
    chosen = (whole or [number for number in place.last_known_elr if number in live] or eligible)[0]
    place.isr, place.elr, place.last_known_elr = [chosen], [], []
    place.lead(chosen)
