"""Members of one share group, of three clients, and what is done to them. Not a test.

``python -m tests.chaos.share_crowd SERVERS --records 1000000 --kills 40`` is the long run on a cluster that is there; the
test runs the same on a small scale.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._kafka_tools import CONSOLE_SHARE_CONSUMER, tool
from kcli.core import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.ranges import bounds
from kcli.core.types import TopicPartition, TopicSpec
from tests.chaos.share_judge import Account, documents

_PRINTS = ("print.partition", "print.offset", "print.delivery")


@dataclass
class Plan:
    """``lock``: seconds for which records are locked. ``rate``: records a second that are written meanwhile."""

    servers: str
    topic: str
    group: str
    records: int
    kills: int
    expiries: int
    releases: int
    lock: float
    rate: int
    seed: int
    members: int = 3
    others: bool = True
    partitions: int = 6


@dataclass
class Member:
    """A process, and the log of what it wrote. ``accepts``: whether it acknowledges by accepting."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    said: Path


@dataclass
class Outcome:
    """What a run shows."""

    account: Account
    kills: int
    expiries: int
    releases: int
    seconds: float
    refused: int = 0
    members: list[str] = field(default_factory=list)

    def text(self) -> str:
        """In a few lines."""
        by_broker, twice = self.account.redelivered
        total = sum(self.account.ends.values())
        return (
            f"{total:,} records, {self.seconds:.0f} s, members {', '.join(self.members)}: {self.kills} SIGKILLs, "
            f"{self.expiries} locks left to expire, {self.releases} spells of release\n"
            f"{self.account.lines:,} lines written; redeliveries of accepted records by the coordinator's counts: "
            f"{by_broker:,}; written more than once: {twice:,}; refusals were reported {self.refused:,} times\n"
            f"verdicts: {self.account.verdicts() or 'none'}"
        )


class Crowd:
    """Starts members, and disturbs them."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self._folder = folder
        self._random = random.Random(plan.seed)
        self._number = 0
        self.logs: list[Path] = []
        self.said: list[Path] = []
        self.kcli: list[Member] = []
        self.others: list[Member] = []

    def start(self, name: str, words: list[str]) -> Member:
        """A process whose stdout is its log."""
        self._number += 1
        log = self._folder / f"{self._number:03d}-{name}.log"
        said = log.with_suffix(".err")
        with log.open("wb") as out, said.open("wb") as err:
            process = subprocess.Popen(words, stdout=out, stderr=err)
        self.logs.append(log)
        self.said.append(said)
        return Member(name, process, log, said)

    def join(self) -> None:
        """One more member of kcli's."""
        self.kcli.append(self.start("kcli", self._kcli()))

    def join_others(self) -> list[str]:
        """Kafka's own console consumer, and librdkafka's preview, where they can be had."""
        plan = self.plan
        names = []
        java = tool(CONSOLE_SHARE_CONSUMER) if plan.others else None
        if java is not None:
            words = [*java, "--bootstrap-server", plan.servers, "--topic", plan.topic, "--group", plan.group]
            for one in _PRINTS:
                words += ["--formatter-property", f"{one}=true"]
            self.others.append(self.start("java", [*words, "--formatter-property", "print.value=false"]))
            names.append("Java")
        try:
            from confluent_kafka import ShareConsumer  # noqa: F401
        except ImportError:
            return names
        if plan.others:
            module = "tests.chaos.librdkafka_share_member"
            words = [sys.executable, "-m", module, plan.servers, plan.group, plan.topic]
            self.others.append(self.start("librdkafka", words))
            names.append("librdkafka")
        return names

    def kill(self) -> None:
        """SIGKILL for one, and another takes its place."""
        victim = self.kcli.pop(self._random.randrange(len(self.kcli)))
        victim.process.kill()
        victim.process.wait()
        self.join()

    def stop_beyond_lock(self) -> Member:
        """SIGSTOP, just after it has written: its locks expire, its session lasts."""
        victim = self._random.choice(self.kcli)
        size, until = victim.log.stat().st_size, time.monotonic() + 2.0
        while victim.log.stat().st_size == size and time.monotonic() < until:
            time.sleep(0.001)
        victim.process.send_signal(signal.SIGSTOP)
        return victim

    def release_some(self, count: int = 500) -> None:
        """A member that gives back what it reads, some of it not for the first time."""
        words = [*self._kcli(), "--on-each", "release", "-n", str(count), "--idle-timeout", "2s"]
        self.start("releases", words).process.wait(60)

    def end(self) -> None:
        """They leave in order."""
        everyone = [*self.kcli, *self.others]
        for member in everyone:
            member.process.send_signal(signal.SIGCONT)
            member.process.send_signal(signal.SIGTERM)
        for member in everyone:
            try:
                member.process.wait(20)
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()

    def _kcli(self) -> list[str]:
        plan = self.plan
        words = [sys.executable, "-m", "kcli", "-b", plan.servers, "consume", plan.topic, "-g", plan.group]
        return [*words, "--group-type", "share", "-f", r"%p %o %{deliveries}\n"]


