"""Reads that do not depend on each other: what is asked at the same time, and what becomes of their errors."""

from contextlib import nullcontext

import pytest

from kcli.core import Admin
from kcli.core.cluster.together import together
from kcli.core.errors import BrokerError, KcliError, TimedOutError
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER


def test_reads_wait_at_the_same_time_also_of_two_clusters() -> None:
    with (
        FakeCluster(1) as one,
        FakeCluster(1, topics={"t": 1}) as other,
        Admin(bootstrap_servers=one.bootstrap) as first,
        Admin(bootstrap_servers=other.bootstrap) as last,
    ):
        first.connect()
        last.connect()
        one.delay(DescribeClusterRequest, 0.5)
        _, topics, own = together(
            [first.cluster, last.cluster], [first.describe_cluster, last.list_topics, first.list_topics]
        )
        assert ([topic.name for topic in topics], own) == (["t"], [])
        (described,) = one.seen(DescribeClusterRequest)
        assert described.answered_at is not None
        assert other.seen(MetadataRequest)[-1].at < described.answered_at


def test_the_error_of_the_first_is_raised_once_all_have_ended() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster, Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.connect()
        cluster.fail(DescribeClusterRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
        ended: list[str] = []

        def late() -> None:
            admin.list_topics()
            ended.append("late")
            raise TimedOutError("the last one")

        with pytest.raises(BrokerError, match="describing the cluster"):
            admin.together(admin.describe_cluster, late)
        assert ended == ["late"]
        assert admin.cluster.beside == []
        assert [topic.name for topic in admin.list_topics()] == ["t"]


@pytest.mark.parametrize("seconds", [None, 2.0], ids=["each its timeout", "a shared deadline"])
def test_the_steps_of_a_read_have_time_although_another_one_took_all_of_it(seconds: float | None) -> None:
    """A broker that hangs is a gap of what was asked of it: another one that is asked in a second step has answered."""
    with (
        FakeCluster(2, topics={"t": 1}) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, timeout=1.0) as admin,
    ):
        admin.describe_features()  # connected to both
        cluster.pause(2)
        reads = [lambda: admin.describe_log_dirs()[1], lambda: admin.describe_features(broker_ids=[2])[2]]
        with nullcontext() if seconds is None else admin.within(seconds):
            directories, features = admin.together(*reads)
        assert isinstance(features, TimedOutError)
        assert isinstance(directories, list), directories


def test_reads_in_reads_keep_their_results_apart() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster, Admin(bootstrap_servers=cluster.bootstrap) as admin:

        def inner() -> tuple[int, int]:
            one, two = admin.together(admin.list_topics, admin.describe_cluster)
            return len(one), len(two.brokers)

        found = admin.together(admin.describe_cluster, inner, inner, lambda: KcliError("a value"))
        assert [found[1], found[2], str(found[3])] == [(1, 1), (1, 1), "a value"]
