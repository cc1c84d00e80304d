"""What ``kcli topics`` shows: list, describe, offsets. Columns and rows are in ``_rows.py``."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, readable, unique, warn_of_hidden
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.commands.topics import _rows as view
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.positions import OffsetSpec
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds, log_ends, offsets_at, unknown_offsets
from kcli.flows.topics.sizes import TopicSize, topic_sizes


def list_topics(inv: Invocation, match: str | None, internal: bool, with_size: bool) -> int:
    """Lists topics. Returns the exit status."""
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = [topic for topic in admin.list_topics() if _wanted(topic, match, internal)]
        sizes = _sizes(inv, admin, found) if with_size else None
        warn_of_hidden(inv, admin, "topics")
    _warn_of_incomplete(inv, found)
    columns = view.LIST if sizes is None else (*view.LIST, *view.SIZES)
    rows = (view.list_row(topic) | (view.size_row(sizes[topic.name]) if sizes else {}) for topic in found)
    if not found:
        inv.talk.remark(view.no_topics(match, internal=internal))
    print_rows(inv, "TopicList", columns, rows, cluster, item="Topic")
    return inv.finish(done=True)


def describe_topics(
    inv: Invocation, names: tuple[str, ...], match: str | None, under_replicated: bool, unavailable: bool
) -> int:
    """Describes topics. Returns the exit status."""
    wanted = view.wanted_partitions(under_replicated=under_replicated, unavailable=unavailable)
    if not names and match is None and wanted is None:
        raise usage(
            "topics describe: missing argument TOPIC",
            why="it is required without --match, --under-replicated and --unavailable",
            do="name some, or use --match GLOB, --under-replicated or --unavailable",
        )
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = _described(inv, admin, names, match, every=not names and match is None)
        whole = found
        if wanted is not None:
            found = view.with_partitions(whole, wanted)
        _warn_of_incomplete(inv, found.values())
        ends = _ends(admin, found.values())
        _warn_of_unknown(inv, ends)
        configs = readable(
            inv, admin.describe_topic_configs(list(found)) if found else {}, "the configuration of topic"
        )
        if not names:
            warn_of_hidden(inv, admin, "topics")
        nodes = admin.connect().nodes
    if not found and (whole or not names):
        inv.talk.remark(
            view.nothing_described(match, under_replicated=under_replicated, unavailable=unavailable)
        )
    view.print_descriptions(inv, cluster, found, whole, view.spans(ends), configs, nodes, listed=not names)
    return inv.finish(done=bool(found) or not names)


def topic_offsets(inv: Invocation, names: tuple[str, ...], when: OffsetSpec | None) -> int:
    """Prints the offsets of topics. Returns the exit status."""
    query = _query(when)
    inv.page()
    names = unique(names)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        if names:
            found = readable(inv, admin.describe_topics(names), "topic")
        else:
            warn_of_hidden(inv, admin, "topics")
            found = {topic.name: topic for topic in admin.list_topics() if not topic.internal}
        if query is None:
            ends = _ends(admin, found.values())
            done = any(log.end is not None for log in ends.values())
            for error in unknown_offsets(ends):
                inv.lacks(Missing.of(error))
            rows_to_add = view.end_rows(view.spans(ends))
        else:
            answers = offsets_at(admin, _partitions(found.values()), query)
            done = any(isinstance(answer, OffsetInfo) for answer in answers.values())
            readable(inv, answers, "the offset of")
            rows_to_add = view.time_rows(answers)
    columns = view.ENDS if query is None else view.TIMES
    if not found and not names:
        inv.talk.remark(view.no_topics(None, internal=False))
    print_rows(inv, "TopicOffsetList", columns, rows_to_add, cluster, item="TopicOffset")
    return inv.finish(done=done)


def _described(
    inv: Invocation, admin: Admin, names: Sequence[str], match: str | None, *, every: bool
) -> dict[str, TopicInfo]:
    """The topics that are named, then those that match; a name that does not exist is reported."""
    found = readable(inv, admin.describe_topics(unique(names)) if names else {}, "topic")
    if every or match is not None:
        listed = [topic for topic in admin.list_topics() if every or _wanted(topic, match, internal=True)]
        found |= {topic.name: topic for topic in listed if topic.name not in found}
    return found


def _sizes(inv: Invocation, admin: Admin, found: Sequence[TopicInfo]) -> dict[str, TopicSize]:
    """The size of each topic; errors of brokers are failures, and the sums that include them are unknown."""
    sizes = topic_sizes(admin, found)
    for part in sizes.missing:
        inv.lacks(part)
    return sizes.items


def _wanted(topic: TopicInfo, match: str | None, internal: bool) -> bool:
    return (internal or not topic.internal) and (match is None or fnmatchcase(topic.name, match))


def _warn_of_incomplete(inv: Invocation, found: Iterable[TopicInfo]) -> None:
    """A topic that the broker returned with an error is shown, although it is incomplete."""
    for topic in found:
        if topic.error is not None:
            inv.talk.warn(f"the description of topic {topic.name} is incomplete: {topic.error}")
            inv.lacks(
                Missing.of(topic.error, f"a part of the description of topic {topic.name}"),
                told=True,
            )


def _partitions(found: Iterable[TopicInfo]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, part.partition) for topic in found for part in topic.partitions]


def _ends(admin: Admin, found: Iterable[TopicInfo]) -> dict[TopicPartition, LogEnds]:
    """The log start and end of every partition, without waiting for partitions without a leader."""
    return log_ends(admin, _partitions(found))


def _warn_of_unknown(inv: Invocation, ends: Mapping[TopicPartition, LogEnds]) -> None:
    """Warns of unknown offsets."""
    for error in unknown_offsets(ends):
        inv.talk.warn(str(error))
        inv.lacks(Missing.of(error), told=True)


def _query(when: OffsetSpec | None) -> int | None:
    """The timestamp for ListOffsets."""
    if when is None:
        return None
    if when.kind == "timestamp":
        return when.value
    if when.kind in ("earliest", "latest"):
        return EARLIEST if when.kind == "earliest" else LATEST
    word = {1: "latest", 2: "earliest"}.get(when.value) if when.kind == "from_end" else None
    raise usage(
        "topics offsets: --time must be earliest, latest or a time",
        why="an offset cannot be found by an offset",
        do=f"write --time {word}, which is -{when.value} in Kafka's script"
        if word
        else "write --time @-1h or --time 2026-11-21T10:00Z",
    )
