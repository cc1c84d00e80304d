"""The client library: ``from kcli.core import Producer, Consumer, Admin, Cluster``, and the values they use.

Names are loaded on use (PEP 562): importing this package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.brokers import BrokerDescription, ClusterDescription, LogDir, ReplicaSize
    from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
    from kcli.core.admin.group_description import GroupDescription, MemberDescription
    from kcli.core.admin.groups import GroupListing, ListedGroup
    from kcli.core.admin.members import GroupMember
    from kcli.core.admin.topics import TopicInfo
    from kcli.core.admin.transactions import (
        ListedTransaction,
        ProducerDescription,
        TransactionDescription,
        TransactionListing,
    )
    from kcli.core.cluster.cluster import Cluster
    from kcli.core.cluster.offsets import OffsetInfo
    from kcli.core.consumer.consumer import Consumer
    from kcli.core.consumer.waiting import OpenTransaction
    from kcli.core.producer.producer import Producer
    from kcli.core.types import GroupMetadata, Node, OffsetAndMetadata, TopicPartition, TopicSpec

_HOMES = {
    "kcli.core.admin.admin": ("Admin",),
    "kcli.core.admin.brokers": (
        "BrokerDescription",
        "ClusterDescription",
        "LogDir",
        "ReplicaSize",
    ),
    "kcli.core.admin.configs": (
        "ConfigChange",
        "ConfigEntry",
        "ConfigKind",
        "ConfigOp",
        "ConfigResource",
    ),
    "kcli.core.admin.group_description": (
        "GroupDescription",
        "MemberDescription",
    ),
    "kcli.core.admin.groups": (
        "GroupListing",
        "ListedGroup",
    ),
    "kcli.core.admin.members": ("GroupMember",),
    "kcli.core.admin.topics": ("TopicInfo",),
    "kcli.core.admin.transactions": (
        "ListedTransaction",
        "ProducerDescription",
        "TransactionDescription",
        "TransactionListing",
    ),
    "kcli.core.cluster.cluster": ("Cluster",),
    "kcli.core.cluster.offsets": ("OffsetInfo",),
    "kcli.core.consumer.consumer": ("Consumer",),
    "kcli.core.consumer.waiting": ("OpenTransaction",),
    "kcli.core.producer.producer": ("Producer",),
    "kcli.core.types": (
        "GroupMetadata",
        "Node",
        "OffsetAndMetadata",
        "TopicPartition",
        "TopicSpec",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Admin",
    "BrokerDescription",
    "Cluster",
    "ClusterDescription",
    "ConfigChange",
    "ConfigEntry",
    "ConfigKind",
    "ConfigOp",
    "ConfigResource",
    "Consumer",
    "GroupDescription",
    "GroupListing",
    "GroupMember",
    "GroupMetadata",
    "ListedGroup",
    "ListedTransaction",
    "LogDir",
    "MemberDescription",
    "Node",
    "OffsetAndMetadata",
    "OffsetInfo",
    "OpenTransaction",
    "Producer",
    "ProducerDescription",
    "ReplicaSize",
    "TopicInfo",
    "TopicPartition",
    "TopicSpec",
    "TransactionDescription",
    "TransactionListing",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(_HOME_OF[name]), name)
