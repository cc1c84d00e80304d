"""Assigns partitions to members: Kafka's four assignors, and the interface for custom ones.

``choose`` reads the option, ``offers`` is what a member joins with, ``read_members`` and ``assignments`` are for the
leader. ``assignor.Assignor`` defines what an assignor is.
"""

from kcli.core.group.assignors.assignor import Assignor, RebalanceProtocol, Remembering
from kcli.core.group.assignors.joining import offers
from kcli.core.group.assignors.leading import Members, assignments, read_members
from kcli.core.group.assignors.registry import NAMES, assignor, choose, rebalance_protocol

__all__ = [
    "NAMES",
    "Assignor",
    "Members",
    "RebalanceProtocol",
    "Remembering",
    "assignments",
    "assignor",
    "choose",
    "offers",
    "read_members",
    "rebalance_protocol",
]
