"""Rendering of server.properties: pure, so every line can be looked at."""

from dataclasses import replace

import pytest

from kcli.sandbox.config import (
    parse_version,
    server_properties,
    uses_zookeeper,
    zookeeper_properties,
)
from kcli.sandbox.errors import UsageError
from kcli.sandbox.properties import render
from kcli.sandbox.state import Listener, NodeState, SandboxState
from tests.unit.sandbox.states import make_state


def plan(brokers: int, *, version: str = "4.4.0", zookeeper: bool = False, **extra: str) -> SandboxState:
    state = make_state(brokers=brokers, version=version, zookeeper=zookeeper)
    return replace(state, extra=extra, data="/d")


def lines(cluster: SandboxState, node: int = 0) -> dict[str, str]:
    text = server_properties(cluster, cluster.nodes[node], {})
    return dict(line.split("=", 1) for line in text.splitlines())


def test_one_node_is_broker_and_controller_on_loopback() -> None:
    found = lines(plan(1))
    assert found["process.roles"] == "broker,controller"
    assert found["controller.quorum.voters"] == "1@127.0.0.1:29000"
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:29000"
    assert found["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9092"
    assert found["listener.security.protocol.map"] == "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    assert found["log.dirs"] == "/d/node-1"


def test_further_log_directories_are_beside_the_first() -> None:
    state = replace(plan(2), log_dirs=3)
    assert lines(state, 1)["log.dirs"] == "/d/node-2,/d/disk-2/node-2,/d/disk-3/node-2"


@pytest.mark.case("S4-31")
@pytest.mark.parametrize(("brokers", "replicas", "min_isr"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 3, 2)])
def test_replication_follows_the_number_of_brokers(brokers: int, replicas: int, min_isr: int) -> None:
    found = lines(plan(brokers), brokers - 1)
    assert found["node.id"] == str(brokers)
    for key in (
        "default.replication.factor",
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "share.coordinator.state.topic.replication.factor",
    ):
        assert found[key] == str(replicas)
    for key in ("min.insync.replicas", "transaction.state.log.min.isr"):
        assert found[key] == str(min_isr)
    assert len(found["controller.quorum.voters"].split(",")) == brokers


def test_extra_properties_win() -> None:
    found = lines(plan(1, **{"min.insync.replicas": "7", "broker.session.timeout.ms": "3000"}))
    assert found["min.insync.replicas"] == "7"
    assert found["broker.session.timeout.ms"] == "3000"


def test_group_limits_stay_kafkas() -> None:
    assert "group.min.session.timeout.ms" not in lines(plan(1))


def test_old_version_uses_zookeeper_and_no_kraft_key() -> None:
    cluster = plan(1, version="2.8.2", zookeeper=True)
    found = lines(cluster)
    assert found["zookeeper.connect"] == "127.0.0.1:2181"
    assert found["broker.id"] == "1"
    assert "CONTROLLER" not in found["listeners"]
    assert not {"process.roles", "node.id", "controller.quorum.voters"} & found.keys()
    assert not [key for key in found if key.startswith("share.")]
    assert "clientPort=2181\n" in zookeeper_properties(2181, "/d/zookeeper")
    assert "clientPortAddress=127.0.0.1\n" in zookeeper_properties(2181, "/d/zookeeper")


def test_more_listeners_are_advertised_and_mapped() -> None:
    node = NodeState(1, (Listener("PLAINTEXT", 1), Listener("MTLS", 2, "SSL")), 3)
    found = lines(replace(plan(1), nodes=(node,)))
    assert found["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1,MTLS://127.0.0.1:2"
    assert found["listener.security.protocol.map"] == "PLAINTEXT:PLAINTEXT,MTLS:SSL,CONTROLLER:PLAINTEXT"
    assert found["inter.broker.listener.name"] == "PLAINTEXT"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.8.2", True),
        ("3.2.3", True),
        ("3.3.0", False),
        ("3.9.2", False),
        ("4.4.0", False),
        ("10.0.0", False),
    ],
)
def test_zookeeper_before_3_3(version: str, expected: bool) -> None:
    assert uses_zookeeper(version) is expected


@pytest.mark.parametrize("version", ["", "4", "4.4", "4.4.0-rc0", "v4.4.0", "../x", "4.4.0\n"])
def test_an_invalid_version_is_refused(version: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_version(version)
    assert caught.value.exit_code == 2


def test_values_are_escaped_for_java() -> None:
    assert render({"a": "C:\\x", "b": "1\n2", "c": " lead"}) == "a=C:\\\\x\nb=1\\n2\nc=\\ lead\n"


def test_bootstrap_names_all_nodes() -> None:
    assert plan(3).bootstrap == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"
