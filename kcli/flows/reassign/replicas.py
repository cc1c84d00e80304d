"""What a reassignment needs to know of the cluster: brokers with racks, replicas, sizes, moves in progress; and how
far these are: the bytes that are left, and which partitions are done.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.brokers import LogDir
from kcli.core.admin.reassignments import Reassignment
from kcli.core.classes import dataclass, field
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
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    free: Mapping[int, int] = field(default_factory=dict)
    """Bytes that can still be written to the volumes of a broker, where it reports them (KIP-827)."""
    cordoned: frozenset[int] = frozenset()
    """Brokers that get no replicas: all of their log directories are cordoned (KIP-1066)."""

    def unknown_sizes(self) -> Iterator[str]:
        """A warning where sizes are unknown: there are no bytes and no estimate then; everything else works."""
        for error in self.errors[:1]:
            left = len(self.errors) - 1
            more = f", and of {counted(left, 'more broker')}" if left else ""
            yield f"sizes are not known{more}: {error}"


def survey(admin: Admin, topics: Collection[str] | None = None) -> ClusterReplicas:
    """Reads the cluster; ``topics``: only the partitions of these."""
    description, ongoing, listed = admin.together(
        lambda: admin.describe_cluster(include_operations=True), admin.list_reassignments, admin.list_topics
    )
    racks = {broker.node.id: broker.node.rack for broker in description.brokers if not broker.is_fenced}
    found = {}
    internal = set()
    ids = {}
    for topic in listed:
        if topics is not None and topic.name not in topics:
            continue
        ids[topic.name] = topic.topic_id
        if topic.internal:
            internal.add(topic.name)
        for part in topic.partitions:
            tp = TopicPartition(topic.name, part.partition)
            moving = ongoing.get(tp)
            if part.replicas:
                found[tp] = part._replace(replicas=moving.target) if moving else part
    disks = admin.describe_log_dirs(partitions=found) if found else {}
    errors = tuple(one for one in disks.values() if isinstance(one, KcliError))
    by_broker = {broker: one for broker, one in disks.items() if not isinstance(one, KcliError)}
    return ClusterReplicas(
        racks,
        found,
        ongoing,
        frozenset(internal),
        _sizes(by_broker, found),
        errors,
        description.operations,
        ids,
        {broker: free for broker, one in by_broker.items() if (free := _free(one)) >= 0},
        frozenset(broker for broker, one in by_broker.items() if one and all(row.is_cordoned for row in one)),
    )


def _free(directories: Sequence[LogDir]) -> int:
    """Bytes that can be written; directories on the same volume count once. −1: not reported."""
    volumes = {(row.total_bytes, row.usable_bytes) for row in directories}
    return -1 if any(usable < 0 for _total, usable in volumes) else sum(usable for _total, usable in volumes)


def _sizes(
    disks: Mapping[int, Sequence[LogDir]], partitions: Mapping[TopicPartition, PartitionView]
) -> dict[TopicPartition, int]:
    """The size of the leader's replica of each partition, else of the largest one."""
    sizes: dict[TopicPartition, int] = {}
    led: set[TopicPartition] = set()
    for broker, directories in disks.items():
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
    return sizes


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
