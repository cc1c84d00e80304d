"""The client library: ``from kcli.core import Producer, Consumer, Admin, Cluster``, and the values they use.

Names are loaded on use (PEP 562): importing this package costs nothing.
"""

TYPE_CHECKING = False  # without typing, as in kcli
if TYPE_CHECKING:
    from typing import Any

    from kcli.core.admin.acls import AclBinding as AclBinding
    from kcli.core.admin.acls import AclFilter as AclFilter
    from kcli.core.admin.acls import AclPattern as AclPattern
    from kcli.core.admin.acls import AclPermission as AclPermission
    from kcli.core.admin.acls import AclResource as AclResource
    from kcli.core.admin.admin import Admin as Admin
    from kcli.core.admin.brokers import BrokerDescription as BrokerDescription
    from kcli.core.admin.brokers import ClusterDescription as ClusterDescription
    from kcli.core.admin.brokers import LogDir as LogDir
    from kcli.core.admin.brokers import ReplicaSize as ReplicaSize
    from kcli.core.admin.configs import ConfigChange as ConfigChange
    from kcli.core.admin.configs import ConfigEntry as ConfigEntry
    from kcli.core.admin.configs import ConfigKind as ConfigKind
    from kcli.core.admin.configs import ConfigOp as ConfigOp
    from kcli.core.admin.configs import ConfigResource as ConfigResource
    from kcli.core.admin.features import BrokerFeatures as BrokerFeatures
    from kcli.core.admin.group_description import GroupDescription as GroupDescription
    from kcli.core.admin.group_description import MemberDescription as MemberDescription
    from kcli.core.admin.groups import GroupListing as GroupListing
    from kcli.core.admin.groups import ListedGroup as ListedGroup
    from kcli.core.admin.members import GroupMember as GroupMember
    from kcli.core.admin.quorum import QuorumDescription as QuorumDescription
    from kcli.core.admin.quotas import QuotaEntity as QuotaEntity
    from kcli.core.admin.reassignments import Reassignment as Reassignment
    from kcli.core.admin.topics import TopicInfo as TopicInfo
    from kcli.core.admin.transactions import ListedTransaction as ListedTransaction
    from kcli.core.admin.transactions import ProducerDescription as ProducerDescription
    from kcli.core.admin.transactions import TransactionDescription as TransactionDescription
    from kcli.core.admin.transactions import TransactionListing as TransactionListing
    from kcli.core.arrow.table import ArrowBatch as ArrowBatch
    from kcli.core.cluster.cluster import Cluster as Cluster
    from kcli.core.cluster.offsets import OffsetInfo as OffsetInfo
    from kcli.core.consumer.arrow_reader import ArrowReader as ArrowReader
    from kcli.core.consumer.arrow_reader import RecordFilter as RecordFilter
    from kcli.core.consumer.consumer import Consumer as Consumer
    from kcli.core.consumer.open_transactions import OpenTransaction as OpenTransaction
    from kcli.core.consumer.subscription import Span as Span
    from kcli.core.consumer.topic_records import TopicRecords as TopicRecords
    from kcli.core.consumer.topic_records import read_topic as read_topic
    from kcli.core.logdir.partition_log import PartitionLog as PartitionLog
    from kcli.core.permissions import AclOperation as AclOperation
    from kcli.core.producer.producer import Producer as Producer
    from kcli.core.records.segment import Segment as Segment
    from kcli.core.share.acquired import Acknowledge as Acknowledge
    from kcli.core.share.consumer import ShareConsumer as ShareConsumer
    from kcli.core.share.fetcher import Settled as Settled
    from kcli.core.types import GroupMetadata as GroupMetadata
    from kcli.core.types import Node as Node
    from kcli.core.types import OffsetAndMetadata as OffsetAndMetadata
    from kcli.core.types import TopicPartition as TopicPartition
    from kcli.core.types import TopicSpec as TopicSpec

_HOMES = {
    "admin.acls": "AclBinding AclFilter AclPattern AclPermission AclResource",
    "admin.admin": "Admin",
    "admin.brokers": "BrokerDescription ClusterDescription LogDir ReplicaSize",
    "admin.configs": "ConfigChange ConfigEntry ConfigKind ConfigOp ConfigResource",
    "admin.features": "BrokerFeatures",
    "admin.group_description": "GroupDescription MemberDescription",
    "admin.groups": "GroupListing ListedGroup",
    "admin.members": "GroupMember",
    "admin.quorum": "QuorumDescription",
    "admin.quotas": "QuotaEntity",
    "admin.reassignments": "Reassignment",
    "admin.topics": "TopicInfo",
    "admin.transactions": "ListedTransaction ProducerDescription TransactionDescription TransactionListing",
    "arrow.table": "ArrowBatch",
    "cluster.cluster": "Cluster",
    "cluster.offsets": "OffsetInfo",
    "consumer.arrow_reader": "ArrowReader RecordFilter",
    "consumer.consumer": "Consumer",
    "consumer.subscription": "Span",
    "consumer.topic_records": "TopicRecords read_topic",
    "consumer.open_transactions": "OpenTransaction",
    "logdir.partition_log": "PartitionLog",
    "permissions": "AclOperation",
    "producer.producer": "Producer",
    "records.segment": "Segment",
    "share.acquired": "Acknowledge",
    "share.consumer": "ShareConsumer",
    "share.fetcher": "Settled",
    "types": "GroupMetadata Node OffsetAndMetadata TopicPartition TopicSpec",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> "Any":
    if name not in _HOME_OF:
        raise AttributeError(name)
    from importlib import import_module  # few runs need it

    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
