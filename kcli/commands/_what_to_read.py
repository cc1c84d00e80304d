"""What ``consume`` reads: topics by name and pattern, partitions, the range, the filters."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name, raw_bytes
from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms
from kcli.core.cluster.metadata import OR_HIDDEN, topic_refused, unknown_topic
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.positions import OffsetSpec, RangeSpec, ResetPolicy, check_times
from kcli.core.types import TopicPartition
from kcli.flows.filters.grep import parse_grep
from kcli.flows.filters.key import PARTITIONER, KeyFilter, owner
from kcli.flows.filters.selection import Filter, Selection
from kcli.output.record_json import rfc3339

if TYPE_CHECKING:
    from kcli.commands._consume_serdes import Decoding
    from kcli.flows.filters.where import Where


class Topics:
    """Names and patterns (which begin with ``^``) as given. Patterns match internal topics only if
    ``exclude.internal.topics`` is false.
    """

    def __init__(self, given: Sequence[str], command: str = "consume") -> None:
        self.names = [name for name in dict.fromkeys(given) if not name.startswith("^")]
        self.patterns = [_pattern(name, command) for name in dict.fromkeys(given) if name.startswith("^")]
        for name in self.names:
            check_topic_name(name, command)

    @property
    def several(self) -> bool:
        """Whether more than one topic may be read."""
        return len(self.names) > 1 or bool(self.patterns)

    def existing(
        self, consumer: Consumer, timeout: float, failed: Callable[[KcliError], object]
    ) -> list[str]:
        """The topics that exist; NotFoundError for a name that does not, or patterns without a match.

        Topics that this client may not see are reported to ``failed`` and left out, if there are others.
        """
        self._check_names(consumer, timeout, failed)
        if not self.patterns:
            return self.names
        cluster = consumer.cluster
        cluster.all_topics(cluster.deadline(timeout))
        names = [*self.names, *self.matching(consumer)]
        if not names:
            patterns = ", ".join(pattern.pattern for pattern in self.patterns)
            raise NotFoundError(
                f"no topic matches {patterns}",
                why=f"the cluster has no topic with such a name, apart from internal ones, {OR_HIDDEN}",
                do="`kcli topics list` lists the topics",
            )
        return list(dict.fromkeys(names))

    def matching(self, consumer: Consumer) -> list[str]:
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

    def _check_names(self, consumer: Consumer, timeout: float, failed: Callable[[KcliError], object]) -> None:
        errors = self._leave_out_refused(consumer, timeout)
        nothing_left = bool(errors) and not (self.names or self.patterns)
        try:
            consumer.partitions(self.names, timeout)
        except NotFoundError as error:
            errors.insert(0, self._with_nearest(consumer, timeout, error))
            nothing_left = True
        last = (
            errors.pop() if nothing_left else None
        )  # that of a missing permission determines the exit status
        for each in errors:
            failed(each)
        if last is not None:
            raise last

    def _with_nearest(self, consumer: Consumer, timeout: float, error: NotFoundError) -> KcliError:
        cluster = consumer.cluster
        known = cluster.all_topics(cluster.deadline(timeout)).topics
        missing = next((name for name in self.names if name not in known), None)
        return error if missing is None else unknown_topic(missing, known)

    def _leave_out_refused(self, consumer: Consumer, timeout: float) -> list[KcliError]:
        """Removes the names that this client may not see; their errors."""
        cluster = consumer.cluster
        deadline = cluster.deadline(timeout)
        view = cluster.ensure_topics(self.names, deadline)
        refused = [name for name in self.names if view.topics[name].error == TOPIC_AUTHORIZATION_FAILED]
        if not refused:
            return []
        cluster.topics.difference_update(refused)
        self.names = [name for name in self.names if name not in refused]
        known = cluster.all_topics(deadline).topics
        return [topic_refused(name, TOPIC_AUTHORIZATION_FAILED, known) for name in refused]


def wanted_range(flags: dict[str, Any], policy: ResetPolicy | None = None) -> RangeSpec:
    """The range that the flags describe; ``policy`` determines its start if they do not."""
    spec = flags["offset"] or RangeSpec(None)
    start, stop = spec.start, spec.stop
    if start is None and policy is not None:
        start = _start_of(policy)
    if flags["since"] is not None:
        start = OffsetSpec("timestamp", flags["since"])
    if flags["until"] is not None:
        if stop is not None:
            raise usage(
                "kcli consume: --until and a range in --offset together",
                why="both specify where to stop",
                do="use one of them",
            )
        stop = OffsetSpec("timestamp", flags["until"])
    since = "--since" if flags["since"] is not None else "--offset"
    check_times(RangeSpec(start, stop), wall_ms(), "kcli consume", since=since, start="the start")
    for end in (start, stop):
        if end is not None and end.kind == "stored" and (flags["group"] is None or end is stop):
            raise usage(
                "kcli consume: --offset stored is for groups",
                why="it means the committed offsets of a group",
                do="give -g GROUP, or another --offset",
            )
    return RangeSpec(start or OffsetSpec("earliest"), stop)


def _start_of(policy: ResetPolicy) -> OffsetSpec | None:
    if policy.kind == "duration":
        return OffsetSpec("timestamp", max(0, wall_ms() - policy.back_ms))
    return OffsetSpec(policy.kind) if policy.kind in ("earliest", "latest") else None


def echo_times(inv: Invocation, spec: RangeSpec) -> None:
    """Notes the times of the range in UTC, and in local time where that differs: a time without a zone is local."""
    for word, end in (("from", spec.start), ("until", spec.stop)):
        if end is not None and end.kind == "timestamp":
            inv.talk.note(f"{word} {rfc3339(end.value) or end.value}{_local_time(end.value)}")


def _local_time(ms: int) -> str:
    """In parentheses; empty where it is UTC."""
    try:
        local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).astimezone()
    except OverflowError:
        return " (out of range for a calendar)"
    return f" ({local.isoformat(sep=' ', timespec='milliseconds')})" if local.utcoffset() else ""


def selection(
    flags: dict[str, Any], decoding: "Decoding | None" = None, *, warn: Callable[[str], object] = str
) -> "tuple[Selection, Where | None]":
    """The filters, cheapest first; a usage error for an invalid one. They see the decoded fields of ``decoding``."""
    filters: list[Filter] = []
    key, value = (decoding.key, decoding.value) if decoding is not None else (None, None)
    if flags["key"] is not None:
        filters.append(KeyFilter(_wanted_key(flags, decoding)))
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
        from kcli.flows.filters.where import Where  # jmespath is loaded only where it is used

        where = Where(flags["where"], key, value, warn=warn)
        filters.append(where)
    return Selection(filters), where


def _wanted_key(flags: dict[str, Any], decoding: "Decoding | None") -> bytes | None:
    """The key of ``--key``; None, for records without a key, if it is the null marker."""
    if flags["key"] == flags["null_marker"]:
        return None
    data = raw_bytes(flags["key"])
    return data if decoding is None else decoding.key_bytes(data)


def chosen_partitions(
    inv: Invocation,
    consumer: Consumer,
    names: Sequence[str],
    flags: dict[str, Any],
    decoding: "Decoding | None" = None,
) -> list[TopicPartition]:
    """The partitions to be read; with ``--key`` only the one that the key belongs to, with a note."""
    chosen = ranges.choose_partitions(consumer, names, flags["partitions"], inv.timeout)
    key = _wanted_key(flags, decoding) if flags["key"] is not None else None
    if key is None or flags["all_partitions"] or flags["partitions"] is not None:
        return chosen
    counts = {name: sum(tp.topic == name for tp in chosen) for name in names}
    owners = {name: owner(key, count) for name, count in counts.items()}
    parts = ", ".join(f"{owners[name]} of the {counts[name]} of {name}" for name in names)
    inv.talk.note(
        f"key {flags['key']!r}: reading partition {parts}, by {PARTITIONER} as Java producers do; "
        "--all-partitions reads all of them"
    )
    return [tp for tp in chosen if tp.partition == owners[tp.topic]]


def new_partitions(
    consumer: Consumer, topics: Topics, flags: dict[str, Any], *, bounded: bool
) -> Callable[[], Sequence[TopicPartition]] | None:
    """Finds partitions that are added later, for a reading of all partitions without an end."""
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


def auto_offset_reset(start: OffsetSpec) -> str:
    """``auto.offset.reset`` for a start, as far as it can express it."""
    return "latest" if start.kind == "latest" else "earliest"


def _pattern(text: str, command: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise usage(
            f"kcli {command}: {text!r} is not a regular expression",
            why=str(error),
            do="a topic that begins with ^ is a regular expression, as in '^orders-.*'",
        ) from None
