"""Long runs of ``kcli mirror`` between two real clusters, judged by another client: kills, outages, and drills.

    python -m tests.chaos.mirror_service kills --times 100 --records 1000000 [--exactly-once]
    python -m tests.chaos.mirror_service outages --times 30 --longest 600 [--exactly-once]
    python -m tests.chaos.mirror_service drills --times 20 [--exactly-once]

kills: the mirror is killed at random moments, and started again. outages: one process follows the source all the time,
while the broker of either side is killed and comes back after 30 s to ``--longest``. drills: the source is killed at a
random moment, its copy is promoted, written to, and copied back to the source that has returned.

A topic for each codec is written in transactions, a tenth of them aborted, by confluent-kafka, which reads both sides at
the end. The last lines are a table; the exit status is 1 when a record is lost, reordered, or in exactly once doubled.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed
from tests.run import kcli_process, start

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 2
ABORTED = 0.1
_PATIENCE = 120.0
_TRANSACTION = 400  # records at most
_BACK = 180.0  # seconds for a follower to catch up after an outage

Logs = Mapping[tuple[str, int], Sequence[tuple[int, bytes]]]
"""By topic and partition: offset and digest of each committed record, in order."""


class Writer:
    """Writes transactions to a topic until it is told to stop; a broker that is away costs it a transaction."""

    def __init__(self, kafka: Kafka, topic: str, codec: str, seed: int, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._settings = {
            "bootstrap.servers": kafka.bootstrap,
            "transactional.id": f"{topic}-{seed}",
            "compression.type": codec,
            "linger.ms": 2,
            "log_level": 0,  # brokers die on purpose
        }
        self._topic = topic
        self._rng = random.Random(f"{topic} {seed}")
        self._number = 0
        self._producer: Producer | None = None

    def write(self, count: int) -> int:
        """At least ``count`` committed records; how many."""
        written = 0
        while written < count:
            written += self.transaction()
        return written

    def transaction(self) -> int:
        """One transaction; its committed records, 0 for one that was aborted or failed."""
        rng, size = self._rng, self._rng.randrange(1, _TRANSACTION)
        try:
            if self._producer is None:
                self._producer = Producer(self._settings)
                self._producer.init_transactions(self._patience)
            self._producer.begin_transaction()
            for _ in range(size):
                self._number += 1
                key = rng.choice((None, b"", b"%d" % rng.randrange(1_000)))
                value = b"%d " % self._number + rng.randbytes(int(300 ** rng.random()))
                headers = [("n", b"%d" % self._number), ("null", None)] if rng.random() < 0.1 else []
                self._producer.produce(
                    self._topic, value, key, partition=rng.randrange(PARTITIONS), headers=headers
                )
            if rng.random() < ABORTED:
                self._producer.flush(self._patience)
                self._producer.abort_transaction(self._patience)
                return 0
            self._producer.commit_transaction(self._patience)
        except (KafkaException, BufferError):
            self._producer = None
            return 0
        return size


class Writing:
    """Writers in a thread of their own, one transaction of each topic after the other, until the block ends."""

    def __init__(self, writers: Sequence[Writer], pause: float = 0.02) -> None:
        self._writers, self._pause = writers, pause
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_exc: object) -> None:
        self._ended.set()
        self._thread.join(2 * _PATIENCE)
        assert not self._thread.is_alive(), "it would write on"

    def _write(self) -> None:
        while not self._ended.is_set():
            for writer in self._writers:
                writer.transaction()
            self._ended.wait(self._pause)


def read(kafka: Kafka, topics: Sequence[str], *, whole: bool = False) -> Logs:
    """All committed records of the topics. ``whole``: open transactions are waited for. The answer to a commit may come
    before its markers (KIP-890), and a transaction of a writer that was killed ends by its timeout.
    """
    settings = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": "judge",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 50,
        "log_level": 0,
    }
    found: dict[tuple[str, int], list[tuple[int, bytes]]] = {
        (topic, partition): [] for topic in topics for partition in range(PARTITIONS)
    }
    if set(topics) - set(
        AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=_PATIENCE).topics
    ):
        return found  # nothing is copied yet
    if whole:
        began = time.monotonic()
        while ends(kafka, topics, IsolationLevel.READ_COMMITTED) != ends(kafka, topics):
            assert time.monotonic() < began + 5 * _PATIENCE, "a transaction does not end"
            if time.monotonic() > began + _PATIENCE:
                _end_hanging(kafka)
            time.sleep(0.1)
    with closing(Consumer(settings)) as judge:
        judge.assign([Place(topic, partition, 0) for topic, partition in found])
        left, deadline = set(found), time.monotonic() + 5 * _PATIENCE
        while left:
            assert time.monotonic() < deadline, f"no end of {sorted(left)}"
            for message in judge.consume(5_000, 0.2):
                place = message.topic(), message.partition()
                error = message.error()
                if error is None:
                    found[place].append((message.offset(), _digest(message)))
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(place)
    return found


def _end_hanging(kafka: Kafka) -> None:
    """A broker that is killed may leave a transaction that no coordinator knows any more: nothing else ends it."""
    done = kcli_process("txn", "list", "-b", kafka.bootstrap, "-o", "json")
    for one in json.loads(done.stdout)["items"]:
        for place in one["partitions"] if one["state"] == "Hanging" else ():
            topic, _, number = place.rpartition("-")
            words = ("--topic", topic, "-p", number, "-b", kafka.bootstrap, "--yes")
            ended = kcli_process("txn", "abort", *words)
            print(
                f"hanging transaction of {one['transactional_id']} in {place}: abort {ended.returncode}",
                flush=True,
            )


def ends(
    kafka: Kafka, topics: Sequence[str], isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
) -> dict[tuple[str, int], int]:
    """The high watermark of each partition, or its last stable offset."""
    wanted = {Place(topic, number): OffsetSpec.latest() for topic in topics for number in range(PARTITIONS)}
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})  # its answers end with it
    deadline = time.monotonic() + _PATIENCE
    while True:
        found = admin.list_offsets(wanted, isolation_level=isolation)
        try:
            return {(at.topic, at.partition): one.result(_PATIENCE).offset for at, one in found.items()}
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)  # a broker that has just come back does not lead all of them yet


def _digest(message: Any) -> bytes:
    said = (message.key(), message.value(), message.timestamp(), message.headers())
    return blake2b(repr(said).encode(), digest_size=16).digest()


class Judged(NamedTuple):
    """What the comparison found, in records."""

    source: int
    target: int
    lost: int
    reordered: int
    twice: int

    @property
    def sound(self) -> bool:
        """Whether nothing is lost and nothing out of order."""
        return not (self.lost or self.reordered)


def judge(source: Logs, target: Logs) -> Judged:
    """The first copies on the target have to be the records of the source, in their order."""
    lost = reordered = twice = 0
    for place, records in source.items():
        wanted = [digest for _, digest in records]
        there = [digest for _, digest in target[place]]
        firsts = list(dict.fromkeys(there))
        twice += len(there) - len(firsts)
        missing = set(wanted) - set(firsts)
        lost += len(missing)
        expected = [one for one in wanted if one not in missing]
        reordered += sum(a != b for a, b in zip(firsts, expected, strict=False))
        reordered += abs(len(firsts) - len(expected))
    return Judged(sum(map(len, source.values())), sum(map(len, target.values())), lost, reordered, twice)


class Service:
    """Two clusters, the topics, and the command line between them."""

    def __init__(
        self,
        source: Kafka,
        target: Kafka,
        folder: Path,
        seed: int,
        *,
        exactly_once: bool,
        job: str = "service",
        patience: float = _PATIENCE,
    ) -> None:
        self.source, self.target = source, target
        self.exactly_once, self._job = exactly_once, job
        self.rng = random.Random(seed)
        self.topics = [source.topic(codec, partitions=PARTITIONS) for codec in CODECS]
        self.writers = [
            Writer(source, topic, codec, seed, patience)
            for topic, codec in zip(self.topics, CODECS, strict=True)
        ]
        self._folder = folder
        self._runs = 0

    def write(self, records: int) -> None:
        """At least so many more committed records on the source, over all topics."""
        for writer in self.writers:
            writer.write(records // len(self.writers))

    def sides(self) -> list[str]:
        """The options that name the clusters and the job."""
        return ["--from", self.source.bootstrap, "--to", self.target.bootstrap, "--job", self._job]

    def begin(self, *more: str) -> "Run":
        """A mirror of all topics."""
        names = [word for topic in self.topics for word in ("-t", topic)]
        delivery = ["--exactly-once"] if self.exactly_once else []
        return self.run("run", *self.sides(), *names, *delivery, "--yes", *more)

    def run(self, verb: str, *words: str) -> "Run":
        """A command of the mirror as a process."""
        self._runs += 1
        log = self._folder / f"{self._runs}.log"
        out = self._folder / f"{self._runs}.json"
        with log.open("wb") as said, out.open("wb") as printed:
            process = start("mirror", verb, *words, stdin=subprocess.DEVNULL, stdout=printed, stderr=said)
        return Run(process, log, out)

    def finish(self) -> int:
        """Copies until everything is there; the exit status."""
        return self.begin("--until-caught-up").wait(5 * _PATIENCE)

    def judged(self) -> Judged:
        """Both sides, compared."""
        return judge(read(self.source, self.topics), read(self.target, self.topics))


class Run(NamedTuple):
    """A process of kcli, and the files of what it said and printed."""

    process: "subprocess.Popen[bytes]"
    log: Path
    out: Path

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    def wait(self, seconds: float) -> int:
        """Its exit status; AssertionError with what it said if it does not end."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it did not end: {self.said()}") from None

    def said(self) -> str:
        """The end of its stderr."""
        return self.log.read_text(errors="replace")[-3_000:]

    def document(self) -> dict[str, Any]:
        """What ``-o json`` printed."""
        found = json.loads(self.out.read_text() or "{}")
        assert isinstance(found, dict)
        return found


