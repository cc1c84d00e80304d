"""Looks for lines that ``kcli produce`` loses, on a real cluster of three brokers: random runs, judged line by line.

    python -m tests.chaos.lost_lines --runs 300 --seed 1 --jobs 6

Each run is a case of ``line_cases``: bad lines, partitions that do not exist, records that are too large, and a topic
that is deleted, a broker that is killed, or a signal at a random moment. What is stored is read with confluent-kafka.
The cluster is a sandbox of its own. The last lines are a table; the exit status is 1 when a line is lost, or doubled.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as JudgePartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.chaos.line_cases import PARTITIONS, SIGNALS, TOO_LARGE, Case, draw
from tests.chaos.line_runs import Seen, Trial, judge
from tests.kafka import FAST_FAILOVER, QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed

FAULTS = ("none", "delete", "delete", "leader", *SIGNALS)
_LOOK = 15.0
_AT_ONCE = 0.2  # seconds: a look for many records lasts as long, whether they are there or not
_REPLICAS = 3
_MOST_IN_SYNC_WAIT = 90.0


class RealWorld:
    """A sandbox as ``line_runs`` wants it. One broker at a time is away, and is back in sync before the next one."""

    def __init__(self, kafka: Kafka) -> None:
        self.bootstrap = kafka.bootstrap
        self.kills = 0
        self._kafka = kafka
        self._settings = {"bootstrap.servers": kafka.bootstrap, "log_level": 0}
        self._admin = AdminClient(self._settings)
        self._lock = threading.Lock()

    def create_topic(self, name: str) -> None:
        config = {"max.message.bytes": str(TOO_LARGE), "min.insync.replicas": "2"}
        topic = NewTopic(name, PARTITIONS, _REPLICAS, config=config)
        _until_done(
            lambda: self._admin.create_topics([topic], operation_timeout=30)[name].result(30),
            KafkaError.TOPIC_ALREADY_EXISTS,
        )

    def delete_topic(self, name: str) -> None:
        _until_done(
            lambda: self._admin.delete_topics([name], operation_timeout=30)[name].result(30),
            KafkaError.UNKNOWN_TOPIC_OR_PART,
        )

    def count(self, topic: str) -> int:
        with suppress(KafkaException):
            return sum(high for _, high in self._ends(topic).values())
        return 0

    def strike(self, fault: str, topic: str, rng: random.Random) -> None:
        assert fault == "leader"
        with self._lock:
            node = rng.choice(self._kafka.nodes)
            node.kill()
            self.kills += 1
            time.sleep(2 + rng.random() * 4)
            node.start()
            self._wait_for_replicas(topic)

    def _wait_for_replicas(self, topic: str) -> None:
        deadline = time.monotonic() + _MOST_IN_SYNC_WAIT
        while time.monotonic() < deadline:
            with suppress(KafkaException):
                partitions = self._admin.list_topics(topic, 10).topics[topic].partitions.values()
                if partitions and all(len(one.isrs) == _REPLICAS for one in partitions):
                    return
            time.sleep(0.3)
        raise TimeoutError(f"the replicas of {topic} did not come back")

    def values(self, topic: str) -> list[bytes]:
        """All committed records, in order of partition and offset, read while no broker is away.

        A leader that was a follower a moment ago may not have the last high watermark, and shows less than is stored.
        """
        with self._lock:
            self._wait_for_replicas(topic)
            return self._read(topic)

    def _read(self, topic: str) -> list[bytes]:
        found: list[bytes] = []
        wishes = {"enable.partition.eof": True, "isolation.level": "read_committed", "fetch.wait.max.ms": 50}
        judge = Consumer({**self._settings, "group.id": f"judge-{topic}", **wishes})
        for partition in range(PARTITIONS):
            judge.assign([JudgePartition(topic, partition, 0)])
            at_end = False
            while not at_end:
                for message in judge.consume(5_000, _AT_ONCE):
                    error = message.error()
                    if error is None:
                        found.append(message.value() or b"")
                    elif error.code() == KafkaError._PARTITION_EOF:
                        at_end = True
                        break
        judge.close()
        return found

    def _ends(self, topic: str) -> dict[int, tuple[int, int]]:
        judge = Consumer({**self._settings, "group.id": "ends"})
        try:
            return {
                number: judge.get_watermark_offsets(JudgePartition(topic, number), _LOOK)
                for number in range(PARTITIONS)
            }
        finally:
            judge.close()


def _until_done(ask: Callable[[], object], done: int) -> None:
    """Asks again while a broker is away; ``done`` is what is answered when an earlier attempt was carried out."""
    deadline = time.monotonic() + _MOST_IN_SYNC_WAIT
    while True:
        try:
            ask()
            return
        except KafkaException as error:
            if error.args[0].code() == done:
                return
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.5)


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="tests.chaos.lost_lines", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="run N has the seed SEED * 100000 + N")
    parser.add_argument("--first", type=int, default=0, help="number of the first run, to repeat one")
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--lines", type=int, default=12_000, help="most lines of a run")
    parser.add_argument("--port", type=int, default=0, help="of the first broker; free ones by default")
    wishes = parser.parse_args(arguments)
    seeds = [wishes.seed * 100_000 + number for number in range(wishes.first, wishes.first + wishes.runs)]
    extra = {**TEST_PROPERTIES, **FAST_FAILOVER}
    began = time.monotonic()
    with (
        sandboxed(brokers=3, extra=extra, jvm_options=QUICK_JVM, port=wishes.port) as kafka,
        tempfile.TemporaryDirectory() as folder,
    ):
        world = RealWorld(kafka)

        def one(seed: int) -> tuple[Case, Seen, list[str]]:
            case = draw(seed, FAULTS, count=wishes.lines, seconds=3.0, one_ack=False)
            own = Path(folder, str(seed))
            own.mkdir()
            seen = Seen(case)
            try:
                seen = Trial(world, case, own).run()
                wrong = judge(seen)
            except Exception as error:  # noqa: BLE001 - a run that could not be judged is shown with the others
                wrong = [f"not judged: {error!r}"]
            for what in wrong:
                print(f"WRONG {case.name}: {what}\n{seen.errors[-2_000:]}", flush=True)
            return case, seen, wrong

        with ThreadPoolExecutor(wishes.jobs) as pool:
            results = []
            for result in pool.map(one, seeds):
                results.append(result)
                if len(results) % 20 == 0:
                    print(f"{len(results)} runs, {time.monotonic() - began:.0f} s", flush=True)
    show(results, world.kills, time.monotonic() - began)
    return 1 if any(wrong for _, _, wrong in results) else 0


def show(results: Sequence[tuple[Case, Seen, list[str]]], kills: int, seconds: float) -> None:
    """The table: what was tried, what became of the lines."""
    head = ("fault", "runs", "processes", "lines", "stored", "failed file", "unknown", "fed again", "wrong")
    rows: dict[str, Counter[str]] = {}
    for case, seen, wrong in results:
        for name in (case.fault, "all"):
            row = rows.setdefault(name, Counter())
            row["runs"] += 1
            row["processes"] += seen.runs + (seen.refed is not None)
            row["lines"] += len(case.lines)
            row["stored"] += len(set(seen.stored))
            row["failed file"] += len(seen.entries)
            row["unknown"] += sum(report["unknown"] for report in seen.reports)
            row["fed again"] += (seen.refed or {}).get("lines", 0)
            row["wrong"] += bool(wrong)
    print("  ".join(f"{name:>11}" for name in head))
    for name in sorted(rows, key=lambda name: (name == "all", name)):
        print("  ".join(f"{value:>11}" for value in (name, *(f"{rows[name][key]:,}" for key in head[1:]))))
    print(f"{kills} brokers killed, {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
