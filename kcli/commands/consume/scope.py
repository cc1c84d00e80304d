"""What ``consume`` reads: the partitions, the range, the filters; and the reading that goes through it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import TYPE_CHECKING

from kcli.account.survey import Missing
from kcli.commands.consume.options import ConsumeOptions
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_exact_times, raw_bytes
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError
from kcli.core.positions import OffsetSpec, RangeSpec, ResetPolicy, check_times
from kcli.core.types import TopicPartition
from kcli.flows.consume.extent import Chosen, GroupShare, unread_errors
from kcli.flows.filters.selection import (
    PARTITIONER,
    Filter,
    KeyFilter,
    SampleFilter,
    Selection,
    TimeFilter,
    owner,
)
from kcli.output.template import rfc3339

if TYPE_CHECKING:
    from kcli.commands.consume.decoding import Decoding
    from kcli.commands.consume.fields import ChosenFields
    from kcli.flows.consume.group_commits import GroupCommits
    from kcli.flows.filters.absent import AbsentFields
    from kcli.flows.filters.where import Where


def wanted_range(asked: ConsumeOptions, policy: ResetPolicy | None = None) -> RangeSpec:
    """The range that the options describe; ``policy`` determines its start if they do not."""
    spec = asked.offset or RangeSpec(None)
    start, stop = spec.start, spec.stop
    if start is None and policy is not None:
        start = _start_of(policy)
    if asked.since is not None:
        start = OffsetSpec("timestamp", asked.since)
    if asked.until is not None:
        if stop is not None:
            raise usage(
                "kcli consume: --until and a range in --offset together",
                why="both specify where to stop",
                do="use one of them",
            )
        stop = OffsetSpec("timestamp", asked.until)
    since = "--since" if asked.since is not None else "--offset"
    check_times(RangeSpec(start, stop), wall_ms(), "kcli consume", since=since, start="the start")
    for end in (start, stop):
        if end is not None and end.kind == "stored" and (asked.group is None or end is stop):
            raise usage(
                "kcli consume: --offset stored is for groups",
                why="it means the committed offsets of a group",
                do="give -g GROUP, or another --offset",
            )
    if asked.exact_times:
        check_exact_times("consume", RangeSpec(start, stop))
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
    asked: ConsumeOptions,
    spec: RangeSpec,
    decoding: "Decoding | None" = None,
    fields: "ChosenFields | None" = None,
    *,
    warn: Callable[[str], object] = str,
) -> "tuple[Selection, Where | None, AbsentFields | None]":
    """The filters, cheapest first; a usage error for an invalid one. They see the decoded fields of ``decoding``. Also
    what looks for the fields that the options name, if they do.
    """
    filters: list[Filter] = [] if asked.sample is None else [SampleFilter(asked.sample)]
    if asked.exact_times:
        filters.append(TimeFilter(*spec.times))
    key, value = (decoding.key, decoding.value) if decoding is not None else (None, None)
    if asked.key is not None:
        filters.append(KeyFilter(_wanted_key(asked, decoding)))
    named = list(fields.paths) if fields is not None else []
    for text in asked.grep:
        from kcli.flows.filters.grep import parse_grep  # few runs need it

        try:
            grep = parse_grep(text, key, value)
        except ValueError as error:
            raise usage(
                f"kcli consume: --grep {text!r} is not a filter",
                why=str(error),
                do="as in --grep v:error, --grep '!k:^test'",
            ) from None
        filters.append(grep)
        if grep.header:
            named.append(("--grep", ("headers", grep.header.decode("utf-8", "surrogateescape"))))
    where = None
    if asked.where is not None:
        from kcli.flows.filters.where import Where  # jmespath is loaded only where it is used

        where = Where(asked.where, key, value, warn=warn)
        filters.append(where)
        named += [("--where", path) for path in where.paths]
    if fields is not None and fields.distinct is not None:
        filters.append(fields.distinct)
    if not named:
        return Selection(filters), where, None
    from kcli.flows.filters.absent import AbsentFields  # only where fields are named

    absent = AbsentFields(named, key, value)
    return Selection(filters, absent), where, absent


def _wanted_key(asked: ConsumeOptions, decoding: "Decoding | None") -> bytes | None:
    """The key of ``--key``; None, for records without a key, if it is the null marker (or not given)."""
    if asked.key is None or asked.key == asked.null_marker:
        return None
    data = raw_bytes(asked.key)
    return data if decoding is None else decoding.key_bytes(data)


def chosen_partitions(
    inv: Invocation,
    consumer: Consumer,
    names: Sequence[str],
    asked: ConsumeOptions,
    decoding: "Decoding | None" = None,
) -> list[TopicPartition]:
    """The partitions to be read; with ``--key`` only the one that the key belongs to, with a note."""
    chosen = ranges.choose_partitions(consumer, names, asked.partitions, inv.timeout)
    key = _wanted_key(asked, decoding)
    if key is None or asked.all_partitions or asked.partitions is not None:
        return chosen
    counts = {name: sum(tp.topic == name for tp in chosen) for name in names}
    owners = {name: owner(key, count) for name, count in counts.items()}
    parts = ", ".join(f"{owners[name]} of the {counts[name]} of {name}" for name in names)
    inv.talk.note(
        f"key {asked.key!r}: reading partition {parts}, by {PARTITIONER} as Java producers do; "
        "--all-partitions reads all of them"
    )
    return [tp for tp in chosen if tp.partition == owners[tp.topic]]


def new_partitions(
    consumer: Consumer, topics: Topics, asked: ConsumeOptions, *, bounded: bool
) -> Callable[[], Sequence[TopicPartition]] | None:
    """Finds partitions that are added later, for a reading of all partitions without an end."""
    if bounded or asked.partitions is not None or (asked.key is not None and not asked.all_partitions):
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


def chosen_reading(
    inv: Invocation,
    consumer: Consumer,
    topics: Topics,
    spec: RangeSpec,
    asked: ConsumeOptions,
    partitions: Sequence[TopicPartition],
) -> tuple[Chosen, dict[TopicPartition, Span]]:
    """The reading, with its partitions assigned, and what it reads of them."""
    bounded = asked.reads_to_the_end or spec.stop is not None
    reading = Chosen(
        consumer,
        spec,
        until_end=asked.reads_to_the_end,
        timeout=inv.timeout,
        detail=inv.talk.detail,
        note=inv.talk.note,
        warn=inv.talk.warn,
        failed=lambda error: inv.lacks(Missing.of(error)),
        on_out_of_range=consumer.options.on_out_of_range,
        on_recreate=asked.on_recreate,
        exact_times=asked.exact_times,
        find_new=new_partitions(consumer, topics, asked, bounded=bounded),
    )
    return reading, reading.begin(partitions)


def unread_parts(inv: Invocation) -> ranges.Unread:
    """Reports partitions that are left out, as their leaders cannot be reached."""

    def report(errors: Mapping[TopicPartition, KcliError]) -> None:
        for error in unread_errors(errors):
            inv.lacks(Missing.of(error))

    return report


def offsets_of(spans: Mapping[TopicPartition, Span]) -> int | None:
    """The number of offsets to be read, if there is an end."""
    if any(span.stop is None for span in spans.values()):
        return None
    return sum(max(0, (span.stop or 0) - (span.start or 0)) for span in spans.values()) or None


def group_reading(
    inv: Invocation,
    consumer: Consumer,
    topics: Topics,
    spec: RangeSpec,
    asked: ConsumeOptions,
    *,
    commit: bool,
) -> "tuple[GroupShare, GroupCommits]":
    """The reading, which joins the group with the first poll, and its commits, if it makes any (``commit``)."""
    talk, start = inv.talk, spec.start
    if asked.from_beginning or (start is not None and start.kind not in ("earliest", "stored")):
        talk.note(f"group {asked.group}: the given start applies only where nothing is committed")
    from kcli.flows.consume import group_commits  # few runs need it

    commits = group_commits.GroupCommits(
        consumer,
        interval=consumer.options.auto_commit_interval_ms / 1000,
        enabled=commit,
        warn=talk.warn,
    )
    share = GroupShare(
        consumer,
        spec,
        commits,
        until_end=asked.until_end,
        timeout=inv.timeout,
        detail=talk.detail,
        note=talk.note,
        warn=talk.warn,
        failed=lambda error: inv.lacks(Missing.of(error)),
        on_recreate=asked.on_recreate,
    )
    consumer.find_coordinator(inv.timeout)
    share.begin(topics.subscription())
    return share, commits


def hidden_records(inv: Invocation, consumer: Consumer, ends: Mapping[TopicPartition, int]) -> None:
    """Warns of records that an open transaction hides from readers of committed records."""
    for hidden in _hidden().hidden_at(consumer, ends):
        inv.talk.warn(str(hidden))


def warn_of_hidden_topics(inv: Invocation, consumer: Consumer) -> None:
    """Warns where more topics may match a pattern than brokers list."""
    if warning := _hidden().may_hide_topics(consumer, inv.timeout):
        inv.talk.warn(warning)


def _hidden() -> ModuleType:
    # It loads parts of the admin client, which other readings do not need.
    from kcli.flows.consume import hidden

    return hidden
