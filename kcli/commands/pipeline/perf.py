"""``kcli pipeline perf``: the options. A run is in ``_perf_run.py``."""

from typing import Any

import click

from kcli.commands.pipeline._job_options import job_options
from kcli.commands.pipeline._outputs import REPORTS
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType, DurationType
from kcli.commands.shared.params import SIZE_RANGE, THROUGHPUT


@command(
    "perf",
    changes=True,
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
    outputs=REPORTS,
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
@click.option(
    "-t", "--topic", type=TOPIC, required=True, metavar="TOPIC", help="The topic to write to; it must exist."
)
@click.option(
    "--num-records", type=CountType(1), metavar="N", help="How many records are sent by all tasks together."
)
@click.option(
    "--duration",
    type=DurationType(positive=True),
    metavar="DURATION",
    help="How long a task sends; with --num-records whichever ends first.",
)
@click.option(
    "--record-size",
    type=SIZE_RANGE,
    default="1KiB",
    metavar="SIZE|MIN..MAX",
    help="Bytes of a value; all sizes of a range are equally frequent.  [default: 1KiB]",
)
@click.option(
    "--throughput",
    type=THROUGHPUT,
    default="-1",
    metavar="N|SIZE/s",
    help="At most N records, or SIZE bytes of values, per second by all tasks together; -1: no limit.  [default: -1]",
)
@click.option(
    "--tasks",
    type=CountType(1, 10_000),
    metavar="N",
    help="How many tasks send, each with a producer of its own.  [default: as many as run at a time]",
)
@job_options
@pass_invocation
def perf(inv: Invocation, /, topic: str, **flags: Any) -> int:
    """Load a topic from many tasks, and measure rate and latency.

    Values are random capital letters, the same in each run; records have no key. They stay in the topic. Producers
    are idempotent and wait for all in-sync replicas, unless -X says otherwise.

    Latency is the time to the confirmation, from the intended time of sending (corrected) and from when the request
    left, as `kcli perf produce` measures it: at full speed it is mostly the wait in the producer's buffer, with
    --throughput below that it is the cluster's.
    """
    from kcli.commands.pipeline._perf_run import run  # not for --help

    return run(inv, topic, flags)
