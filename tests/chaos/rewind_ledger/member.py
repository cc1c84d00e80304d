"""A member of a group in a process of its own, of one of the Python clients: ``python -m …member JSON``. Not a test.

Each line of its output is an event, written at once, so that a SIGKILL loses none; times are of the monotonic clock,
which all processes of a machine share:

    read AT PARTITION FIRST END …    what a poll returned: runs of offsets without a gap, END is exclusive
    owned AT PARTITION …             what it owns, whenever that has changed
    commit AT | refused AT WHY       of commits that it makes itself
    long AT                          the one long batch has begun

A line ``long SECONDS`` on its input asks for that batch. SIGTERM, or the end of the input, makes it leave as soon as it
has ended its batch.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from typing import Any

_POLL = 0.05
_BATCH = 5_000
_CALLBACK_PAUSE = 2.0

Batch = dict[int, list[int]]
"""Offsets by partition."""
Offsets = dict[int, int]
"""The next offset to read, by partition."""


def say(*words: object) -> None:
    """One write for each line."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


class Member(ABC):
    """One client. What is abstract is called in the thread that polls, ``commit`` also in a worker's."""

    threads = False
    """Whether ``commit`` may be called from another thread."""

    def __init__(self, wishes: dict[str, Any]) -> None:
        self.wishes = wishes
        self.topic = wishes["topic"]
        self.habit = wishes["habit"]
        self.read: Offsets = {}  # of the callback habit: what it has worked on and not committed
        self.open()

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def poll(self) -> Batch: ...

    @abstractmethod
    def owned(self) -> set[int]: ...

    @abstractmethod
    def commit(self, offsets: Offsets | None) -> None:
        """Returns when it is done; None: the positions."""

    @abstractmethod
    def close(self) -> None: ...

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def try_commit(self, offsets: Offsets | None) -> bool:
        """False: it was refused."""
        try:
            self.commit(offsets)
        except Exception as error:  # noqa: BLE001 - each client has its own, and all of them are expected
            say("refused", time.monotonic(), type(error).__name__, str(error).replace("\n", " ")[:120])
            return False
        say("commit", time.monotonic())
        return True

    def revoked(self) -> None:
        """The callback habit commits what it has worked on."""
        if self.read:
            self.try_commit(self.read)
            self.read = {}


class Confluent(Member):
    threads = True

    def open(self) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self._place = TopicPartition
        wishes = self.wishes
        options = {
            **_common(wishes, "."),
            "bootstrap.servers": wishes["bootstrap"],
            "enable.auto.commit": self.habit == "auto",
        }
        if wishes["assignor"]:
            options["partition.assignment.strategy"] = wishes["assignor"]
        else:
            options["group.protocol"] = "consumer"
            for key in ("session.timeout.ms", "heartbeat.interval.ms"):
                del options[key]
        self._consumer = Consumer(options)
        if self.habit == "callback":
            self._consumer.subscribe([self.topic], on_revoke=lambda *_: self.revoked())
        else:
            self._consumer.subscribe([self.topic])

    def poll(self) -> Batch:
        found: Batch = {}
        for message in self._consumer.consume(_BATCH, _POLL):
            if message.error() is None:
                found.setdefault(message.partition(), []).append(message.offset())
            elif message.error().fatal():
                raise RuntimeError(str(message.error()))
        return found

    def owned(self) -> set[int]:
        return {one.partition for one in self._consumer.assignment()}

    def commit(self, offsets: Offsets | None) -> None:
        if offsets is None:
            self._consumer.commit(asynchronous=False)
        else:
            places = [self._place(self.topic, partition, offset) for partition, offset in offsets.items()]
            for place in self._consumer.commit(offsets=places, asynchronous=False):
                if place.error is not None:
                    raise RuntimeError(str(place.error))

    def close(self) -> None:
        self._consumer.close()


