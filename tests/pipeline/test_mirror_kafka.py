"""``kcli pipeline mirror`` on a real Kafka, judged by another client: nothing missing, nothing twice, in order."""

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.command import kcli, ok, start
from tests.integration.mirroring import (
    CODECS,
    COMPACTED,
    PATIENCE,
    check_equal,
    numbered,
    wait_until_compacted,
    write,
    write_in_transactions,
    write_to_be_compacted,
)
from tests.kafka import Kafka
from tests.proxy.proxy import Proxy
from tests.proxy.rules import Hold

pytestmark = pytest.mark.integration

COUNT = 300


def arguments(kafka: Kafka, job: str, *more: str, topics: Sequence[str], to: str = "") -> list[str]:
    """Topics copied within the cluster, by a job whose name their copies begin with."""
    sides = ["--from", kafka.bootstrap, "--to", to or kafka.bootstrap]
    chosen = [word for topic in topics for word in ("-t", topic)]
    return [
        "pipeline",
        "mirror",
        *sides,
        *chosen,
        "--map-topic",
        f"^(.*)$={job}-\\1",
        "--job",
        job,
        "-o",
        "json",
        *more,
    ]


def copied(kafka: Kafka, job: str, *more: str, topics: Sequence[str]) -> dict[str, list[int]]:
    """Runs it to its end; the records of each partition."""
    found: dict[str, list[int]] = {}
    for item in json.loads(ok(kcli(*arguments(kafka, job, *more, topics=topics))))["items"]:
        found.setdefault(item["topic"], []).append(item["records"])
    return found


@pytest.mark.case("K1", "K6")
def test_codecs_shapes_transactions_and_compacted_topics_are_equal_on_both_sides(kafka: Kafka) -> None:
    """By both runners and in both modes, each into copies of its own."""
    name = kafka.unused_name("sources")
    codecs = kafka.topic(f"{name}-codecs", partitions=len(CODECS))
    transactions = kafka.topic(f"{name}-transactions", partitions=2)
    compacted = kafka.topic(f"{name}-compacted", config=COMPACTED)
    write_to_be_compacted(kafka, compacted, 1, 7)
    for partition, codec in enumerate(CODECS):
        write(
            kafka,
            codecs,
            numbered(COUNT),
            partition=partition,
            batch=50,
            **{"compression.type": codec},
        )
    committed = write_in_transactions(kafka, transactions, 2, 9)
    left = [len(records) for records in wait_until_compacted(kafka, compacted).values()]
    counts = {codecs: [COUNT] * len(CODECS), transactions: committed, compacted: left}
    for job, *mode in (
        (f"{name}-1", "--runner", "processes", "--local", "2"),
        (f"{name}-2", "--runner", "inline", "--delivery", "at-least-once"),
    ):
        assert copied(kafka, job, *mode, topics=[*counts]) == counts
        for topic, expected in counts.items():
            check_equal(kafka, topic, kafka, f"{job}-{topic}", expected)
        nothing = {topic: [0] * len(expected) for topic, expected in counts.items()}
        assert copied(kafka, job, *mode, topics=[*counts]) == nothing


STEPS: list[tuple[str, type[Request], str, int]] = [
    ("records sent", ProduceRequest, "request", 1),
    ("records stored, position not", TxnOffsetCommitRequest, "request", 2),
    ("position written", TxnOffsetCommitRequest, "response", 2),
    ("the end is committed, and its response lost", EndTxnRequest, "response", 2),
]


@pytest.mark.case("K4")
def test_a_driver_that_is_killed_with_its_tasks_at_four_steps_stores_every_record_once(
    kafka: Kafka, tmp_path: Path
) -> None:
    topic, job = kafka.topic("driver", partitions=2), kafka.unused_name("job")
    two = ("--runner", "processes", "--local", "2")
    with Proxy(kafka.bootstrap) as proxy:
        for number, (step, api, at, nth) in enumerate(STEPS):
            for partition in (0, 1):
                write(kafka, topic, numbered(COUNT), partition=partition, batch=50)
            hold = proxy.hold(api, at, nth=nth)
            output = tmp_path / f"{number}.err"
            with output.open("wb") as file:
                process = start(
                    *arguments(kafka, job, *two, topics=[topic], to=proxy.bootstrap),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                )
            _wait(process, hold, step, output)
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
            if number % 2:
                hold.release()
            else:
                hold.drop()
    copied(kafka, job, "--runner", "inline", topics=[topic])
    check_equal(kafka, topic, kafka, f"{job}-{topic}", [COUNT * len(STEPS)] * 2)
    assert copied(kafka, job, "--runner", "inline", topics=[topic]) == {topic: [0, 0]}


def _wait(process: "subprocess.Popen[bytes]", hold: Hold, step: str, output: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not hold.held:
        assert process.poll() is None, f"it ended before: {step}: {output.read_text()}"
        assert time.monotonic() < end, f"not reached: {step}: {output.read_text()}"
        time.sleep(0.01)
