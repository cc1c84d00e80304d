"""The admin client and the cluster itself: records, partitions, configurations, disks, transactions."""

from typing import Any

import pytest

from kcli.core import ConfigChange, ConfigKind, ConfigOp, ConfigResource, Producer
from kcli.core.errors import (
    BrokerError,
    ConfigError,
    KcliError,
    NotFoundError,
    UnsupportedError,
)
from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from kcli.core.protocol.messages.delete_records import DeleteRecordsRequest
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest
from kcli.core.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.types import ProducerRecord, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.administering import T0, T1, T2, administrator
from tests.fault.producing import DEADLINE

NONE = TopicPartition("none", 0)


# --- records -------------------------------------------------------------------------------------------------------


@pytest.mark.case("O4")
def test_records_of_the_other_partitions_are_deleted_when_one_is_refused() -> None:
    """Each partition has its new start or its own error."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        for number in range(3):
            for _ in range(5):
                cluster.append("t", number, batch(b"x"))
        with administrator(cluster) as admin:
            outcome = admin.delete_records({T0: 3, T1: 6, T2: -1, NONE: 0, TopicPartition("t", 9): 0})
        assert (outcome[T0], outcome[T2]) == (3, 5)
        error = outcome[T1]
        assert isinstance(error, BrokerError)
        assert error.code == Code.OFFSET_OUT_OF_RANGE
        assert isinstance(outcome[NONE], NotFoundError)
        assert isinstance(outcome[TopicPartition("t", 9)], NotFoundError)
        assert [cluster.log("t", number).start_offset for number in range(3)] == [3, 0, 5]


def test_records_are_deleted_by_the_leader_that_there_is_now() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.append("t", 0, batch(b"x"))
        with administrator(cluster) as admin:
            admin.delete_records({T0: 0, T1: 0})
            cluster.move_leader("t", 0, cluster.leader("t", 1))
            assert admin.delete_records({T0: 1, T1: 0}) == {T0: 1, T1: 0}


def test_records_that_come_while_all_are_deleted_are_kept_though_the_answer_was_lost() -> None:
    """All is what was there when the call began; the second try says the same offset."""
    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.append("t", 0, batch(b"old"))
        lost = cluster.swallow(DeleteRecordsRequest, "reset")

        def append_before_the_second_try(_request: Any) -> None:
            if lost.count:
                cluster.append("t", 0, batch(b"new"))

        cluster.intercept(DeleteRecordsRequest, append_before_the_second_try)
        with administrator(cluster) as admin:
            assert admin.delete_records({T0: -1}) == {T0: 1}
        assert len(cluster.seen(DeleteRecordsRequest)) == 2
        log = cluster.log("t", 0)
        assert (log.start_offset, log.values()[-1]) == (1, b"new")


def test_a_negative_offset_to_delete_up_to_is_refused() -> None:
    with FakeCluster(1, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        with pytest.raises(ConfigError, match="-2 is not an offset in t-0"):
            admin.delete_records({T0: -2})
        assert cluster.seen(DeleteRecordsRequest) == []


# --- partitions ----------------------------------------------------------------------------------------------------


@pytest.mark.case("O4")
def test_topics_grow_though_one_of_them_cannot() -> None:
    """Each topic has its own error."""
    with FakeCluster(3, topics={"t": 3, "u": 1, "v": 1}) as cluster:
        with administrator(cluster) as admin:
            assert admin.create_partitions({"u": 4}, validate_only=True) == {"u": None}
            outcome = admin.create_partitions({"t": 3, "u": 4, "none": 2, "v": 2})
            assert (outcome["u"], outcome["v"]) == (None, None)
            assert isinstance(outcome["none"], NotFoundError)
            refused = outcome["t"]
            assert isinstance(refused, BrokerError)
            assert "already has 3 partition(s)" in str(refused)
            told = admin.describe_topics(["u"])["u"]
        assert len(getattr(told, "partitions", ())) == 4


def test_partitions_whose_answer_was_lost_are_there_and_no_failure() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.swallow(CreatePartitionsRequest, "reset")
        with administrator(cluster) as admin:
            assert admin.create_partitions({"t": 5}) == {"t": None}
        assert len(cluster.seen(CreatePartitionsRequest)) == 2


# --- configurations ------------------------------------------------------------------------------------------------

TOPIC, OTHER, GONE = (ConfigResource(ConfigKind.TOPIC, name) for name in ("t", "u", "none"))
ONE, TWO, EVERY, NO_BROKER = (ConfigResource(ConfigKind.BROKER, name) for name in ("1", "2", "", "77"))


def test_each_broker_is_asked_for_its_own_configuration() -> None:
    with FakeCluster(3, topics={"t": 1}) as cluster, administrator(cluster) as admin:
        found = admin.describe_configs([ONE, TOPIC, TWO, EVERY, NO_BROKER, GONE])
        assert isinstance(found[NO_BROKER], NotFoundError)
        assert isinstance(found[GONE], NotFoundError)
        values = {
            r: {e.name: e.value for e in entries} for r, entries in found.items() if isinstance(entries, list)
        }
        assert (values[ONE]["broker.id"], values[TWO]["broker.id"], values[EVERY]) == ("1", "2", {})
        assert values[TOPIC]["cleanup.policy"] == "delete"
        asked = {
            (resource.resource_type, resource.resource_name): seen.node
            for seen in cluster.seen(DescribeConfigsRequest)
            for resource in seen.request.resources  # type: ignore[attr-defined]
        }
        assert (asked[4, "1"], asked[4, "2"]) == (1, 2)


@pytest.mark.case("O4")
def test_what_can_be_configured_is_and_the_rest_says_why_not() -> None:
    """All changes of a resource, or none of them."""
    changes = {
        TOPIC: [
            ConfigChange("retention.ms", "5"),
            ConfigChange("cleanup.policy", "compact", ConfigOp.APPEND),
        ],
        OTHER: [ConfigChange("retention.ms", "5"), ConfigChange("no.such.key", "1")],
        GONE: [ConfigChange("retention.ms", "5")],
        ONE: [ConfigChange("message.max.bytes", "7")],
    }
    with FakeCluster(3, topics={"t": 1, "u": 1}) as cluster, administrator(cluster) as admin:
        assert admin.alter_configs({TOPIC: changes[TOPIC]}, validate_only=True) == {TOPIC: None}
        outcome = admin.alter_configs(changes)
        assert (outcome[TOPIC], outcome[ONE]) == (None, None)
        error = outcome[OTHER]
        assert isinstance(error, BrokerError)
        assert error.code == Code.INVALID_CONFIG
        assert isinstance(outcome[GONE], NotFoundError)
        found = admin.describe_configs([TOPIC, OTHER, ONE, TWO])
        own = {r: {e.name: e.value for e in rows if not e.is_default} for r, rows in found.items()}  # type: ignore[union-attr]
        assert own == {
            TOPIC: {"retention.ms": "5", "cleanup.policy": "delete,compact"},
            OTHER: {},
            ONE: {"message.max.bytes": "7"},
            TWO: {},
        }
        undone = [ConfigChange("retention.ms", None, ConfigOp.DELETE)]
        assert admin.alter_configs({TOPIC: undone}) == {TOPIC: None}
        assert {s.node for s in cluster.seen(IncrementalAlterConfigsRequest) if "1" in _names(s.request)} == {
            1
        }


def test_a_cluster_default_belongs_to_no_broker() -> None:
    with FakeCluster(2) as cluster, administrator(cluster) as admin:
        assert admin.alter_configs({EVERY: [ConfigChange("message.max.bytes", "7")]}) == {EVERY: None}
        found = admin.describe_configs([EVERY, ONE], keys=["message.max.bytes"])
        told = {r: [(e.value, e.source, e.is_default) for e in rows] for r, rows in found.items()}  # type: ignore[union-attr]
        assert told == {EVERY: [("7", "dynamic default", False)], ONE: [("7", "dynamic default", True)]}


def test_a_change_whose_answer_was_lost_is_made_once_more() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        cluster.swallow(IncrementalAlterConfigsRequest, "reset")
        with administrator(cluster) as admin:
            appended = [ConfigChange("cleanup.policy", "compact", ConfigOp.APPEND)]
            assert admin.alter_configs({TOPIC: appended}) == {TOPIC: None}
            (rows,) = admin.describe_configs([TOPIC], keys=["cleanup.policy"]).values()
        assert [e.value for e in rows] == ["delete,compact"]  # type: ignore[union-attr]


def test_an_old_broker_is_refused_by_name() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        cluster.hide(IncrementalAlterConfigsRequest)
        with administrator(cluster) as admin:
            (error,) = admin.alter_configs({TOPIC: [ConfigChange("retention.ms", "5")]}).values()
        assert isinstance(error, UnsupportedError)
        assert "IncrementalAlterConfigs" in str(error)


def test_a_broker_is_named_by_a_number() -> None:
    wrong = ConfigResource(ConfigKind.BROKER, "one")
    with FakeCluster(1) as cluster, administrator(cluster) as admin:
        with pytest.raises(ConfigError, match="'one' is no broker id"):
            admin.describe_configs([wrong])
        with pytest.raises(ConfigError, match="'one' is no broker id"):
            admin.alter_configs({wrong: []})


# --- the cluster, its disks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [False, True])
def test_the_cluster_is_described_also_by_brokers_that_know_only_metadata(old: bool) -> None:
    with FakeCluster(3) as cluster:
        if old:
            cluster.hide(DescribeClusterRequest)
        with administrator(cluster) as admin:
            found = admin.describe_cluster()
            assert found.cluster_id == cluster.settings.cluster_id
            assert [b.node.address for b in found.brokers] == [cluster.address(n) for n in (1, 2, 3)]
            assert found.controller == 1
            cluster.stop(2, fail_over=True)
            assert [b.node.id for b in admin.describe_cluster().brokers] == [1, 3]
            if old:
                with pytest.raises(UnsupportedError):
                    admin.describe_cluster(include_fenced=True)
            else:
                rows = admin.describe_cluster(include_fenced=True).brokers
                assert [(b.node.id, b.is_fenced) for b in rows] == [(1, False), (2, True), (3, False)]


@pytest.mark.case("B15")
def test_a_disk_that_cannot_be_described_leaves_the_rest_described() -> None:
    """Of each broker its answer or its error."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.append("t", 0, batch(b"x" * 100))
        cluster.stop(2)
        cluster.fail(DescribeLogDirsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER, node=3)
        with administrator(cluster, timeout=DEADLINE) as admin:
            found = admin.describe_log_dirs()
        assert isinstance(found[2], KcliError)
        assert isinstance(found[3], BrokerError)
        (row,) = found[1]  # type: ignore[misc]
        assert (row.path, row.error, len(row.replicas)) == ("/fake/1", None, 3)
        assert row.replicas[T0].size > 100
        assert row.replicas[T1].size == 0


