"""``kcli reassign`` and ``elect-leaders`` on three real brokers; Kafka's script and the AdminClient are the judges."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.admin import ConfigResource as JudgeResource

from kcli.sandbox.config import uses_zookeeper
from tests.integration.kafka_script import reassign_partitions
from tests.kafka import Kafka
from tests.run import KCLI, run
from tests.warm_kcli import WarmPopen

THROTTLES = {
    JudgeResource.Type.BROKER: ("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
    JudgeResource.Type.TOPIC: (
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
    ),
}
RECORD = os.urandom(100_000)


@pytest.fixture
def state(tmp_path: Path) -> dict[str, str]:
    """The environment of kcli: a folder of its own for journals."""
    return {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}


def command(kafka: Kafka, *words: str) -> list[str]:
    return [*KCLI, *words, "-b", kafka.bootstrap]


def kcli(kafka: Kafka, env: dict[str, str], *words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = run(
        command(kafka, *words), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env=env
    )
    assert done.returncode == code, done.stderr
    return done


def items(kafka: Kafka, env: dict[str, str], *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kcli(kafka, env, *words, "-o", "json").stdout)["items"]
    return found


def judge(kafka: Kafka) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka.bootstrap})


def filled_topic(kafka: Kafka, hint: str, assignment: list[list[int]], records: int) -> str:
    """A topic with these replicas and ``records`` of 100 kB in each partition."""
    name = kafka.unused_name(hint)
    made = NewTopic(
        name,
        len(assignment),
        replica_assignment=assignment,
        config={"min.insync.replicas": "1", "compression.type": "uncompressed"},
    )
    admin = judge(kafka)
    admin.create_topics([made])[name].result(120)
    until(lambda: len(partitions(kafka, name)) == len(assignment))
    producer = JudgeProducer({"bootstrap.servers": kafka.bootstrap})
    for _ in range(records):
        for number in range(len(assignment)):
            producer.produce(name, RECORD, partition=number)
    assert producer.flush(30) == 0
    return name


def partitions(kafka: Kafka, name: str) -> dict[int, Any]:
    return dict(judge(kafka).list_topics(name, timeout=30).topics[name].partitions)


def replicas(kafka: Kafka, name: str) -> list[list[int]]:
    return [list(part.replicas) for _, part in sorted(partitions(kafka, name).items())]


def throttles(kafka: Kafka, name: str) -> dict[str, str]:
    """What is set on the brokers and the topic."""
    wanted = [JudgeResource(JudgeResource.Type.BROKER, str(number)) for number in (1, 2, 3)]
    wanted.append(JudgeResource(JudgeResource.Type.TOPIC, name))
    admin, found = judge(kafka), {}
    for resource in wanted:
        entries = admin.describe_configs([resource])[resource].result(120)
        for key in THROTTLES[resource.restype]:
            if key in entries and entries[key].value:
                found[f"{resource.name} {key}"] = entries[key].value
    return found


def until(condition: Callable[[], Any], seconds: float = 120) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
    return found


def test_a_topic_is_moved_under_a_throttle_and_back_by_kafkas_script(
    kafka3: Kafka, state: dict[str, str], tmp_path: Path
) -> None:
    name = filled_topic(kafka3, "moved", [[1, 2], [2, 1]], 60)
    plan = str(tmp_path / "plan.json")
    kcli(kafka3, state, "reassign", "plan", "--topic", name, "--brokers", "2,3", plan)
    assert sum(map(len, (row["replicas"] for row in json.loads(Path(plan).read_text())["partitions"]))) == 4
    with WarmPopen(
        command(kafka3, "reassign", "run", plan, "--throttle", "1MB/s", "--watch", "--yes", "-o", "json"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=state,
    ) as moving:  # fmt: skip
        set_ = until(lambda: len(found := throttles(kafka3, name)) == 8 and found)
        assert set_["3 follower.replication.throttled.rate"] == "1000000"

        def is_moving() -> bool:
            """The throttle is set before the moves start; with ZooKeeper brokers show it before they apply it."""
            if kafka3.version != "unknown" and uses_zookeeper(kafka3.version) and moving.poll() is not None:
                return True
            return {row["state"] for row in items(kafka3, state, "reassign", "status")} == {"moving"}

        until(is_moving)
        out, err = moving.communicate(timeout=120)
    assert moving.returncode == 0, err
    assert {row["status"] for row in json.loads(out)["items"]} == {"done"}
    until(lambda: throttles(kafka3, name) == {})  # another broker than that which kcli read it back from
    until(lambda: all(set(row) == {2, 3} for row in replicas(kafka3, name)))
    until(lambda: {row[0] for row in replicas(kafka3, name)} == {2, 3})
    verified = reassign_partitions(kafka3, "--verify", "--reassignment-json-file", plan)
    assert verified.stdout.count("is completed.") == 2, verified

    undo = err.partition("go back with: kcli reassign run ")[2].strip()
    executed = reassign_partitions(kafka3, "--execute", "--reassignment-json-file", undo)
    assert "Successfully started partition reassignments" in executed.stdout, executed

    def is_done() -> bool:
        """Not before the broker that is asked has heard what the controller did."""
        words = command(kafka3, "reassign", "status", undo, "--watch", "-o", "json")
        done = run(words, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env=state)
        return not done.returncode and {row["state"] for row in json.loads(done.stdout)["items"]} == {"done"}

    until(is_done)
    until(lambda: replicas(kafka3, name) == [[1, 2], [2, 1]])


def test_a_move_is_cancelled_in_the_middle(kafka3: Kafka, state: dict[str, str], tmp_path: Path) -> None:
    if kafka3.version != "unknown" and uses_zookeeper(kafka3.version):
        pytest.skip("with ZooKeeper brokers show a throttle before they apply it: the move may have ended")
    name = filled_topic(kafka3, "cancelled", [[1, 2]], 100)
    plan = str(tmp_path / "plan.json")
    Path(plan).write_text(json.dumps({"partitions": [{"topic": name, "partition": 0, "replicas": [1, 3]}]}))
    kcli(kafka3, state, "reassign", "run", plan, "--throttle", "50kB/s", "--yes")
    (row,) = items(kafka3, state, "reassign", "status", plan)
    assert (row["state"], row["adding"], row["removing"]) == ("moving", [3], [2])
    assert 0 < row["bytes_left"] <= row["bytes"]
    assert "being moved already" in kcli(kafka3, state, "reassign", "run", plan, "--yes", code=7).stderr
    (row,) = items(kafka3, state, "reassign", "cancel", "--topic", name, "--yes")
    assert row["status"] == "done"
    until(lambda: replicas(kafka3, name) == [[1, 2]])
    until(lambda: throttles(kafka3, name) == {})
    kcli(kafka3, state, "reassign", "status", plan, code=8)


def test_the_replication_factor_goes_up_and_down(
    kafka3: Kafka, state: dict[str, str], tmp_path: Path
) -> None:
    name = filled_topic(kafka3, "factor", [[1], [2], [3]], 1)
    for factor in (3, 1):
        plan = str(tmp_path / "plan.json")
        kcli(kafka3, state, "reassign", "plan", "--topic", name, "--replication-factor", str(factor), plan)
        kcli(kafka3, state, "reassign", "run", plan, "--watch", "--yes")
        until(lambda: [len(row) for row in replicas(kafka3, name)] == [factor] * 3)  # noqa: B023 - at once
    until(lambda: sorted(replicas(kafka3, name)) == [[1], [2], [3]])


def test_leaders_are_elected_after_a_node_was_away(kafka3: Kafka, state: dict[str, str]) -> None:
    name = filled_topic(kafka3, "elected", [[1, 2], [2, 3]], 1)
    nodes = {node.node_id: node for node in kafka3.nodes}
    lost = filled_topic(kafka3, "lost", [[1]], 1)
    try:
        nodes[1].stop()
        until(lambda: partitions(kafka3, name)[0].leader == 2)
        failed = kcli(kafka3, state, "elect-leaders", "--topic", name, "--yes", code=7)
        assert "broker 1 is not alive" in failed.stderr
        unclean = kcli(kafka3, state, "elect-leaders", "--topic", lost, "--unclean", "--yes", code=7)
        assert "no broker with a replica is alive" in unclean.stderr
        nodes[1].start(timeout=None)
        until(lambda: 1 in partitions(kafka3, name)[0].isrs)
        (row,) = items(kafka3, state, "elect-leaders", "--topic", name, "--yes")
        assert (row["partition"], row["leader"], row["new_leader"], row["status"]) == (0, 2, 1, "done")
        until(lambda: partitions(kafka3, name)[0].leader == 1)
        assert items(kafka3, state, "elect-leaders", "--topic", name, "--yes") == []
    finally:
        with suppress(Exception):
            nodes[1].start(timeout=None)
        until(lambda: partitions(kafka3, lost)[0].leader == 1)
