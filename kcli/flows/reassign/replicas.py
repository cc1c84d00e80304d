"""What a reassignment needs to know of the cluster: brokers with racks, replicas, sizes, moves in progress; and how
far these are: the bytes that are left, and which partitions are done.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kcli.core.admin.admin import Admin
from kcli.core.admin.reassignments import Reassignment
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.output.progress import counted


@dataclass(frozen=True, slots=True)
class ClusterReplicas:
    """``racks`` are the brokers that are alive. ``sizes`` (bytes) lacks partitions whose size is unknown.

    The replicas of a partition that is being moved are those that it will have.
    """

    racks: Mapping[int, str | None]
    partitions: Mapping[TopicPartition, PartitionView]
    ongoing: Mapping[TopicPartition, Reassignment]
    internal: frozenset[str] = frozenset()
    sizes: Mapping[TopicPartition, int] = field(default_factory=dict)
    errors: tuple[KcliError, ...] = ()
    """Why sizes are unknown."""
    operations: int | None = None
    """What this client may do with the cluster (KIP-430)."""

    def unknown_sizes(self) -> Iterator[str]:
        """A warning where sizes are unknown: there are no bytes and no estimate then; everything else works."""
        for error in self.errors[:1]:
            left = len(self.errors) - 1
            more = f", and of {counted(left, 'more broker')}" if left else ""
            yield f"sizes are not known{more}: {error}"


def survey(admin: Admin, topics: Collection[str] | None = None) -> ClusterReplicas:
    """Reads the cluster; ``topics``: only the partitions of these."""
    description = admin.describe_cluster(include_operations=True)
    racks = {broker.node.id: broker.node.rack for broker in description.brokers if not broker.is_fenced}
    ongoing = admin.list_reassignments()
    found = {}
    internal = set()
    for topic in admin.list_topics():
        if topics is not None and topic.name not in topics:
            continue
        if topic.internal:
            internal.add(topic.name)
        for part in topic.partitions:
            tp = TopicPartition(topic.name, part.partition)
            moving = ongoing.get(tp)
            if part.replicas:
                found[tp] = part._replace(replicas=moving.target) if moving else part
    sizes, errors = _sizes(admin, found)
    return ClusterReplicas(racks, found, ongoing, frozenset(internal), sizes, errors, description.operations)


def _sizes(
    admin: Admin, partitions: Mapping[TopicPartition, PartitionView]
) -> tuple[dict[TopicPartition, int], tuple[KcliError, ...]]:
    """The size of the leader's replica of each partition, else of the largest one."""
    errors = []
    sizes: dict[TopicPartition, int] = {}
    led: set[TopicPartition] = set()
    for broker, directories in (admin.describe_log_dirs(partitions=partitions) if partitions else {}).items():
        if isinstance(directories, KcliError):
            errors.append(directories)
            continue
        for directory in directories:
            for tp, replica in directory.replicas.items():
                part = partitions.get(tp)
                if part is None or replica.is_future or tp in led:
                    continue
                if part.leader == broker:
                    led.add(tp)
                    sizes[tp] = replica.size
                else:
                    sizes[tp] = max(sizes.get(tp, 0), replica.size)
    return sizes, tuple(errors)


@dataclass(frozen=True, slots=True)
class MoveProgress:
    """``ongoing`` reassignments, and by partition the bytes to be copied and those that are left, where known; ``errors``
    are why some are not.
    """

    ongoing: Mapping[TopicPartition, Reassignment]
    total: Mapping[TopicPartition, int] = field(default_factory=dict)
    left: Mapping[TopicPartition, int] = field(default_factory=dict)
    errors: Sequence[KcliError] = ()


def move_progress(admin: Admin, partitions: Collection[TopicPartition] | None = None) -> MoveProgress:
    """The reassignments in progress, of all partitions or of these, with the sizes of their replicas."""
    ongoing = admin.list_reassignments(partitions)
    sizes, errors = _replica_sizes(admin, ongoing)
    total, left = {}, {}
    for tp, one in ongoing.items():
        complete = max(
            (sizes.get((tp, number), 0) for number in one.replicas if number not in one.adding), default=0
        )
        if any((tp, number) in sizes for number in one.before):
            total[tp] = complete * len(one.adding)
            left[tp] = sum(max(0, complete - sizes.get((tp, number), 0)) for number in one.adding)
    return MoveProgress(ongoing, total, left, errors)


def _replica_sizes(
    admin: Admin, ongoing: Mapping[TopicPartition, Reassignment]
) -> tuple[dict[tuple[TopicPartition, int], int], list[KcliError]]:
    """The bytes of each replica, and the errors of brokers that do not respond."""
    brokers = {number for one in ongoing.values() for number in one.replicas} & set(admin.connect().nodes)
    if not brokers:
        return {}, []
    sizes: dict[tuple[TopicPartition, int], int] = {}
    errors: list[KcliError] = []
    for number, directories in admin.describe_log_dirs(broker_ids=brokers, partitions=list(ongoing)).items():
        if isinstance(directories, KcliError):
            errors.append(directories)
            continue
        for directory in directories:
            for tp, replica in directory.replicas.items():
                if not replica.is_future:
                    sizes[tp, number] = replica.size
    return sizes, errors
