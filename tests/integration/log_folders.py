"""Log directories that a broker wrote, and what it answered before it was killed. Not a test.

``make`` fills a broker with topics of every kind, keeps its answers and kills it; ``compare`` lists what its folder has
else.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kcli.core import Cluster
from kcli.core.logdir.folders import PartitionFolder, find
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kcli.core.records.batch import split_batches
from kcli.core.records.isolation import visible_batches
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, sandboxed

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BASE = 1_700_000_000_000
_SMALL = {"segment.bytes": str(1 << 20), "retention.ms": "-1"}
_COMPACT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "100",
    "segment.ms": "500",
    "delete.retention.ms": "100",
}
Answers = dict[str, Any]


def write(bootstrap: str, version: str, log: Callable[[str], None] = print) -> None:
    """Topics of every kind, with transactions that were committed, aborted, and left open."""
    old = version.startswith("2.")
    wanted: dict[str, dict[str, str]] = {f"codec-{name}": _SMALL for name in CODECS}
    wanted |= {
        "appended": _SMALL | {"message.timestamp.type": "LogAppendTime"},
        "times": _SMALL,
        "trimmed": _SMALL,
        "txn": _SMALL,
        "compacted": _SMALL | _COMPACT,
        "empty": _SMALL,
    }
    if old:
        wanted |= {"format-0": _SMALL | {"message.format.version": "0.9.0"}}
        wanted |= {"format-1": _SMALL | {"message.format.version": "0.10.2"}}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(name, 1, 1, config=dict(config)) for name, config in wanted.items()]
    for made in admin.create_topics(topics, operation_timeout=60, request_timeout=60).values():
        made.result(120)
    for name in CODECS:
        _plain(bootstrap, f"codec-{name}", 5_000, name, lambda index: BASE + index * 10)
    _plain(bootstrap, "appended", 3_000, "lz4", lambda index: BASE + index)
    _plain(bootstrap, "times", 5_000, "none", lambda index: BASE + (index * 7_919) % 5_000 * 100)
    _plain(bootstrap, "trimmed", 5_000, "none", lambda index: BASE + index)
    for name in sorted(wanted):
        if name.startswith("format-"):
            _plain(bootstrap, name, 1_500, "none", lambda index: BASE + index, headers=False)
            _plain(bootstrap, name, 1_500, "gzip", lambda index: BASE + 9_000 + index, headers=False)
            _plain(bootstrap, name, 1_500, "snappy", lambda index: BASE + 20_000 + index, headers=False)
            _plain(bootstrap, name, 1_500, "lz4", lambda index: BASE + 30_000 + index, headers=False)
    _compacted(bootstrap)
    _transactions(bootstrap)
    admin.delete_records([TopicPartition("trimmed", 0, 3_333)])[TopicPartition("trimmed", 0)].result(60)
    log("written")


def _plain(
    bootstrap: str, topic: str, count: int, codec: str, when: Callable[[int], int], *, headers: bool = True
) -> None:
    producer = _producer(bootstrap, **{"compression.type": codec, "linger.ms": 5, "batch.size": 16_384})
    for index in range(count):
        key = None if index % 7 == 0 else b"k%d" % (index % 100)
        value = None if index % 11 == 0 and key else hashlib.sha256(b"%d" % index).hexdigest().encode() * 5
        extra = [("h", b"%d" % index), ("n", None)] if headers and index % 3 == 0 else None
        producer.produce(topic, value, key, 0, timestamp=when(index), headers=extra)
        producer.poll(0)
        if index % 500 == 499:
            producer.flush(60)
    assert producer.flush(60) == 0


def _producer(bootstrap: str, **more: object) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0, **more})


def _compacted(bootstrap: str) -> None:
    producer = _producer(bootstrap, **{"linger.ms": 2})
    for round_ in range(6):
        for index in range(600):
            value = None if (index + round_) % 9 == 0 else b"%d-" % round_ + b"v" * 300
            producer.produce("compacted", value, b"k%d" % (index % (200 + round_)), 0)
        producer.flush(60)
        time.sleep(0.7)  # the segment rolls with the next record


def _transactions(bootstrap: str) -> None:
    made = [
        _producer(bootstrap, **{"transactional.id": f"tx-{n}", "transaction.timeout.ms": 600_000})
        for n in range(4)
    ]
    for one in made:
        one.init_transactions(60)
    long, short, other, last = made
    for turn in range(12):
        if turn in (0, 6):
            long.begin_transaction()
        for producer in (short, other):
            producer.begin_transaction()
        for index in range(120):
            for producer, name in ((long, b"l"), (short, b"s"), (other, b"o")):
                producer.produce(
                    "txn",
                    b"%d-%d" % (turn, index) + b"v" * 300,
                    name,
                    0,
                    timestamp=BASE + turn * 1_000 + index,
                )
        for producer in (long, short, other):
            producer.flush(60)
        (short.abort_transaction if turn % 3 == 0 else short.commit_transaction)(60)
        (other.abort_transaction if turn % 4 == 1 else other.commit_transaction)(60)
        if turn in (5, 11):
            (long.abort_transaction if turn == 5 else long.commit_transaction)(60)
    last.begin_transaction()
    last.produce("txn", b"open", b"open", 0)
    last.flush(60)
    OPEN.append(last)


OPEN: list[Producer] = []
"""Producers whose transactions stay open: their end would abort them."""


def digest(message: Sequence[Any]) -> str:
    """Of key, value, headers, time and its kind."""
    return hashlib.sha1(repr(tuple(message)).encode()).hexdigest()[:16]


def _of_message(message: Message) -> tuple[Any, ...]:
    kind, when = message.timestamp()
    headers = tuple((name, value) for name, value in message.headers() or ())
    return message.key(), message.value(), headers, when if kind else -1, kind - 1


def read(bootstrap: str, topic: str, isolation: str) -> dict[int, str]:
    """What a consumer gets of a topic's partition 0."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False,
            "isolation.level": isolation, "log_level": 0, "enable.partition.eof": True, "check.crcs": True,
            "auto.offset.reset": "earliest",
        }
    )  # fmt: skip
    found = {}
    try:
        consumer.assign([TopicPartition(topic, 0, -2)])
        while (message := consumer.poll(60)) is not None:
            if message.error():
                break
            found[message.offset()] = digest(_of_message(message))
    finally:
        consumer.close()
    return found


