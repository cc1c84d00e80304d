"""What ``kcli perf consume`` does: finds the topic, shows the plan, reads, judges the numbers of records, and reports."""

from __future__ import annotations

from functools import partial
from typing import Any

from kcli.commands.perf.contradictions import check_report, check_shares, check_warmup
from kcli.commands.perf.measuring import measure
from kcli.commands.perf.options import ConsumeOptions
from kcli.commands.shared.check_permitted import check_permitted
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.core.classes import replace
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.ranges import bounds
from kcli.core.names import own_group_danger
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions, ShareConsumerOptions, default_of
from kcli.core.positions import OffsetSpec
from kcli.core.share.consumer import NOT_FOR_SHARE_GROUPS
from kcli.core.types import TopicPartition
from kcli.flows.perf.consume import ReadPart, ReadPlan, judge, measure_reading
from kcli.flows.perf.result import Run
from kcli.flows.perf.share import judge_shared, measure_shared_reading
from kcli.flows.perf.surroundings import client_configuration
from kcli.output.progress import counted
from kcli.profiles.applicability import unused_of_members

_MATTER = (
    "check_crcs",
    "fetch_max_bytes",
    "fetch_max_wait_ms",
    "fetch_min_bytes",
    "isolation_level",
    "max_partition_fetch_bytes",
)
_UNUSED = {
    "max_poll_records": (
        "records are counted in whole batches",
        "leave it out; --num-records N ends the test after N records",
    )
}
_IDLE = 10.0  # seconds, as in Kafka's tool


def run(inv: Invocation, asked: ConsumeOptions) -> int:
    """Runs the test; returns the exit status."""
    check_warmup(asked, "consume")
    check_report(asked, "consume", checked=True)
    _check_group_type(asked)
    shared = asked.group_type == "share"
    topic, group = asked.topic, asked.group
    start = "earliest" if shared else _start(inv, asked)
    if group is not None:
        inv.check_may_change(f"joining group {group}")
        if (danger := own_group_danger(group)) and not inv.dry_run:
            confirm(inv, f"Join group {group}", f"Join group {group}?", name=group, danger=danger)
    options = _shared_options(inv, asked) if shared else _options(inv, group, start)
    inv.configuration.check_no_registry()
    lookup = ConsumerOptions(
        **{
            name: getattr(options, name)
            for name in ConsumerOptions.__dataclass_fields__
            if name != "group_id"
        }
    )
    numbers, cluster_id, records = _topic(inv, topic, lookup if shared else options)
    if group is None and asked.processes > len(numbers):
        inv.talk.note(
            f"{topic} has {counted(len(numbers), 'partition')}: so many processes read, not {asked.processes}"
        )
        asked = replace(asked, processes=len(numbers))
    check_shares("consume", asked.num_records, asked.processes)
    show_plan(inv, _plan_text(asked, len(numbers)))
    if inv.dry_run:
        check_permitted(inv, {"READ": "reading topic {}"}, [topic], group=group)
        return inv.finish(done=False)
    plan = ReadPlan(
        topic,
        tuple(numbers),
        OffsetSpec(start),
        records=asked.num_records,
        seconds=asked.duration,
        warmup=asked.warmup_records,
        idle=asked.idle_timeout or (_IDLE if asked.duration is None else None),
        processes=asked.processes,
    )
    total = None if asked.duration is not None or group is not None else records
    part = ReadPart(plan, options, inv.timeout)
    return measure(
        inv,
        asked,
        Run(
            "consume",
            topic,
            group=group,
            processes=asked.processes,
            configuration=client_configuration(options, inv.resolved.values, _MATTER, _test_flags(asked)),
        ),
        measure_shared_reading if shared else measure_reading,
        part.divided(),
        cluster=cluster_id,
        total=total if asked.num_records is None else asked.measured_records,
        left="read",
        judge=partial(judge_shared, part)
        if shared
        else partial(judge, part, hooks=inv.hooks, warn=inv.talk.warn),
    )


