"""What ``kcli topics describe`` does: its columns, its rows, and the lines above them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, readable, unique, warn_of_hidden
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.commands.topics._offset_tables import Ends, log_spans
from kcli.commands.topics._tables import (
    FACTOR,
    ID,
    INTERNAL,
    NAME,
    Row,
    matches,
    no_topics,
    warn_of_incomplete,
)
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple, dataclass, replace
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import NotFoundError
from kcli.core.types import Node, TopicPartition
from kcli.flows.cluster_state import caps_requirement, in_sync_required
from kcli.flows.configs.units import with_unit
from kcli.flows.configs.values import own_values
from kcli.flows.topics.tiered import ENABLED, TieredLog, tiered_logs
from kcli.output.progress import counted, size_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry

Configs = Mapping[str, "list[ConfigEntry]"]
Tiers = Mapping[TopicPartition, TieredLog]

_MIN_ISR = "min.insync.replicas"

PARTITIONS = (
    Column("topic"),
    Column("partition", "id"),
    Column("leader", "id", meaning="Number of the leader; null without one."),
    Column("leader_epoch", "id", spare=4, meaning="Its epoch; null where it is unknown."),
    Column("replicas", spare=1),
    Column("isr"),
    Column("log_start", "number", spare=3),
    Column("end", "number", spare=2),
    Column(
        "offline", wide=True, values="integers", meaning="Numbers of the brokers whose replicas are offline."
    ),
    Column(
        "elr",
        wide=True,
        values="integers?",
        meaning="Eligible leader replicas: not in sync, but with all committed records; null where it is unknown.",
    ),
    Column(
        "last_known_elr",
        wide=True,
        values="integers?",
        meaning="Replicas that were eligible last, where none is in sync or eligible; null where it is unknown.",
    ),
    Column(
        "earliest_local",
        "number",
        wide=True,
        meaning="First offset on the leader's disk, of a tiered topic; null of others, or where it is unknown.",
    ),
    Column(
        "latest_tiered",
        "number",
        wide=True,
        meaning="Last offset in remote storage; null where there is none, or where it is unknown.",
    ),
    Column(
        "local_bytes",
        "size",
        wide=True,
        meaning="Size of the leader's log, of a tiered topic; null of others, or where it is unknown.",
    ),
)
_TIERED = ("earliest_local", "latest_tiered", "local_bytes")
_OF_TOPICS = ("json", "ndjson", "yaml", "name")
"""The formats in which a topic is one item with its partitions."""
DESCRIPTION = (
    NAME,
    replace(ID, spare=1),
    replace(INTERNAL, spare=2),
    FACTOR,
    Column("partitions", values="objects", inner=PARTITIONS[1:], meaning="The partitions."),
    Column("configs", values="settings?", meaning="What is set on it; null where it may not be read."),
)


@dataclass(frozen=True, slots=True)
class DescribeOptions:
    """The options of the command: which topics (``topic_id``: of one whose name is not known), which partitions."""

    names: tuple[str, ...]
    match: str | None
    topic_id: str | None
    under_replicated: bool
    unavailable: bool
    under_min_isr: bool
    at_min_isr: bool
    with_overrides: bool
    if_exists: bool

    @property
    def filters(self) -> list[str]:
        """Which partitions are shown, in words; none: all."""
        words = ("under_replicated", "unavailable", "under_min_isr", "at_min_isr")
        return [word.replace("_", "-") for word in words if getattr(self, word)]

    @property
    def named(self) -> bool:
        """Whether a topic is named, which has to exist."""
        return (bool(self.names) or self.topic_id is not None) and not self.if_exists

    @property
    def every(self) -> bool:
        """Whether all topics are looked through, internal ones too."""
        return not self.names and self.match is None and self.topic_id is None

    def check(self) -> None:
        """A usage error where nothing says which topics."""
        if self.every and not self.filters and not self.with_overrides:
            raise usage(
                "topics describe: missing argument TOPIC",
                why="it is required unless an option says which topics or partitions",
                do="name some, or use --match GLOB, --id ID, --under-replicated, --unavailable, --under-min-isr, "
                "--at-min-isr or --with-overrides",
            )

    def wants(self, part: PartitionView, required: int | None) -> bool:
        """Whether it is shown. ``required``: how many replicas have to be in sync, None where that is unknown."""
        in_sync, led = len(part.isr), part.leader >= 0
        return (
            not self.filters
            or (self.unavailable and not led)
            or (self.under_replicated and in_sync < len(part.replicas))
            or (self.under_min_isr and (not led or (required is not None and in_sync < required)))
            or (self.at_min_isr and in_sync == required)
        )


class Described(NamedTuple):
    """What was read. ``shown`` may have only some of the partitions of the ``whole`` topics."""

    shown: Mapping[str, TopicInfo]
    whole: Mapping[str, TopicInfo]
    ends: Ends
    configs: Configs
    tiers: Tiers
    nodes: Mapping[int, Node]


def describe_topics(inv: Invocation, asked: DescribeOptions) -> int:
    """Describes topics. Returns the exit status."""
    asked.check()
    inv.page()
    headed = not asked.filters or inv.out.list_kind() in _OF_TOPICS
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        whole = _described(inv, admin, asked)
        by_configs = asked.under_min_isr or asked.at_min_isr or asked.with_overrides
        configs = _configs(inv, admin, whole) if by_configs else {}
        if asked.with_overrides:
            whole = {name: topic for name, topic in whole.items() if own_values(configs.get(name))}
        shown = _selected(whole, asked, _required(admin, asked, whole, configs))
        warn_of_incomplete(inv, shown.values())
        begun = admin.begin_topic_configs(list(shown)) if shown and headed and not by_configs else None
        ends = log_spans(inv, admin, shown)
        if begun is not None:
            configs = readable(inv, begun(), "the configuration of topic")
        tiered = [topic for topic in shown.values() if _is_tiered(configs.get(topic.name))]
        tiers = tiered_logs(admin, tiered)
        for part in tiers.missing:
            inv.lacks(part)
        if not asked.names:
            warn_of_hidden(inv, admin, "topics")
        nodes = admin.connect().nodes
    if not shown and (whole or not asked.named):
        inv.talk.remark(nothing_described(asked))
    found = Described(shown, whole, ends, configs, tiers.items, nodes)
    print_descriptions(inv, cluster, found, listed=not asked.named, headed=headed)
    return inv.finish(done=bool(shown) or not asked.named)


def _described(inv: Invocation, admin: Admin, asked: DescribeOptions) -> dict[str, TopicInfo]:
    """The topics that are named, then those that match; a name that does not exist is reported."""
    named = admin.describe_partitions(unique(asked.names)) if asked.names else {}
    if asked.if_exists:
        absent = [name for name, topic in named.items() if isinstance(topic, NotFoundError)]
        for name in absent:
            inv.talk.remark(f"topic {name} does not exist")
            del named[name]
    found = readable(inv, named, "topic")
    if asked.every or asked.match is not None or asked.topic_id is not None:
        listed = readable(inv, admin.describe_partitions(), "topic")
        if asked.topic_id is not None:
            found |= _of_id(inv, asked, listed)
        if asked.every or asked.match is not None:
            found |= {
                name: topic
                for name, topic in listed.items()
                if name not in found and (asked.every or matches(topic, asked.match, internal=True))
            }
    return found


def _of_id(inv: Invocation, asked: DescribeOptions, listed: Mapping[str, TopicInfo]) -> dict[str, TopicInfo]:
    """The topic of an id; it is reported where there is none, unless it need not exist."""
    found = {name: topic for name, topic in listed.items() if topic.topic_id == asked.topic_id}
    if not found and asked.if_exists:
        inv.talk.remark(f"no topic has the id {asked.topic_id}")
    elif not found:
        error = NotFoundError(
            f"no topic has the id {asked.topic_id}",
            why="a topic that is created again has another id",
            do="`kcli topics list --internal -o wide` shows the ids",
        )
        inv.lacks(Missing.of(error, f"topic {asked.topic_id}"))
    return found


def _configs(inv: Invocation, admin: Admin, topics: Mapping[str, TopicInfo]) -> Configs:
    found = admin.describe_topic_configs(list(topics)) if topics else {}
    return readable(inv, found, "the configuration of topic")


def _required(
    admin: Admin, asked: DescribeOptions, topics: Mapping[str, TopicInfo], configs: Configs
) -> Callable[[str, PartitionView], int | None]:
    """How many replicas of a partition have to be in sync; None where that is unknown, or not asked for."""
    min_isr = {name: least for name in topics if (least := _min_isr(configs.get(name))) is not None}
    if not (asked.under_min_isr or asked.at_min_isr) or not min_isr:
        return lambda _name, _part: None
    capped = caps_requirement(admin)

    def required(name: str, part: PartitionView) -> int | None:
        least = min_isr.get(name)
        return None if least is None else in_sync_required(least, len(part.replicas), capped=capped)

    return required


def _selected(
    whole: Mapping[str, TopicInfo],
    asked: DescribeOptions,
    required: Callable[[str, PartitionView], int | None],
) -> Mapping[str, TopicInfo]:
    """The topics that have partitions to be shown, with these only."""
    if not asked.filters:
        return whole
    kept = {
        name: replace(
            topic,
            partitions=tuple(part for part in topic.partitions if asked.wants(part, required(name, part))),
        )
        for name, topic in whole.items()
    }
    return {name: topic for name, topic in kept.items() if topic.partitions}


def _value(entries: list[ConfigEntry] | None, key: str) -> str | None:
    return next((entry.value for entry in entries or () if entry.name == key), None)


def _min_isr(entries: list[ConfigEntry] | None) -> int | None:
    value = _value(entries, _MIN_ISR)
    return int(value) if value is not None and value.isdecimal() else None


def _is_tiered(entries: list[ConfigEntry] | None) -> bool:
    return _value(entries, ENABLED) == "true"


def nothing_described(asked: DescribeOptions) -> str:
    """The note where there is nothing to describe."""
    if asked.filters:
        return f"no {' or '.join(asked.filters)} partitions in the topics that this client may describe"
    if asked.with_overrides:
        return "no topic with a configuration of its own in those that this client may describe"
    return no_topics(asked.match, internal=True)


def print_descriptions(
    inv: Invocation, cluster: str, found: Described, *, listed: bool, headed: bool
) -> None:
    """A line per partition, but an item per topic in JSON and YAML.

    Plain output has what a table has; without headers it is rows only. ``listed``: no topic has to be there, so the list
    may be empty. ``headed``: of whole topics, with settings.
    """
    form = inv.out.list_kind()
    columns: tuple[Column, ...]
    if form in _OF_TOPICS:
        columns, rows = DESCRIPTION, [description(topic, found) for topic in found.shown.values()]
    else:
        columns = tuple(
            replace(one, wide=False) if found.tiers and one.key in _TIERED else one for one in PARTITIONS
        )
        rows = [row for topic in found.shown.values() for row in partition_rows(topic, found)]
    if form == "wide":
        rows = [row | {"leader": broker(row["leader"], found.nodes)} for row in rows]
    if headed and (form in ("table", "wide") or (form == "plain" and inv.out.headers)):
        for topic in found.shown.values():
            inv.out.shown(heading(found.whole[topic.name], found, units=form != "plain"), fold=True)
    if found.shown or listed:
        print_rows(inv, "TopicDescriptionList", columns, rows, cluster, item="TopicDescription")


def broker(number: int | None, nodes: Mapping[int, Node]) -> str | None:
    """``1 (host:9092)``."""
    node = nodes.get(number) if number is not None else None
    return None if number is None else f"{number} ({node.host}:{node.port})" if node else str(number)


def heading(topic: TopicInfo, found: Described, *, units: bool) -> str:
    """The topic itself, for people: a line, and one for each of its settings; with ``units`` also what numbers mean."""
    copies = topic.replication_factor
    parts = [f"partitions {len(topic.partitions)}", f"replication factor {copies}"]
    if topic.topic_id:
        parts.append(f"id {topic.topic_id}")
    lines = [f"{visible_line(topic.name)}: {', '.join(parts)}"]
    for key, value in (own_values(found.configs.get(topic.name)) or {}).items():
        lines.append(visible_line(f"  {key} = {with_unit(key, value) if units and value else value}"))
    return "\n".join([*lines, *_tier_lines(topic, found)]) + "\n\n"


def _tier_lines(topic: TopicInfo, found: Described) -> Iterator[str]:
    """How much of a tiered topic is where, as far as that is known of all its partitions."""
    partitions = [TopicPartition(topic.name, part.partition) for part in topic.partitions]
    tiers = [found.tiers[tp] for tp in partitions if tp in found.tiers]
    starts = [tier.earliest_local for tier in tiers if tier.earliest_local is not None]
    known = [ends for tp in partitions if None not in (ends := found.ends.get(tp, (None, None)))]
    if not tiers or not len(partitions) == len(starts) == len(known):
        return
    remote = sum(starts) - sum(start or 0 for start, _end in known)
    local = sum(end or 0 for _start, end in known) - sum(starts)
    sizes = [tier.local_bytes for tier in tiers if tier.local_bytes is not None]
    size = f" ({size_text(sum(sizes))})" if len(sizes) == len(tiers) else ""
    yield f"  {counted(remote, 'offset')} in remote storage only, {counted(local, 'offset')} on the leaders' disks{size}"


def description(topic: TopicInfo, found: Described) -> Row:
    """A topic with everything, for JSON."""
    partitions = [
        {key: value for key, value in row.items() if key != "topic"} for row in partition_rows(topic, found)
    ]
    return {
        "name": topic.name,
        "topic_id": topic.topic_id or None,
        "internal": topic.internal,
        "replication_factor": topic.replication_factor,
        "partitions": partitions,
        "configs": own_values(found.configs.get(topic.name)),
    }


def partition_rows(topic: TopicInfo, found: Described) -> Iterator[Row]:
    """A topic's partitions."""
    for part in topic.partitions:
        tp = TopicPartition(topic.name, part.partition)
        log_start, end = found.ends.get(tp, (None, None))
        tier = found.tiers.get(tp, TieredLog())
        yield {
            "topic": topic.name,
            "partition": part.partition,
            "leader": part.leader if part.leader >= 0 else None,
            "leader_epoch": part.leader_epoch if part.leader_epoch >= 0 else None,
            "replicas": list(part.replicas),
            "isr": list(part.isr),
            "log_start": log_start,
            "end": end,
            "offline": list(part.offline),
            "elr": _list(part.elr),
            "last_known_elr": _list(part.last_known_elr),
            "earliest_local": tier.earliest_local,
            "latest_tiered": None if tier.latest_tiered in (None, -1) else tier.latest_tiered,
            "local_bytes": tier.local_bytes,
        }


def _list(numbers: Sequence[int] | None) -> list[int] | None:
    return None if numbers is None else list(numbers)