def answers(bootstrap: str, version: str) -> Answers:
    """What the broker says about every topic, and its records."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = sorted(name for name in admin.list_topics(timeout=60).topics if not name.startswith("__"))
    given: Answers = {}
    options = ClientOptions(bootstrap_servers=bootstrap)
    with Cluster(options) as cluster:
        for name in names:
            given[name] = {
                "all": read(bootstrap, name, "read_uncommitted"),
                "committed": read(bootstrap, name, "read_committed"),
                "offsets": _offsets(cluster, name, newest=not version.startswith("2.")),
                "aborted": list(_aborted(cluster, name)),
            }
    return given


def _ask(cluster: Cluster, request: Any) -> Any:
    future = cluster.send(request, next(iter(cluster.connect(60).nodes)), timeout=60)
    cluster.poll(60, future)
    return future.value


def _offsets(cluster: Cluster, topic: str, *, newest: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    times = [
        -2,
        -1,
        *([-3] if newest else []),
        0,
        BASE - 1,
        *(BASE + step for step in (0, 1, 55, 777, 5_001, 20_123, 49_990, 400_000, 10**9)),
    ]
    for isolation in (0, 1):
        for when in times:
            if isolation and when != -1:
                continue
            part = ListOffsetsPartition(partition_index=0, timestamp=when)
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation,
                topics=[ListOffsetsTopic(name=topic, partitions=[part])],
            )
            answer = _ask(cluster, request)
            got = answer.topics[0].partitions[0]
            key = f"{'committed ' if isolation else ''}{when}"
            found[key] = None if got.error_code else [got.offset, got.timestamp, got.leader_epoch]
    return found


def _fetch(cluster: Cluster, topic: str, offset: int, most: int) -> PartitionData:
    part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=most)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=most, isolation_level=1,
        topics=[FetchTopic(topic=topic, partitions=[part])],
    )  # fmt: skip
    request.cap_version(12)
    data: PartitionData = _ask(cluster, request).responses[0].partitions[0]
    return data


def _aborted(cluster: Cluster, topic: str) -> Iterator[list[Any]]:
    """For parts of the log: where it begins and ends, and the aborted transactions that the broker names."""
    for start, most in itertools.product(
        (0, 1, 130, 400, 777, 1_500, 2_500, 3_500), (2_000, 60_000, 1 << 20)
    ):
        data = _fetch(cluster, topic, start, most)
        if data.error_code or not isinstance(data.records, memoryview) or not len(data.records):
            continue
        batches = list(split_batches(data.records))
        named = sorted((one.producer_id, one.first_offset) for one in data.aborted_transactions or ())
        if batches:
            yield [start, batches[-1].next_offset, [one for one in named if one[1] < batches[-1].next_offset]]


class Load:
    """A producer that never stops, and a consumer that keeps what it read, until the broker is dead."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.read: dict[int, str] = {}
        self._bootstrap = bootstrap
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self._consume)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + 120
        while len(self.read) < 15_000 and time.monotonic() < deadline:
            time.sleep(0.05)  # 3 MB: three segments
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _produce(self) -> None:
        producer = _producer(
            self._bootstrap, **{"compression.type": "lz4", "linger.ms": 1, "message.timeout.ms": 2_000}
        )
        for index in itertools.count():
            if self._stop.is_set():
                break
            with suppress(BufferError):
                producer.produce(self.topic, b"%d-" % index + os.urandom(200), b"k", 0)
            producer.poll(0)
            if index % 200 == 0:
                time.sleep(0.01)
        producer.purge()
        producer.flush(5)

    def _consume(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "load",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        while not self._stop.is_set():
            for message in consumer.consume(500, 0.2):
                if not message.error():
                    self.read[message.offset()] = digest(_of_message(message))
        consumer.close()


def records(log: PartitionLog, *, committed: bool, start: int = 0) -> dict[int, str]:
    """The same of a folder, as a consumer would get it."""
    start = max(start, log.start_offset)
    stop = log.last_stable_offset if committed else log.end_offset
    named = log.aborted(start, stop) if committed else []
    aborted = [(one.producer_id, one.first_offset) for one in named]
    found = {}
    batches = (placed.batch for _, placed in log.batches(start, stop, verify=True))
    for batch, visible in visible_batches(batches, aborted, committed_only=committed):
        if visible:
            for record in batch.records():
                if start <= record.offset < stop:
                    headers = tuple(record.headers)
                    row = record.key, record.value, headers, record.timestamp, record.timestamp_type
                    found[record.offset] = digest(row)
    return found


def compare(folders: Sequence[str], given: Answers) -> list[str]:
    """Differences between the folder and what the broker said; nothing may be in it."""
    found = find(folders)
    by_topic = {one.tp.topic: one for one in found.partitions if one.state == "current"}
    wrong = [f"missing: {missing}" for missing in found.missing]
    for topic, answer in given.items():
        with PartitionLog(by_topic[topic]) as log:
            wrong += [f"{topic}: {line}" for line in _compare(log, answer)]
    return wrong


def _compare(log: PartitionLog, answer: Answers) -> Iterator[str]:
    for name, committed in (("all", False), ("committed", True)):
        expected = {int(offset): value for offset, value in answer[name].items()}
        got = records(log, committed=committed)
        if got != expected:
            lacks = sorted(expected.keys() - got.keys())[:5]
            more = sorted(got.keys() - expected.keys())[:5]
            other = [offset for offset in expected if offset in got and got[offset] != expected[offset]][:5]
            yield f"{name}: {len(expected)} records, {len(got)} read; lacks {lacks}, more {more}, other {other}"
    for start, stop, aborted in answer["aborted"]:
        mine = sorted([one.producer_id, one.first_offset] for one in log.aborted(start, stop))
        if mine != [list(one) for one in aborted]:
            yield f"aborted in {start} to {stop}: {mine}, the broker said {aborted}"
    for when, expected in answer["offsets"].items():
        mine = _listed(log, when)
        same = 3 if log.last_epoch >= 0 else 2  # old formats: only the broker knew its epoch
        if expected is not None and mine[:same] != expected[:same]:
            yield f"offset for {when}: {mine}, the broker said {expected}"


def _listed(log: PartitionLog, when: str) -> list[int]:
    if when == "committed -1":
        return [log.last_stable_offset, -1, _epoch_at(log, log.last_stable_offset)]
    time_ = int(when)
    if time_ == -1:
        return [log.end_offset, -1, _epoch_at(log, log.end_offset)]
    if time_ == -2:
        return [log.start_offset, -1, _epoch_at(log, log.start_offset)]
    found = log.latest_time() if time_ == -3 else log.offset_for_time(time_)
    return [-1, -1, -1] if found is None else [found.offset, found.timestamp, found.leader_epoch]


def _epoch_at(log: PartitionLog, offset: int) -> int:
    return max((one.epoch for one in log.epochs() if one.start_offset <= offset), default=-1)


@dataclass(frozen=True)
class Made:
    """A log directory of a broker that was killed; ``given`` is what it answered, ``load`` what was read until then."""

    folder: Path
    given: Answers
    load: dict[int, str]


def make(version: str, data: Path, kept: Path, log: Callable[[str], None] = print) -> Made:
    """Fills a broker, keeps its answers, reads its folder while it is written, and kills it."""
    with sandboxed(version=version, data=str(data), jvm_options=QUICK_JVM, extra=TEST_PROPERTIES) as kafka:
        log("up")
        write(kafka.bootstrap, version)
        log("written")
        _wait_for_compaction(data)
        log("compacted")
        given = answers(kafka.bootstrap, version)
        log("answered")
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        topic = NewTopic("load", 1, 1, config={"segment.bytes": str(1 << 20)})
        admin.create_topics([topic], request_timeout=60)["load"].result(60)
        with Load(kafka.bootstrap, "load") as load:
            log("loaded")
            live = find([data / "node-1"])
            assert [one.live for one in live.log_dirs] == [True]
            (folder,) = [one for one in live.partitions if one.tp.topic == "load"]
            _read_while_it_is_written(folder)
            kafka.nodes[0].kill()
        log("killed")
        shutil.copytree(data / "node-1", kept)
    (kept / "answers.json").write_text(json.dumps(given))
    (kept / "load.json").write_text(json.dumps(load.read))
    return Made(kept, given, load.read)


def _wait_for_compaction(data: Path) -> None:
    """Until the cleaner has written its checkpoint for the topic, and changes no file any more."""
    deadline = time.monotonic() + 120
    checkpoint = data / "node-1" / "cleaner-offset-checkpoint"
    while not checkpoint.exists() or "compacted 0 " not in checkpoint.read_text():
        assert time.monotonic() < deadline, "the cleaner did nothing"
        time.sleep(0.2)
    previous = None
    while previous != (now := _sizes(data)):
        previous = now
        time.sleep(2)
        assert time.monotonic() < deadline, "the cleaner has no end"


def _sizes(data: Path) -> list[tuple[str, int]]:
    found = []
    for path in sorted((data / "node-1" / "compacted-0").glob("*.log")):
        with suppress(FileNotFoundError):
            found.append((path.name, path.stat().st_size))
    return found


def _read_while_it_is_written(folder: PartitionFolder) -> None:
    with PartitionLog(folder) as log:
        ends = []
        for _ in range(10):
            log.refresh()
            start = max(0, log.end_offset - 2_000)
            assert len(records(log, committed=False, start=start)) == log.end_offset - start
            ends.append(log.end_offset)
        assert ends == sorted(ends)


def main() -> None:
    version, kept = sys.argv[1], Path(sys.argv[2])
    shutil.rmtree(kept, ignore_errors=True)
    began = time.monotonic()

    def log(text: str) -> None:
        print(f"{time.monotonic() - began:.0f} s: {text}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        made = make(version, Path(folder) / "data", kept, log)
    print(*compare([str(kept)], made.given), f"{len(made.load)} records under load", sep="\n", flush=True)
    os._exit(0)  # producers whose transactions stay open would wait for their broker


if __name__ == "__main__":
    main()
