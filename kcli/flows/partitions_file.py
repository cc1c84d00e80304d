"""The files of Kafka's scripts that name partitions: ``{"version":1,"partitions":[{"topic":"t","partition":0,…}]}``.

What else an entry has depends on the script: replicas of a reassignment, an offset to delete up to, nothing for an
election.
"""

import sys
from pathlib import Path
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition
from kcli.serde.json_text import NotJsonError, parse_json

STDIN = "-"
VERSION = 1
_MOST_BYTES = 256 << 20


class PartitionsFile(NamedTuple):
    """A kind of such files: ``what`` one is, and ``do``, how to get one, are for messages."""

    what: str
    do: str

    def read(self, path: str) -> list[tuple[TopicPartition, dict[str, Any]]]:
        """The partitions of the file, each with its entry; ``-`` is stdin. ConfigError says what is wrong and where."""
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
                do=f"correct the name; {self.do}",
            ) from None
        if len(data) > _MOST_BYTES:
            raise ConfigError(f"cannot read {name}", why=f"it has more than {_MOST_BYTES >> 20} MiB", do="")
        return self.parse(data, name)

    def parse(self, data: bytes, name: str) -> list[tuple[TopicPartition, dict[str, Any]]]:
        """The same of the file's content; ``name`` is the file's in errors."""
        text = data.decode("utf-8-sig", "surrogateescape")
        try:
            document = parse_json(text)
        except NotJsonError as error:
            where = f"line {error.line_in(text)}: {error.reason}"
            raise self.broken(
                name, f"it {error.verdict} ({where})" if data.strip() else "it is empty"
            ) from None
        if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
            if isinstance(document, dict) and "items" in document:
                raise self.broken(
                    name, "it was written with -o json; without -o the plan is written for this command"
                )
            raise self.broken(name, "it has no list of partitions")
        if document.get("version", VERSION) != VERSION:
            raise self.broken(name, f"its version is {document['version']!r}, only {VERSION} is known")
        found: dict[TopicPartition, dict[str, Any]] = {}
        for number, row in enumerate(document["partitions"]):
            tp = self._partition(name, f"partitions[{number}]", row)
            if tp in found:
                raise self.broken(name, f"it has {tp} twice")
            found[tp] = row
        return list(found.items())

    def broken(self, name: str, why: str, do: str = "") -> ConfigError:
        """The error for a file with invalid content."""
        return ConfigError(f"{name} is no {self.what}", why=why, do=do or self.do)

    def _partition(self, name: str, where: str, row: Any) -> TopicPartition:
        if not isinstance(row, dict):
            raise self.broken(name, f"{where} is not an object")
        topic, partition = row.get("topic"), row.get("partition")
        if not isinstance(topic, str) or not topic:
            raise self.broken(name, f"{where} has no topic")
        if not isinstance(partition, int) or not is_number(partition):
            raise self.broken(name, f"{where} has no partition")
        return TopicPartition(topic, partition)


def shown_name(path: str) -> str:
    """The file in messages."""
    return "stdin" if path == STDIN else path


def is_number(value: Any) -> bool:
    """Whether it may be the number of a partition or broker."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