def _check_group_type(asked: ConsumeOptions) -> None:
    """A usage error for what a share group has no meaning for."""
    if asked.group_type is None:
        return
    for flag, given, why in (
        ("--group-type without -g", asked.group is None, "it is the type of that group"),
        (
            "--from-latest with --group-type share",
            asked.from_latest,
            "where a share group begins is its share.auto.offset.reset",
        ),
    ):
        if given:
            raise usage(
                f"kcli perf consume: {flag}", why=why, do="give -g GROUP, and leave --from-latest out"
            )


def _options(inv: Invocation, group: str | None, start: str) -> ConsumerOptions:
    given = inv.client_options(
        ConsumerOptions,
        unused=_UNUSED | unused_of_members(inv.resolved, group),
        group_id=group,
        auto_offset_reset=start,
    )
    return replace(given, max_poll_records=WHOLE_BATCHES)


def _shared_options(inv: Invocation, asked: ConsumeOptions) -> ShareConsumerOptions:
    """Of a member of a share group: what brokers decide is refused."""
    unused = {name: (why, "leave it out") for name, why in NOT_FOR_SHARE_GROUPS.items()}
    given = inv.client_options(ShareConsumerOptions, unused=_UNUSED | unused, group_id=asked.group)
    defaults = {name: default_of(type(given), name) for name in NOT_FOR_SHARE_GROUPS}
    return replace(given, max_poll_records=WHOLE_BATCHES, **defaults)


def _start(inv: Invocation, asked: ConsumeOptions) -> str:
    """``earliest`` or ``latest``: by the flag, else by ``auto.offset.reset``, else from the beginning."""
    configured = inv.resolved.values.get("auto_offset_reset")
    start = "latest" if asked.from_latest else configured or "earliest"
    if start not in ("earliest", "latest"):
        raise usage(
            f"kcli perf consume: auto.offset.reset={start} ({inv.resolved.origins['auto_offset_reset']})",
            why="a test begins at the beginning or at the end of a topic",
            do="-X auto.offset.reset=earliest, or --from-latest",
        )
    given = "--from-latest" if asked.from_latest else "auto.offset.reset=latest"
    if start == "latest" and asked.num_records is None and asked.duration is None:
        raise usage(
            f"kcli perf consume: {given} without an end",
            why="the test would end where it begins: at the end of the topic",
            do="add --num-records N, or --duration 30s",
        )
    return str(start)


def _topic(inv: Invocation, topic: str, options: ConsumerOptions) -> tuple[list[int], str | None, int]:
    """First contact: the partitions of the topic, the cluster's id, and how many offsets there are."""
    with Consumer(options, hooks=inv.hooks) as consumer:
        with inv.first_contact(options.servers):
            consumer.connect(inv.timeout)
        Topics([topic], "perf consume").existing(consumer, inv.timeout, inv.failed)
        numbers = consumer.partitions([topic], inv.timeout)[topic]
        found = bounds(consumer, [TopicPartition(topic, number) for number in numbers], inv.timeout)
        records = sum(found.ends.values()) - sum(found.starts.values())
        return numbers, consumer.cluster.view.cluster_id, records


def _plan_text(asked: ConsumeOptions, partitions: int) -> str:
    by = "" if asked.processes == 1 else f" by {asked.processes} processes"
    records, duration = asked.num_records, asked.duration
    amount = "everything up to the end as it is now" if records is None else f"{counted(records, 'record')}"
    if duration is not None:
        amount = f"{'at most ' + amount if records else 'whatever comes'} for {duration:g} s"
    kept = "offsets are not committed" if asked.group is None else f"group {asked.group} commits what is read"
    if asked.group_type == "share":
        kept = f"share group {asked.group} accepts what is read"
    return (
        f"Read {asked.topic} ({counted(partitions, 'partition')}){by}\n  {amount}; {kept}{asked.warmup_text}"
    )


def _test_flags(asked: ConsumeOptions) -> dict[str, Any]:
    """The flags that make a difference, in the spelling of the command line."""
    return {
        "num-records": asked.num_records,
        "duration": asked.duration,
        "group-type": asked.group_type,
        "from-latest": asked.from_latest or None,
        "warmup-records": asked.warmup_records or None,
        "processes": asked.processes,
    }