def test_some_disks_and_some_partitions_can_be_selected() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        found = admin.describe_log_dirs(broker_ids=[2, 77], partitions=[T1])
        assert isinstance(found[77], NotFoundError)
        (row,) = found[2]  # type: ignore[misc]
        assert list(row.replicas) == [T1]
        assert {seen.node for seen in cluster.seen(DescribeLogDirsRequest)} == {2}


def test_a_directory_on_a_failed_disk_says_so() -> None:
    def failed(_request: Any, answer: Any) -> None:
        answer.results[0].error_code = Code.KAFKA_STORAGE_ERROR

    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.replace(DescribeLogDirsRequest, failed)
        with administrator(cluster) as admin:
            (rows,) = admin.describe_log_dirs().values()
        (row,) = rows  # type: ignore[misc]
        assert "KAFKA_STORAGE_ERROR" in str(row.error)


# --- transactions --------------------------------------------------------------------------------------------------


def test_transactions_are_listed_from_all_brokers_and_described_by_their_coordinators() -> None:
    names = [f"x{number}" for number in range(6)]
    with FakeCluster(3, topics={"t": 3}) as cluster:
        producers = [Producer(bootstrap_servers=cluster.bootstrap, transactional_id=name) for name in names]
        for producer in producers:
            producer.init_transactions(10)
        producers[0].begin_transaction()
        producers[0].send(ProducerRecord("t", b"v", partition=1)).result(120)
        with administrator(cluster) as admin:
            listing = admin.list_transactions()
            assert [t.transactional_id for t in listing.transactions] == names
            homes = [cluster.coordinator("transaction", name) for name in names]
            assert [t.coordinator for t in listing.transactions] == homes
            assert [t.transactional_id for t in admin.list_transactions(states=["Ongoing"]).transactions] == [
                "x0"
            ]
            assert len(admin.list_transactions(pattern="x[12]").transactions) == 2
            found = admin.describe_transactions([*names, "none"])
            assert isinstance(found.pop("none"), NotFoundError)
            states = {name: getattr(t, "state", t) for name, t in found.items()}
            assert states == {name: "Ongoing" if name == "x0" else "Empty" for name in names}
            open_one = found["x0"]
            assert not isinstance(open_one, KcliError)
            assert (open_one.partitions, open_one.coordinator) == ((T1,), homes[0])
            told = admin.describe_producers([T0, T1, NONE])
            assert told[T0] == []
            (one,) = told[T1]  # type: ignore[misc]
            assert (one.producer_id, one.open_since, one.last_sequence) == (open_one.producer_id, 0, 0)
            assert isinstance(told[NONE], NotFoundError)
        for producer in producers:
            producer.close(5)


