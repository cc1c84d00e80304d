"""``kcli cluster`` on a real cluster of three brokers; confluent-kafka's AdminClient is the judge."""

import json
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from kcli.sandbox.config import uses_zookeeper
from tests.kafka import Kafka
from tests.run import kcli_process

pytestmark = pytest.mark.integration


def described(kafka: Kafka, *flags: str) -> dict[str, Any]:
    done = kcli_process("cluster", "describe", "-o", "json", *flags, bootstrap=kafka.bootstrap)
    assert (done.returncode, done.err) == (0, "")
    (item,) = json.loads(done.out)["items"]
    assert isinstance(item, dict)
    return item


def test_brokers_and_partitions_are_those_that_the_judge_lists(kafka: Kafka) -> None:
    kafka.topic("described", partitions=4)
    judge = AdminClient({"bootstrap.servers": kafka.bootstrap})
    expected = judge.describe_cluster(request_timeout=30).result(120)
    item = described(kafka)
    assert item["cluster_id"] == expected.cluster_id
    found = [(b["broker"], b["host"], b["port"], b["rack"]) for b in item["brokers"]]
    assert found == [(n.id, n.host, n.port, n.rack) for n in sorted(expected.nodes, key=lambda n: n.id)]
    assert {b["state"] for b in item["brokers"]} == {"online"}
    parts = [p for t in judge.list_topics(timeout=30).topics.values() for p in t.partitions.values()]
    assert item["partitions"] == len(parts)
    for broker in item["brokers"]:
        assert broker["leaders"] == sum(p.leader == broker["broker"] for p in parts)
        assert broker["replicas"] == sum(broker["broker"] in p.replicas for p in parts)
    assert item["offline_partitions"] == []


def test_the_version_is_that_of_the_jars(kafka: Kafka) -> None:
    item = described(kafka, "--features")
    release: str | None = ".".join(kafka.version.split(".")[:2])
    if uses_zookeeper(kafka.version):  # these brokers do not report it
        assert ({b["version"] for b in item["brokers"]}, item["version"]) == ({None}, None)
        return
    assert {b["version"] for b in item["brokers"]} == {release}
    assert item["version"] == release
    assert item["controller"] in item["voters"]
    levels = {row["feature"]: row["finalized"] for row in item["features"]}
    assert levels["metadata.version"] == item["metadata_version"]


def test_log_directories_have_the_replicas_of_all_topics(kafka: Kafka) -> None:
    item = described(kafka, "--log-dirs")
    assert {d["broker"] for d in item["log_dirs"]} == {b["broker"] for b in item["brokers"]}
    replicas = sum(d["replicas"] for d in item["log_dirs"])
    assert replicas >= sum(b["replicas"] for b in item["brokers"])
    if uses_zookeeper(kafka.version):  # KIP-827: since Kafka 3.3
        assert {(d["usable_bytes"], d["total_bytes"]) for d in item["log_dirs"]} == {(None, None)}
        return
    assert all(0 < d["usable_bytes"] <= d["total_bytes"] for d in item["log_dirs"])
