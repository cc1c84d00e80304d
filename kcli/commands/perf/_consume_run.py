"""What ``kcli perf consume`` does: finds the topic, shows the plan, reads, judges the numbers of records, and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kcli.commands.perf._conclusion import conclude
from kcli.commands.perf._configuration import client_configuration
from kcli.commands.perf._load_flags import check_shares, check_warmup
from kcli.commands.perf._report_options import check_report_flags
from kcli.commands.perf._shares import shares
from kcli.commands.perf._shown import Shown
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.permitted import check_permitted
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.ranges import bounds
from kcli.core.errors import KcliError
from kcli.core.kernels.varint import INT64_MAX
from kcli.core.names import own_group_danger
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.positions import OffsetSpec
from kcli.core.types import TopicPartition
from kcli.flows.perf.failure import failure_of
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.reading import ReadPart, ReadPlan, measure_reading
from kcli.flows.perf.result import Run, perf_item
from kcli.flows.perf.surroundings import host, versions
from kcli.flows.perf.workers import run_test
from kcli.flows.stop import Stop
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


def run(inv: Invocation, topic: str, flags: Mapping[str, Any]) -> int:
    """Runs the test; returns the exit status."""
    check_warmup(flags, "consume")
    check_report_flags(flags, "consume", checked=True)
    group, start = flags["group"], _start(inv, flags)
    if group is not None:
        inv.check_may_change(f"joining group {group}")
        if (danger := own_group_danger(group)) and not inv.dry_run:
            confirm(inv, f"Join group {group}", f"Join group {group}?", name=group, danger=danger)
    given = inv.client_options(
        ConsumerOptions,
        unused=_UNUSED | unused_of_members(inv.resolved, group),
        group_id=group,
        auto_offset_reset=start,
    )
    inv.configuration.check_no_registry()
    options = replace(given, max_poll_records=WHOLE_BATCHES)
    numbers, cluster_id, records = _topic(inv, topic, options)
    processes = flags["processes"]
    if group is None and processes > len(numbers):
        processes = len(numbers)
        inv.talk.note(
            f"{topic} has {counted(processes, 'partition')}: so many processes read, not {flags['processes']}"
        )
    check_shares("consume", flags["num_records"], processes)
    show_plan(inv, _plan_text(topic, len(numbers), flags, processes))
    if inv.dry_run:
        check_permitted(inv, "READ", [topic], "reading topic {}", group=group)
        return inv.finish(done=False)
    total = None if flags["duration"] is not None or group is not None else records
    if flags["num_records"] is not None:
        total = flags["num_records"] - flags["warmup_records"]
    shown = Shown(inv, "consume", flags, total=total, left="read")
    with Stop(unconfirmed=shown.unconfirmed, late=True) as stop:
        with shown.lines:
            parts = [
                ReadPart(plan, options, inv.timeout)
                for plan in _plans(topic, numbers, flags, processes, start)
            ]
            measured = run_test(measure_reading, parts, stop=stop, on_progress=shown.add, hooks=inv.hooks)
        _judge(inv, options, topic, numbers, measured, stop, waited=flags["duration"] is not None)
        about = Run(
            "consume",
            topic,
            group=group,
            processes=processes,
            configuration=client_configuration(inv, options, _MATTER, _test_flags(flags, processes)),
            versions=versions(),
            host=host(),
        )
        item = perf_item(about, measured)
        return conclude(
            inv, item, flags, cluster=cluster_id, stop=stop, first=_failure(topic, measured, stop)
        )


def _start(inv: Invocation, flags: Mapping[str, Any]) -> str:
    """``earliest`` or ``latest``: by the flag, else by ``auto.offset.reset``, else from the beginning."""
    configured = inv.resolved.values.get("auto_offset_reset")
    start = "latest" if flags["from_latest"] else configured or "earliest"
    if start not in ("earliest", "latest"):
        raise usage(
            f"kcli perf consume: auto.offset.reset={start} ({inv.resolved.origins['auto_offset_reset']})",
            why="a test begins at the beginning or at the end of a topic",
            do="-X auto.offset.reset=earliest, or --from-latest",
        )
    given = "--from-latest" if flags["from_latest"] else "auto.offset.reset=latest"
    if start == "latest" and flags["num_records"] is None and flags["duration"] is None:
        raise usage(
            f"kcli perf consume: {given} without an end",
            why="the test would end where it begins: at the end of the topic",
            do="add --num-records N, or --duration 30s",
        )
    return str(start)


def _topic(inv: Invocation, topic: str, options: ConsumerOptions) -> tuple[list[int], str | None, int]:
    """First contact: the partitions of the topic, the cluster's id, and how many offsets there are."""
    with Consumer(options, hooks=inv.hooks) as consumer:
        with inv.first_contact(options.bootstrap_servers):
            consumer.connect(inv.timeout)
        Topics([topic], "perf consume").existing(consumer, inv.timeout, inv.failed)
        numbers = consumer.partitions([topic], inv.timeout)[topic]
        found = bounds(consumer, [TopicPartition(topic, number) for number in numbers], inv.timeout)
        records = sum(found.ends.values()) - sum(found.starts.values())
        return numbers, consumer.cluster.view.cluster_id, records


