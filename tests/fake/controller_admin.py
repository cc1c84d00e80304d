"""The quorum of the controllers, and the requests that describe and change it. The state's controller is its leader.

All nodes are voters of a static quorum, until ``Quorum.make_dynamic`` is called. Voters and observers need not be nodes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kcli.core.protocol.messages import describe_quorum as quorum
from kcli.core.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from kcli.core.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from tests.fake.codes import Code, RefusedError

if TYPE_CHECKING:
    from tests.fake.state import Context, State

LISTENER = "CONTROLLER"
_END, _LATE_END, _LATE_MS = 100, 40, 60_000


def directory_of(number: int) -> bytes:
    """The directory id of the metadata log of a controller."""
    return bytes([number % 256] * 16)


@dataclass(slots=True)
class Quorum:
    """Endpoints of voters by node id, the observers, and which of both are behind the leader."""

    kraft_version: int = 0
    voters: dict[int, tuple[str, int]] = field(default_factory=dict)
    observers: set[int] = field(default_factory=set)
    behind: set[int] = field(default_factory=set)
    directories: dict[int, bytes] = field(default_factory=dict)
    """Where they are not ``directory_of``."""

    def make_dynamic(self, voters: Iterable[int], observers: Iterable[int] = ()) -> None:
        """kraft.version 1."""
        self.kraft_version = 1
        self.voters = {number: (f"controller-{number}", 9093) for number in voters}
        self.observers = set(observers)

    def directory(self, number: int) -> bytes:
        """Its directory id; none in a static quorum."""
        return self.directories.get(number, directory_of(number)) if self.kraft_version else bytes(16)


def _replica(state: "State", number: int) -> quorum.DescribeQuorumReplicaState:
    late = number in state.quorum.behind
    at = state.now_ms - (_LATE_MS if late else 0)
    times = state.quorum.kraft_version > 0
    return quorum.DescribeQuorumReplicaState(
        replica_id=number,
        replica_directory_id=state.quorum.directory(number),
        log_end_offset=_LATE_END if late else _END,
        last_fetch_timestamp=at if times else -1,
        last_caught_up_timestamp=at if times else -1,
    )


async def describe_quorum(
    ctx: "Context", request: quorum.DescribeQuorumRequest
) -> quorum.DescribeQuorumResponse:
    """As the active controller answers."""
    (topic,) = request.topics
    state = ctx.state
    voters = state.quorum.voters or dict.fromkeys(state.nodes)
    data = quorum.DescribeQuorumPartitionData(
        partition_index=0,
        error_code=0,
        error_message="",
        leader_id=state.controller,
        leader_epoch=7,
        high_watermark=_END,
        current_voters=[_replica(state, number) for number in sorted(voters)],
        observers=[_replica(state, number) for number in sorted(state.quorum.observers)],
    )
    nodes = [
        quorum.DescribeQuorumNode(
            node_id=number,
            listeners=[quorum.DescribeQuorumListener(name=LISTENER, host=where[0], port=where[1])],
        )
        for number, where in voters.items()
        if where is not None
    ]
    return quorum.DescribeQuorumResponse(
        error_code=0,
        error_message="",
        topics=[quorum.DescribeQuorumTopicData(topic_name=topic.topic_name, partitions=[data])],
        nodes=nodes,
    )


def _check(state: "State", cluster_id: str | None) -> None:
    if cluster_id not in (None, state.settings.cluster_id):
        raise RefusedError(Code.INCONSISTENT_CLUSTER_ID, "another cluster")
    if not state.quorum.kraft_version:
        raise RefusedError(
            Code.UNSUPPORTED_VERSION,
            "Cluster doesn't support adding voter because the kraft.version feature is 0",
        )


async def add_raft_voter(ctx: "Context", request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    """An observer that is not behind becomes a voter."""
    found, number = ctx.state.quorum, request.voter_id
    try:
        _check(ctx.state, request.cluster_id)
        if number in found.voters:
            raise RefusedError(
                Code.DUPLICATE_VOTER, f"The voter id for {number} is already in the set of voters"
            )
        if (
            number not in found.observers
            or number in found.behind
            or bytes(request.voter_directory_id) != found.directory(number)
        ):
            raise RefusedError(Code.REQUEST_TIMED_OUT, "New voter isn't caught up")
    except RefusedError as refused:
        return AddRaftVoterResponse(
            throttle_time_ms=0, error_code=refused.code, error_message=refused.message
        )
    found.voters[number] = request.listeners[0].host, request.listeners[0].port
    found.observers.discard(number)
    ctx.state.changed()
    return AddRaftVoterResponse(throttle_time_ms=0, error_code=0, error_message=None)


async def remove_raft_voter(ctx: "Context", request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    """A voter becomes an observer; if it led, another leads."""
    found, number = ctx.state.quorum, request.voter_id
    try:
        _check(ctx.state, request.cluster_id)
        if number not in found.voters or bytes(request.voter_directory_id) != found.directory(number):
            raise RefusedError(Code.VOTER_NOT_FOUND, f"Cannot remove voter {number}")
        if len(found.voters) == 1:
            raise RefusedError(Code.INVALID_REQUEST, "the only voter")
    except RefusedError as refused:
        return RemoveRaftVoterResponse(
            throttle_time_ms=0, error_code=refused.code, error_message=refused.message
        )
    del found.voters[number]
    found.observers.add(number)
    if ctx.state.controller == number:
        ctx.state.controller = min(found.voters)
    ctx.state.changed()
    return RemoveRaftVoterResponse(throttle_time_ms=0, error_code=0, error_message=None)
