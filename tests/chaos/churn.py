"""A group whose members are processes: they join, leave and are killed, and in the end what they told is judged.

Not a test. The load runs on a thread of its own; all else is the test's thread.
"""

import json
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer as Judge
from confluent_kafka import TopicPartition as JudgePartition

from kcli.core import Admin, Producer
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigResource
from tests.chaos.membership import Commit, History, read_events, tell
from tests.chaos.test_rolling_restart import Load
from tests.chaos.workload import Workload
from tests.kafka import Kafka

ROOT = Path(__file__).parents[2]
HEARTBEAT_MS, AUTO_COMMIT_MS = 400, 300
_PATIENCE = 60.0
_LOOK = 0.1
_INTERNAL = "__consumer_offsets"


@dataclass
class Running:
    """One member's process. ``killed_at``: when it was dead, by our hand."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    errors: Path
    killed_at: float | None = None
    leaving: bool = False

    @property
    def events(self) -> list[dict[str, Any]]:
        return read_events(self.log.read_text()) if self.log.exists() else []

    @property
    def owned(self) -> frozenset[int]:
        """What it has by its own account."""
        found: set[int] = set()
        for event in self.events:
            if event["event"] == "assigned":
                found = set(event["owned"])
            elif event["event"] in ("revoked", "lost"):
                found -= set(event["places"])
        return frozenset(found)


@dataclass
class Crowd:
    """The members of one group on one topic. Every second one commits by hand, the others automatically."""

    kafka: Kafka
    topic: str
    protocol: str
    assignor: str
    session_ms: int
    folder: Path
    everybody: list[Running] = field(default_factory=list)

    @property
    def group(self) -> str:
        return f"{self.topic}-group"

    @property
    def present(self) -> list[Running]:
        return [one for one in self.everybody if one.killed_at is None and not one.leaving]

    def join(self) -> Running:
        number = len(self.everybody)
        log, errors = self.folder / f"{number}.log", self.folder / f"{number}.err"
        options = {
            "bootstrap_servers": self.kafka.bootstrap,
            "group_id": self.group,
            "group_protocol": self.protocol,
            "partition_assignment_strategy": self.assignor or "range",
            "session_timeout_ms": self.session_ms,
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "auto_commit_interval_ms": AUTO_COMMIT_MS,
            "auto_offset_reset": "earliest",
            "client_id": f"member-{number}",
        }
        wishes = {"log": str(log), "topic": self.topic, "by_hand": number % 2 == 0, "options": options}
        with errors.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.group_member", json.dumps(wishes)],
                cwd=ROOT,
                stderr=stream,
            )
        self.everybody.append(Running(f"member {number}", process, log, errors))
        return self.everybody[-1]

    def leave(self, member: Running) -> None:
        """Tells it to; it takes its time."""
        member.leaving = True
        member.process.terminate()

    def kill(self, member: Running) -> None:
        member.process.kill()
        member.process.wait(_PATIENCE)
        member.killed_at = time.monotonic()

    @property
    def awake(self) -> list[Running]:
        """Those who are there and have begun: they know what SIGTERM means."""
        return [one for one in self.present if one.events]

    def settled(self, partitions: int) -> bool:
        """Whether those who are there own every partition, each once, and everybody has his share."""
        owned = [member.owned for member in self.present]
        return all(owned) and sorted(place for one in owned for place in one) == list(range(partitions))

    def read_all(self, ends: dict[int, int]) -> bool:
        """Whether somebody has read up to the end of every partition."""
        reached: dict[int, int] = dict.fromkeys(ends, 0)
        for member in self.everybody:
            for event in member.events:
                if event["event"] == "read":
                    reached[event["partition"]] = max(reached[event["partition"]], event["to"])
        return reached == ends

    def progressed_since(self, moment: float) -> bool:
        """Whether every partition was read from after that moment."""
        read: set[int] = set()
        every: set[int] = set()
        for member in self.everybody:
            for event in member.events:
                if event["event"] == "read":
                    every.add(event["partition"])
                    if event["at"] > moment:
                        read.add(event["partition"])
        return read == every

    def wait_until(self, true: Callable[[], bool], what: str) -> float:
        """How many seconds it took."""
        began = time.monotonic()
        while not true():
            self.check()
            assert time.monotonic() < began + _PATIENCE, f"{what}: {self.told()}"
            time.sleep(_LOOK)
        return time.monotonic() - began

    def check(self) -> None:
        """Fails with what a member said that ended by itself."""
        for member in self.everybody:
            code = member.process.poll()
            if code is not None and member.killed_at is None:
                assert member.leaving, f"{member.name} ended: {_last_words(member)}"
                assert code == 0, f"{member.name}: {_last_words(member)}"

    def told(self) -> str:
        return "; ".join(f"{member.name} {sorted(member.owned)}" for member in self.present)

    def disperse(self) -> None:
        """Everybody leaves, in good order. One that hangs tells where, and fails the run."""
        for member in self.present:
            self.leave(member)
        for member in self.everybody:
            try:
                member.process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                member.process.send_signal(signal.SIGUSR1)
                time.sleep(1)
                raise AssertionError(f"{member.name} hangs: {_last_words(member)}") from None
        self.check()

    def history(self) -> History:
        """What everybody told, and what the coordinators stored."""
        history = History()
        for member in self.everybody:
            tell(history, member.name, member.events, member.killed_at)
        history.commits.extend(stored_commits(self.kafka, self.group, self.topic))
        return history


def _last_words(member: Running) -> str:
    told = "\n".join(json.dumps(event) for event in member.events[-5:])
    return f"{told}\n{member.errors.read_text()[-3_000:]}"


@contextmanager
def crowd(
    kafka: Kafka, topic: str, protocol: str, assignor: str, folder: Path, *, session_ms: int
) -> Iterator[Crowd]:
    """A group without members so far; whoever is left in the end is killed."""
    found = Crowd(kafka, topic, protocol, assignor, session_ms, folder)
    if protocol == "consumer":
        change = ConfigChange("consumer.session.timeout.ms", str(session_ms))
        with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            outcome = admin.alter_configs({ConfigResource(ConfigKind.GROUP, found.group): [change]})
        assert set(outcome.values()) == {None}
    try:
        yield found
    finally:
        for member in found.everybody:
            if member.process.poll() is None:
                member.process.kill()
                member.process.wait()


@contextmanager
def flowing(kafka: Kafka, workload: Workload, topic: str) -> Iterator[Producer]:
    """Records come all the time; at the end all are confirmed."""
    with Producer(bootstrap_servers=kafka.bootstrap, linger_ms=5) as producer:
        producer.connect([topic], 30, 10)
        with Load(workload, producer) as load:
            yield producer
        assert load.error is None, repr(load.error)
        assert producer.flush(_PATIENCE)
    workload.settle()


def ends_of(workload: Workload, partitions: int) -> dict[int, int]:
    """What was confirmed of each partition."""
    ends = dict.fromkeys(range(partitions), 0)
    for one in workload.ledger.acked:
        ends[one.partition] += 1
    return ends


_SHORT = struct.Struct(">h")
_VALUE = struct.Struct(">hq")


def stored_commits(kafka: Kafka, group: str, topic: str) -> Iterator[Commit]:
    """The commits of a group in the order of the coordinators' log."""
    skew = time.time() - time.monotonic()
    judge = Judge(
        {"bootstrap.servers": kafka.bootstrap, "group.id": f"{group}-audit", "enable.partition.eof": True}
    )
    try:
        for partition in judge.list_topics(_INTERNAL, 30).topics[_INTERNAL].partitions:
            judge.assign([JudgePartition(_INTERNAL, partition, 0)])
            at_end = False
            while not at_end:
                for message in judge.consume(5_000, 0.2):
                    if message.error() is not None:
                        at_end = True
                        break
                    key, value = message.key() or b"", message.value()
                    place = _committed_place(key, group, topic)
                    if place is not None and value is not None:
                        at = message.timestamp()[1] / 1_000 - skew
                        yield Commit(at, place, _VALUE.unpack_from(value)[1])
    finally:
        judge.close()


def _committed_place(key: bytes, group: str, topic: str) -> int | None:
    """The partition, where the key is that of a commit of the group: version 0 or 1, group, topic, partition."""
    head = b"".join(_SHORT.pack(len(text)) + text for text in (group.encode(), topic.encode()))
    if key[:2] not in (_SHORT.pack(0), _SHORT.pack(1)) or key[2 : 2 + len(head)] != head:
        return None
    return int.from_bytes(key[2 + len(head) :], "big")
