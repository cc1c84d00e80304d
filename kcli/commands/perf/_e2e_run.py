"""What ``kcli perf e2e`` does: finds the topic, shows the plan, sends and receives, and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.commands.perf._conclusion import conclude
from kcli.commands.perf._configuration import client_configuration
from kcli.commands.perf._load_flags import check_markable, check_warmup, values_of
from kcli.commands.perf._report_options import check_report_flags
from kcli.commands.perf._shown import Shown
from kcli.commands.shared.check_permitted import check_permitted
from kcli.commands.shared.confirm import show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.load_target import (
    UNUSED_BY_LOADS,
    LoadTarget,
    check_fits,
    find_topic,
    records_per_second,
    size_range_text,
)
from kcli.core.options import ConsumerOptions, ProducerOptions
from kcli.flows.perf.end_to_end import EndToEndPart, measure_end_to_end
from kcli.flows.perf.load_plan import LoadPart, LoadPlan
from kcli.flows.perf.marks import new_run
from kcli.flows.perf.payload import Payload, Values
from kcli.flows.perf.result import Run, perf_item
from kcli.flows.perf.surroundings import host, versions
from kcli.flows.perf.workers import run_test
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.profiles.applicability import unused_of_members

_RECORDS = 10_000  # without a choice, as in Kafka's tool
_OF_PRODUCER = ("acks", "batch_size", "compression_type", "enable_idempotence", "linger_ms")
_UNUSED = {"auto_offset_reset": ("the consumer begins at the end of the topic", "leave it out")}
_OF_CONSUMER = ("fetch_max_wait_ms", "fetch_min_bytes", "isolation_level")


def run(inv: Invocation, topic: str, given: Mapping[str, Any]) -> int:
    """Runs the test; returns the exit status."""
    flags = dict(given)
    if flags["num_records"] is None and flags["duration"] is None:
        flags["num_records"] = _RECORDS
    values = values_of(flags, "e2e")
    check_warmup(flags, "e2e")
    check_markable(values, "kcli perf e2e")
    check_report_flags(flags, "e2e", checked=True)
    producing, consuming = _options(inv, flags)
    check_fits(values.high, producing, "perf e2e")
    payload = Payload(values, 0)
    target = find_topic(inv, topic, producing)
    show_plan(inv, _plan_text(target, flags, values, producing))
    if inv.dry_run:
        check_permitted(inv, "WRITE", [topic], "producing to {}")
        check_permitted(inv, "READ", [topic], "reading topic {}")
        return inv.finish(done=False)
    plan = LoadPlan(
        topic,
        values,
        records=flags["num_records"],
        seconds=flags["duration"],
        warmup=flags["warmup_records"],
        rate=records_per_second(flags["throughput"], payload.mean_size),
        run=new_run(),
    )
    part = EndToEndPart(LoadPart(plan, producing, inv.timeout), consuming, flags["idle_timeout"])
    total = None if plan.records is None else plan.records - plan.warmup
    shown = Shown(inv, "e2e", flags, total=total, left="received, those in flight are not known")
    with Stop(unconfirmed=shown.unconfirmed, late=True) as stop:
        with shown.lines:
            measured = run_test(measure_end_to_end, [part], stop=stop, on_progress=shown.add, hooks=inv.hooks)
        configuration = client_configuration(inv, producing, _OF_PRODUCER, {})
        configuration |= client_configuration(inv, consuming, _OF_CONSUMER, _test_flags(flags, values))
        about = Run(
            "e2e",
            topic,
            group=flags["group"],
            configuration=configuration,
            versions=versions(),
            host=host(),
        )
        failure = measured.failure.error() if measured.failure is not None else None
        item = perf_item(about, measured)
        return conclude(inv, item, flags, cluster=target.cluster_id, stop=stop, first=failure)


def _options(inv: Invocation, flags: Mapping[str, Any]) -> tuple[ProducerOptions, ConsumerOptions]:
    """Those of both clients: ``-X`` may name options of either."""
    group = flags["group"]
    linger = None if "linger_ms" in inv.resolved.values else 0.0
    return inv.pair_options(
        (ProducerOptions, ConsumerOptions),
        unused=_UNUSED | UNUSED_BY_LOADS | unused_of_members(inv.resolved, group),
        own=({"linger_ms": linger}, {"group_id": group}),
    )


def _plan_text(target: LoadTarget, flags: Mapping[str, Any], values: Values, options: ProducerOptions) -> str:
    records, duration, limit = flags["num_records"], flags["duration"], flags["throughput"]
    amount = "records" if records is None else counted(records, "record")
    lasting = "" if duration is None else f" for {'at most ' if records else ''}{duration:g} s"
    rate = "one after the other"
    if limit.records:
        rate = f"{limit.records:,.10g} per second"
    elif limit.bytes:
        rate = f"{limit.bytes:,.10g} bytes per second"
    warmup = flags["warmup_records"]
    more = f"; the first {warmup:,} are not measured" if warmup else ""
    group = "" if flags["group"] is None else f", received by group {flags['group']}, which commits"
    return (
        f"Send to {target.topic} ({counted(target.partitions, 'partition')}) and receive\n"
        f"  {amount} of {size_range_text(values.low, values.high)}{lasting}, {rate}; acks={options.acks}{group}{more}\n"
        f"  the records stay in the topic"
    )


def _test_flags(flags: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """The flags that make a difference, in the spelling of the command line."""
    throughput = flags["throughput"]
    return {
        "num-records": flags["num_records"],
        "duration": flags["duration"],
        "record-size": values.low if values.low == values.high else f"{values.low}..{values.high}",
        "compressible": values.compressible,
        "throughput": f"{throughput.bytes:.10g} B/s" if throughput.bytes else throughput.records,
        "warmup-records": flags["warmup_records"] or None,
    }
