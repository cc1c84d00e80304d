"""What ``consume`` reads: topics by name and pattern, partitions, the range, the filters, the group's share."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name, raw_bytes
from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer
    from kcli.core.positions import OffsetSpec, RangeSpec, ResetPolicy
    from kcli.core.types import TopicPartition
    from kcli.flows.filters.decoded import DecodedField
    from kcli.flows.filters.selection import Selection
    from kcli.flows.filters.where import Where
    from kcli.serde.opening import Serdes


class Topics:
    """Names and patterns (which begin with ``^``) as they were given. Patterns match no internal topics, unless the
    consumer's options say so.
    """

    def __init__(self, given: Sequence[str]) -> None:
        self.names = [name for name in dict.fromkeys(given) if not name.startswith("^")]
        self.patterns = [_pattern(name) for name in dict.fromkeys(given) if name.startswith("^")]
        for name in self.names:
            check_topic_name(name, "consume")

    @property
    def several(self) -> bool:
        """Whether more than one topic may be read."""
        return len(self.names) > 1 or bool(self.patterns)

    def found(self, consumer: "Consumer", timeout: float) -> list[str]:
        """Those there are; NotFoundError names one that does not exist, with the nearest, or patterns in vain."""
        from kcli.core.errors import NotFoundError

        self._check_names(consumer, timeout)
        if not self.patterns:
            return self.names
        cluster = consumer.cluster
        cluster.all_topics(cluster.deadline(timeout))
        names = [*self.names, *self.matching(consumer)]
        if not names:
            said = ", ".join(pattern.pattern for pattern in self.patterns)
            raise NotFoundError(
                f"no topic matches {said}",
                why="the cluster has none with such a name, apart from internal ones",
                do="`kcli topics list` lists the topics",
            )
        return list(dict.fromkeys(names))

    def matching(self, consumer: "Consumer") -> list[str]:
        """The known topics that match a pattern."""
        hidden = consumer.options.exclude_internal_topics
        return [
            name
            for name, topic in sorted(consumer.cluster.view.topics.items())
            if topic.partitions
            and not (hidden and topic.internal)
            and any(p.match(name) for p in self.patterns)
        ]

    def subscription(self) -> "Sequence[str] | re.Pattern[str]":
        """What a member of a group subscribes to."""
        if not self.patterns:
            return self.names
        exactly = [f"{re.escape(name)}$" for name in self.names]
        return re.compile("|".join(f"(?:{one})" for one in (*(p.pattern for p in self.patterns), *exactly)))

    def _check_names(self, consumer: "Consumer", timeout: float) -> None:
        from kcli.core.cluster.metadata import unknown_topic
        from kcli.core.errors import NotFoundError

        try:
            consumer.partitions(self.names, timeout)
        except NotFoundError as error:
            cluster = consumer.cluster
            known = cluster.all_topics(cluster.deadline(timeout)).topics
            missing = next((name for name in self.names if name not in known), None)
            if missing is None:
                raise
            raise unknown_topic(missing, known) from error


def asked_range(flags: dict[str, Any], policy: "ResetPolicy | None" = None) -> "RangeSpec":
    """The range that the flags describe; ``policy`` says where it starts when they do not."""
    from kcli.core.positions import OffsetSpec, RangeSpec

    asked = flags["offset"] or RangeSpec(None)
    start, stop = asked.start, asked.stop
    if start is None and policy is not None:
        start = _start_of(policy)
    if flags["since"] is not None:
        start = OffsetSpec("timestamp", flags["since"])
    if flags["until"] is not None:
        if stop is not None:
            raise usage(
                "kcli consume: --until and a range in --offset together",
                why="both say where to stop",
                do="use one",
            )
        stop = OffsetSpec("timestamp", flags["until"])
    if start is not None and stop is not None and start.kind == stop.kind == "timestamp":
        _check_order(start.value, stop.value)
    for end in (start, stop):
        if end is not None and end.kind == "stored" and (flags["group"] is None or end is stop):
            raise usage(
                "kcli consume: --offset stored is for groups",
                why="it means the committed offsets of a group",
                do="give -g GROUP, or another --offset",
            )
    return RangeSpec(start or OffsetSpec("earliest"), stop)


def _start_of(policy: "ResetPolicy") -> "OffsetSpec | None":
    from kcli.core.positions import OffsetSpec

    if policy.kind == "duration":
        return OffsetSpec("timestamp", max(0, wall_ms() - policy.back_ms))
    return OffsetSpec(policy.kind) if policy.kind in ("earliest", "latest") else None


def _check_order(since: int, until: int) -> None:
    if until < since:
        raise usage(
            "kcli consume: --until lies before the start",
            why="nothing lies between them: 3h is three hours ago, +3h in three hours",
            do="exchange the two times",
        )


def say_times(inv: Invocation, asked: "RangeSpec") -> None:
    """Times are echoed as they were understood, in UTC and local: a time without a zone is local."""
    from datetime import UTC, datetime, timedelta

    from kcli.output.record_json import rfc3339

    for word, end in (("from", asked.start), ("until", asked.stop)):
        if end is not None and end.kind == "timestamp":
            try:
                moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=end.value)
                local = moment.astimezone().isoformat(sep=" ", timespec="milliseconds")
            except OverflowError:
                local = "beyond all calendars"
            inv.talk.note(f"{word} {rfc3339(end.value) or end.value} ({local})")


def selection(flags: dict[str, Any], serdes: "Serdes | None" = None) -> "tuple[Selection, Where | None]":
    """The filters, cheapest first; a usage error for one that is not understood. ``serdes``: what they see decoded."""
    from kcli.flows.filters.grep import parse_grep
    from kcli.flows.filters.selection import Filter, Selection

    filters: list[Filter] = []
    key, value = _decoded(serdes)
    if flags["key"] is not None:
        from kcli.flows.filters.key import KeyFilter

        filters.append(KeyFilter(wanted_key(flags, serdes)))
    for text in flags["grep"]:
        try:
            filters.append(parse_grep(text, key, value))
        except ValueError as error:
            raise usage(
                f"kcli consume: --grep {text!r} is not a filter",
                why=str(error),
                do="as in --grep v:error, --grep '!k:^test'",
            ) from None
    where = None
    if flags["where"] is not None:
        from kcli.flows.filters.where import Where

        where = Where(flags["where"], key, value)
        filters.append(where)
    return Selection(filters), where


def _decoded(serdes: "Serdes | None") -> "tuple[DecodedField | None, DecodedField | None]":
    if serdes is None:
        return None, None
    from kcli.flows.filters.decoded import DecodedField

    key, value = serdes.key, serdes.value
    return (
        None if key is None else DecodedField("key", key),
        None if value is None else DecodedField("value", value),
    )


def wanted_key(flags: dict[str, Any], serdes: "Serdes | None" = None) -> bytes | None:
    """What ``--key`` looks for; None for records without a key, which the null marker stands for.

    With ``-s key=`` it is a text of that serde: ``--key 4711 -s key=long`` are eight bytes.
    """
    if flags["key"] == flags["null_marker"]:
        return None
    data = raw_bytes(flags["key"])
    if serdes is None or serdes.key is None:
        return data
    from kcli.serde.errors import EncodeError
    from kcli.serde.names import PLAIN
    from kcli.serde.serde import SerdeContext

    if serdes.key.name not in PLAIN:
        raise usage(
            f"kcli consume: --key with -s key={serdes.key.name}",
            why="the bytes of such a key are not known before they are read",
            do="use --grep k:REGEX, or --where with key",
        )
    try:
        return serdes.key.encode_text(data, SerdeContext("", "key"))
    except EncodeError as error:
        raise usage(
            f"kcli consume: --key {flags['key']!r} is no key",
            why=str(error),
            do=f"-s key={serdes.key.name} says what keys are",
        ) from None


def chosen_partitions(
    inv: Invocation,
    consumer: "Consumer",
    names: Sequence[str],
    flags: dict[str, Any],
    serdes: "Serdes | None" = None,
) -> "list[TopicPartition]":
    """The partitions to be read; with ``--key`` only that which the key belongs to, and it is said which."""
    from kcli.flows import ranges

    chosen = ranges.choose_partitions(consumer, names, flags["partitions"], inv.timeout)
    key = wanted_key(flags, serdes) if flags["key"] is not None else None
    if key is None or flags["all_partitions"] or flags["partitions"] is not None:
        return chosen
    from kcli.flows.filters.key import PARTITIONER, owner

    counts = {name: sum(tp.topic == name for tp in chosen) for name in names}
    owners = {name: owner(key, count) for name, count in counts.items()}
    places = ", ".join(f"{owners[name]} of the {counts[name]} of {name}" for name in names)
    inv.talk.note(
        f"key {flags['key']!r}: looking in partition {places}, by {PARTITIONER} as Java's producers; "
        "--all-partitions looks everywhere"
    )
    return [tp for tp in chosen if tp.partition == owners[tp.topic]]


def new_partitions(
    consumer: "Consumer", topics: Topics, flags: dict[str, Any], *, bounded: bool
) -> "Callable[[], Sequence[TopicPartition]] | None":
    """Finds partitions that come later, for a reading without an end that was not narrowed to some of them."""
    from kcli.core.types import TopicPartition

    if (
        bounded
        or flags["partitions"] is not None
        or (flags["key"] is not None and not flags["all_partitions"])
    ):
        return None
    if topics.patterns:
        consumer.cluster.all_known = True

    def find() -> list[TopicPartition]:
        view = consumer.cluster.view
        found = [
            view.topics[name] for name in (*topics.names, *topics.matching(consumer)) if name in view.topics
        ]
        return [TopicPartition(topic.name, p.partition) for topic in found for p in topic.partitions]

    return find


def reset_policy(start: "OffsetSpec") -> str:
    """Where a member begins that has no committed offset, as far as ``auto.offset.reset`` can say it."""
    return "latest" if start.kind == "latest" else "earliest"


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise usage(
            f"kcli consume: {text!r} is not a regular expression",
            why=str(error),
            do="a topic that begins with ^ is a regular expression, as in '^orders-.*'",
        ) from None
