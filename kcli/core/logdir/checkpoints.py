"""The small text files of a log directory: ``meta.properties``, ``partition.metadata`` and the offset checkpoints.

Offset checkpoints are ``recovery-point-offset-checkpoint``, ``log-start-offset-checkpoint``,
``replication-offset-checkpoint`` (high watermarks) and ``cleaner-offset-checkpoint``: a version, a count, and a line for
each partition. Pure: ``where`` names the file in errors.
"""

from base64 import urlsafe_b64decode
from typing import NoReturn

from kcli.core.classes import NamedTuple
from kcli.core.errors import DamagedFileError
from kcli.core.types import TopicPartition

META = "meta.properties"
PARTITION = "partition.metadata"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"
_INT64 = 1 << 63


class MetaProperties(NamedTuple):
    """Whose directory it is. Version 0 has ``broker.id``, version 1 (KRaft) ``node.id``; −1 and empty: not said."""

    version: int
    node_id: int = -1
    cluster_id: str = ""
    directory_id: str = ""


def parse_meta_properties(data: bytes, where: str) -> MetaProperties:
    """The content of ``meta.properties``."""
    found = _properties(data, where, "=")
    version = _number(found.get("version", "0"), where)
    if version not in (0, 1):
        _refuse(where, f"version {version}, and 0 and 1 are known")
    if version and "node.id" not in found:
        _refuse(where, "it has no node.id")
    node = found.get("node.id", found.get("broker.id", "-1"))
    return MetaProperties(
        version, _number(node, where), found.get("cluster.id", ""), found.get("directory.id", "")
    )


def parse_partition_metadata(data: bytes, where: str) -> bytes:
    """The topic id that ``partition.metadata`` has, 16 bytes."""
    found = _properties(data, where, ":")
    if found.get("version") != "0":
        _refuse(where, f"version {found.get('version', '(none)')}, and 0 is known")
    topic_id = parse_topic_id(found.get("topic_id", ""))
    if topic_id is None:
        _refuse(where, f"{found.get('topic_id', '')!r} is no topic id")
    return topic_id


def parse_topic_id(text: str) -> bytes | None:
    """A topic id as Kafka writes it, 22 characters for 16 bytes; None if it is none."""
    try:
        topic_id = urlsafe_b64decode(text + "==") if len(text) == 22 else b""
    except ValueError:
        return None
    return topic_id if len(topic_id) == 16 else None


def parse_offset_checkpoint(data: bytes, where: str) -> dict[TopicPartition, int]:
    """The offset of each partition."""
    found = {}
    for fields in checkpoint_rows(data, where, 3):
        topic, partition, offset = fields
        tp = TopicPartition(topic, _number(partition, where))
        if tp in found:
            _refuse(where, f"{tp} is in it twice")
        found[tp] = _number(offset, where)
    return found


def checkpoint_rows(data: bytes, where: str, fields: int) -> list[list[str]]:
    """The lines of a file of Kafka's checkpoint format (version 0), each of that many fields.

    A broker creates the file empty, and reads it as one without rows.
    """
    lines = _text(data, where).splitlines()
    if not lines:
        return []
    if len(lines) < 2:
        _refuse(where, f"{len(lines)} lines, where a version and a count are needed")
    if lines[0].strip() != "0":
        _refuse(where, f"version {lines[0]!r}, and 0 is known")
    rows = [line.split() for line in lines[2:] if line.strip()]
    if len(rows) != _number(lines[1].strip(), where):
        _refuse(where, f"{len(rows)} entries, its count is {lines[1].strip()}")
    for row in rows:
        if len(row) != fields:
            _refuse(where, f"an entry with {len(row)} fields in place of {fields}: {' '.join(row)!r}")
    return rows


def _properties(data: bytes, where: str, separator: str) -> dict[str, str]:
    found = {}
    for line in _text(data, where).splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            name, _, value = line.partition(separator)
            found[name.strip()] = value.strip()
    return found


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DamagedFileError(where, error.start, why="it is not text") from error


def _number(text: str, where: str) -> int:
    try:
        number = int(text)
    except ValueError:
        _refuse(where, f"{text!r} is not a number")
    if not -_INT64 <= number < _INT64:
        _refuse(where, f"{text} is not a number of 64 bits")
    return number


def _refuse(where: str, why: str) -> NoReturn:
    raise DamagedFileError(where, 0, why=why)
