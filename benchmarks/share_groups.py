"""Reads a topic as the only member of a share group: kcli beside Kafka's own tools and librdkafka.

One real broker, six partitions, 1,000,000 values of 100 bytes in batches of 16 KB (Java's default); each record is
acknowledged. The tools take turns, each as a new group that begins at the start. Whole processes: their start, the join
and the last acknowledgement are part of them. ``KCLI_BENCH_RECORDS`` (1000000), ``KCLI_BENCH_ROUNDS`` (3) choose.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from importlib.util import find_spec
from pathlib import Path

from benchmarks import _kafka_tools as kafka
from benchmarks._measure import Contest, Run, create_topic, environment, machine
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

RECORDS = int(os.environ.get("KCLI_BENCH_RECORDS", "1000000"))
ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "3"))
TOPIC, PARTITIONS = "shared", 6
TARGET = 2.0

_LIBRDKAFKA = """
import sys
from confluent_kafka import ShareConsumer
consumer = ShareConsumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "max.poll.records": 2000})
consumer.subscribe([sys.argv[3]])
left, write = int(sys.argv[4]), sys.stdout.buffer.write
while left > 0:
    for message in consumer.poll(1.0):
        write(message.value() + b"\\n")
        left -= 1
consumer.close()
"""


def main() -> list[Table]:
    """Starts a broker, fills a topic, runs the rounds, prints and returns the table."""
    print(f"machine: {machine()}", flush=True)
    sandbox = Sandbox(f"share-groups-{os.getpid()}")
    version = kafka.VERSION
    status = sandbox.up(Settings(version=version, port=0, ephemeral=True, die_with_parent=True))
    try:
        create_topic(status.bootstrap, TOPIC, PARTITIONS)
        _fill(status.bootstrap)
        contest = Contest(
            f"a share group of one member, {RECORDS:,} values of 100 bytes, Kafka {version}",
            {
                "kcli": lambda: _kcli(status.bootstrap),
                "kafka-console-share-consumer": lambda: _console(status.bootstrap),
                "kafka-share-consumer-perf-test": lambda: _perf(status.bootstrap),
                "librdkafka (Python)": lambda: _librdkafka(status.bootstrap),
            },
            "kafka-console-share-consumer",
            TARGET,
        )
        for _ in range(ROUNDS):
            contest.round()
    finally:
        sandbox.down(delete=True)
    print(contest.report())
    return [contest.table()]


def _fill(servers: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values"
        with path.open("wb") as out:
            for number in range(RECORDS):
                out.write(b"%0100d\n" % number)
        words = [sys.executable, "-m", "kcli", "-b", servers, "produce", TOPIC, str(path), "-q"]
        subprocess.run(
            [*words, "-X", "batch.size=16384", "--partitioner", "roundrobin"], check=True, env=environment()
        )


def _group(servers: str) -> str:
    """A new one, which begins at the start."""
    name = f"share-{uuid.uuid4().hex[:8]}"
    words = [sys.executable, "-m", "kcli", "-b", servers, "configs", "alter", "groups", name, "--yes", "-q"]
    subprocess.run(
        [*words, "--set", "share.auto.offset.reset=earliest"],
        check=True,
        env=environment(),
        stdout=subprocess.DEVNULL,
    )
    return name


def _kcli(servers: str) -> Run:
    words = [sys.executable, "-m", "kcli", "-b", servers, "consume", TOPIC, "-g", _group(servers)]
    return Run([*words, "--group-type", "share", "-e", "--expect", str(RECORDS)], RECORDS)


def _console(servers: str) -> Run | None:
    java = kafka.tool(kafka.CONSOLE_SHARE_CONSUMER)
    if java is None:
        return None
    words = ["--bootstrap-server", servers, "--topic", TOPIC, "--group", _group(servers)]
    return Run([*java, *words, "--max-messages", str(RECORDS)], RECORDS)


def _perf(servers: str) -> Run | None:
    java = kafka.tool(kafka.SHARE_CONSUMER_PERF)
    if java is None:
        return None
    words = ["--bootstrap-server", servers, "--topic", TOPIC, "--group", _group(servers)]
    return Run([*java, *words, "--num-records", str(RECORDS), "--timeout", "60000"], RECORDS)


def _librdkafka(servers: str) -> Run | None:
    if find_spec("confluent_kafka") is None:
        return None
    import confluent_kafka

    if not hasattr(confluent_kafka, "ShareConsumer"):
        return None
    return Run([sys.executable, "-c", _LIBRDKAFKA, servers, _group(servers), TOPIC, str(RECORDS)], RECORDS)


if __name__ == "__main__":
    main()
