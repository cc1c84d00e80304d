"""The file of a reassignment, as ``kafka-reassign-partitions.sh`` reads and writes it:
``{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}``.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition
from kcli.serde.json_text import NotJsonError, parse_json

STDIN = "-"
VERSION = 1
_MOST_BYTES = 256 << 20
_ANY_DIRECTORY = "any"

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


def shown_name(path: str) -> str:
    """The file in messages."""
    return "stdin" if path == STDIN else path


def read_plan_file(path: str) -> Replicas:
    """The replicas of each partition in the file; ``-`` is stdin. ConfigError says what is wrong and where."""
    name = shown_name(path)
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(_MOST_BYTES + 1) if sys.stdin is not None else b""
        else:
            with Path(path).open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"cannot read {name}",
            why=(error.strerror or str(error)).lower(),
            do="correct the name; `kcli reassign plan FILE` writes such a file",
        ) from None
    if len(data) > _MOST_BYTES:
        raise ConfigError(f"cannot read {name}", why=f"it has more than {_MOST_BYTES >> 20} MiB", do="")
    return parse_plan(data, name)


def parse_plan(data: bytes, name: str) -> Replicas:
    """The replicas of each partition; ``name`` is the file's in errors."""
    text = data.decode("utf-8-sig", "surrogateescape")
    try:
        document = parse_json(text)
    except NotJsonError as error:
        where = f"line {error.line_in(text)}: {error.reason}"
        raise _broken(name, f"it {error.verdict} ({where})" if data.strip() else "it is empty") from None
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        if isinstance(document, dict) and "items" in document:
            raise _broken(
                name, "it was written with -o json; without -o the plan is written for this command"
            )
        raise _broken(name, "it has no list of partitions")
    if document.get("version", VERSION) != VERSION:
        raise _broken(name, f"its version is {document['version']!r}, only {VERSION} is known")
    found: Replicas = {}
    for number, row in enumerate(document["partitions"]):
        tp, replicas = _row(name, f"partitions[{number}]", row)
        if tp in found:
            raise _broken(name, f"it has {tp} twice")
        found[tp] = replicas
    return found


def _row(name: str, where: str, row: Any) -> tuple[TopicPartition, tuple[int, ...]]:
    if not isinstance(row, dict):
        raise _broken(name, f"{where} is not an object")
    topic, partition, replicas = row.get("topic"), row.get("partition"), row.get("replicas")
    if not isinstance(topic, str) or not topic:
        raise _broken(name, f"{where} has no topic")
    if not isinstance(partition, int) or not _is_number(partition):
        raise _broken(name, f"{where} has no partition")
    tp = TopicPartition(topic, partition)
    if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
        raise _broken(name, f"{tp} has no list of replicas (broker ids)")
    if len(set(replicas)) < len(replicas):
        raise _broken(name, f"{tp} has a broker twice among its replicas")
    directories = row.get("log_dirs")
    if directories is not None and (
        not isinstance(directories, list) or any(directory != _ANY_DIRECTORY for directory in directories)
    ):
        raise _broken(
            name,
            f"{tp} names log directories",
            do="leave log_dirs out; `kcli brokers move-log-dir` moves replicas between directories",
        )
    return tp, tuple(replicas)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _broken(name: str, why: str, do: str = "") -> ConfigError:
    return ConfigError(
        f"{name} is no file of a reassignment",
        why=why,
        do=do or "`kcli reassign plan FILE` writes one, so does kafka-reassign-partitions.sh --generate",
    )
