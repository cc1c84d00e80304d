"""What ``kcli perf produce`` does: finds the topic, shows the plan, sends, reads back with ``--verify``, and reports."""

from __future__ import annotations

import secrets
from functools import partial

from kcli.commands.perf.contradictions import (
    check_markable,
    check_report,
    check_shares,
    check_warmup,
    values_of,
)
from kcli.commands.perf.measuring import load_flags, measure
from kcli.commands.perf.options import ProduceOptions
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
from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.core.options import ConsumerOptions, ProducerOptions
from kcli.flows.perf.load import generator_speed, measure_load
from kcli.flows.perf.load_plan import LoadPart, LoadPlan
from kcli.flows.perf.marks import new_run
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.payload import Payload, Values, can_be_marked
from kcli.flows.perf.read_back import ReadBack
from kcli.flows.perf.result import Run
from kcli.flows.perf.surroundings import client_configuration
from kcli.flows.stop import Stop
from kcli.output.progress import duration_text

_TRANSACTION = 3.0  # seconds
_MATTER = (
    "acks",
    "batch_size",
    "buffer_memory",
    "compression_type",
    "enable_idempotence",
    "linger_ms",
    "max_in_flight_requests_per_connection",
)


def run(inv: Invocation, asked: ProduceOptions) -> int:
    """Runs the test; returns the exit status."""
    values = _checked(asked)
    options = _options(inv, asked)
    if asked.verify and options.acks == "0":
        raise usage(
            "kcli perf produce: --verify with acks=0",
            why="no record is confirmed, so none can be missing",
            do="acks=1 or acks=all, or leave --verify out",
        )
    number = new_run() if can_be_marked(values) else None
    if values.file is None:
        check_fits(values.high, options, "perf produce")  # before so many bytes are made
    payload = Payload(values, 0, None if number is None else (number, 0))
    check_fits(payload.largest, options, "perf produce")
    target = find_topic(inv, asked.topic, options)
    show_plan(inv, _plan_text(target, asked, values, options))
    if inv.dry_run:
        check_permitted(inv, {"WRITE": "producing to {}"}, [asked.topic])
        return inv.finish(done=False)
    plan = LoadPlan(
        asked.topic,
        values,
        records=asked.num_records,
        seconds=asked.duration,
        warmup=asked.warmup_records,
        rate=records_per_second(asked.throughput, payload.mean_size),
        run=number,
        processes=asked.processes,
        verified=asked.verify,
        transaction=_transaction_seconds(asked),
    )
    speed = (
        None if values.file else round(generator_speed(payload) * asked.processes)
    )  # those of a file are not made
    return _measure(inv, asked, plan, options, target.cluster_id, speed)


def _measure(
    inv: Invocation,
    asked: ProduceOptions,
    plan: LoadPlan,
    options: ProducerOptions,
    cluster: str | None,
    speed: int | None,
) -> int:
    reader = _reader(inv, asked.topic) if asked.verify else None
    flags = {**load_flags(asked, plan.values), "processes": asked.processes}
    flags["transaction-duration"] = plan.transaction
    about = Run(
        "produce",
        asked.topic,
        processes=asked.processes,
        configuration=client_configuration(options, inv.resolved.values, _MATTER, flags),
        generator_records_per_second=speed,
    )
    return measure(
        inv,
        asked,
        about,
        measure_load,
        [LoadPart(one, _of_process(options, one), inv.timeout) for one in plan.divided()],
        cluster=cluster,
        total=asked.measured_records,
        left="confirmed, the others unknown",
        judge=partial(_read_back, inv, reader),
    )


def _options(inv: Invocation, asked: ProduceOptions) -> ProducerOptions:
    """Those of the producers; with several processes the transactional id is not theirs yet."""
    seconds = _transaction_seconds(asked)
    if seconds is None:
        return inv.client_options(ProducerOptions, unused=UNUSED_BY_LOADS)
    name = asked.transactional_id or f"kcli-perf-{secrets.token_hex(6)}"
    options = inv.client_options(ProducerOptions, transactional_id=name)
    limit = options.transaction_timeout_ms / 1000
    if seconds >= limit:
        raise usage(
            f"kcli perf produce: --transaction-duration of {duration_text(seconds)}",
            why=f"coordinators abort transactions after {duration_text(limit)} (transaction.timeout.ms)",
            do="a shorter one, or -X transaction.timeout.ms=… with more milliseconds",
        )
    return options


def _transaction_seconds(asked: ProduceOptions) -> float | None:
    """How long a transaction is open; None: nothing is sent in transactions."""
    given = asked.transaction_duration
    return _TRANSACTION if given is None and asked.transactional_id is not None else given


def _of_process(options: ProducerOptions, plan: LoadPlan) -> ProducerOptions:
    """A transactional id is that of one producer."""
    if plan.transaction is None or plan.processes == 1:
        return options
    return replace(options, transactional_id=f"{options.transactional_id}-{plan.number}")


def _reader(inv: Invocation, topic: str) -> ReadBack:
    """Of the records that come after those which are in the topic now."""
    options = inv.inner_options(ConsumerOptions)
    reader = ReadBack(options, topic, inv.timeout, inv.hooks)
    reader.pin()
    return reader


def _read_back(inv: Invocation, reader: ReadBack | None, measured: Measurement, stop: Stop) -> None:
    """Sets the integrity, with a reader. An error here is one of the test, whose figures are printed all the same."""
    if reader is None:
        return
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


def _checked(asked: ProduceOptions) -> Values:
    if asked.num_records is None and asked.duration is None:
        raise usage(
            "kcli perf produce: missing --num-records or --duration",
            why="one of them limits how much is sent",
            do="--num-records 1M, or --duration 30s",
        )
    values = values_of(asked, "produce")
    check_warmup(asked, "produce")
    check_shares("produce", asked.num_records, asked.processes)
    if asked.verify:
        check_markable(values, "kcli perf produce: --verify")
    check_report(asked, "produce", checked=asked.verify)
    return values


def _plan_text(target: LoadTarget, asked: ProduceOptions, values: Values, options: ProducerOptions) -> str:
    size = f"from {values.file}" if values.file else f"of {size_range_text(values.low, values.high)}"
    by = "" if asked.processes == 1 else f"{asked.processes} processes"
    text = plan_text(
        target,
        options,
        records=asked.num_records,
        duration=asked.duration,
        throughput=asked.throughput,
        values=size,
        by=by,
    )
    seconds = _transaction_seconds(asked)
    within = "" if seconds is None else f", in transactions of {duration_text(seconds)}"
    return text + within + asked.warmup_text
