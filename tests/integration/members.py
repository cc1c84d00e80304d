"""Members of a group, of several clients, that say what they own and what they read. Not a test.

kcli, confluent-kafka, kafka-python and aiokafka run in a thread each, the Java client in a process.
"""

import asyncio
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from confluent_kafka import KafkaException
from kafka.errors import KafkaError

from kcli.core import Consumer
from kcli.core.errors import KcliError
from kcli.sandbox.artifacts import classpath
from kcli.sandbox.config import DEFAULT_VERSION
from kcli.sandbox.java import find_java
from tests.kafka import Kafka

HEARTBEAT_MS, SESSION_MS = 300, 10_000
AUTO_COMMIT_MS = 200
PATIENCE = 120.0
_LOOK = 0.02
_POLL = 0.1

Place = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True)
class Manner:
    """``instance_id``: a static member. ``by_hand``: it commits after each poll that gave it records, and waits.

    ``busy_ms`` (Java): it works on them for so long before, and commits by their offsets, without a listener.
    """

    instance_id: str = ""
    by_hand: bool = False
    busy_ms: int = 0


class Member(ABC):
    """Joins when it is made. ``owned`` are partitions, ``read`` places in order; ``leave`` once.

    ``refused`` counts the commits by hand that failed; ``on_read`` hears of each place.
    """

    name = ""

    def __init__(
        self,
        kafka: Kafka,
        group: str,
        topic: str,
        protocol: str,
        assignor: str,
        manner: Manner = Manner(),
        on_read: Callable[[Place], object] | None = None,
    ) -> None:
        self.kafka, self.group, self.topic = kafka, group, topic
        self.protocol, self.assignor = protocol, assignor
        self.manner = manner
        self._on_read = on_read
        self.refused = 0
        self.owned: frozenset[int] = frozenset()
        self.read: list[Place] = []
        self.error: BaseException | None = None

    @abstractmethod
    def leave(self) -> None:
        """Commits, leaves, and returns when that is done."""

    def took(self, places: Iterable[Place]) -> None:
        """These were read."""
        for place in places:
            self.read.append(place)
            if self._on_read is not None:
                self._on_read(place)

    def __repr__(self) -> str:
        return f"{self.name} {sorted(self.owned)} {self.error or ''}"

    def _properties(self) -> dict[str, Any]:
        """In the words that Java and librdkafka share."""
        found: dict[str, Any] = {
            "bootstrap.servers": self.kafka.bootstrap,
            "group.id": self.group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": AUTO_COMMIT_MS,
            "metadata.max.age.ms": 1_000,
        }
        if self.manner.instance_id:
            found["group.instance.id"] = self.manner.instance_id
        if self.manner.by_hand:
            found["enable.auto.commit"] = "false"
        if self.manner.busy_ms:
            found["busy.ms"] = self.manner.busy_ms
        if self.protocol == "consumer":
            return {**found, "group.protocol": "consumer"}
        return {**found, "session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}


class Threaded(Member):
    """A client of this process: made, polled and closed in a thread of its own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"member-{self.name}", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        self._over.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), f"{self} does not end"
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self._open()
            try:
                while not self._over.is_set():
                    self._step()
            finally:
                self._close()
                self.owned = frozenset()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self.error = error

    def _by_hand(self, commit: Callable[[], object], refusal: type[Exception]) -> None:
        try:
            commit()
        except refusal:
            self.refused += 1

    @abstractmethod
    def _open(self) -> None: ...

    @abstractmethod
    def _step(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...


class Kcli(Threaded):
    """``changes``: what it was given and gave up, in order."""

    name = "kcli"

    def __init__(self, *args: Any, **options: Any) -> None:
        self.changes: list[tuple[str, int]] = []
        super().__init__(*args, **options)

    def _open(self) -> None:
        self._consumer = Consumer(
            bootstrap_servers=self.kafka.bootstrap,
            group_id=self.group,
            group_protocol=self.protocol,
            partition_assignment_strategy=self.assignor or "range",
            auto_offset_reset="earliest",
            auto_commit_interval_ms=AUTO_COMMIT_MS,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            metadata_max_age_ms=1_000,
            group_instance_id=self.manner.instance_id,
            enable_auto_commit=not self.manner.by_hand,
        )
        self._consumer.subscribe(
            self.topic,
            on_assigned=lambda partitions: self.changes.append(("assigned", len(partitions))),
            on_revoked=lambda partitions: self.changes.append(("revoked", len(partitions))),
            on_lost=lambda partitions: self.changes.append(("lost", len(partitions))),
        )

    def _step(self) -> None:
        places = [(record.partition, record.offset) for record in self._consumer.records(_POLL)]
        self.took(places)
        if places and self.manner.by_hand:
            self._by_hand(self._consumer.commit, KcliError)
        self.owned = frozenset(tp.partition for tp in self._consumer.assignment)

    def _close(self) -> None:
        self._consumer.close()


class Confluent(Threaded):
    name = "confluent"

    def _open(self) -> None:
        from confluent_kafka import Consumer as Theirs

        wishes = self._properties()
        if self.protocol == "classic":
            wishes["partition.assignment.strategy"] = self.assignor
        self._consumer = Theirs(wishes)
        self._consumer.subscribe([self.topic])

    def _step(self) -> None:
        messages = self._consumer.consume(500, _POLL)
        for message in messages:
            if message.error() is not None:
                raise RuntimeError(str(message.error()))
            self.took([(message.partition() or 0, message.offset() or 0)])
        if messages and self.manner.by_hand:
            self._by_hand(lambda: self._consumer.commit(asynchronous=False), KafkaException)
        self.owned = frozenset(where.partition for where in self._consumer.assignment())

    def _close(self) -> None:
        self._consumer.close()


class KafkaPython(Threaded):
    name = "kafka-python"

    def _open(self) -> None:
        from kafka import KafkaConsumer
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
        from kafka.coordinator.assignors.range import RangePartitionAssignor
        from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

        theirs = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            "cooperative-sticky": CooperativeStickyAssignor,
        }
        self._consumer = KafkaConsumer(
            partition_assignment_strategy=[theirs[self.assignor]],
            group_instance_id=self.manner.instance_id or None,
            **_python_options(self),
        )
        # A leader that hears of the topic only after it has assigned keeps its empty assignment (3.0.12).
        assert self._consumer.partitions_for_topic(self.topic)
        self._consumer.subscribe([self.topic])

    def _step(self) -> None:
        found = self._consumer.poll(int(_POLL * 1000))
        for records in found.values():
            self.took((record.partition, record.offset) for record in records)
        if found and self.manner.by_hand:
            self._by_hand(self._consumer.commit, KafkaError)
        self.owned = frozenset(where.partition for where in self._consumer.assignment())

    def _close(self) -> None:
        self._consumer.close()


def _python_options(member: Member) -> dict[str, Any]:
    """What kafka-python and aiokafka call alike."""
    return {
        "bootstrap_servers": member.kafka.bootstrap,
        "group_id": member.group,
        "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": AUTO_COMMIT_MS,
        "session_timeout_ms": SESSION_MS,
        "heartbeat_interval_ms": HEARTBEAT_MS,
        "metadata_max_age_ms": 1_000,
        "enable_auto_commit": not member.manner.by_hand,
    }


class AioKafka(Threaded):
    """On an event loop of its own."""

    name = "aiokafka"

    def _open(self) -> None:
        from aiokafka import AIOKafkaConsumer
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor
        from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

        theirs = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
        self._loop = asyncio.new_event_loop()

        async def begin() -> Any:
            consumer = AIOKafkaConsumer(
                self.topic,
                partition_assignment_strategy=[theirs[self.assignor]],
                rebalance_timeout_ms=60_000,
                **_python_options(self),
            )
            await consumer.start()
            return consumer

        self._consumer = self._loop.run_until_complete(begin())

    def _step(self) -> None:
        from aiokafka.errors import KafkaError

        found = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=int(_POLL * 1000)))
        for records in found.values():
            self.took((record.partition, record.offset) for record in records)
        if found and self.manner.by_hand:
            self._by_hand(lambda: self._loop.run_until_complete(self._consumer.commit()), KafkaError)
        self.owned = frozenset(where.partition for where in self._consumer.assignment())

    def _close(self) -> None:
        self._loop.run_until_complete(self._consumer.stop())
        self._loop.close()


_JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
_QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m")


class Java(Member):
    """``GroupMember.java``, with the clients of the broker's version."""

    name = "java"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        folder, jars = compiled(self.kafka.version)
        wishes = self._properties()
        if self.protocol == "classic":
            kind = _JAVA_ASSIGNORS[self.assignor]
            wishes["partition.assignment.strategy"] = f"org.apache.kafka.clients.consumer.{kind}"
        self._process = subprocess.Popen(
            [
                *(find_java().path, *_QUICK, "-cp", f"{folder}:{jars}", "GroupMember", self.topic),
                *(f"{key}={value}" for key, value in wishes.items()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._errors: list[str] = []
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._errors.extend, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def leave(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        for reader in self._readers:
            reader.join()
        assert code == 0, "".join(self._errors)
        self.owned = frozenset()

    def _listen(self, lines: Iterable[str]) -> None:
        for line in lines:
            what, *numbers = line.split() or [""]
            if what == "owned":
                self.owned = frozenset(map(int, numbers))
            elif what == "refused":
                self.refused += 1
            elif what == "read":  # its log is printed between the lines
                self.took([(int(numbers[0]), int(numbers[1]))])


_SOURCE = Path(__file__).with_name("GroupMember.java")


@cache
def compiled(version: str, source: Path = _SOURCE, release: str = "11") -> tuple[str, str]:
    """The folder of the class, and the jars that it needs. Skips where Java cannot compile. ``release`` is the Java that
    the class needs: what runs in a broker of Kafka 4 is compiled for its 17.
    """
    jars = ":".join(map(str, classpath(DEFAULT_VERSION if version == "unknown" else version)))
    folder = mkdtemp(prefix="kcli-tests-java-")
    compiler = (find_java().path, "-m", "jdk.compiler/com.sun.tools.javac.Main")
    done = subprocess.run(
        [*compiler, "--release", release, "-proc:none", "-cp", jars, "-d", folder, str(source)],
        capture_output=True,
        text=True,
    )
    if "jdk.compiler not found" in done.stderr:
        pytest.skip("this Java has no compiler")
    assert done.returncode == 0, done.stderr
    return folder, jars


CLIENTS: dict[str, type[Member]] = {one.name: one for one in (Kcli, Confluent, KafkaPython, AioKafka, Java)}


def wait_until(true: Callable[[], bool], members: Iterable[Member], what: str) -> None:
    """Returns when it is true; fails with what the members own, or with what ended one of them."""
    end = time.monotonic() + PATIENCE
    while not true():
        for member in members:
            if member.error is not None:
                raise member.error
        assert time.monotonic() < end, f"{what}: {list(members)}"
        time.sleep(_LOOK)
