"""What ``kcli perf e2e`` does: finds the topic, shows the plan, sends and receives, and reports."""

from __future__ import annotations

from kcli.commands.perf.contradictions import check_markable, check_report, check_warmup, values_of
from kcli.commands.perf.measuring import load_flags, measure
from kcli.commands.perf.options import EndToEndOptions
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
from kcli.core.classes import replace
from kcli.core.options import ConsumerOptions, ProducerOptions
from kcli.flows.perf.e2e import EndToEndPart, measure_end_to_end
from kcli.flows.perf.load_plan import LoadPart, LoadPlan
from kcli.flows.perf.marks import new_run
from kcli.flows.perf.payload import Payload, Values
from kcli.flows.perf.result import Run
from kcli.flows.perf.surroundings import client_configuration
from kcli.output.progress import counted
from kcli.profiles.applicability import unused_of_members

_RECORDS = 10_000  # without a choice, as in Kafka's tool
_OF_PRODUCER = ("acks", "batch_size", "compression_type", "enable_idempotence", "linger_ms")
_UNUSED = {"auto_offset_reset": ("the consumer begins at the end of the topic", "leave it out")}
_OF_CONSUMER = ("fetch_max_wait_ms", "fetch_min_bytes", "isolation_level")


def run(inv: Invocation, asked: EndToEndOptions) -> int:
    """Runs the test; returns the exit status."""
    if asked.num_records is None and asked.duration is None:
        asked = replace(asked, num_records=_RECORDS)
    values = values_of(asked, "e2e")
    check_warmup(asked, "e2e")
    check_markable(values, "kcli perf e2e")
    check_report(asked, "e2e", checked=True)
    producing, consuming = _options(inv, asked.group)
    check_fits(values.high, producing, "perf e2e")
    payload = Payload(values, 0)
    target = find_topic(inv, asked.topic, producing)
    show_plan(inv, _plan_text(target, asked, values, producing))
    if inv.dry_run:
        check_permitted(
            inv,
            {"WRITE": "producing to {}", "READ": "reading topic {}"},
            [asked.topic],
            group=asked.group,
        )
        return inv.finish(done=False)
    plan = LoadPlan(
        asked.topic,
        values,
        records=asked.num_records,
        seconds=asked.duration,
        warmup=asked.warmup_records,
        rate=records_per_second(asked.throughput, payload.mean_size),
        run=new_run(),
    )
    given = inv.resolved.values
    configuration = client_configuration(producing, given, _OF_PRODUCER, {})
    configuration |= client_configuration(consuming, given, _OF_CONSUMER, load_flags(asked, values))
    return measure(
        inv,
        asked,
        Run("e2e", asked.topic, group=asked.group, configuration=configuration),
        measure_end_to_end,
        [EndToEndPart(LoadPart(plan, producing, inv.timeout), consuming, asked.idle_timeout)],
        cluster=target.cluster_id,
        total=asked.measured_records,
        left="received, those in flight are not known",
    )


def _options(inv: Invocation, group: str | None) -> tuple[ProducerOptions, ConsumerOptions]:
    """Those of both clients: ``-X`` may name options of either."""
    linger = None if "linger_ms" in inv.resolved.values else 0.0
    return inv.pair_options(
        (ProducerOptions, ConsumerOptions),
        unused=_UNUSED | UNUSED_BY_LOADS | unused_of_members(inv.resolved, group),
        own=({"linger_ms": linger}, {"group_id": group}),
    )


def _plan_text(target: LoadTarget, asked: EndToEndOptions, values: Values, options: ProducerOptions) -> str:
    records, limit = asked.num_records, asked.throughput
    amount = "records" if records is None else counted(records, "record")
    lasting = "" if asked.duration is None else f" for {'at most ' if records else ''}{asked.duration:g} s"
    rate = "one after the other"
    if limit.records:
        rate = f"{limit.records:,.10g} per second"
    elif limit.bytes:
        rate = f"{limit.bytes:,.10g} bytes per second"
    group = "" if asked.group is None else f", received by group {asked.group}, which commits"
    return (
        f"Send to {target.topic} ({counted(target.partitions, 'partition')}) and receive\n"
        f"  {amount} of {size_range_text(values.low, values.high)}{lasting}, {rate}; acks={options.acks}{group}"
        f"{asked.warmup_text}\n"
        f"  the records stay in the topic"
    )
