"""``kcli quorum``, ``features`` and ``brokers`` beside Kafka's scripts on a real Kafka: the same numbers."""

import json
import re
from typing import Any

import pytest

from kcli.sandbox.config import uses_zookeeper
from tests.integration.kafka_script import (
    broker_api_versions,
    cluster_command,
    features,
    metadata_quorum,
    metadata_quorum_of,
)
from tests.kafka import Kafka
from tests.run import kcli

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("kraft")]


def before_4(kafka: Kafka) -> bool:
    return kafka.version.partition(".")[0] in ("2", "3")


NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"
OF_BROKERS = re.compile(r"^\t\w+\((8[3-7])\)")
"""Requests that brokers send each other, which Kafka's client knows, too."""


def document(kafka: Kafka, *words: str) -> dict[str, Any]:
    done = kcli(*words, "-o", "json", bootstrap=kafka.bootstrap)
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.fixture(scope="module")
def kraft(kafka: Kafka) -> None:
    if kafka.version != "unknown" and uses_zookeeper(kafka.version):
        pytest.skip(f"Kafka {kafka.version} has no quorum, and Kafka's scripts cannot ask it for features")


def features_of(kafka: Kafka) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document(kafka, "features", "list")["items"]
    return found


def test_the_quorum_is_that_of_kafka_s_script(kafka: Kafka) -> None:
    status = dict(
        line.split(":", 1) for line in metadata_quorum(kafka, "describe", "--status").stdout.splitlines()
    )
    found = document(kafka, "quorum", "describe")
    assert (found["cluster"], found["leader"], found["leader_epoch"]) == (
        status["ClusterId"].strip(), int(status["LeaderId"]), int(status["LeaderEpoch"]),
    )  # fmt: skip
    assert found["high_watermark"] >= int(status["HighWatermark"])
    voters = json.loads(status["CurrentVoters"])
    ours = [row for row in found["items"] if row["role"] == "voter"]
    assert [(row["node"], row["endpoints"]) for row in ours] == [
        (one["id"], one["endpoints"]) for one in voters
    ]
    assert [one["id"] for one in json.loads(status["CurrentObservers"])] == found["observers"]
    replication = metadata_quorum(kafka, "describe", "--replication").stdout.splitlines()[1:]
    theirs = [
        (int(node), directory.strip(), state.strip().lower())
        for node, directory, _end, _lag, _fetched, _caught_up, state, *_ in (
            line.split("\t") for line in replication
        )
    ]
    states = {"leader": "leader", "following": "follower"}
    assert theirs == [
        (row["node"], row["directory_id"] or NO_DIRECTORY, states[row["state"]]) for row in found["items"]
    ]


def test_the_levels_are_those_of_kafka_s_script(kafka: Kafka) -> None:
    lines = features(kafka, "describe").stdout.splitlines()
    theirs = {}
    for line in lines:
        name, low, high, level, _epoch = re.findall(r": (\S+)", line)
        theirs[name] = (low, high, level)
    ours = {}
    for row in features_of(kafka):
        name = row["feature"]
        is_metadata = name == "metadata.version"
        high, level = (
            (row["supported_max_name"], row["finalized_name"])
            if is_metadata
            else (str(row["supported_max"]), str(row["finalized"]))
        )
        low = str(row["supported_min"])
        if is_metadata:  # the script knows no name for levels before 3.3-IV3
            low = "3.3-IV3" if low == "7" else "UNKNOWN"
        ours[name] = (low, high, level)
    assert ours == theirs


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("downgrade", ["--feature", "share.version=1"]),
        ("downgrade", ["--feature", "metadata.version=30"]),
        ("upgrade", ["--feature", "kraft.version=1"]),
        ("upgrade", ["--feature", "kraft.version=5"]),
        ("upgrade", ["--feature", "transaction.version=2"]),
        ("upgrade", ["--release-version", "4.4"]),
        ("downgrade", ["--feature", "streams.version=0"]),
        ("upgrade", ["--feature", "nothing.version=1"]),
    ],
    ids=lambda one: one if isinstance(one, str) else one[-1],
)
def test_a_dry_run_has_the_answer_of_kafka_s_script(kafka: Kafka, verb: str, words: list[str]) -> None:
    theirs = features(kafka, verb, *words, "--dry-run")
    ours = kcli("features", verb, *words, "--dry-run", bootstrap=kafka.bootstrap)
    name = words[-1].partition("=")[0]
    if "--feature" in words and name not in {row["feature"] for row in features_of(kafka)}:
        # The script says that a feature which no broker has can be downgraded to 0.
        assert (ours.code, "no broker supports it" in ours.err) == (1, True)
        return
    assert (ours.code == 0) is (theirs.returncode == 0), ours.err + theirs.stdout + theirs.stderr
    if ours.code:
        assert ours.code in (1, 7)