@pytest.mark.case("B15")
def test_transactions_of_a_broker_that_does_not_answer_are_missing_and_it_is_named() -> None:
    """The listing says that it is partial."""
    with FakeCluster(3) as cluster:
        cluster.fail(ListTransactionsRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=FOREVER, node=2)
        with administrator(cluster, timeout=DEADLINE) as admin:
            listing = admin.list_transactions()
            assert listing.is_partial
            assert list(listing.errors) == [2]
            with pytest.raises(ConfigError, match="no transaction state 'Bogus'"):
                admin.list_transactions(states=["Bogus"])


def test_filters_of_transactions_that_a_broker_does_not_know_are_refused() -> None:
    with FakeCluster(1) as cluster:
        cluster.cap_versions({ListTransactionsRequest: 0})
        with administrator(cluster) as admin:
            with pytest.raises(UnsupportedError, match="by duration"):
                admin.list_transactions(longer_than_ms=5)
            with pytest.raises(UnsupportedError, match="by name"):
                admin.list_transactions(pattern="x")
            assert admin.list_transactions().transactions == ()


def test_a_transactions_coordinator_that_moved_is_found_again() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        with Producer(bootstrap_servers=cluster.bootstrap, transactional_id="x") as producer:
            producer.init_transactions(10)
        with administrator(cluster) as admin:
            home = cluster.coordinator("transaction", "x")
            assert getattr(admin.describe_transactions(["x"])["x"], "coordinator", None) == home
            cluster.move_coordinator("transaction", "x", home % 3 + 1)
            assert getattr(admin.describe_transactions(["x"])["x"], "coordinator", None) == home % 3 + 1
        assert cluster.seen(DescribeTransactionsRequest)[-2].node == home


def test_producers_of_a_moved_partition_are_reported_by_its_new_leader() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        assert admin.describe_producers([T0, T1]) == {T0: [], T1: []}
        cluster.move_leader("t", 0, cluster.leader("t", 1))
        assert admin.describe_producers([T0, T1]) == {T0: [], T1: []}
        assert len(cluster.seen(DescribeProducersRequest)) <= 6


def test_when_no_broker_can_be_reached_the_call_says_so() -> None:
    with FakeCluster(1) as cluster, administrator(cluster, timeout=1.0) as admin:
        admin.connect()
        cluster.stop(1)
        with pytest.raises(KcliError, match="gave up"):
            admin.list_groups()


def _names(request: Any) -> list[str]:
    return [resource.resource_name for resource in request.resources]
