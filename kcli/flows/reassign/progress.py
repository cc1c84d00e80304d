"""How far reassignments are: the bytes that are left, and which partitions are done."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kcli.core.admin.admin import Admin
from kcli.core.admin.reassignments import Reassignment
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition


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