def test_the_api_versions_are_those_of_kafka_s_script(kafka: Kafka) -> None:
    theirs = broker_api_versions(kafka).stdout.splitlines()
    ours = kcli("brokers", "api-versions", "-o", "kafka", bootstrap=kafka.bootstrap).out.splitlines()
    offered = [re.sub(r" \[.*", "", line.rstrip(",")) for line in theirs if not OF_BROKERS.match(line)]
    assert offered == [
        re.sub(r" \[.*", "", line.rstrip(","))
        for line in ours
        if "UNKNOWN" not in line and not OF_BROKERS.match(line)
    ]


def test_the_brokers_are_those_of_kafka_s_script(kafka: Kafka) -> None:
    assert (
        cluster_command(kafka, "cluster-id").stdout.split()[-1]
        == document(kafka, "brokers", "list")["cluster"]
    )
    fenced_too = [] if before_4(kafka) else ["--include-fenced-brokers"]
    _heading, *lines = cluster_command(kafka, "list-endpoints", *fenced_too).stdout.splitlines()
    theirs = [line.split()[:3] for line in lines]
    ours = document(kafka, "brokers", "list")["items"]
    assert theirs == [[str(row["broker"]), row["host"], str(row["port"])] for row in ours]
    (row,) = document(kafka, "brokers", "describe")["items"]
    assert {one.partition("://")[0] for one in row["listeners"]} == {"PLAINTEXT", "CONTROLLER"}
    assert row["roles"] == ["broker", "controller"]
    assert row["log_dirs"][0]["state"] == "online"


def controller_of(kafka: Kafka) -> str:
    """Where the active controller listens."""
    found = document(kafka, "quorum", "describe")
    (endpoints,) = (row["endpoints"] for row in found["items"] if row["node"] == found["leader"])
    return str(endpoints[0]).rpartition("/")[2]


def test_a_controller_is_as_good_as_a_broker_for_what_it_serves(kafka: Kafka) -> None:
    """Instead of --bootstrap-controller of the scripts: -b may name controllers."""
    controller = controller_of(kafka)
    by_broker = document(kafka, "quorum", "describe")
    done = kcli("quorum", "describe", "-o", "json", bootstrap=controller)
    assert done.code == 0, done.err
    by_controller = json.loads(done.out)
    assert (by_controller["cluster"], by_controller["leader"]) == (by_broker["cluster"], by_broker["leader"])
    assert [row["node"] for row in by_controller["items"]] == [row["node"] for row in by_broker["items"]]
    for served in (
        ("features", "list"),
        ("configs", "describe", "brokers", "1"),
        ("brokers", "api-versions"),
        ("reassign", "status"),
        ("quorum", "remove-controller", "99", "--dry-run"),
    ):
        ours = kcli(*served, bootstrap=kafka.bootstrap)
        assert kcli(*served, bootstrap=controller).code == ours.code, served
    for of_brokers in ("topics list", "groups list", "topics describe t", "cluster describe", "brokers list"):
        refused = kcli(*of_brokers.split(), bootstrap=controller)
        assert (refused.code, "controller" in refused.err) == (7, True), refused
        assert "name a broker: -b HOST:PORT" in refused.err
    pinned = kcli("quorum", "describe", "-X", "cluster.id=another", bootstrap=controller)
    assert (pinned.code, "belong to cluster" in pinned.err) == (7, True), pinned
    script = metadata_quorum_of(controller, "describe", "--status")
    assert f"ClusterId:              {by_controller['cluster']}" in script.stdout
