"""The readings of ``kcli consume``: partitions that the user chose, or a member's share of a group's topics."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from kcli.account.survey import Missing
from kcli.commands._what_to_read import Topics, new_partitions
from kcli.commands.shared.context import Invocation
from kcli.core.consumer.consumer import Consumer
from kcli.core.positions import RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.group_commits import GroupCommits
from kcli.flows.reading import Chosen, GroupShare


def chosen_reading(
    inv: Invocation,
    consumer: Consumer,
    topics: Topics,
    spec: RangeSpec,
    flags: dict[str, Any],
    partitions: Sequence[TopicPartition],
) -> tuple[Chosen, int | None]:
    """The reading, with its partitions assigned, and the number of offsets to be read if it has an end."""
    bounded = flags["until_end"] or spec.stop is not None
    reading = Chosen(
        consumer,
        spec,
        until_end=flags["until_end"],
        timeout=inv.timeout,
        detail=inv.talk.detail,
        warn=inv.talk.warn,
        failed=lambda error: inv.lacks(Missing.of(error)),
        on_out_of_range=consumer.options.on_out_of_range,
        on_recreate=flags["on_recreate"],
        find_new=new_partitions(consumer, topics, flags, bounded=bounded),
    )
    spans = reading.begin(partitions).values()
    if any(span.stop is None for span in spans):
        return reading, None
    return reading, sum(max(0, (span.stop or 0) - (span.start or 0)) for span in spans) or None


def group_reading(
    inv: Invocation, consumer: Consumer, topics: Topics, spec: RangeSpec, flags: dict[str, Any]
) -> tuple[GroupShare, GroupCommits]:
    """The reading, which joins the group with the first poll, and its commits."""
    talk, start = inv.talk, spec.start
    if flags["from_beginning"] or (start is not None and start.kind not in ("earliest", "stored")):
        talk.note(f"group {flags['group']}: the given start applies only where nothing is committed")
    commits = GroupCommits(
        consumer,
        interval=consumer.options.auto_commit_interval_ms / 1000,
        enabled=flags["commit"],
        warn=talk.warn,
    )
    share = GroupShare(
        consumer,
        spec,
        commits,
        until_end=flags["until_end"],
        timeout=inv.timeout,
        detail=talk.detail,
        warn=talk.warn,
        failed=lambda error: inv.lacks(Missing.of(error)),
        on_recreate=flags["on_recreate"],
    )
    consumer.find_coordinator(inv.timeout)
    share.begin(topics.subscription())
    return share, commits


def warn_of_hidden_topics(inv: Invocation, consumer: Consumer) -> None:
    """Warns where more topics may match a pattern than brokers list."""
    if warning := _hidden().may_hide_topics(consumer, inv.timeout):
        inv.talk.warn(warning)


def hidden_records(inv: Invocation, consumer: Consumer, ends: Mapping[TopicPartition, int]) -> None:
    """Warns of records that an open transaction hides from readers of committed records."""
    for hidden in _hidden().hidden_at(consumer, ends):
        inv.talk.warn(str(hidden))


def _hidden() -> ModuleType:
    # It loads parts of the admin client, which other readings do not need.
    from kcli.flows import hidden

    return hidden
