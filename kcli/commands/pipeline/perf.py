"""``kcli pipeline perf``: load a topic from many tasks."""

from kcli.commands.pipeline.jobs import (
    READS,
    TaskOptions,
    chosen_runner,
    job_options,
    own_cluster,
    print_report,
    runner_of,
)
from kcli.commands.shared.command import command
from kcli.commands.shared.confirm import show_plan
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS, TOPIC, CountType, DurationType, option
from kcli.commands.shared.params import SIZE_RANGE, THROUGHPUT, Rate
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.usage import usage
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ProducerOptions
from kcli.flows.stop import Stop
from kcli.output.progress import counted


@command(
    "perf",
    reads=READS,
    outputs=REPORT_KINDS,
    examples=(
        ("kcli pipeline perf -t load --num-records 1M", "as fast as this machine can"),
        (
            "kcli pipeline perf -t load --duration 1m --throughput 50k --record-size 100..2000",
            "a steady load, records of different sizes",
        ),
        (
            "kcli pipeline perf -t load --duration 5m --tasks 32 --master spark://spark1:7077",
            "from 32 tasks of a cluster",
        ),
        (
            "kcli pipeline perf -t load --num-records 1M -X acks=1 -X compression.type=zstd -X linger.ms=50",
            "with other options of the producer",
        ),
        (
            "kcli pipeline perf -t load --duration 30s -o json | jq .totals.latency_p99_corrected_us",
            "a number to compare",
        ),
    ),
)
@option(
    "-t", "--topic", type=TOPIC, required=True, metavar="TOPIC", help="the topic to write to; it must exist"
)
@option(
    "--num-records", type=CountType(1), metavar="N", help="how many records are sent by all tasks together"
)
@option(
    "--duration",
    type=DurationType(positive=True),
    metavar="DUR",
    help="how long a task sends; with --num-records whichever ends first",
)
@option(
    "--record-size",
    type=SIZE_RANGE,
    default="1KiB",
    metavar="SIZE|MIN..MAX",
    help="bytes of a value; all sizes of a range are equally frequent (default: 1KiB)",
)
@option(
    "--throughput",
    type=THROUGHPUT,
    default="-1",
    metavar="N|SIZE/s",
    help="at most N records, or SIZE bytes of values, per second by all tasks together; -1: no limit (default: -1)",
)
@option(
    "--tasks",
    "number",
    type=CountType(1, 10_000),
    metavar="N",
    help="how many tasks send, each with a producer of its own (default: as many as run at a time)",
)
@job_options
@pass_invocation
def perf(
    inv: Invocation,
    /,
    topic: str,
    num_records: int | None,
    duration: float | None,
    record_size: tuple[int, int],
    throughput: Rate,
    number: int | None,
    tasks: TaskOptions,
) -> int:
    """Load a topic from many tasks, and measure rate and latency.

    Values are random capital letters, the same in each run; records have no key. They stay in the topic. Producers
    are idempotent and wait for all in-sync replicas, unless -X says otherwise.

    Latency is the time to the confirmation, from the intended time of sending (corrected) and from when the request
    left, as `kcli perf produce` measures it: at full speed it is mostly the wait in the producer's buffer, with
    --throughput below that it is the cluster's.
    """
    # Clients are loaded when the command runs.
    from kcli.commands.shared import load_target as loads
    from kcli.pipeline.drivers.perf import COLUMNS, load, load_tasks, summary

    tasks = chosen_runner(inv, tasks, "perf")
    low, high = record_size
    _check(num_records, duration, low)
    options = inv.client_options(ProducerOptions, unused=loads.UNUSED_BY_LOADS)
    loads.check_fits(high, options, "pipeline perf")
    target = loads.find_topic(inv, topic, options)
    cluster = own_cluster(inv, loads.UNUSED_BY_LOADS).ref

    def show(count: int | None) -> None:
        values = f"of {loads.size_range_text(low, high)}"
        by = "" if count is None else counted(count, "task")
        text = loads.plan_text(
            target,
            options,
            records=num_records,
            duration=duration,
            throughput=throughput,
            values=values,
            by=by,
        )
        show_plan(inv, text)

    if inv.dry_run:
        show(number)
        return ExitCode.DONE
    with Stop() as stop, runner_of(inv, tasks) as runner:
        shares = load_tasks(number or runner.slots, num_records)
        show(len(shares))
        report = load(
            Shown(inv),
            runner,
            stop,
            cluster,
            topic,
            shares,
            sizes=record_size,
            throughput=loads.records_per_second(throughput, (low + high) / 2),
            duration=duration,
            records=num_records,
        )
        code = print_report(
            inv,
            report,
            COLUMNS,
            stop,
            command="perf",
            runner=tasks.runner,
            cluster=target.cluster_id,
            title="sent",
        )
        if report.totals["records"]:
            inv.talk.note(summary(report.totals))
        return code


def _check(records: int | None, duration: float | None, smallest: int) -> None:
    if records is None and duration is None:
        raise usage(
            "kcli pipeline perf: missing --num-records or --duration",
            why="one of them limits how much is sent",
            do="--num-records 1M, or --duration 30s",
        )
    if smallest < 1:
        raise usage(
            "kcli pipeline perf: --record-size 0",
            why="a value has at least one byte",
            do="--record-size 1KiB",
        )
