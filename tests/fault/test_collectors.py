"""What the exporter's collectors read of a cluster, and what is left where one of them cannot."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.exporter.collectors import choice
from kcli.exporter.collectors.reading import FactReader
from tests.exporting import exporting, get, until
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.many_groups import ManyGroups
from tests.fake.script import FOREVER
from tests.lasting import Moment, lasted
from tests.unit.exporter.pages import labels, parsed


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"orders": 3}) as made:
        yield made


@contextmanager
def reader(
    cluster: FakeCluster, chosen: frozenset[str] = choice.ALL, *, timeout: float = 5.0
) -> Iterator[tuple[FactReader, list[float]]]:
    """With a clock that stands."""
    now = [1_000.0]
    with Admin(ClientOptions(bootstrap_servers=cluster.bootstrap), timeout=timeout) as admin:
        yield FactReader(admin, chosen, lambda: now[0]), now


def test_everything_of_a_cluster_is_read(cluster: FakeCluster) -> None:
    with exporting(cluster.bootstrap, collect=choice.ALL) as running:
        running.sampled()
        found = parsed(get(running.url).text)
    complete = {
        dict(one)["collector"]: value for one, value in found["kcli_exporter_collector_complete"].items()
    }
    assert complete == dict.fromkeys(choice.ALL, 1)
    assert found["kcli_quorum_replicas"] == {labels(role="voter"): 3, labels(role="observer"): 0}
    assert found["kcli_transactions_open"] == {labels(): 0}
    assert found["kcli_broker_up"] == {labels(broker=node): 1 for node in cluster.node_ids}
    assert sum(found["kcli_broker_controller"].values()) == 1
    assert found["kcli_topic_under_min_isr_partitions"][labels(topic="orders")] == 0
    assert len(found["kcli_broker_log_dir_up"]) == 3
    assert found["kcli_topic_config_info"][labels(topic="orders", key="cleanup.policy", value="delete")] == 1
    assert not running.said


REQUESTS = {
    "quorum": DescribeQuorumRequest,
    "transactions": ListTransactionsRequest,
    "quotas": DescribeClientQuotasRequest,
    "log-dirs": DescribeLogDirsRequest,
    "groups": ListGroupsRequest,
    "configs": DescribeConfigsRequest,
}


@pytest.mark.parametrize("collector", REQUESTS)
def test_what_one_collector_may_not_read_does_not_stop_the_others(
    cluster: FakeCluster, collector: str
) -> None:
    ManyGroups(cluster, 2, 2)
    cluster.fail(REQUESTS[collector], Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    with exporting(cluster.bootstrap, collect=choice.ALL) as running:
        running.sampled()
        found = parsed(get(running.url).text)
    complete = {
        dict(one)["collector"]: value for one, value in found["kcli_exporter_collector_complete"].items()
    }
    with_it = {"quorum": {"brokers"}, "log-dirs": {"topics"}, "groups": {"owners"}, "configs": {"topics"}}
    assert {name for name, value in complete.items() if not value} == {collector, *with_it.get(collector, ())}
    assert found["kcli_exporter_up"] == {labels(): 1}
    assert found["kcli_exporter_problems"][labels()] >= 1
    for name, metric in (
        ("quorum", "kcli_quorum_leader"),
        ("transactions", "kcli_transactions_open"),
        ("groups", "kcli_group_members"),
    ):
        assert (metric in found) == (name != collector)
    assert "kcli_topic_partitions" in found
    assert len([text for text in running.said if "AUTHORIZATION" in text.upper()]) == 1, "said once"


@pytest.mark.parametrize("collector", ["quorum", "transactions", "quotas"])
def test_what_brokers_do_not_have_is_not_missing(cluster: FakeCluster, collector: str) -> None:
    cluster.hide(REQUESTS[collector])
    with reader(cluster) as (facts, _):
        found = facts.read(["orders"])
    assert not found.problems
    assert getattr(found, collector) is None


def test_a_broker_without_an_answer_delays_a_sample_by_one_timeout(cluster: FakeCluster) -> None:
    """Three collectors ask all brokers; the later ones are not asked any more."""
    with reader(cluster, timeout=2.0) as (facts, now):
        facts._clock = facts._parts._clock = time.monotonic
        assert not facts.read(["orders"]).problems
        cluster.pause(2)
        facts._parts._kept.clear()
        began = Moment.now()
        found = facts.read(["orders"])
        assert lasted(began) < 5.5
        assert {"transactions", "log-dirs"} <= found.errors.keys()
        assert facts._admin.timeout == 2.0
    assert now


def test_what_changes_seldom_is_kept(cluster: FakeCluster) -> None:
    cluster.create_topic("new", 1)
    with reader(cluster) as (facts, now):
        counts = []
        for seconds, topics in (
            (0, ["orders"]),
            (15, ["orders"]),
            (0, ["orders", "new"]),
            (61, ["orders", "new"]),
            (300, ["orders", "new"]),
        ):
            now[0] += seconds
            facts.read(topics)
            counts.append(
                tuple(
                    len(cluster.seen(one))
                    for one in (DescribeQuorumRequest, DescribeClientQuotasRequest, DescribeConfigsRequest)
                )
            )
    assert counts == [(1, 1, 2), (2, 1, 2), (3, 1, 4), (4, 2, 4), (5, 3, 6)]


def test_only_what_is_chosen_is_asked_for(cluster: FakeCluster) -> None:
    with exporting(cluster.bootstrap, collect=frozenset((choice.QUORUM,))) as running:
        running.sampled()
        found = parsed(get(running.url).text)
    assert {dict(one)["collector"] for one in found["kcli_exporter_collector_complete"]} == {"quorum"}
    assert "kcli_quorum_leader" in found
    for request in (*REQUESTS.values(),):
        assert bool(cluster.seen(request)) == (request is DescribeQuorumRequest)


def test_a_broker_that_is_away_is_down_while_replicas_are_on_it(cluster: FakeCluster) -> None:
    cluster.create_topic("spread", 1, replicas={0: [1, 2]})
    with exporting(cluster.bootstrap, timeout=1.0) as running:
        cluster.stop(2, fail_over=True)
        until(lambda: parsed(get(running.url).text).get("kcli_broker_up", {}).get(labels(broker=2)) == 0)
        assert parsed(get(running.url).text)["kcli_broker_up"][labels(broker=1)] == 1
