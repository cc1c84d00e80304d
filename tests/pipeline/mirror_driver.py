"""What tests share that kill the driver of a mirror on a real Kafka: the command and the steps. Not a test."""

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.kafka import Kafka
from tests.proxy.proxy import Proxy
from tests.run import kcli_process, ok, start


class Step(NamedTuple):
    """Where the driver is killed: while the ``nth`` frame of its tasks is held on its way to or from the broker. Then
    the frame is dropped, or delivered ``late``. With one partition the first offset and the first end are the claim's.
    """

    name: str
    api: type[Request]
    at: str
    nth: int
    late: bool


STEPS = (
    Step("records sent", ProduceRequest, "request", 1, late=False),
    Step("records stored, position not", TxnOffsetCommitRequest, "request", 2, late=True),
    Step("position written", TxnOffsetCommitRequest, "response", 2, late=False),
    Step("the end is committed, and its response lost", EndTxnRequest, "response", 2, late=True),
)


def arguments(kafka: Kafka, job: str, *more: str, topics: Sequence[str], to: str = "") -> list[str]:
    """Topics copied within the cluster, by a job whose name their copies begin with."""
    sides = ["--from", kafka.bootstrap, "--to", to or kafka.bootstrap]
    chosen = [word for topic in topics for word in ("-t", topic)]
    renamed = ["--map-topic", f"^(.*)$={job}-\\1"]
    return ["pipeline", "mirror", *sides, *chosen, *renamed, "--job", job, "-o", "json", *more]


def copied(
    kafka: Kafka, job: str, *more: str, topics: Sequence[str], timeout: float = 120
) -> dict[str, list[int]]:
    """Runs it to its end; the records of each partition."""
    found: dict[str, list[int]] = {}
    done = kcli_process(*arguments(kafka, job, *more, topics=topics), timeout=timeout)
    for item in json.loads(ok(done))["items"]:
        found.setdefault(item["topic"], []).append(item["records"])
    return found


def kill_at(
    step: Step, proxy: Proxy, kafka: Kafka, job: str, *more: str, topic: str, output: Path, patience: float
) -> None:
    """Starts the command, with the proxy before the target, and kills its process at the step."""
    hold = proxy.hold(step.api, step.at, nth=step.nth)
    with output.open("wb") as file:
        process = start(
            *arguments(kafka, job, *more, topics=[topic], to=proxy.bootstrap),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        end = time.monotonic() + patience
        while not hold.held:
            assert process.poll() is None, f"it ended before: {step.name}: {output.read_text()}"
            assert time.monotonic() < end, f"not reached: {step.name}: {output.read_text()}"
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(patience)
    if step.late:
        hold.release()
    else:
        hold.drop()
