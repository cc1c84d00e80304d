"""DescribeQuorum: the controllers as the metadata log and the file ``quorum-state`` beside it have them."""

import json
import os
from collections.abc import Sequence
from typing import Any

from kcli.core.error_codes import NONE
from kcli.core.errors import DamagedFileError
from kcli.core.logdir.folders import read_file
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import TOPIC
from kcli.core.offline.metadata_log import NotHereError
from kcli.core.protocol.messages.control_records import Endpoint
from kcli.core.protocol.messages.describe_quorum import (
    DescribeQuorumListener,
    DescribeQuorumNode,
    DescribeQuorumPartitionData,
    DescribeQuorumReplicaState,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumTopicData,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.protocol.stored.metadata_records import ControllerEndpoint
from kcli.core.types import TopicPartition

_STATE = "quorum-state"
_UNKNOWN = -1


def describe_quorum(
    directories: Directories, _request: DescribeQuorumRequest, _version: int
) -> DescribeQuorumResponse:
    """The voters are those of the metadata log, else of ``quorum-state``, else the controllers that registered; how far
    each was is not known.
    """
    try:
        known = directories.image()
        log = directories.log(TopicPartition(TOPIC, 0))
        if log is None:
            raise NotHereError(TOPIC, why=f"none of the log directories has {TOPIC}-0")
    except NotHereError as error:
        return DescribeQuorumResponse(error_code=error.code, error_message=error.why, topics=[])
    state = _quorum_state(os.path.join(log.folder.path, _STATE))
    stated = [one["voterId"] for one in state.get("currentVoters") or ()]
    voters = sorted(known.voters) or stated or sorted(known.controllers)
    listeners: dict[int, Sequence[Endpoint | ControllerEndpoint]] = {}
    listeners |= {number: one.end_points for number, one in known.controllers.items()}
    listeners |= {number: one.endpoints for number, one in known.voters.items()}
    here = {one.node_id for one in directories.found.log_dirs}
    partition = DescribeQuorumPartitionData(
        partition_index=0,
        error_code=NONE,
        error_message=None,
        leader_id=state.get("leaderId", _UNKNOWN),
        leader_epoch=state.get("leaderEpoch", known.leader_epoch),
        high_watermark=log.end_offset,
        current_voters=[
            DescribeQuorumReplicaState(
                replica_id=number,
                replica_directory_id=known.voters[number].voter_directory_id
                if number in known.voters
                else NO_UUID,
                log_end_offset=log.end_offset if {number} == here else _UNKNOWN,
            )
            for number in voters
        ],
        observers=[],
    )
    return DescribeQuorumResponse(
        error_code=NONE,
        error_message=None,
        topics=[DescribeQuorumTopicData(topic_name=TOPIC, partitions=[partition])],
        nodes=[
            DescribeQuorumNode(
                node_id=number,
                listeners=[
                    DescribeQuorumListener(name=one.name, host=one.host, port=one.port) for one in endpoints
                ],
            )
            for number, endpoints in sorted(listeners.items())
        ],
    )


def _quorum_state(path: str) -> dict[str, Any]:
    """What the controller voted and whom it followed; empty without the file."""
    data = read_file(path)
    if data is None:
        return {}
    try:
        found = json.loads(data)
    except ValueError as error:
        raise DamagedFileError(path, 0, why=str(error)) from error
    return found if isinstance(found, dict) else {}
