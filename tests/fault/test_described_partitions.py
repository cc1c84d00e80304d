"""DescribeTopicPartitions (KIP-966): pages, what they cost, what may happen between them, and brokers without it."""

from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import BrokerError, KcliError, NotFoundError, ProtocolError
from kcli.core.hooks import Hooks
from kcli.core.protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.script import FOREVER
from tests.fault.administering import administrator

MANY = 10_000
PAGES = MANY // 2_000


def test_a_topic_of_10_000_partitions_is_read_in_pages() -> None:
    """Five responses, each of a fifth of the bytes: what is decoded at once is a page."""
    sizes: dict[str, list[int]] = {}

    def note(way: str, _node: Any, _number: int, api: str, _version: int, size: int) -> None:
        if way == "←":
            sizes.setdefault(api, []).append(size)

    with FakeCluster(3, topics={"big": MANY, "small": 2}) as cluster:
        hooks = Hooks(wire=note)
        with Admin(bootstrap_servers=cluster.bootstrap, hooks=hooks, timeout=60) as admin:
            admin.describe_partitions(["small"])
            sizes.clear()
            kept = admin.describe_partitions(["big"])["big"]
            assert {api: len(some) for api, some in sizes.items()} == {"DescribeTopicPartitions": PAGES}
            whole = admin.describe_topics(["big"])["big"]
        assert isinstance(kept, TopicInfo)
        assert isinstance(whole, TopicInfo)
        assert [part.partition for part in kept.partitions] == list(range(MANY))
        assert [part.leader for part in whole.partitions] == [part.leader for part in kept.partitions]
        assert max(sizes["DescribeTopicPartitions"]) < 0.25 * max(sizes["Metadata"])


def test_offsets_of_described_partitions_need_no_metadata() -> None:
    with FakeCluster(2, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        admin.describe_partitions(["t"])
        before = len(cluster.seen(MetadataRequest))
        admin.list_offsets({TopicPartition("t", 0): -1, TopicPartition("t", 1): -1})
        assert len(cluster.seen(MetadataRequest)) == before
        assert cluster.seen(ListOffsetsRequest)


@pytest.mark.parametrize("page", [1, 2, 3, 7])
def test_pages_cut_topics_anywhere(page: int) -> None:
    topics = {"a": 3, "b": 1, "c": 5, "d": 2}
    with FakeCluster(3, topics=topics, partitions_of_a_page=page) as cluster, administrator(cluster) as admin:
        cluster.set_elr("c", 4, [2], [3])
        every = admin.describe_partitions()
        some = admin.describe_partitions(["d", "none", "a"])
    assert {name: counted(found) for name, found in every.items()} == topics
    assert list(some) == ["d", "none", "a"]
    assert isinstance(some["none"], NotFoundError)
    assert (counted(some["d"]), counted(some["a"])) == (2, 3)
    topic = every["c"]
    assert isinstance(topic, TopicInfo)
    assert [part.partition for part in topic.partitions] == [0, 1, 2, 3, 4]
    assert (topic.partitions[4].elr, topic.partitions[4].last_known_elr) == ((2,), (3,))
    assert (topic.partitions[0].elr, topic.partitions[0].last_known_elr) == ((), ())


def counted(found: TopicInfo | KcliError) -> int:
    assert isinstance(found, TopicInfo)
    return len(found.partitions)


def test_a_topic_that_is_created_again_between_pages_is_read_anew() -> None:
    """Else partitions of two topics would be one."""
    with FakeCluster(1, topics={"a": 1, "t": 4}, partitions_of_a_page=2) as cluster:
        cluster.intercept(
            DescribeTopicPartitionsRequest, lambda _request: cluster.recreate_topic("t", 3), after=1, times=1
        )
        with administrator(cluster) as admin:
            topic = admin.describe_partitions(["a", "t"])["t"]
        assert isinstance(topic, TopicInfo)
        assert [part.partition for part in topic.partitions] == [0, 1, 2]


@pytest.mark.parametrize("cursor", [("t", 2), ("t", 1), ("a", 5)])
def test_a_cursor_that_does_not_advance_is_an_error(cursor: tuple[str, int]) -> None:
    """The pages would never end."""

    def again(_request: Any, answer: Any) -> None:
        answer.next_cursor = Cursor(topic_name=cursor[0], partition_index=cursor[1])

    with FakeCluster(1, topics={"t": 6}, partitions_of_a_page=2) as cluster:
        cluster.replace(DescribeTopicPartitionsRequest, again, after=1, times=FOREVER)
        with administrator(cluster) as admin, pytest.raises(ProtocolError, match="as the next"):
            admin.describe_partitions(["t"])


def test_without_the_api_it_is_metadata() -> None:
    with FakeCluster(2, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        cluster.hide(DescribeTopicPartitionsRequest)
        topic = admin.describe_partitions(["t"])["t"]
        assert isinstance(topic, TopicInfo)
        assert [(part.partition, part.elr, part.last_known_elr) for part in topic.partitions] == [
            (number, None, None) for number in range(3)
        ]
        assert list(admin.describe_partitions()) == ["t"]
        assert not cluster.seen(DescribeTopicPartitionsRequest)


def test_a_broker_without_it_during_an_upgrade_is_asked_for_metadata() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        for node in (2, 3):
            cluster.hide(DescribeTopicPartitionsRequest, node=node)
        for _ in range(6):
            with administrator(cluster) as admin:
                for _ in range(3):
                    assert counted(admin.describe_partitions(["t"])["t"]) == 3


def test_a_hidden_topic_is_refused_and_names_what_is_missing() -> None:
    with FakeCluster(1, topics={"hidden": 1, "t": 1}) as cluster, administrator(cluster) as admin:
        cluster.settings.hidden_topics = frozenset({"hidden"})
        found = admin.describe_partitions(["hidden", "t"])
        assert isinstance(found["hidden"], BrokerError)
        assert counted(found["t"]) == 1
        assert list(admin.describe_partitions()) == ["t"]
