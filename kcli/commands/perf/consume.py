"""``kcli perf consume``: the options. A run is in ``consume_run.py``."""

from typing import Any

import click

from kcli.commands.perf.options import (
    ConsumeOptions,
    amount_options,
    report_options,
    topic_option,
    warmup_option,
)
from kcli.commands.perf.result import OUTPUTS
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP, DurationType, option
from kcli.commands.shared.params import processes_option


@command(
    "consume",
    exits={8: "a condition of --fail-if is true"},
    reads=("KCLI_IMPL",),
    outputs=OUTPUTS,
    examples=(
        ("kcli perf consume -t load", "everything that is in the topic now"),
        ("kcli perf consume -t load --num-records 10M --processes 2", "shared by two processes"),
        (
            "kcli perf consume -t load -g perf --duration 30s",
            "as a member of a group, with its rebalance apart",
        ),
        (
            "kcli perf consume -t load -g queue --group-type share --processes 2",
            "as members of a share group",
        ),
        ("kcli perf consume -t load --from-latest --duration 1m", "what is written from now on"),
        ("kcli perf consume -t load -o kafka", "the lines of kafka-consumer-perf-test.sh"),
    ),
)
@options(
    "What to read",
    topic_option("the topic to read"),
    option(
        "-g",
        "--group",
        type=GROUP,
        metavar="GROUP",
        help="read as members of this group, from its committed offsets on; what is read is committed",
    ),
    option(
        "--group-type",
        type=click.Choice(["share"]),
        help="the type of the group: of a share group each record is acknowledged (Kafka 4.1 on)",
    ),
    option(
        "--from-latest",
        is_flag=True,
        help="begin at the end of the topic; with -g where the group has committed nothing",
    ),
)
@options(
    "How long, and how",
    amount_options(
        "how many records are read, those of the warm-up included, by all processes together in equal shares",
        "how long records are read, after the warm-up; with --num-records whichever ends first",
    ),
    option(
        "--idle-timeout",
        type=DurationType(positive=True),
        metavar="DUR",
        help="end when no record has come for so long; not part of the measured time (default: 10s without --duration)",
    ),
    warmup_option("the first N records are read but not measured (default: 0)"),
    processes_option("how many processes read: each some of the partitions, or with -g each as a member"),
)
@options(
    "Result",
    report_options,
)
@pass_invocation
def consume(inv: Invocation, /, **given: Any) -> int:
    """Read a topic as fast as it comes, and measure the rate.

    Without --num-records and --duration to the end, as it is when the test begins. Partitions are assigned without a
    group, unless -g names one: then rebalance_seconds is how long the members had no partitions, and fetch_seconds is
    the rest.

    With --group-type share every record that is read is accepted, and the time includes that. Where the group begins is
    its share.auto.offset.reset. Without --num-records and --duration the test ends when no broker has a record for the
    members; members share partitions, so that numbers of records are not checked.

    Records of kcli perf produce and e2e are numbered, and checked: exit status 5 if one is lost, there twice, or in
    another order. Only what was read whole can be judged: numbers that may be in unread parts are not lost. Other
    records are not checked. The first Ctrl-C ends the test and prints its result so far.
    """
    from kcli.commands.perf.consume_run import run  # not for --help

    return run(inv, ConsumeOptions(**given))
