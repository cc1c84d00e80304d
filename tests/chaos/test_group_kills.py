"""Brokers die under a group: the group's coordinator and leaders of its partitions, in turn (goal R5, case G6).

Nothing is lost, and nothing is read again but what was not committed: a commit that finds no coordinator in time is
one that was not made. Committed offsets never go back.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kcli.core import Admin, GroupDescription
from tests.chaos.churn import Crowd, crowd, ends_of, flowing
from tests.chaos.membership import judge
from tests.chaos.test_leader_kills import leader_of
from tests.chaos.workload import SEED, Workload
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.long]

RUNS = [
    pytest.param("consumer", "", 1, id="KIP-848"),
    pytest.param("consumer", "", 10, id="KIP-848-long", marks=pytest.mark.soak),
    pytest.param("classic", "cooperative-sticky", 10, id="cooperative-sticky-long", marks=pytest.mark.soak),
]
MEMBERS, PARTITIONS = 4, 6
SESSION_MS = 10_000
"""Far more than the heirs need: no member is lost."""
PATIENCE = 60.0
BETWEEN = 2.0  # seconds of quiet, so that there is something to interrupt


def coordinator_of(kafka: Kafka, group: str) -> int:
    """Its node id; −1 while nobody says so."""
    with Admin(bootstrap_servers=kafka.bootstrap, timeout=PATIENCE) as admin:
        found = admin.describe_groups([group])[group]
    return found.coordinator if isinstance(found, GroupDescription) else -1


def kill_and_wait(kafka: Kafka, members: Crowd, boss: Callable[[], int]) -> float:
    """Kills the node, and starts it again when every partition is read on; how long that took from the heir on."""
    victim = boss()
    node = next(node for node in kafka.nodes if node.node_id == victim)
    node.kill()
    try:
        members.wait_until(lambda: boss() not in (victim, -1), "the heir")
        now = time.monotonic()
        return members.wait_until(lambda: members.progressed_since(now), "reading on")
    finally:
        node.start()


@pytest.mark.case("G6", "R5")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("protocol", "assignor", "kills"), RUNS)
def test_coordinators_and_leaders_are_killed(
    kafka3: Kafka, tmp_path: Path, protocol: str, assignor: str, kills: int
) -> None:
    """The heirs know the group, the members find them."""
    if protocol == "consumer" and kafka3.version != "unknown" and int(kafka3.version.split(".")[0]) < 4:
        pytest.skip(f"Kafka {kafka3.version} has no KIP-848 groups")
    topic = kafka3.topic("orphans", partitions=PARTITIONS, replicas=3, config={"min.insync.replicas": "2"})
    workload = Workload(topic, partitions=PARTITIONS, seed=SEED, largest=500)
    stalls: list[float] = []
    with crowd(kafka3, topic, protocol, assignor, tmp_path, session_ms=SESSION_MS) as members:
        with flowing(kafka3, workload, topic):
            for _ in range(MEMBERS):
                members.join()
            members.wait_until(lambda: members.settled(PARTITIONS), "the first assignment")
            for kill in range(kills):
                time.sleep(BETWEEN)
                if kill % 2:
                    boss = partial(leader_of, kafka3, topic, kill % PARTITIONS)
                else:
                    boss = partial(coordinator_of, kafka3, members.group)
                stalls.append(kill_and_wait(kafka3, members, boss))
                members.wait_until(lambda: members.settled(PARTITIONS), "an assignment")
        ends = ends_of(workload, PARTITIONS)
        members.wait_until(lambda: members.read_all(ends), "reading to the end")
        members.disperse()
        history = members.history()
    workload.audit(kafka3)
    found = judge(history, ends, strict=False, classic=protocol == "classic")
    read = sum(to - first for _, _, first, to in history.reads)
    print(
        f"{sum(ends.values())} records, {read - sum(ends.values())} read again, {len(history.spells)} spells, "
        f"{len(history.commits)} commits, {history.refused} refused; slowest poll {history.slowest:.2f} s; everybody "
        f"read on {', '.join(f'{stall:.1f}' for stall in stalls)} s after the heir was there"
    )
    assert found == {}, f"seed {SEED}"
    assert {one.partition: one.offset for one in history.commits} == ends
