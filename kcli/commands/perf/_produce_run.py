"""What ``kcli perf produce`` does: finds the topic, shows the plan, sends, reads back with ``--verify``, and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.perf._conclusion import conclude
from kcli.commands.perf._configuration import client_configuration
from kcli.commands.perf._load_flags import check_markable, check_shares, check_warmup, values_of
from kcli.commands.perf._report_options import check_report_flags
from kcli.commands.perf._shares import shares
from kcli.commands.perf._shown import Shown
from kcli.commands.shared.check_permitted import check_permitted
from kcli.commands.shared.confirm import show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.load_target import (
    UNUSED_BY_LOADS,
    LoadTarget,
    check_fits,
    find_topic,
    plan_text,
    records_per_second,
    size_range_text,
)
from kcli.commands.shared.usage import usage
from kcli.core.errors import KcliError
from kcli.core.options import ConsumerOptions, ProducerOptions
from kcli.flows.perf.generator import generator_speed
from kcli.flows.perf.load import measure_load
from kcli.flows.perf.load_plan import LoadPart, LoadPlan
from kcli.flows.perf.marks import new_run
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.payload import Payload, Values, can_be_marked
from kcli.flows.perf.read_back import ReadBack
from kcli.flows.perf.result import Run, perf_item
from kcli.flows.perf.surroundings import host, versions
from kcli.flows.perf.workers import run_test
from kcli.flows.stop import Stop

_MATTER = (
    "acks",
    "batch_size",
    "buffer_memory",
    "compression_type",
    "enable_idempotence",
    "linger_ms",
    "max_in_flight_requests_per_connection",
)


def run(inv: Invocation, topic: str, flags: Mapping[str, Any]) -> int:
    """Runs the test; returns the exit status."""
    values = _checked(flags)
    options = inv.client_options(ProducerOptions, unused=UNUSED_BY_LOADS)
    if flags["verify"] and options.acks == "0":
        raise usage(
            "kcli perf produce: --verify with acks=0",
            why="no record is confirmed, so none can be missing",
            do="acks=1 or acks=all, or leave --verify out",
        )
    run_number = new_run() if can_be_marked(values) else None
    if values.file is None:
        check_fits(values.high, options, "perf produce")  # before so many bytes are made
    payload = Payload(values, 0, None if run_number is None else (run_number, 0))
    check_fits(payload.largest, options, "perf produce")
    target = find_topic(inv, topic, options)
    show_plan(inv, _plan(target, flags, values, options))
    if inv.dry_run:
        check_permitted(inv, "WRITE", [topic], "producing to {}")
        return inv.finish(done=False)
    plans = _plans(topic, flags, values, payload.mean_size, run_number)
    speed = None if values.file else generator_speed(payload) * len(plans)  # those of a file are not made
    return _measure(inv, target, flags, options, plans, speed)


def _measure(
    inv: Invocation,
    target: LoadTarget,
    flags: Mapping[str, Any],
    options: ProducerOptions,
    plans: Sequence[LoadPlan],
    speed: float | None,
) -> int:
    reader = _reader(inv, target.topic) if flags["verify"] else None
    sent, warmup = flags["num_records"], flags["warmup_records"]
    total = None if sent is None else sent - warmup
    shown = Shown(inv, "produce", flags, total=total, left="confirmed, the others unknown")
    with Stop(unconfirmed=shown.unconfirmed, late=True) as stop:
        with shown.lines:
            measured = run_test(
                measure_load,
                [LoadPart(plan, options, inv.timeout) for plan in plans],
                stop=stop,
                on_progress=shown.add,
                hooks=inv.hooks,
            )
        if reader is not None:
            _read_back(inv, reader, measured, stop)
        about = Run(
            "produce",
            target.topic,
            processes=len(plans),
            configuration=client_configuration(inv, options, _MATTER, _test_flags(flags, plans[0].values)),
            versions=versions(),
            host=host(),
            generator_records_per_second=None if speed is None else round(speed),
        )
        failure = measured.failure.error() if measured.failure is not None else None
        item = perf_item(about, measured)
        return conclude(inv, item, flags, cluster=target.cluster_id, stop=stop, first=failure)


def _reader(inv: Invocation, topic: str) -> ReadBack:
    """Of the records that come after those which are in the topic now."""
    options = inv.inner_options(ConsumerOptions)
    reader = ReadBack(options, topic, inv.timeout, inv.hooks)
    reader.pin()
    return reader


def _read_back(inv: Invocation, reader: ReadBack, measured: Measurement, stop: Stop) -> None:
    """Sets the integrity. An error here is one of the test, whose figures are printed all the same."""
    why = "the test was stopped"
    if not stop:
        try:
            with inv.progress("read back", total=measured.records + measured.warmup_records) as bar:
                measured.integrity = reader.check(measured.confirmed, stop, bar.update)
        except KcliError as error:
            inv.failed(error)
            why = "of an error"
    if measured.integrity is None:
        inv.talk.note(f"not all records were read back, because {why}: none is judged")


def _checked(flags: Mapping[str, Any]) -> Values:
    if flags["num_records"] is None and flags["duration"] is None:
        raise usage(
            "kcli perf produce: how much is to be sent?",
            why="neither --num-records nor --duration is given",
            do="--num-records 1M, or --duration 30s",
        )
    values = values_of(flags, "produce")
    check_warmup(flags, "produce")
    check_shares("produce", flags["num_records"], flags["processes"])
    if flags["verify"]:
        check_markable(values, "kcli perf produce: --verify")
    check_report_flags(flags, "produce", checked=flags["verify"])
    return values


def _plans(
    topic: str, flags: Mapping[str, Any], values: Values, mean_size: float, run_number: int | None
) -> list[LoadPlan]:
    """One for each process: records and warm-up in equal shares."""
    count = flags["processes"]
    records, warmup = shares(flags["num_records"], count), shares(flags["warmup_records"], count)
    rate = records_per_second(flags["throughput"], mean_size)
    return [
        LoadPlan(
            topic,
            values,
            records=records[number],
            seconds=flags["duration"],
            warmup=warmup[number] or 0,
            rate=rate,
            run=run_number,
            number=number,
            processes=count,
            verified=flags["verify"],
        )
        for number in range(count)
    ]


def _plan(target: LoadTarget, flags: Mapping[str, Any], values: Values, options: ProducerOptions) -> str:
    size = f"from {values.file}" if values.file else f"of {size_range_text(values.low, values.high)}"
    by = "" if flags["processes"] == 1 else f"{flags['processes']} processes"
    warmup = flags["warmup_records"]
    more = f"; the first {warmup:,} are not measured" if warmup else ""
    return plan_text(target, flags, options, values=size, by=by) + more


def _test_flags(flags: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """The flags that make a difference, in the spelling of the command line."""
    throughput = flags["throughput"]
    made = values.file is None
    return {
        "num-records": flags["num_records"],
        "duration": flags["duration"],
        "record-size": (values.low if values.low == values.high else f"{values.low}..{values.high}")
        if made
        else None,
        "payload-file": values.file,
        "compressible": values.compressible,
        "throughput": f"{throughput.bytes:.10g} B/s" if throughput.bytes else throughput.records,
        "warmup-records": flags["warmup_records"] or None,
        "processes": flags["processes"],
    }