def run(plan: Plan, folder: Path) -> Outcome:
    """Writes the records while members are disturbed, waits until all are accepted, and compares."""
    began = time.monotonic()
    configure(plan)
    crowd = Crowd(plan, folder)
    with ExitStack() as ending:
        ending.callback(crowd.end)
        state = crowd.start(
            "state",
            [
                sys.executable,
                "-m",
                "kcli",
                "-b",
                plan.servers,
                "consume",
                "__share_group_state",
                "-o",
                "ndjson",
            ],
        )
        ending.callback(state.process.kill)
        crowd.logs.remove(state.log)
        for _ in range(plan.members):
            crowd.join()
        names = ["kcli"] * plan.members + crowd.join_others()
        producer = subprocess.Popen(
            [
                *(sys.executable, "-m", "kcli", "-b", plan.servers, "produce", plan.topic, "-q"),
                *("--rate", str(plan.rate), "-X", "batch.size=16384", "--partitioner", "roundrobin"),
            ],
            stdin=subprocess.PIPE,
        )
        ending.callback(producer.kill)
        feeder = subprocess.Popen(["seq", str(plan.records)], stdout=producer.stdin)
        assert producer.stdin is not None
        producer.stdin.close()
        ending.callback(feeder.kill)
        disturb(crowd, plan.records / plan.rate)
        producer.wait()
        ends = ends_of(plan)
        assert sum(ends.values()) == plan.records
        account = wait_accepted(plan, ends, state.log)
    for log in crowd.logs:
        with log.open("rb") as lines:
            account.add_log(lines)
    refused = sum(said.read_bytes().count(b"were not acknowledged") for said in crowd.said)
    return Outcome(
        account, plan.kills, plan.expiries, plan.releases, time.monotonic() - began, refused, names
    )


def configure(plan: Plan) -> None:
    """The topic is there; the group begins at its start, and locks records for a short time."""
    settings = {
        "share.auto.offset.reset": "earliest",
        "share.record.lock.duration.ms": str(int(plan.lock * 1000)),
        "share.delivery.count.limit": "10",
    }
    words = [
        sys.executable,
        "-m",
        "kcli",
        "-b",
        plan.servers,
        "configs",
        "alter",
        "groups",
        plan.group,
        "--yes",
    ]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    subprocess.run(words, check=True, capture_output=True)


def disturb(crowd: Crowd, seconds: float) -> None:
    """Kills, stops and releases, spread over the time in which records are written."""
    plan = crowd.plan
    chance = random.Random(plan.seed)
    acts = ["kill"] * plan.kills + ["expire"] * plan.expiries + ["release"] * plan.releases
    chance.shuffle(acts)
    time.sleep(min(6.0, seconds / 4))
    pause = max(0.2, (seconds - 8.0) / max(1, len(acts)))
    stopped: list[tuple[float, Member]] = []
    for act in acts:
        began = time.monotonic()
        if act == "kill":
            crowd.kill()
        elif act == "release":
            crowd.release_some()
        elif not stopped:
            stopped.append((time.monotonic() + plan.lock + 2.0, crowd.stop_beyond_lock()))
        else:
            time.sleep(max(0.0, stopped[0][0] - time.monotonic()))
            _, member = stopped.pop()
            member.process.send_signal(signal.SIGCONT)
            stopped.append((time.monotonic() + plan.lock + 2.0, crowd.stop_beyond_lock()))
        for until, member in [one for one in stopped if one[0] <= time.monotonic()]:
            member.process.send_signal(signal.SIGCONT)
            stopped.remove((until, member))
        time.sleep(max(0.0, pause - (time.monotonic() - began)))
    for until, member in stopped:
        time.sleep(max(0.0, until - time.monotonic()))
        member.process.send_signal(signal.SIGCONT)


def ends_of(plan: Plan) -> dict[int, int]:
    """The end offsets of the topic."""
    with Consumer(bootstrap_servers=plan.servers) as consumer:
        consumer.connect(30)
        numbers = consumer.partitions([plan.topic], 30)[plan.topic]
        found = bounds(consumer, [TopicPartition(plan.topic, number) for number in numbers], 30)
    return {tp.partition: end for tp, end in found.ends.items()}


def wait_accepted(plan: Plan, ends: dict[int, int], state: Path) -> Account:
    """Returns when the coordinator has stored that each record was accepted, or nothing moves for a while."""
    account = Account(ends)
    with state.open("rb") as lines:
        last, moved = -1, time.monotonic()
        while True:
            for document in documents(_whole(lines)):
                account.add_state(document, plan.group)
            left = account.left
            if not left:
                return account
            if left != last:
                last, moved = left, time.monotonic()
            if time.monotonic() - moved > 2 * plan.lock + 30:
                return account
            time.sleep(0.5)


def _whole(lines: object) -> Iterator[bytes]:
    """The whole lines that are there; the beginning of another one is read again."""
    while True:
        at = lines.tell()  # type: ignore[attr-defined]
        line = lines.readline()  # type: ignore[attr-defined]
        if not line.endswith(b"\n"):
            lines.seek(at)  # type: ignore[attr-defined]
            return
        yield line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--expiries", type=int, default=4)
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--lock", type=float, default=15.0)
    parser.add_argument("--rate", type=int, default=8_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    stamp = f"{int(time.time()):x}"
    plan = Plan(topic=f"share-{stamp}", group=f"crowd-{stamp}", **vars(asked))
    with Admin(bootstrap_servers=plan.servers, timeout=30) as admin:
        copies = min(3, len(plan.servers.split(",")))
        admin.create_topics([TopicSpec(plan.topic, plan.partitions, copies)])
    folder = Path(tempfile.mkdtemp(prefix="share-crowd-"))
    print(f"seed {plan.seed}, logs in {folder}", flush=True)
    outcome = run(plan, folder)
    print(outcome.text())
    if outcome.account.verdicts():
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
