"""``kcli perf e2e``: the options. A run is in ``e2e_run.py``."""

from typing import Any

from kcli.commands.perf.options import (
    EndToEndOptions,
    amount_options,
    made_value_options,
    report_options,
    throughput_option,
    topic_option,
    warmup_option,
)
from kcli.commands.perf.result import OUTPUTS
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP, DurationType, option


@command(
    "e2e",
    exits={
        5: "records are lost, there twice, or in another order",
        6: "some records were not confirmed",
        8: "a condition of --fail-if is true",
    },
    reads=("KCLI_IMPL",),
    outputs=OUTPUTS,
    examples=(
        ("kcli perf e2e -t load", "10,000 records, one after the other"),
        ("kcli perf e2e -t load --duration 30s --throughput 1k", "at a steady rate: latency under load"),
        (
            "kcli perf e2e -t load --throughput 5k --duration 1m -g perf",
            "the consumer is a member of a group",
        ),
        ("kcli perf e2e -t load --record-size 100 -X acks=1 -o kafka", "the lines of kafka-e2e-latency.sh"),
        (
            "kcli perf e2e -t load --duration 30s --throughput 1k --fail-if 'p99>20ms' --fail-if 'lost>0'",
            "a check: exit status 8 if it is slower, 5 if a record is missing",
        ),
    ),
)
@options(
    "What to send",
    topic_option("the topic to write to and to read; it must exist"),
    amount_options(
        "how many records are sent, those of the warm-up included (default: 10k without --duration)",
        "how long records are sent, after the warm-up; with --num-records whichever ends first",
    ),
    made_value_options,
)
@options(
    "How to send and read",
    throughput_option(
        "send N records, or SIZE bytes of values, per second, whatever has become of those before; -1: each when the one "
        "before was received (default: -1)"
    ),
    warmup_option("the first N records are sent but not measured (default: 0)"),
    option(
        "-g",
        "--group",
        type=GROUP,
        metavar="GROUP",
        help="receive as the only member of this group, which commits; other members are an error",
    ),
    option(
        "--idle-timeout",
        type=DurationType(positive=True),
        default="10s",
        metavar="DUR",
        help="how long to wait for a confirmed record before it counts as lost (default: 10s)",
    ),
)
@options(
    "Result",
    report_options,
)
@pass_invocation
def e2e(inv: Invocation, /, **given: Any) -> int:
    """Send records, receive them, and measure the time between.

    Latency ends when the consumer has received the record. It is measured from the intended time of sending
    (corrected), and from when the request left (raw).

    With --throughput a record has an intended time whatever happened to those before it, so that a stall counts for
    every record that it has delayed; without it one record is in flight, as in kafka-e2e-latency.sh.

    Every record is numbered and checked: exit status 5 if a confirmed one is lost, received twice, or in another order.
    Producer and consumer are in one process, so that one clock measures both. Records of others in the topic are passed
    over. linger.ms is 0 unless -X says otherwise. The records stay in the topic. The first Ctrl-C ends the test and
    prints its result so far.
    """
    from kcli.commands.perf.e2e_run import run  # not for --help

    return run(inv, EndToEndOptions(**given))
