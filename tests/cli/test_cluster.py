"""``kcli cluster describe`` as a user runs it: on a healthy cluster, with a dead broker, without permission."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import kcli, ok, shell


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Three brokers; ``t-1`` has its only replica on broker 2."""
    with FakeCluster(3, topics={"orders": 3}) as found:
        found.create_topic("t", 3, replicas={0: [1, 2], 1: [2], 2: [2, 3]})
        yield found


def described(cluster: FakeCluster, *flags: str, code: int = 0) -> tuple[dict[str, Any], str]:
    """The item of the JSON document, and stderr."""
    done = kcli("cluster", "describe", *flags, "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(ok(done, (code,)))
    assert document["kind"] == "ClusterDescriptionList"
    (item,) = document["items"]
    return item, done.stderr.decode()


def table(cluster: FakeCluster, *flags: str) -> str:
    return ok(kcli("cluster", "describe", *flags, bootstrap=cluster.bootstrap), (0, 6)).decode()


def test_a_healthy_cluster_has_its_brokers_controller_and_versions(cluster: FakeCluster) -> None:
    item, said = described(cluster)
    assert said == ""
    assert (item["version"], item["metadata_version"]) == ("4.3", 30)
    assert (item["controller"], item["controller_epoch"], item["voters"]) == (1, 7, [1, 2, 3])
    rows = [(b["broker"], f"{b['host']}:{b['port']}", b["state"], b["version"]) for b in item["brokers"]]
    assert rows == [(n, cluster.address(n), "online", "4.3") for n in (1, 2, 3)]
    assert [(b["leaders"], b["replicas"], b["not_in_sync"]) for b in item["brokers"]] == [
        (2, 4, 0),
        (3, 6, 0),
        (1, 4, 0),
    ]
    assert (item["topics"], item["partitions"]) == (2, 6)
    assert (item["offline_partitions"], item["under_replicated_partitions"]) == ([], [])
    assert "features" not in item
    assert "log_dirs" not in item


def test_a_dead_broker_is_fenced_and_its_partitions_are_listed(cluster: FakeCluster) -> None:
    cluster.stop(2, fail_over=True)
    item, said = described(cluster)
    assert said == ""
    assert [(b["state"], b["version"]) for b in item["brokers"]] == [
        ("online", "4.3"),
        ("fenced", None),
        ("online", "4.3"),
    ]
    (offline,) = item["offline_partitions"]
    assert offline == {"topic": "t", "partition": 1, "replicas": [2], "isr": [2], "offline": [2]}
    lagging = [(p["topic"], p["partition"]) for p in item["under_replicated_partitions"]]
    assert lagging == [("orders", 0), ("orders", 1), ("orders", 2), ("t", 0), ("t", 2)]
    text = table(cluster)
    assert "brokers 3 (1 not online: 2), controller 1, voters 1,2,3, metadata version 4.3" in text
    assert "topics 2, partitions 6, offline 1, under-replicated 5" in text
    assert [line.split()[:3] for line in text.splitlines() if line.startswith("t ")] == [
        ["t", "1", "offline"],
        ["t", "0", "under-replicated"],
        ["t", "2", "under-replicated"],
    ]


def test_a_dead_broker_that_brokers_cannot_list_is_missing(cluster: FakeCluster) -> None:
    """Before Kafka 4.0 only the replica lists name it."""
    cluster.cap_versions({DescribeClusterRequest: 1})
    cluster.stop(2, fail_over=True)
    item, _said = described(cluster)
    assert [(b["broker"], b["state"], b["host"]) for b in item["brokers"]] == [
        (1, "online", "127.0.0.1"),
        (2, "missing", None),
        (3, "online", "127.0.0.1"),
    ]


def test_a_broker_that_is_listed_and_does_not_respond_leaves_the_rest_described(cluster: FakeCluster) -> None:
    cluster.stop(2)
    item, said = described(cluster, "--timeout", "2s", code=6)
    assert [b["version"] for b in item["brokers"]] == ["4.3", None, "4.3"]
    assert "requesting the features of broker 2" in said


def test_brokers_of_zookeeper_clusters_name_the_controller_in_metadata(cluster: FakeCluster) -> None:
    cluster.hide(DescribeQuorumRequest, DescribeClusterRequest)
    item, said = described(cluster)
    assert (item["controller"], item["controller_epoch"], item["voters"]) == (1, None, None)
    assert said == ""


def test_without_permission_the_controller_is_unknown_and_the_exit_code_6(cluster: FakeCluster) -> None:
    cluster.fail(DescribeQuorumRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    item, said = described(cluster, code=6)
    assert item["controller"] is None, "a broker of a KRaft cluster names any broker as controller"
    assert len(item["brokers"]) == 3
    assert "CLUSTER_AUTHORIZATION_FAILED" in said
    assert "--operation describe --cluster" in said


# --- features ----------------------------------------------------------------------------------------------


def test_features_are_listed_by_range_and_brokers_of_another_version_stand_out(cluster: FakeCluster) -> None:
    def older(_request: Any, answer: Any) -> None:
        answer.supported_features[0].max_version = 21
        answer.finalized_features[0].max_version_level = 20
        answer.finalized_features_epoch = 0

    cluster.replace(ApiVersionsRequest, older, node=3)
    item, _said = described(cluster, "--features")
    assert [b["version"] for b in item["brokers"]] == ["4.3", "4.3", "3.9"]
    assert [tuple(row.values()) for row in item["features"]] == [
        ("metadata.version", 30, 7, 21, [3]),
        ("metadata.version", 30, 7, 30, [1, 2]),
        ("transaction.version", 2, 0, 2, [1, 2, 3]),
    ]


def test_brokers_without_features_have_no_version(cluster: FakeCluster) -> None:
    cluster.cap_versions({ApiVersionsRequest: 2})
    item, _said = described(cluster, "--features")
    assert (item["version"], item["features"], item["brokers"][0]["version"]) == (None, [], None)
    done = kcli("cluster", "describe", "--features", bootstrap=cluster.bootstrap)
    assert b"no broker reports features" in done.stderr


# --- log directories ---------------------------------------------------------------------------------------


def test_log_directories_are_summed(cluster: FakeCluster) -> None:
    item, said = described(cluster, "--log-dirs")
    assert said == ""
    assert [(d["broker"], d["path"], d["state"], d["replicas"]) for d in item["log_dirs"]] == [
        (1, "/fake/1", "online", 4),
        (2, "/fake/2", "online", 6),
        (3, "/fake/3", "online", 4),
    ]
    assert {(d["usable_bytes"], d["total_bytes"]) for d in item["log_dirs"]} == {(1 << 29, 1 << 30)}


def test_the_directories_of_a_dead_broker_are_reported_as_unknown(cluster: FakeCluster) -> None:
    cluster.stop(2, fail_over=True)
    item, said = described(cluster, "--log-dirs", code=6)
    assert [d["broker"] for d in item["log_dirs"]] == [1, 3]
    assert "log directories of broker 2 are unknown" in said


def test_a_failed_disk_is_offline(cluster: FakeCluster) -> None:
    def failed(_request: Any, answer: Any) -> None:
        answer.results[0].error_code = Code.KAFKA_STORAGE_ERROR
        answer.results[0].topics = []

    cluster.replace(DescribeLogDirsRequest, failed, node=2)
    item, said = described(cluster, "--log-dirs", code=6)
    assert [(d["state"], d["replicas"], d["size_bytes"]) for d in item["log_dirs"]][1] == (
        "offline",
        None,
        None,
    )
    assert "broker 2: log directory /fake/2" in said


def test_log_directories_without_permission_are_missing(cluster: FakeCluster) -> None:
    cluster.fail(DescribeLogDirsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    item, said = described(cluster, "--log-dirs", code=6)
    assert item["log_dirs"] == []
    assert "CLUSTER_AUTHORIZATION_FAILED" in said


# --- output formats ----------------------------------------------------------------------------------------


def test_formats_for_programs_have_one_table(cluster: FakeCluster) -> None:
    brokers = table(cluster, "-o", "tsv").splitlines()
    assert [line.split("\t")[0] for line in brokers] == ["broker", "1", "2", "3"]
    assert table(cluster, "-o", "tsv", "--features").splitlines()[1] == "metadata.version\t30\t7\t30\t1,2,3"
    assert (
        table(cluster, "-o", "tsv", "--log-dirs").splitlines()[1].startswith("1\t/fake/1\tonline\t4\t0\t0\t")
    )
    assert table(cluster, "-o", "name") == "1\n2\n3\n"
    assert len(table(cluster, "--no-headers").splitlines()) == 3
    (line,) = table(cluster, "-o", "ndjson").splitlines()
    assert json.loads(line)["kind"] == "ClusterDescription"


@pytest.mark.parametrize("flags", [["-o", "tsv"], ["-o", "csv"], ["-o", "name"], ["--no-headers"]])
def test_two_tables_do_not_go_into_one(cluster: FakeCluster, flags: list[str]) -> None:
    words = ["cluster", "describe", "--features", "--log-dirs", *flags]
    done = kcli(*words, bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"use -o json" in done.stderr


def test_tables_fit_80_columns_of_a_terminal(cluster: FakeCluster) -> None:
    cluster.create_topic("many", 30, replicas={n: [2] for n in range(30)})
    cluster.stop(2, fail_over=True)
    line = "stty cols 80 rows 24; kcli cluster describe --features --log-dirs --no-pager 2>/dev/null"
    define = f"export KCLI_BOOTSTRAP_SERVER={cluster.bootstrap} NO_COLOR=1"
    done = shell(
        f"{define}; export -f kcli; SHELL=$BASH script -qec \"bash -c '{line}'\" /dev/null",
        bootstrap=cluster.bootstrap,
    )
    lines = done.stdout.decode().splitlines()
    assert any(line.startswith("BROKER") for line in lines), done.stdout
    assert max(map(len, lines)) <= 80
    assert any("… and 16 more: kcli topics describe --unavailable" in line for line in lines)
