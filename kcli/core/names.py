"""Names of topics and groups: which are valid, which kcli keeps for itself, how texts and command lines show them. Pure.

Groups and topics of kcli's own are called like nobody else's. Whatever means all, or a pattern, leaves them out: they are
no consumers, and a position that is moved makes the job that keeps it store its records twice, or leave some out.
They are shown when they are named, or with ``--internal``; a command that changes one says what it is, and wants its
name typed.
"""

import re
import struct
from collections.abc import Mapping
from typing import Any

from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition

_LONGEST_STRING = 0x7FFF  # bytes: brokers close the connection when a string is longer
_NUMBERS = struct.Struct(">iqi")
_LEGAL = r"[A-Za-z0-9._-]{1,249}"


def is_topic_name(name: str) -> bool:
    """Whether Kafka accepts it as a topic name."""
    return re.fullmatch(_LEGAL, name) is not None and name not in (".", "..")


def check_topic(name: Any) -> None:
    """Rejects what cannot be a topic name: in a request with others, it would spoil the response for all of them."""
    if not isinstance(name, str) or not is_topic_name(name):
        raise ConfigError(
            f"{name!r} is not a valid topic name",
            why="a topic name is text: 1 to 249 letters, digits, dots, underscores or hyphens",
        )


def check_partition(where: Any) -> None:
    """Rejects what is not a TopicPartition of a text and an integer; whether the partition exists is not checked."""
    right = isinstance(where, TopicPartition)
    if not right or not isinstance(where.topic, str) or type(where.partition) is not int:
        raise ConfigError(
            f"{where!r} is not a partition",
            why="a partition is a TopicPartition: the topic's name and a whole number",
            do='TopicPartition("orders", 0), for example',
        )


def unwritable(tp: TopicPartition, offset: OffsetAndMetadata) -> ConfigError | None:
    """Why Kafka's protocol cannot express this: checked before it is put into a request that it shares with others."""
    for what, text in (("the topic's name", tp.topic), ("the metadata", offset.metadata or "")):
        try:
            size = len(text.encode())
        except (AttributeError, UnicodeEncodeError) as error:
            return ConfigError(f"{tp}: {what} cannot be sent", why=str(error))
        if size > _LONGEST_STRING:
            why = f"it has {size} bytes, {_LONGEST_STRING} is the limit"
            return ConfigError(f"{tp}: {what} cannot be sent", why=why)
    try:
        _NUMBERS.pack(tp.partition, offset.offset, offset.leader_epoch)
    except struct.error as error:
        return ConfigError(f"{tp}: {offset} cannot be sent", why=str(error))
    return None


CHECKPOINTS = "kcli-produce."
IMPORTS, MIRRORS, REPLAYS = "__kcli.import.", "__kcli.mirror.", "__kcli.replay."
LEASES = "__kcli.lease."
STREAMS = "__kcli.stream."
MIRROR_TRANSACTIONS = "kcli-mirror-"
"""How the transactional ids of ``kcli mirror`` begin."""
STATE_TOPIC = "__kcli_mirror"
"""Holds the state of all jobs of ``kcli mirror`` that write to a cluster."""
DEFAULT_JOB = "default"
"""The name of a job of ``kcli mirror`` without ``--job``."""

_GROUPS: Mapping[str, str] = {
    CHECKPOINTS: "stores the progress of produce --checkpoint for transactional id {}",
    IMPORTS: "stores the positions of pipeline import, job {}",
    LEASES: "its members are the instances of mirror job {}",
    MIRRORS: "stores the positions of pipeline mirror, job {}",
    REPLAYS: "stores the positions of pipeline replay, job {}",
    STREAMS: "stores the positions of a stream of Spark, query and task {}",
    "__kcli.": "stores the positions of a job of kcli, {}",
}
"""By the beginning of the name: what it is for, with the rest of the name. The last one has those of other versions."""

_TOPICS: Mapping[str, str] = {
    STATE_TOPIC: "the positions and offset maps of all jobs of mirror that write to this cluster",
    "__kcli_": "state of kcli's own",
}

GROUP_PREFIXES = (CHECKPOINTS, "__kcli.")
TOPIC_PREFIX = "__kcli_"


def is_own_group(name: str) -> bool:
    """Whether kcli keeps this group for itself."""
    return name.startswith(GROUP_PREFIXES)


def is_own_topic(name: str) -> bool:
    """Whether kcli keeps this topic for itself."""
    return name.startswith(TOPIC_PREFIX)


def means_own_groups(glob: str | None) -> bool:
    """Whether a shell pattern can only match such groups: then it asks for them."""
    return glob is not None and glob.startswith(tuple(prefix.rstrip(".") for prefix in GROUP_PREFIXES))


def own_group_note(name: str) -> str | None:
    """What such a group is, for a note; None for any other."""
    for prefix, purpose in _GROUPS.items():
        if name.startswith(prefix):
            return f"not a consumer group: {purpose.format(name.removeprefix(prefix))}"
    return None


def own_group_danger(name: str) -> str | None:
    """Why ``--yes`` is not sufficient to change such a group; None for any other."""
    note = own_group_note(name)
    return note and f"{name} is kcli's own and {note}"


def own_topic_purpose(name: str) -> str | None:
    """What such a topic holds; None for any other."""
    return next((purpose for prefix, purpose in _TOPICS.items() if name.startswith(prefix)), None)


THERE_ARE = "`kcli groups list` lists the groups"


def group_argument(group: str) -> str:
    """The group as an argument of ``kcli groups describe``, ``lag`` and ``rewind``."""
    from shlex import quote  # few runs need it

    return quote(group) if group else "--empty-group"


def group_shown(group: str) -> str:
    """The group in a text: two quotes where its name is empty."""
    return group or "''"


def unknown_group(group: str, do: str = THERE_ARE) -> NotFoundError:
    """``do``: a better remedy, where the other groups are known."""
    why = "no group of that name has a member or a committed offset"
    return NotFoundError(f"group {group_shown(group)} does not exist", why=why, do=do)


def java_hash(key: bytes) -> int:
    """``Math.abs(new String(key).hashCode())``; as in Java, the smallest int stays negative and counts as 0."""
    value = 0
    data = key.decode("utf-8", "replace").encode("utf-16-be")
    for high, low in zip(data[::2], data[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    if value == 0x80000000:
        return 0
    return value if value < 0x80000000 else 0x100000000 - value


def coordinator_partition(name: str, partitions: int) -> int:
    """The partition of ``__consumer_offsets`` or ``__transaction_state`` whose leader coordinates this group or id."""
    return java_hash(name.encode()) % partitions
