"""The log directories of brokers as rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.brokers import LogDir

LOG_DIRS = (
    Column("broker", "id", values="integer", meaning="Number of the broker."),
    Column("path", values="string", meaning="Path of the directory."),
    Column(
        "state",
        values=("online", "offline", "cordoned"),
        meaning="Its state.",
    ),
    Column("replicas", "number", meaning="Replicas in it; null where it is unknown."),
    Column("future_replicas", "number", wide=True, meaning="Replicas that are being moved into it."),
    Column("size_bytes", "size", meaning="Bytes of the replicas."),
    Column("usable_bytes", "size", meaning="Free bytes of the volume; null where the broker does not say."),
    Column(
        "total_bytes", "size", spare=1, meaning="Bytes of the volume; null where the broker does not say."
    ),
)


def log_dir_rows(log_dirs: Mapping[int, Sequence[LogDir]]) -> list[dict[str, Any]]:
    """The log directories by broker; of an offline one the contents are unknown."""
    return [_log_dir(number, directory) for number in sorted(log_dirs) for directory in log_dirs[number]]


def _log_dir(number: int, directory: LogDir) -> dict[str, Any]:
    replicas = directory.replicas.values()
    unknown = directory.error is not None
    return {
        "broker": number,
        "path": directory.path,
        "state": "offline" if unknown else "cordoned" if directory.is_cordoned else "online",
        "replicas": None if unknown else sum(not replica.is_future for replica in replicas),
        "future_replicas": None if unknown else sum(replica.is_future for replica in replicas),
        "size_bytes": None if unknown else sum(replica.size for replica in replicas),
        "usable_bytes": directory.usable_bytes if directory.usable_bytes >= 0 else None,
        "total_bytes": directory.total_bytes if directory.total_bytes >= 0 else None,
    }
