"""Adds controllers to the voters of a quorum, and removes them (KIP-853). Brokers forward both to the active controller.

Only a dynamic quorum can be changed so: one with kraft.version 1 or higher.
"""

from kcli.core.admin.controller_changes import make_change
from kcli.core.admin.quorum import Endpoint
from kcli.core.admin.topics import id_bytes
from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import DUPLICATE_VOTER, VOTER_NOT_FOUND
from kcli.core.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from kcli.core.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest


def add_controller(
    cluster: Cluster, node: int, directory_id: str, listeners: tuple[Endpoint, ...], deadline: float
) -> None:
    """Makes a controller that has the metadata log a voter; returns when that is committed.

    REQUEST_TIMED_OUT where it does not answer at its listeners, or does not catch up in time.
    """
    request = AddRaftVoterRequest(
        cluster_id=cluster.view.cluster_id,
        timeout_ms=max(1, int((deadline - cluster.loop.now()) * 1000)),
        voter_id=node,
        voter_directory_id=id_bytes(directory_id),
        listeners=[Listener(name=one.listener, host=one.host, port=one.port) for one in listeners],
    )
    make_change(cluster, request, DUPLICATE_VOTER, deadline, f"adding controller {node}")


def remove_controller(cluster: Cluster, node: int, directory_id: str, deadline: float) -> None:
    """Makes a voter an observer; returns when that is committed. The active controller steps down then."""
    request = RemoveRaftVoterRequest(
        cluster_id=cluster.view.cluster_id, voter_id=node, voter_directory_id=id_bytes(directory_id)
    )
    make_change(cluster, request, VOTER_NOT_FOUND, deadline, f"removing controller {node}")
