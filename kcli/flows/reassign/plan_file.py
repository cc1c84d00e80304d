"""The file of a reassignment, as ``kafka-reassign-partitions.sh`` reads and writes it:
``{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}``.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kcli.core.types import TopicPartition
from kcli.flows.partitions_file import VERSION, PartitionsFile, is_number, shown_name

_ANY_DIRECTORY = "any"
_FILE = PartitionsFile(
    "file of a reassignment",
    "`kcli reassign plan FILE` writes one, so does kafka-reassign-partitions.sh --generate",
)

Replicas = dict[TopicPartition, tuple[int, ...]]


def file_text(replicas: Mapping[TopicPartition, Sequence[int]]) -> str:
    """The document, a line for each partition."""
    rows = [json.dumps(row, ensure_ascii=False) for row in partition_rows(replicas)]
    return f'{{"version":{VERSION},"partitions":[' + ",".join(f"\n  {row}" for row in rows) + "\n]}\n"


def partition_rows(replicas: Mapping[TopicPartition, Sequence[int]]) -> list[dict[str, Any]]:
    """The elements of ``partitions``."""
    return [
        {"topic": tp.topic, "partition": tp.partition, "replicas": list(numbers)}
        for tp, numbers in sorted(replicas.items())
    ]


def read_plan_file(path: str) -> Replicas:
    """The replicas of each partition in the file; ``-`` is stdin. ConfigError says what is wrong and where."""
    return {tp: _replicas(shown_name(path), tp, row) for tp, row in _FILE.read(path)}


def _replicas(name: str, tp: TopicPartition, row: Mapping[str, Any]) -> tuple[int, ...]:
    replicas = row.get("replicas")
    if not isinstance(replicas, list) or not replicas or not all(map(is_number, replicas)):
        raise _FILE.broken(name, f"{tp} has no list of replicas (broker ids)")
    if len(set(replicas)) < len(replicas):
        raise _FILE.broken(name, f"{tp} has a broker twice among its replicas")
    directories = row.get("log_dirs")
    if directories is not None and (
        not isinstance(directories, list) or any(directory != _ANY_DIRECTORY for directory in directories)
    ):
        raise _FILE.broken(
            name,
            f"{tp} names log directories",
            do="leave log_dirs out; `kcli help brokers move-log-dir` says how replicas move between directories",
        )
    return tuple(replicas)
