"""What ``kcli topics list`` shows: its columns and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, warn_of_hidden
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import replace
from kcli.core.cluster.metadata import OR_HIDDEN
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.flows.topics.sizes import TopicSize


def list_topics(inv: Invocation, match: str | None, internal: bool, with_size: bool, sort: str) -> int:
    """Lists topics; ``sort`` is a key of ``_SORTED_BY``, or ``name``. Returns the exit status."""
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(topics=True, permissions=True)
        cluster = connect(inv, admin)
        found = [topic for topic in admin.list_topics() if matches(topic, match, internal)]
        sizes = _sizes(inv, admin, found) if with_size or sort in ("size", "disk") else None
        warn_of_hidden(inv, admin, "topics")
    warn_of_incomplete(inv, found)
    columns = LIST if sizes is None else (*LIST, *(_DISK_SHOWN if sort == "disk" else SIZES))
    rows = [list_row(topic) | (size_row(sizes[topic.name]) if sizes else {}) for topic in found]
    if sort in _SORTED_BY:
        key = _SORTED_BY[sort]
        rows.sort(key=lambda row: (row[key] is None, -(row[key] or 0)))  # those without a value last
    if not found:
        inv.talk.remark(no_topics(match, internal=internal))
    print_rows(inv, "TopicList", columns, rows, cluster, item="Topic")
    if found and sizes is not None and inv.out.list_kind() in ("table", "plain", "wide"):
        inv.out.release()  # on a terminal the note follows the table
        inv.talk.note("SIZE-BYTES counts one replica of each partition, DISK-BYTES (-o wide) all of them")
    return inv.finish(done=True)


def _sizes(inv: Invocation, admin: Admin, found: Sequence[TopicInfo]) -> dict[str, TopicSize]:
    """The size of each topic; errors of brokers are failures, and the sums that include them are unknown."""
    from kcli.flows.topics.sizes import topic_sizes  # few runs need it

    sizes = topic_sizes(admin, found)
    for part in sizes.missing:
        inv.lacks(part)
    return sizes.items


def matches(topic: TopicInfo, match: str | None, internal: bool) -> bool:
    return (internal or not topic.internal) and (match is None or fnmatchcase(topic.name, match))


def warn_of_incomplete(inv: Invocation, found: Iterable[TopicInfo]) -> None:
    """A topic that the broker returned with an error is shown, although it is incomplete."""
    for topic in found:
        if topic.error is not None:
            inv.talk.warn(f"the description of topic {topic.name} is incomplete: {topic.error}")
            inv.lacks(
                Missing.of(topic.error, f"a part of the description of topic {topic.name}"),
                told=True,
            )


Row = dict[str, Any]

NAME = Column("name", values="string", meaning="Name of the topic.")
FACTOR = Column("replication_factor", "number", meaning="Replicas of a partition; null where it is unknown.")
INTERNAL = Column("internal", values="boolean", meaning="Whether it is a topic of Kafka's own.")
ID = Column("topic_id", meaning="Id of the topic; null where the broker has none.")
LIST = (
    NAME,
    Column("partitions", "number", meaning="How many partitions; null where it is unknown."),
    FACTOR,
    Column("under_replicated", "number", meaning="Partitions with replicas that are not in sync."),
    replace(INTERNAL, wide=True),
    replace(ID, wide=True),
)
SIZES = (
    Column(
        "size_bytes",
        "size",
        sometimes=True,
        meaning="Bytes of one replica of each partition; null where it is unknown.",
    ),
    Column(
        "disk_bytes",
        "size",
        wide=True,
        sometimes=True,
        meaning="Bytes of all replicas; null where it is unknown.",
    ),
)
_DISK_SHOWN = (SIZES[0], replace(SIZES[1], wide=False))
_SORTED_BY = {
    "partitions": "partitions",
    "under-replicated": "under_replicated",
    "size": "size_bytes",
    "disk": "disk_bytes",
}


def no_topics(match: str | None, *, internal: bool) -> str:
    """The note for an empty list."""
    if match is not None:
        return f"no topic matches {match}, {OR_HIDDEN}"
    return f"there are no topics{'' if internal else ', or internal ones only'}, {OR_HIDDEN}"


def size_row(size: TopicSize) -> Row:
    """The disk usage of a topic."""
    return {"size_bytes": size.leaders, "disk_bytes": size.replicas}


def list_row(topic: TopicInfo) -> Row:
    """A topic in a list."""
    return {
        "name": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": topic.replication_factor,
        "under_replicated": sum(len(part.isr) < len(part.replicas) for part in topic.partitions),
        "internal": topic.internal,
        "topic_id": topic.topic_id or None,
    }
