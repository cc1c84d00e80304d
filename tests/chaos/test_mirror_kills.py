"""`kcli mirror` is killed at 15 steps, and 5 leaders of the source and of the target, while the source is written (cases
M1 and M2, goal R7).

Another client compares both clusters. Exactly once: the same records in the same order. At least once: none is lost,
and a kill leaves no more to be copied again than what one interval between two positions covers.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.sandbox.node import Node
from tests.chaos.mirror_audit import (
    CommittedReader,
    KillLedger,
    assert_equal,
    assert_judged,
    assert_nothing_lost,
    duplicates,
)
from tests.chaos.mirror_steps import AT_LEAST_ONCE, EXACTLY_ONCE, PATIENCE, RECORDS, Mirror, Run, Step
from tests.chaos.transactional_source import TransactionalSource
from tests.chaos.workload import SEED
from tests.kafka import FAST_FAILOVER, QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed, version_of
from tests.proxy.proxy import Proxy

pytestmark = [pytest.mark.integration, pytest.mark.soak]

RECORDS_TOTAL = 100_000
BACKLOG = 20_000
PACE = 1_000.0  # records a second
PARTITIONS = 4
LEADER_KILLS = 5
SAFE = {"min.insync.replicas": "2"}


@pytest.fixture(scope="module")
def target3(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    """Three more brokers."""
    extra = {**TEST_PROPERTIES, **FAST_FAILOVER}
    with sandboxed(version=version_of(pytestconfig), brokers=3, extra=extra, jvm_options=QUICK_JVM) as kafka:
        yield kafka


class Brokers:
    """Both clusters, whose leaders die in turn."""

    def __init__(self, source: Kafka, target: Kafka, topic: str) -> None:
        self._sides = {"source": source, "target": target}
        self._admins = {
            side: AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
            for side, kafka in self._sides.items()
        }
        self._topic = topic

    def leader(self, side: str, partition: int) -> int:
        """The node id; −1 while there is none."""
        return int(
            self._admins[side].list_topics(self._topic, 30).topics[self._topic].partitions[partition].leader
        )

    def kill_leader(self, side: str, partition: int) -> Node:
        """Kills it, and returns when the partition has another."""
        victim = self.leader(side, partition)
        node = next(node for node in self._sides[side].nodes if node.node_id == victim)
        node.kill()
        self._wait(lambda: self.leader(side, partition) not in (victim, -1), "another leader")
        return node

    def start(self, nodes: Sequence[Node]) -> None:
        """Starts them again; returns when all replicas of both clusters are in sync."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(Node.start, nodes))
        self._wait(lambda: all(map(self._in_sync, self._sides)), "replicas in sync")

    def _in_sync(self, side: str) -> bool:
        topics = self._admins[side].list_topics(timeout=30).topics.values()
        return all(
            len(one.isrs) == len(one.replicas) for topic in topics for one in topic.partitions.values()
        )

    def _wait(self, found: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not found():
            assert time.monotonic() < deadline, f"no {what}"
            time.sleep(0.1)


def kill_leaders(mirror: Mirror, brokers: Brokers, partition: int) -> Run:
    """One process outlives a leader of the source and one of the target; then it is stopped as a user does."""
    run = mirror.start()
    mirror.deliver_late_frame(run)
    mirror.wait(run, lambda: mirror.answered(run, ProduceRequest, RECORDS), "records")
    dead: list[Node] = []
    try:
        for side in ("source", "target"):
            dead.append(brokers.kill_leader(side, partition))
            stored = partial(mirror.all_stored_since, run, range(PARTITIONS), time.monotonic())
            mirror.wait(run, stored, f"records of all partitions after the death of the {side}'s leader")
    finally:
        brokers.start(dead)
    mirror.stop(run)
    return run


@pytest.mark.case("M2", "R7")
@pytest.mark.timeout(900)
def test_exactly_once_every_record_is_stored_once_and_in_order(
    kafka3: Kafka, target3: Kafka, tmp_path: Path
) -> None:
    run_all(kafka3, target3, tmp_path, EXACTLY_ONCE, exactly_once=True)


@pytest.mark.case("M1")
@pytest.mark.timeout(900)
def test_at_least_once_nothing_is_lost_and_little_is_stored_twice(
    kafka3: Kafka, target3: Kafka, tmp_path: Path
) -> None:
    run_all(kafka3, target3, tmp_path, AT_LEAST_ONCE, exactly_once=False)


def run_all(source: Kafka, target: Kafka, folder: Path, steps: Sequence[Step], *, exactly_once: bool) -> None:
    """All kills, three steps and then two leaders, and the comparison."""
    rng = random.Random(SEED)
    topic = source.topic("mirrored", partitions=PARTITIONS, replicas=3, config=SAFE)
    with (
        Proxy(target.bootstrap) as proxy,
        TransactionalSource(
            source, topic, partitions=PARTITIONS, seed=SEED, total=RECORDS_TOTAL, backlog=BACKLOG, pace=PACE
        ) as writer,
        CommittedReader(source.bootstrap, topic, PARTITIONS) as here,
        CommittedReader(target.bootstrap, topic, PARTITIONS) as there,
        ExitStack() as runs,
    ):
        command = ["mirror", "--from", source.bootstrap, "--to", proxy.bootstrap, "-t", topic, "--job", topic]
        delivery = ["--exactly-once"] if exactly_once else []
        mirror = runs.enter_context(Mirror([*command, *delivery], proxy, topic, exactly_once, rng, folder))
        ledger = KillLedger(mirror, there)
        brokers = Brokers(source, target, topic)
        for number, step in enumerate(steps, 1):
            ledger.note(mirror.kill_at(step), step.name)
            if number % (len(steps) // LEADER_KILLS) == 0:
                partition = number % PARTITIONS
                ledger.note(
                    kill_leaders(mirror, brokers, partition), f"leaders of partition {partition}, stopped"
                )
        writer.finish()
        ledger.note(mirror.finish(), "caught up")
        print(
            f"{here.read()} records committed in {writer.transactions} transactions, {writer.aborted} aborted and "
            f"{writer.failed} failed; seed {SEED}"
        )
        if exactly_once:
            assert_equal(here, there)
            assert_judged(writer, topic, there, SEED)
        else:
            assert_nothing_lost(here, there)
            assert duplicates(there) > 0, "kills that leave nothing unsaved prove nothing"
    assert writer.committed >= RECORDS_TOTAL
    assert 0.05 < writer.aborted / writer.transactions < 0.15