class KafkaPython(Member):
    def open(self) -> None:
        from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
        from kafka.coordinator.assignors.range import RangePartitionAssignor
        from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
        from kafka.structs import OffsetAndMetadata

        self._place, self._offset = TopicPartition, OffsetAndMetadata
        theirs = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            "sticky": StickyPartitionAssignor,
            "cooperative-sticky": CooperativeStickyAssignor,
        }
        member = self

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_revoked(self, revoked: Any) -> None:
                member.revoked()

            def on_partitions_assigned(self, assigned: Any) -> None: ...

        self._consumer = KafkaConsumer(
            partition_assignment_strategy=[theirs[self.wishes["assignor"]]],
            bootstrap_servers=self.wishes["bootstrap"],
            enable_auto_commit=self.habit == "auto",
            max_poll_records=_BATCH,
            **_common(self.wishes, "_"),
        )
        # A leader that hears of the topic only after it has assigned keeps its empty assignment (3.0.12).
        assert self._consumer.partitions_for_topic(self.topic)
        self._consumer.subscribe([self.topic], listener=Listener() if self.habit == "callback" else None)

    def poll(self) -> Batch:
        found = self._consumer.poll(int(_POLL * 1000))
        return {place.partition: [record.offset for record in records] for place, records in found.items()}

    def owned(self) -> set[int]:
        return {place.partition for place in self._consumer.assignment()}

    def commit(self, offsets: Offsets | None) -> None:
        if offsets is None:
            self._consumer.commit()
        else:
            self._consumer.commit(
                {self._place(self.topic, p): self._offset(offset, "", -1) for p, offset in offsets.items()}
            )

    def close(self) -> None:
        self._consumer.close()


class AioKafka(Member):
    """On an event loop of its own, which turns while the application works."""

    def open(self) -> None:
        from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor
        from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        self._place = TopicPartition
        theirs = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            "sticky": StickyPartitionAssignor,
        }
        member = self

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            async def on_partitions_revoked(self, revoked: Any) -> None:
                done, member.read = member.read, {}
                if done:
                    try:
                        await member._consumer.commit(member._places(done))
                    except Exception as error:  # noqa: BLE001 - as in try_commit
                        say("refused", time.monotonic(), type(error).__name__)

            async def on_partitions_assigned(self, assigned: Any) -> None: ...

        self._loop = asyncio.new_event_loop()

        async def begin() -> Any:
            consumer = AIOKafkaConsumer(
                partition_assignment_strategy=[theirs[self.wishes["assignor"]]],
                bootstrap_servers=self.wishes["bootstrap"],
                enable_auto_commit=self.habit == "auto",
                rebalance_timeout_ms=60_000,
                max_poll_records=_BATCH,
                **_common(self.wishes, "_"),
            )
            consumer.subscribe([self.topic], listener=Listener() if self.habit == "callback" else None)
            await consumer.start()
            return consumer

        self._consumer = self._loop.run_until_complete(begin())

    def _places(self, offsets: Offsets) -> dict[Any, int]:
        return {self._place(self.topic, partition): offset for partition, offset in offsets.items()}

    def poll(self) -> Batch:
        found = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=int(_POLL * 1000)))
        return {place.partition: [record.offset for record in records] for place, records in found.items()}

    def owned(self) -> set[int]:
        return {place.partition for place in self._consumer.assignment()}

    def commit(self, offsets: Offsets | None) -> None:
        places = None if offsets is None else self._places(offsets)
        self._loop.run_until_complete(self._consumer.commit(places))

    def close(self) -> None:
        self._loop.run_until_complete(self._consumer.stop())
        self._loop.close()

    def sleep(self, seconds: float) -> None:
        self._loop.run_until_complete(asyncio.sleep(seconds))


def _common(wishes: dict[str, Any], joint: str) -> dict[str, Any]:
    """What the clients call alike, with their joint between the words."""
    common = {
        "group.id": wishes["group"],
        "client.id": wishes["client_id"],
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": wishes["auto_ms"],
        "session.timeout.ms": wishes["session_ms"],
        "heartbeat.interval.ms": wishes["heartbeat_ms"],
        "metadata.max.age.ms": 5_000,
    }
    if wishes["instance_id"]:
        common["group.instance.id"] = wishes["instance_id"]
    return {key.replace(".", joint): value for key, value in common.items()}


