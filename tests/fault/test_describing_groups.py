"""Groups of all types are described in one call while the coordinators of some are away."""

from collections.abc import Iterator, Mapping
from time import monotonic

import pytest

from kcli.core import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.errors import TimedOutError
from kcli.core.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.commit_times import offsets_partition
from tests.fake.cluster import FakeCluster
from tests.fake.groups.other_groups import ShareGroup
from tests.fault.consuming import member, turns

PARTITIONS = 6
SECONDS, SLACK = 1.6, 1.0
CLASSIC, MODERN, SHARE = "classic-0", "modern-1", "share-1"
LATE = "away"
"""The group whose coordinator is away."""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.create_topic("__consumer_offsets", PARTITIONS, replication=1)
        made.create_topic("t", 2)
        away = offsets_partition(LATE, PARTITIONS).partition
        assert away not in {offsets_partition(one, PARTITIONS).partition for one in (CLASSIC, MODERN, SHARE)}
        commit = {TopicPartition("t", 0): OffsetAndMetadata(0)}
        with Admin(bootstrap_servers=made.bootstrap) as admin:
            admin.commit_offsets({CLASSIC: commit, LATE: commit})
        made.add_group(ShareGroup(SHARE))
        made.lose_coordinator("group", away)
        yield made


def types(told: Mapping[str, object]) -> dict[str, str]:
    return {name: one.type for name, one in told.items() if isinstance(one, GroupDescription)}


@pytest.mark.parametrize("all_types", [True, False])
@pytest.mark.parametrize("shared", [True, False], ids=["within", "alone"])
def test_a_group_of_the_new_protocol_is_described_beside_one_whose_coordinator_is_away(
    cluster: FakeCluster, *, all_types: bool, shared: bool
) -> None:
    """What denies to be a classic group is asked about as one of the new protocol at once, not after the deadline."""
    names = [LATE, CLASSIC, MODERN, *([SHARE] if all_types else [])]
    with member(cluster, group_id=MODERN, group_protocol="consumer") as consumer:
        turns(lambda: len(consumer.partitions) == 2, consumer)
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=SECONDS) as admin:
            for _ in range(2):
                began = monotonic()
                if shared:
                    with admin.within(SECONDS):
                        told = admin.describe_groups(names, all_types=all_types)
                else:
                    told = admin.describe_groups(names, all_types=all_types)
                assert monotonic() - began <= SECONDS + SLACK
                assert set(told) == set(names)
                assert isinstance(told[LATE], TimedOutError)
                expected = {CLASSIC: "classic", MODERN: "consumer", **({SHARE: "share"} if all_types else {})}
                assert types(told) == expected
                modern = told[MODERN]
                assert isinstance(modern, GroupDescription)
                assert [len(one.assignment or ()) for one in modern.members] == [2]
    asked = cluster.seen(DescribeGroupsRequest)
    assert cluster.seen(ConsumerGroupDescribeRequest)
    assert len(asked) <= 2 * 3, "the group that is not found is not asked about as a classic one again"