def _judge(
    inv: Invocation,
    options: ConsumerOptions,
    topic: str,
    numbers: list[int],
    measured: Measurement,
    stop: Stop,
    *,
    waited: bool,
) -> None:
    """Sets the integrity, by where the partitions end now: what was written meanwhile was not read.

    ``waited``: for a duration. Brokers that do not respond at its end may not have done so before, and what was measured
    would be the rate of nobody: that is an error.
    """
    trace = measured.trace
    marked = trace is not None and trace.marked
    ends = dict.fromkeys(numbers, INT64_MAX)  # not known: then no partition was read to its end
    if (marked or waited) and not stop and measured.failure is None:
        try:
            with Consumer(options, hooks=inv.hooks) as consumer:
                consumer.connect(inv.timeout)
                found = bounds(consumer, [TopicPartition(topic, number) for number in numbers], inv.timeout)
                ends = {tp.partition: end for tp, end in found.ends.items()}
        except KcliError as error:
            if waited:
                measured.failure = failure_of(error)
            else:
                inv.talk.warn(
                    f"the end of {topic} is not known, so that fewer records can be judged: {error}"
                )
    if trace is not None and marked:
        measured.integrity = trace.judge(ends)


def _failure(topic: str, measured: Measurement, stop: Stop) -> KcliError | None:
    """Why the test did not measure what it should have, or not all of it."""
    if measured.failure is not None:
        return measured.failure.error()
    if measured.records or not measured.warmup_records or stop:
        return None
    return KcliError(
        f"{topic}: no record was left after the warm-up, which took {counted(measured.warmup_records, 'record')}",
        why="it ends with the fetch that brings its last record, and a fetch brings many",
        do="read more records, or leave --warmup-records out",
    )


def _plans(
    topic: str, numbers: list[int], flags: Mapping[str, Any], processes: int, start: str
) -> list[ReadPlan]:
    """One for each process: records and warm-up in equal shares, and every so many-th partition."""
    records, warmup = shares(flags["num_records"], processes), shares(flags["warmup_records"], processes)
    idle = flags["idle_timeout"] or (_IDLE if flags["duration"] is None else None)
    return [
        ReadPlan(
            topic,
            () if flags["group"] is not None else tuple(numbers[process::processes]),
            OffsetSpec(start),
            records=records[process],
            seconds=flags["duration"],
            warmup=warmup[process] or 0,
            idle=idle,
            processes=processes,
        )
        for process in range(processes)
    ]


def _plan_text(topic: str, partitions: int, flags: Mapping[str, Any], processes: int) -> str:
    by = "" if processes == 1 else f" by {processes} processes"
    records, duration, group = flags["num_records"], flags["duration"], flags["group"]
    amount = "everything up to the end as it is now" if records is None else f"{counted(records, 'record')}"
    if duration is not None:
        amount = f"{'at most ' + amount if records else 'whatever comes'} for {duration:g} s"
    warmup = flags["warmup_records"]
    more = f"; the first {warmup:,} are not measured" if warmup else ""
    kept = "offsets are not committed" if group is None else f"group {group} commits what is read"
    return f"Read {topic} ({counted(partitions, 'partition')}){by}\n  {amount}; {kept}{more}"


def _test_flags(flags: Mapping[str, Any], processes: int) -> dict[str, Any]:
    """The flags that make a difference, in the spelling of the command line."""
    return {
        "num-records": flags["num_records"],
        "duration": flags["duration"],
        "from-latest": flags["from_latest"] or None,
        "warmup-records": flags["warmup_records"] or None,
        "processes": processes,
    }
