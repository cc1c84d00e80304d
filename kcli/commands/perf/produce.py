"""``kcli perf produce``: the options. A run is in ``produce_run.py``."""

from typing import Any

from kcli.commands.perf.options import (
    ProduceOptions,
    amount_options,
    report_options,
    throughput_option,
    topic_option,
    transaction_options,
    value_options,
    warmup_option,
)
from kcli.commands.perf.result import OUTPUTS
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import processes_option


@command(
    "produce",
    exits={
        5: "records are lost, there twice, or in another order: --verify",
        6: "some records were not confirmed",
        8: "a condition of --fail-if is true",
    },
    reads=("KCLI_IMPL",),
    outputs=OUTPUTS,
    examples=(
        ("kcli perf produce -t load --num-records 1M", "as fast as this machine can"),
        (
            "kcli perf produce -t load --duration 1m --throughput 50k --record-size 100..2000",
            "a steady load, records of different sizes: latency as it is at that rate",
        ),
        (
            "kcli perf produce -t load --num-records 1M --warmup-records 100k -X acks=1 -X compression.type=zstd",
            "with other options of the producer, after a warm-up",
        ),
        (
            "kcli perf produce -t load --duration 30s --throughput 10k --fail-if 'p99>50ms'",
            "a check: exit status 8 if it is slower",
        ),
        (
            "kcli perf produce -t load --num-records 1M --verify",
            "and read back whether every record is there",
        ),
        (
            "kcli perf produce -t load --num-records 5M --processes 2 -o json > run.json",
            "for kcli perf compare",
        ),
    ),
)
@options(
    "What to send",
    topic_option("the topic to write to; it must exist"),
    amount_options(
        "how many records are sent, those of the warm-up included, by all processes together",
        "how long records are sent, after the warm-up; with --num-records whichever ends first",
    ),
    value_options,
)
@options(
    "How to send",
    throughput_option(
        "at most N records, or SIZE bytes of values, per second by all processes together; -1: no limit (default: -1)"
    ),
    warmup_option("the first N records are sent but not measured (default: 0)"),
    processes_option("how many processes send, each with a producer of its own"),
    transaction_options,
)
@options(
    "Result",
    option(
        "--verify",
        is_flag=True,
        help="read back what was confirmed: exit with 5 if records are lost, there twice, or in another order",
    ),
    report_options,
)
@pass_invocation
def produce(inv: Invocation, /, **given: Any) -> int:
    """Send made records, and measure rate and latency.

    Latency is measured to the confirmation: from the intended time of sending (corrected), and from when the request
    left (raw).

    With --throughput a record has an intended time whatever happened to those before it, so that a stall of the
    cluster counts for every record that it has delayed; without it, it is when the record was handed to the producer,
    and at full speed mostly the wait in the producer's buffer.

    The records stay in the topic, and have no key without --keys. Producers are idempotent and wait for all in-sync
    replicas, unless -X says otherwise. In a transaction, too, a record is confirmed when it is stored; each commit waits
    for all records before it, and the records that are due meanwhile are late. A transaction that cannot be committed
    ends the test with the error. The first Ctrl-C ends the test and prints its result so far.
    """
    from kcli.commands.perf.produce_run import run  # not for --help

    return run(inv, ProduceOptions(**given))
