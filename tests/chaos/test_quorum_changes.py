"""Voters are removed and added under load while the active controller dies: what is reported is so, and nothing is lost.

A controller that is removed stays an observer, so that it can be added again.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core import Admin, Producer, QuorumDescription
from kcli.core.errors import KcliError
from kcli.flows.quorum.standings import BEHIND, standings
from tests.chaos.workload import SEED, Workload
from tests.kafka import FAST_FAILOVER, TEST_PROPERTIES, Kafka, sandboxed

pytestmark = [pytest.mark.integration, pytest.mark.long]

PARTITIONS = 3
NODES = [1, 2, 3]
WITHIN = 30
"""Seconds of ``--timeout``: for the first contact, for the request, for waiting until it is read back, and for the last
reading of that. A leader that dies may cost all of them.
"""


@pytest.fixture(scope="module")
def dynamic() -> Iterator[Kafka]:
    """Three nodes, all of them voters of a dynamic quorum."""
    with sandboxed(brokers=3, controllers=3, extra={**TEST_PROPERTIES, **FAST_FAILOVER}) as found:
        yield found


def quorum_of(kafka: Kafka) -> QuorumDescription:
    """With a leader: of an election there is nothing to be seen."""
    until = time.monotonic() + 60
    while True:
        try:
            with Admin(bootstrap_servers=kafka.bootstrap, timeout=10) as admin:
                found = admin.describe_quorum()
            if found.leader >= 0:
                return found
        except KcliError:
            assert time.monotonic() < until
        time.sleep(0.2)


def start(kafka: Kafka, verb: str, number: int) -> "subprocess.Popen[str]":
    words = ["quorum", f"{verb}-controller", str(number), "--yes", "--timeout", f"{WITHIN}s", "-o", "json"]
    return subprocess.Popen(
        [sys.executable, "-m", "kcli", "-b", kafka.bootstrap, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, dict[str, Any], str]:
    """Exit code, the item of the report, stderr."""
    out, err = process.communicate(timeout=4 * WITHIN + 10)
    items = json.loads(out)["items"] if out else [{}]
    return process.returncode, items[0], err


def is_voter(kafka: Kafka, number: int) -> bool:
    return number in quorum_of(kafka).voters


def restore(kafka: Kafka) -> None:
    """All nodes are voters, and caught up."""
    until = time.monotonic() + 120
    while True:
        found = quorum_of(kafka)
        missing = sorted({*NODES} - {*found.voters})
        ends = [one.log_end for one in found.replicas if one.node in NODES]
        if not missing and len(ends) == len(NODES) and max(ends) - min(ends) < 20:
            return
        assert time.monotonic() < until, (missing, ends)
        if missing:
            ended(start(kafka, "add", missing[0]))
        time.sleep(0.2)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("rounds", [4, pytest.param(24, marks=pytest.mark.soak)])
def test_what_is_reported_of_a_change_is_so_though_the_leader_dies(dynamic: Kafka, rounds: int) -> None:
    """Every second round adds a controller that was removed before, the others remove one."""
    topic = dynamic.topic("quorum", partitions=PARTITIONS, replicas=3)
    load, rng = Workload(topic, partitions=PARTITIONS, seed=SEED), random.Random(SEED)
    statuses = []
    with Producer(bootstrap_servers=dynamic.bootstrap, linger_ms=2) as producer:
        producer.connect([topic], 30, 10)
        for number in range(rounds):
            restore(dynamic)
            leader = quorum_of(dynamic).leader
            changed = rng.choice([one for one in NODES if one != leader])
            verb = "add" if number % 2 else "remove"
            if verb == "add":
                code, _, err = ended(start(dynamic, "remove", changed))
                assert code == 0, err
                leader = quorum_of(dynamic).leader
            load.send(producer, 200)
            process = start(dynamic, verb, changed)
            time.sleep(rng.uniform(0.1, 1.5))
            node = next(node for node in dynamic.nodes if node.node_id == leader)
            node.kill()
            load.send(producer, 200)
            time.sleep(2)
            node.start(timeout=None)
            code, item, err = ended(process)
            status = item.get("status", f"error {code}")
            statuses.append(status)
            wanted = verb == "add"
            found = is_voter(dynamic, changed)
            if status in ("done", "unchanged"):
                assert (code, found) == (0, wanted), err
            elif status in ("refused", "failed"):
                assert code != 0
                assert found is not wanted, err
            else:
                assert code in (3, 6), err
        restore(dynamic)
        assert producer.flush(90)
    load.settle()
    load.audit(dynamic)
    assert "done" in statuses, statuses


@pytest.mark.timeout(600)
def test_no_change_leaves_the_quorum_without_a_majority(dynamic: Kafka) -> None:
    """One of three is dead: another one may not be removed, and the dead one may."""
    restore(dynamic)
    leader = quorum_of(dynamic).leader
    dead, alive = (one for one in NODES if one != leader)
    node = next(node for node in dynamic.nodes if node.node_id == dead)
    node.kill()
    until = time.monotonic() + 30
    while {one.node: one.state for one in standings(quorum_of(dynamic))}[dead] != BEHIND:
        assert time.monotonic() < until
        time.sleep(0.2)
    code, item, err = ended(start(dynamic, "remove", alive))
    assert (code, item["status"]) == (7, "refused"), err
    assert "would leave the quorum without a majority" in err
    assert is_voter(dynamic, alive)
    code, item, err = ended(start(dynamic, "remove", dead))
    assert (code, item["status"]) == (0, "done"), err
    assert not is_voter(dynamic, dead)
    node.start()
    restore(dynamic)
