"""Any code, for any API in any version, at the place where clients look for it (kafka-facts 6)."""

import pytest

from kcli.core.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.driver import METHODS, Driver, over_the_wire

REQUESTS = {
    "JoinGroup": asks.join("m"),
    "SyncGroup": asks.sync("m", 1),
    "Heartbeat": asks.heartbeat("m", 1),
    "LeaveGroup": asks.leave("m"),
    "OffsetCommit": asks.commit({"a": {0: 1, 1: 1}}),
    "OffsetFetch": asks.fetch("g", "h"),
    "OffsetDelete": asks.delete_offsets({"a": [0]}),
    "ConsumerGroupHeartbeat": asks.consumer_join("m"),
    "ConsumerGroupDescribe": asks.consumer_describe("g", "h"),
    "ListGroups": asks.list_groups(),
    "DescribeGroups": asks.describe("g", "h"),
    "DeleteGroups": asks.delete("g", "h"),
    "TxnOffsetCommit": TxnOffsetCommitRequest(
        transactional_id="t",
        group_id="g",
        producer_id=1,
        producer_epoch=0,
        topics=[
            TxnOffsetCommitRequestTopic(
                name="a",
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=0, committed_offset=1, committed_metadata=""
                    )
                ],
            )
        ],
    ),
}
EVERY = [
    (name, version) for name, r in REQUESTS.items() for version in range(r.versions[0], r.versions[1] + 1)
]


def places(name: str, version: int, answer) -> list[int]:
    """The codes of an answer, from where Kafka's documentation has them."""
    match name:
        case "OffsetCommit" | "TxnOffsetCommit":
            return [row.error_code for topic in answer.topics for row in topic.partitions]
        case "OffsetFetch" if version >= 8:
            return [group.error_code for group in answer.groups]
        case "OffsetFetch" if version < 2:
            return [row.error_code for topic in answer.topics for row in topic.partitions]
        case "ConsumerGroupDescribe" | "DescribeGroups":
            return [group.error_code for group in answer.groups]
        case "DeleteGroups":
            return [result.error_code for result in answer.results]
    return [answer.error_code]


COUNT = {"OffsetCommit": 2, "ConsumerGroupDescribe": 2, "DescribeGroups": 2, "DeleteGroups": 2}


@pytest.mark.parametrize(("name", "version"), EVERY)
def test_the_code_is_where_it_belongs(driver: Driver, name, version):
    request = REQUESTS[name]
    if name == "OffsetFetch" and version < 8:
        request = asks.old_fetch({"a": [0]})
    count = 2 if name == "OffsetFetch" and version >= 8 else COUNT.get(name, 1)
    for answer, code in (
        (driver.groups.not_coordinator(request, version), Code.NOT_COORDINATOR),
        (driver.groups.refusal(request, version, Code.COORDINATOR_LOAD_IN_PROGRESS), 14),
    ):
        read = over_the_wire(answer, version, flexible=version >= request.flexible)
        assert places(name, version, read) == [code] * count


@pytest.mark.parametrize(("name", "version"), [pair for pair in EVERY if pair[0] in METHODS])
def test_every_version_of_every_api_is_answered(driver: Driver, name, version):
    request = asks.old_fetch({"a": [0]}) if name == "OffsetFetch" and version < 8 else REQUESTS[name]
    assert not driver.park(request, version).waits


def test_all_apis_are_covered():
    assert REQUESTS.keys() - {"TxnOffsetCommit"} == METHODS.keys()


def test_other_apis_are_a_mistake(driver: Driver):
    from kcli.core.protocol.messages.metadata import MetadataRequest

    with pytest.raises(TypeError, match="Metadata"):
        driver.groups.not_coordinator(MetadataRequest(topics=None), 12)
