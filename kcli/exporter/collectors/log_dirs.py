"""The brokers' log directories: their state, the size of what is in them, and of their volumes. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from kcli.core.admin.brokers import LogDir
from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import GAUGE, Metric

_LABELS = ("broker", "log_dir")
UP = Metric(
    "kcli_broker_log_dir_up", GAUGE, _LABELS, "1 if the broker can use the directory, 0 if it is offline."
)
SIZE = Metric("kcli_broker_log_dir_size_bytes", GAUGE, _LABELS, "Bytes of the replicas in the directory.")
REPLICAS = Metric("kcli_broker_log_dir_replicas", GAUGE, _LABELS, "Replicas in the directory.")
TOTAL = Metric("kcli_broker_log_dir_volume_bytes", GAUGE, _LABELS, "Size of its volume.")
USABLE = Metric(
    "kcli_broker_log_dir_usable_bytes", GAUGE, _LABELS, "What its volume has left for the broker."
)
METRICS = (UP, SIZE, REPLICAS, TOTAL, USABLE)


def samples(found: Mapping[int, Sequence[LogDir]]) -> Iterator[Sample]:
    """By broker and path. Of a directory that is offline only that is known."""
    for broker, directories in sorted(found.items()):
        for one in sorted(directories, key=lambda one: one.path):
            at, key = (broker, one.path), f"{broker} {one.path}"
            yield Sample(UP, at, int(one.error is None), key)
            if one.error is None:
                yield Sample(SIZE, at, sum(replica.size for replica in one.replicas.values()), key)
                yield Sample(REPLICAS, at, len(one.replicas), key)
                yield Sample(TOTAL, at, one.total_bytes if one.total_bytes >= 0 else None, key)
                yield Sample(USABLE, at, one.usable_bytes if one.usable_bytes >= 0 else None, key)