def kills(service: Service, times: int, records: int, _longest: float) -> bool:
    """The mirror is killed at random moments of its life, some of them in its first second."""
    service.write(records // 4)
    with Writing(service.writers):
        for number in range(times):
            run = service.begin()
            moment = service.rng.choice((service.rng.uniform(0.3, 1.5), service.rng.uniform(1, 6)))
            time.sleep(moment)
            assert run.alive, f"run {number} ended: {run.said()}"
            run.kill()
            print(f"kill {number + 1} after {moment:.1f} s", flush=True)
    while (have := sum(map(len, read(service.source, service.topics).values()))) < records:
        service.write(records - have)
    code = service.finish()
    return _told("kills", times, service, f"the last run ended with {code}", good=code == 0)


def outages(service: Service, times: int, records: int, longest: float) -> bool:
    """The broker of one side is away again and again; one process has to live through all of it."""
    share = max(1, records // (times + 1))
    service.write(share)
    run = service.begin()
    _caught_up(service, run)  # what cannot be reached at the start ends a run
    for number in range(times):
        side = service.rng.choice(("source", "target"))
        away = min(longest, 30 * (longest / 30) ** service.rng.random())
        node = (service.source if side == "source" else service.target).nodes[0]
        node.kill()
        time.sleep(away)
        node.start()
        service.write(share)
        seconds = _caught_up(service, run)
        print(f"outage {number + 1}: {side} {away:.0f} s, caught up {seconds:.0f} s later", flush=True)
    run.process.terminate()
    code = run.wait(_PATIENCE)
    again = service.finish()
    return _told("outages", times, service, f"ended with {code}, {again}", good=again == 0)


def drills(service: Service, times: int, records: int, _longest: float) -> bool:
    """One drill on these clusters after the other, each with topics of its own."""
    sound = [_drill(service, number, records // times) for number in range(times)]
    return all(sound)


def _drill(given: Service, number: int, records: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        service = Service(
            given.source,
            given.target,
            Path(folder),
            given.rng.randrange(1 << 30),
            exactly_once=given.exactly_once,
            job=f"drill-{number}",
            patience=10.0,  # the source is about to be killed
        )
        service.write(records // 2)
        run = service.begin()
        with Writing(service.writers):
            while not any(map(any, read(service.target, service.topics).values())):
                assert run.alive, run.said()
                time.sleep(0.2)  # a job that has not begun has no recovery point
            time.sleep(service.rng.uniform(0, 6))
            service.source.nodes[0].kill()
        time.sleep(service.rng.uniform(0, 3))
        promotion = service.run("promote", *service.sides(), "--source-lost", "--yes", "-o", "json")
        code = promotion.wait(_PATIENCE)
        assert code in (0, 6), promotion.said()
        point = {(item["topic"], item["partition"]): item for item in promotion.document()["items"]}
        run.wait(_PATIENCE)  # fenced
        copied = read(service.target, service.topics, whole=True)
        fresh = [Writer(service.target, topic, "lz4", 7) for topic in service.topics]
        for writer in fresh:
            writer.write(200)
        written = read(service.target, service.topics, whole=True)
        service.source.nodes[0].start()
        stops = ends(service.source, service.topics)
        stranded = Path(folder, "stranded.ndjson")
        back = service.run("reverse", *service.sides(), "--stranded", str(stranded), "--yes", "-o", "json")
        code = back.wait(_PATIENCE)
        assert code in (0, 6), back.said()
        returned = read(service.source, service.topics, whole=True)
        original = {
            place: [one for one in records if one[0] < stops[place]] for place, records in returned.items()
        }
        wrong = _wrong_point(point, original, copied)
        wrong += _wrong_return(point, original, copied, written, returned, stranded)
        print(
            f"drill {number + 1}: promote and reverse, {len(wrong)} wrong", *wrong[:5], sep="\n  ", flush=True
        )
        return not wrong


def _wrong_point(point: Mapping[tuple[str, int], Any], original: Logs, copied: Logs) -> list[str]:
    """What the recovery point says and is not so."""
    wrong = []
    for place, records in original.items():
        item = point.get(place)
        if item is None:
            wrong.append(f"{place} is not in the recovery point")
            continue
        there = {digest for _, digest in copied[place]}
        for offset, digest in records:
            if (offset < item["copied_to"]) != (digest in there):
                found = "there" if digest in there else "not there"
                wrong.append(f"{place}: offset {offset}, copied to {item['copied_to']}, is {found}")
    return wrong


def _wrong_return(
    point: Mapping[tuple[str, int], Any],
    original: Logs,
    copied: Logs,
    written: Logs,
    returned: Logs,
    stranded: Path,
) -> list[str]:
    """What the source lacks, or has twice, after the way back; what of the stranded records is not listed."""
    wrong = []
    lines = [json.loads(line) for line in stranded.read_text().splitlines()] if stranded.exists() else []
    listed = {(one["topic"], one["partition"], one["offset"]) for one in lines}
    for place, records in original.items():
        new = [digest for _, digest in written[place][len(copied[place]) :]]
        expected = [digest for _, digest in records] + new
        if [digest for _, digest in returned[place]] != expected:
            wrong.append(
                f"{place}: {len(returned[place])} records after the return, expected {len(expected)}"
            )
        left = {(*place, offset) for offset, _ in records if offset >= point[place]["copied_to"]}
        if left != {one for one in listed if one[:2] == place}:
            wrong.append(f"{place}: {len(left)} stranded records, and others are listed")
    return wrong


def _ends(kafka: Kafka, service: Service) -> int:
    """The committed records of the source."""
    return sum(map(len, read(kafka, service.topics).values()))


def _copied(service: Service) -> int:
    """Those of the target, without repetitions."""
    return sum(
        len({digest for _, digest in records}) for records in read(service.target, service.topics).values()
    )


def _caught_up(service: Service, run: Run) -> float:
    """Waits until the target has all records of the source; the seconds that it took."""
    began = time.monotonic()
    while True:
        assert run.alive, f"the follower ended: {run.said()}"
        with suppress(KafkaException):
            if _ends(service.source, service) <= _copied(service):
                return time.monotonic() - began
        assert time.monotonic() - began < _BACK, f"the follower does not catch up: {run.said()}"
        time.sleep(2)


def _told(what: str, times: int, service: Service, more: str, *, good: bool) -> bool:
    """Prints the table; whether all is well."""
    found = service.judged()
    print(f"{what}  times  source  target  lost  reordered  twice")
    print(
        f"{what}  {times}  {found.source}  {found.target}  {found.lost}  {found.reordered}  {found.twice}  {more}"
    )
    return good and found.sound and not (service.exactly_once and found.twice)


@contextmanager
def clusters(version: str | None) -> Iterator[tuple[Kafka, Kafka]]:
    """A source and a target of one broker each."""
    wishes: dict[str, Any] = {"extra": TEST_PROPERTIES, "jvm_options": QUICK_JVM}
    if version:
        wishes["version"] = version
    with sandboxed(**wishes) as source, sandboxed(**wishes) as target:
        yield source, target


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="tests.chaos.mirror_service", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("kills", "outages", "drills"))
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--longest", type=float, default=600.0, help="seconds of the longest outage")
    parser.add_argument("--exactly-once", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kafka", help="version of both clusters")
    wishes = parser.parse_args(arguments)
    act = {"kills": kills, "outages": outages, "drills": drills}[wishes.what]
    with ExitStack() as stack:
        source, target = stack.enter_context(clusters(wishes.kafka))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = Service(source, target, folder, wishes.seed, exactly_once=wishes.exactly_once)
        good = act(service, wishes.times, wishes.records, wishes.longest)
    print("exactly once: nothing may be there twice" if wishes.exactly_once else "at least once")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
