"""The only broker stands still under a long produce: the command waits in little memory, and nothing is lost."""

import re
import subprocess
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import TopicPartition as JudgePartition

from kcli.sandbox.node import Node
from tests.kafka import sandboxed
from tests.run import start

pytestmark = [pytest.mark.integration, pytest.mark.soak]

MEGABYTES = 5_000
PAUSE = 60.0  # seconds of standstill
LINE = 1_000  # bytes, with its newline; a thousand lines to the megabyte
PARTITIONS = 3
MOST_MEMORY = 120 * 2**20  # bytes of the whole process; buffer.memory is 32 MB of them


@pytest.mark.timeout(600 + MEGABYTES // 5)
def test_a_broker_that_pauses_costs_neither_memory_nor_records() -> None:
    with sandboxed() as kafka:
        topic = kafka.topic("paused", partitions=PARTITIONS)
        with start("produce", topic, "-o", "json", bootstrap=kafka.bootstrap) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            node, written, most = kafka.nodes[0], 0, 0
            pausing = threading.Thread(target=stand_still, args=(node,))
            for megabyte in range(MEGABYTES):
                if megabyte == MEGABYTES // 3:
                    pausing.start()
                written += process.stdin.write(
                    b"".join(map(line, range(megabyte * 1000, megabyte * 1000 + 1000)))
                )
                most = max(most, memory_of(process.pid))
            process.stdin.close()
            said = process.stderr.read()
            pausing.join()
        assert process.returncode == 0, said
        assert written == MEGABYTES * 1000 * LINE
        print(f"{MEGABYTES} MB, paused for {PAUSE:g} s: at most {most / 2**20:.0f} MiB")
        assert most < MOST_MEMORY, f"{most / 2**20:.0f} MiB"
        missing, again, out_of_order = audit(kafka.bootstrap, topic)
    assert (missing, again, out_of_order) == (0, 0, 0)


def memory_of(pid: int) -> int:
    """Bytes: the most so far where the system tells, else the present ones. What ``wait4`` tells may be the parent's."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return int(found.group(1)) * 1024 if found else 0
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(told.stdout or 0) * 1024


def line(number: int) -> bytes:
    return b"%012d" % number + b"." * (LINE - 13) + b"\n"


def stand_still(node: Node) -> None:
    node.pause()
    try:
        time.sleep(PAUSE)
    finally:
        node.resume()


def audit(bootstrap: str, topic: str) -> tuple[int, int, int]:
    """How many lines another client misses, finds again, or finds before an earlier one of the same partition."""
    found = bytearray(MEGABYTES * 1000)
    again = out_of_order = 0
    judge = Judge({"bootstrap.servers": bootstrap, "group.id": topic, "enable.partition.eof": True})
    for partition in range(PARTITIONS):
        judge.assign([JudgePartition(topic, partition, 0)])
        last, at_end = -1, False
        while not at_end:
            for message in judge.consume(10_000, 0.5):
                if message.error() is not None:
                    at_end = True
                    break
                number = int((message.value() or b"")[:12])
                again += found[number]
                found[number] = 1
                out_of_order += number <= last
                last = number
    judge.close()
    return found.count(0), again, out_of_order