class Worker:
    """Commits what it is given late: it takes all there is, works for a while, and commits that."""

    def __init__(self, member: Member, delay: float) -> None:
        self._member, self._delay = member, delay
        self._lock = threading.Lock()
        self._given: Offsets = {}
        self._taken: Offsets = {}
        self._due = 0.0
        self._long = 0.0
        self.idle = True
        if member.threads:
            threading.Thread(target=self._run, daemon=True).start()

    def give(self, offsets: Offsets, long: float) -> None:
        with self._lock:
            self._given |= offsets
            self._long = max(self._long, long)

    def turn(self) -> None:
        """Called often, by the thread that may commit."""
        with self._lock:
            if self._taken and time.monotonic() >= self._due:
                done, self._taken = self._taken, {}
            else:
                done = {}
            if not self._taken and not done and self._given:
                self._taken, self._given = self._given, {}
                self._due = time.monotonic() + (self._long or self._delay)
                self._long = 0.0
        if done:
            self._member.try_commit(done)

    def _run(self) -> None:
        while True:
            self.turn()
            time.sleep(0.02)


class Application:
    """Polls, works and commits, as its habit is, until it is to leave."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._busy: float = member.wishes["busy"]
        self._worker = Worker(member, max(1.0, self._busy)) if member.habit == "worker" else None
        self._leaving = False
        self._long = 0.0
        self._owned: set[int] = set()
        self._refused: Offsets = {}  # of the retry habit
        self._committed = time.monotonic()

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._leave)
        threading.Thread(target=self._listen, daemon=True).start()
        while not self._leaving:
            batch = self._member.poll()
            now = time.monotonic()
            owned = self._member.owned()
            if owned != self._owned:
                self._owned = owned
                say("owned", now, *sorted(owned))
            if batch:
                say("read", now, *(number for run in runs(batch) for number in run))
                self._work(batch)
            elif self._refused and self._member.try_commit(self._refused):
                self._refused = {}
            if self._worker and not self._member.threads:
                self._worker.turn()
        self._member.close()

    def _leave(self, *_args: object) -> None:
        self._leaving = True

    def _listen(self) -> None:
        for line in sys.stdin:
            self._long = float(line.split()[1])
        self._leaving = True

    def _work(self, batch: Batch) -> None:
        member = self._member
        long, self._long = self._long, 0.0
        if long:
            say("long", time.monotonic())
        done = {partition: offsets[-1] + 1 for partition, offsets in batch.items()}
        if self._worker:
            self._worker.give(done, long)
            return
        if seconds := long or self._busy:
            member.sleep(seconds)
        if member.habit == "record":
            for partition, offsets in batch.items():
                for offset in offsets:
                    member.try_commit({partition: offset + 1})
        elif member.habit == "batch":
            member.try_commit(None)
        elif member.habit == "explicit":
            member.try_commit(done)
        elif member.habit == "retry":
            done = self._refused | done
            self._refused = {} if member.try_commit(done) else done
        elif member.habit == "callback":
            member.read |= done
            if time.monotonic() - self._committed > _CALLBACK_PAUSE:
                self._committed = time.monotonic()
                member.revoked()


def runs(batch: Batch) -> list[tuple[int, int, int]]:
    """(partition, first, end) of each stretch without a gap."""
    found: list[tuple[int, int, int]] = []
    for partition, offsets in batch.items():
        first = end = offsets[0]
        for offset in offsets:
            if offset != end:
                found.append((partition, first, end))
                first = offset
            end = offset + 1
        found.append((partition, first, end))
    return found


CLIENTS: dict[str, type[Member]] = {"confluent": Confluent, "kafka-python": KafkaPython, "aiokafka": AioKafka}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    Application(CLIENTS[given["client"]](given)).run()
    os._exit(0)  # threads of clients and workers have nothing left to do
