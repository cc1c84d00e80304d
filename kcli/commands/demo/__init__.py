"""``kcli demo``: its options. What it does is in ``run.py``."""

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import CountType, option


@command(
    "demo",
    exits={
        1: "a step failed, or Kafka did not start",
        3: "the brokers of its sandbox do not answer",
        5: "records were lost or changed on their way",
        7: "the folder of its sandbox is in use, or another state forbids a step",
        8: "what a step had to prove is false",
    },
    reads=(
        "KCLI_CACHE",
        "KCLI_JAVA",
        "JAVA_HOME",
        "KCLI_MAVEN_REPO",
    ),
    outputs=("table", "plain"),
    examples=(
        ("kcli demo", "a million records of 100 bytes, on a Kafka that is started for it"),
        ("kcli demo --records 100000", "a shorter one"),
    ),
)
@option(
    "--records",
    type=CountType(1),
    default=1_000_000,
    metavar="N",
    help="number of records (default: 1000000)",
)
@option(
    "--record-size",
    type=CountType(11),
    default=100,
    metavar="SIZE",
    help="size of a record (default: 100)",
)
@option("--kafka-version", metavar="VERSION", help="version of Apache Kafka to start")
@pass_invocation
def demo(inv: Invocation, /, records: int, record_size: int, kafka_version: str | None) -> int:
    """See it work: round trip, lag, rewind, mirror and verify, each with its proof.

    On a Kafka that is started for it, a million records are sent, read back and compared. A group reads half of them
    and has the rest as its lag; it is rewound, and the rewind is undone. The topic is copied exactly once, and the copy
    is compared with it.

    Each step prints the command line that it stands for, and its proof. A proof that fails ends the demo with exit code
    8, or 5 if what was read back is not what was sent. The digests are last.

    Everything that it starts and writes is removed when it ends, also after Ctrl-C. It uses no Kafka that is running
    already.
    """
    from kcli.commands.demo.run import run  # not for --help

    return run(inv, records, record_size, kafka_version)
