"""The admin client where answers are partial, coordinators move, and brokers are of different ages."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.members import GroupMember
from kcli.core.cluster.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    OffsetInfo,
)
from kcli.core.errors import (
    BrokerError,
    ConfigError,
    DataLossError,
    KcliError,
    NotFoundError,
    ProtocolError,
    TimedOutError,
    UnsupportedError,
)
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.administering import (
    LIKE_2_8,
    T0,
    T1,
    T2,
    Member,
    Wire,
    administrator,
    at,
    committed,
    group_at,
    modern_member,
)
from tests.fault.producing import DEADLINE

MOVING = [Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE, Code.COORDINATOR_LOAD_IN_PROGRESS]
THREE = {"g1": {T0: 1}, "g2": {T1: 2}, "g3": {T2: 3}}


# --- FindCoordinator: one request, or one for each key, decided before anything is sent ----------------------------


@pytest.mark.case("S3-1", "S3-4")
@pytest.mark.parametrize("age", ["4.3", "2.8"])
def test_five_thousand_groups_cost_one_round_trip_each_of_lookup_and_request(age: str) -> None:
    """One request where the broker can, pipelined ones where it cannot: the same answers, the same round trips."""
    names = [f"g{number:04}" for number in range(5000)]
    with FakeCluster(3, topics={"t": 3}) as cluster:
        if age == "2.8":
            cluster.cap_versions(LIKE_2_8)
        committed(cluster, {name: {T0: number} for number, name in enumerate(names) if number % 500 == 0})
        before = len(cluster.requests)
        wire = Wire()
        with administrator(cluster, hooks=wire.hooks, timeout=60) as admin:
            found = admin.fetch_offsets(dict.fromkeys(names))
        seen = cluster.requests[before:]
    lookups = [s for s in seen if s.kind is FindCoordinatorRequest]
    fetches = [s for s in seen if s.kind is OffsetFetchRequest]
    assert {len(lookups), len(fetches)} == ({1, 3} if age == "4.3" else {5000})
    assert len({s.connection for s in lookups}) == 1
    assert len({s.connection for s in fetches}) == 3
    assert wire.round_trips(FindCoordinatorRequest) == 1
    assert wire.round_trips(OffsetFetchRequest) == 1
    assert cluster.notes == []
    assert found == {name: {T0: at(number)} if number % 500 == 0 else {} for number, name in enumerate(names)}


@pytest.mark.case("S3-4", "S3-5")
def test_a_half_upgraded_cluster_is_asked_by_what_each_broker_offers() -> None:
    """What goes ahead of a broker's ApiVersions is in the versions of the broker before: once for each that has others.
    What counts is what it answers in its own.
    """
    groups = {f"g{number}": {T0: number} for number in range(30)}
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.cap_versions(LIKE_2_8, node=1)
        committed(cluster, groups)
        for entry in cluster.node_ids:
            before = len(cluster.requests)
            with administrator(cluster, bootstrap_servers=cluster.address(entry)) as admin:
                found = admin.fetch_offsets(dict.fromkeys(groups))
                described = admin.describe_groups(list(groups))
            seen = cluster.requests[before:]
            assert found == {g: {T0: at(rows[T0])} for g, rows in groups.items()}
            assert not any(isinstance(told, KcliError) for told in described.values())
            assert not any(s.version > LIKE_2_8[s.kind] for s in seen if s.kind in LIKE_2_8 and s.node == 1)
            owned = [g for g in groups if cluster.coordinator("group", g) == 1]
            fetches = [s for s in seen if s.kind is OffsetFetchRequest]
            assert sum(s.node == 1 for s in fetches) == len(owned)
            for node in (2, 3):
                assert sum(s.node == node and s.version > LIKE_2_8[s.kind] for s in fetches) == 1
        assert (
            cluster.notes == ["node 1: api 9 v9 is not offered"] * 2
        )  # by the two that were entered by another node


@pytest.mark.case("S3-2")
def test_one_key_that_has_no_coordinator_leaves_the_rest_alone() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, THREE)
        cluster.fail(FindCoordinatorRequest, Code.GROUP_AUTHORIZATION_FAILED, where="g2", times=FOREVER)
        with administrator(cluster) as admin:
            found = admin.fetch_offsets(dict.fromkeys(THREE))
        assert _codes(found) == {"g1": 0, "g2": Code.GROUP_AUTHORIZATION_FAILED, "g3": 0}
        assert len(cluster.seen(OffsetFetchRequest)) <= 3


def test_one_pipelined_look_up_that_fails_leaves_the_rest_alone() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, THREE)
        cluster.cap_versions(LIKE_2_8)
        cluster.fail(
            FindCoordinatorRequest,
            Code.GROUP_AUTHORIZATION_FAILED,
            times=FOREVER,
            when=lambda request: request.key == "g2",
        )
        with administrator(cluster) as admin:
            found = admin.fetch_offsets(dict.fromkeys(THREE))
        assert _codes(found) == {"g1": 0, "g2": Code.GROUP_AUTHORIZATION_FAILED, "g3": 0}


def test_a_coordinator_is_looked_up_once_and_kept() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, THREE)
        before = len(cluster.seen(FindCoordinatorRequest))
        with administrator(cluster) as admin:
            for _ in range(3):
                admin.fetch_offsets(dict.fromkeys(THREE))
                admin.describe_groups(list(THREE))
        assert len(cluster.seen(FindCoordinatorRequest)) == before + 1


# --- coordinators that move, load, die -----------------------------------------------------------------------------

CALLS: dict[type[Request], Callable[[Admin, list[str]], Any]] = {
    OffsetFetchRequest: lambda admin, names: admin.fetch_offsets(dict.fromkeys(names)),
    DescribeGroupsRequest: lambda admin, names: admin.describe_groups(names),
    OffsetCommitRequest: lambda admin, names: admin.commit_offsets({n: {T0: at(7)} for n in names}),
    OffsetDeleteRequest: lambda admin, names: admin.delete_offsets({n: [T0, T1, T2] for n in names}),
    DeleteGroupsRequest: lambda admin, names: admin.delete_groups(names),
    LeaveGroupRequest: lambda admin, names: admin.remove_members({n: [GroupMember("m")] for n in names}),
}


@pytest.mark.case("S3-7")
@pytest.mark.parametrize("code", MOVING)
@pytest.mark.parametrize("api", CALLS, ids=lambda api: api.api_name)
def test_a_coordinator_that_is_not_ready_is_retried_and_the_rest_are_not(
    api: type[Request], code: int
) -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        names = [group_at(cluster, node) for node in (1, 2, 3)]
        committed(cluster, {name: {T0: 1} for name in names})
        earlier = len(cluster.seen(api))
        refused = cluster.fail(api, code, times=3, node=2)
        with administrator(cluster) as admin:
            assert list(admin.fetch_offsets(dict.fromkeys(names))) == names
            looked = len(cluster.seen(FindCoordinatorRequest))
            outcome = CALLS[api](admin, names)
        assert list(outcome) == names
        assert refused.count == 3
        asked = [s.node for s in cluster.seen(api)[earlier:]]
        extra = 1 if api is OffsetFetchRequest else 0  # the look-up above asked for offsets as well
        assert (asked.count(1), asked.count(3)) == (1 + extra, 1 + extra)
        assert asked.count(2) == 4 + extra
        if api is not OffsetFetchRequest:
            lookups = len(cluster.seen(FindCoordinatorRequest)) - looked
            assert lookups == (0 if code == Code.COORDINATOR_LOAD_IN_PROGRESS else 3)


def test_a_coordinator_that_moved_is_found_again() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, THREE)
        with administrator(cluster) as admin:
            admin.fetch_offsets(dict.fromkeys(THREE))
            for name in THREE:
                cluster.move_coordinator("group", name, 2)
            found = admin.fetch_offsets(dict.fromkeys(THREE))
        assert found == {g: {w: at(o) for w, o in rows.items()} for g, rows in THREE.items()}


def test_a_coordinator_that_dies_is_replaced_by_its_successor() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, THREE)
        with administrator(cluster) as admin:
            admin.fetch_offsets(dict.fromkeys(THREE))
            cluster.stop(cluster.coordinator("group", "g1"), fail_over=True)
            found = admin.fetch_offsets(dict.fromkeys(THREE))
        assert found == {g: {w: at(o) for w, o in rows.items()} for g, rows in THREE.items()}


def test_at_the_deadline_a_group_has_its_error_and_the_rest_their_results() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        names = [group_at(cluster, node) for node in (1, 2, 3)]
        committed(cluster, {name: {T0: 1} for name in names})
        cluster.fail(OffsetFetchRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=FOREVER, node=2)
        with administrator(cluster, timeout=DEADLINE) as admin:
            found = admin.fetch_offsets(dict.fromkeys(names))
        assert found[names[0]] == found[names[2]] == {T0: at(1)}
        error = found[names[1]]
        assert isinstance(error, TimedOutError)
        assert "COORDINATOR_LOAD_IN_PROGRESS" in str(error)
        assert names[1] in str(error)


def test_a_coordinator_that_hangs_does_not_hold_up_another_that_moved() -> None:
    """Brokers do not wait for each other: a retry at one goes out while another one is silent."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        names = [group_at(cluster, node) for node in (1, 2, 3)]
        committed(cluster, {name: {T0: 1} for name in names})
        with administrator(cluster, timeout=DEADLINE) as admin:
            admin.fetch_offsets(dict.fromkeys(names))
            held = cluster.hold(OffsetFetchRequest, node=3)
            cluster.fail(OffsetFetchRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=3, node=2)
            found = admin.fetch_offsets(dict.fromkeys(names))
        assert found[names[0]] == found[names[1]] == {T0: at(1)}
        assert isinstance(found[names[2]], TimedOutError)
        held.release()


@pytest.mark.case("O1")
def test_a_commit_whose_answer_was_lost_is_made_again_and_no_failure() -> None:
    """The same positions are stored once more."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.swallow(OffsetCommitRequest, "reset")
        with administrator(cluster) as admin:
            assert admin.commit_offsets({"g": {T0: at(5)}}) == {"g": {T0: None}}
        assert cluster.committed_offsets("g") == {T0: 5}
        assert len(cluster.seen(OffsetCommitRequest)) == 2


def test_a_deletion_whose_answer_was_lost_is_no_failure() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 1}})
        cluster.swallow(DeleteGroupsRequest, "reset")
        with administrator(cluster) as admin:
            assert admin.delete_groups(["g"]) == {"g": None}
            (error,) = admin.delete_groups(["g"]).values()
        assert isinstance(error, NotFoundError)
        assert len(cluster.seen(DeleteGroupsRequest)) == 3


@pytest.mark.parametrize(
    ("newest", "said"),
    [(3, "GROUP_DELETION_FAILED (134): the plugin kept it"), (2, "GROUP_DELETION_FAILED (134)")],
)
def test_the_coordinator_says_why_a_group_is_not_deleted_from_version_3_on(newest: int, said: str) -> None:
    def refuse(_request: Any, answer: Any) -> None:
        (row,) = answer.results
        row.error_code, row.error_message = Code.GROUP_DELETION_FAILED, "the plugin kept it"

    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.cap_versions({DeleteGroupsRequest: newest})
        committed(cluster, {"g": {T0: 1}})
        cluster.replace(DeleteGroupsRequest, refuse)
        with administrator(cluster) as admin:
            (error,) = admin.delete_groups(["g"]).values()
        assert isinstance(error, BrokerError)
        assert error.code == Code.GROUP_DELETION_FAILED
        assert error.what == "deleting group g"
        assert error.why.startswith(said)
        assert ("the plugin" in error.why) == (newest == 3)


def test_a_removal_whose_answer_was_lost_is_no_failure() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        member = Member(cluster, "g")
        cluster.swallow(LeaveGroupRequest, "reset")
        with administrator(cluster) as admin:
            assert admin.remove_members({"g": [GroupMember(member.id)]}) == {
                "g": {GroupMember(member.id): None}
            }


# --- errors of single partitions, partitions that are left out -----------------------------------------------------


@pytest.mark.case("O4")
def test_a_partition_that_cannot_be_committed_is_reported_and_the_rest_are_stored() -> None:
    """Each with its own error; what a retry cannot help is not retried."""
    unknown = TopicPartition("t", 9)
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.fail(OffsetCommitRequest, Code.OFFSET_METADATA_TOO_LARGE, where=T1, times=FOREVER)
        with administrator(cluster) as admin:
            outcome = admin.commit_offsets({"g": {T0: at(1), T1: at(2), unknown: at(3)}, "h": {T2: at(4)}})
        assert _codes(outcome["g"]) == {T0: 0, T1: Code.OFFSET_METADATA_TOO_LARGE, unknown: 3}
        assert outcome["h"] == {T2: None}
        assert cluster.committed_offsets("g") == {T0: 1}
        assert len(cluster.seen(OffsetCommitRequest)) == 2


@pytest.mark.case("O4")
def test_only_the_partition_that_was_refused_for_the_moment_is_committed_again() -> None:
    """The others keep what they have."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.fail(OffsetCommitRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, where=T1)
        with administrator(cluster) as admin:
            assert admin.commit_offsets({"g": {T0: at(1), T1: at(2)}}) == {"g": {T0: None, T1: None}}
        numbers = [
            [p.partition_index for t in seen.request.topics for p in t.partitions]  # type: ignore[attr-defined]
            for seen in cluster.seen(OffsetCommitRequest)
        ]
        assert numbers == [[0, 1], [1]]


@pytest.mark.case("O4")
def test_an_offset_that_cannot_be_read_is_reported_beside_the_rest() -> None:
    """Of one partition of one group, for a code that no retry helps."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 1, T1: 2}})
        cluster.fail(OffsetFetchRequest, Code.TOPIC_AUTHORIZATION_FAILED, where=T1, times=FOREVER)
        with administrator(cluster) as admin:
            for wanted in (None, [T0, T1]):
                found = admin.fetch_offsets({"g": wanted})["g"]
                assert isinstance(found, Mapping)
                assert _codes(found) == {T0: 0, T1: Code.TOPIC_AUTHORIZATION_FAILED}


@pytest.mark.case("O4")
def test_one_subscribed_topic_does_not_keep_the_other_offsets_from_being_deleted() -> None:
    """GROUP_SUBSCRIBED_TO_TOPIC is of its partitions only."""
    other = TopicPartition("other", 0)
    with FakeCluster(3, topics={"t": 3, "other": 1}) as cluster:
        committed(cluster, {"g": {T0: 1, other: 2}})
        Member(cluster, "g")
        with administrator(cluster) as admin:
            outcome = admin.delete_offsets({"g": [T0, other, TopicPartition("none", 0)]})["g"]
        assert _codes(outcome) == {
            T0: Code.GROUP_SUBSCRIBED_TO_TOPIC,
            other: 0,
            TopicPartition("none", 0): Code.UNKNOWN_TOPIC_OR_PARTITION,
        }


@pytest.mark.case("G8")
@pytest.mark.parametrize("age", ["4.3", "2.8"])
def test_a_partition_that_the_answer_leaves_out_is_an_error_and_never_no_commit(age: str) -> None:
    """Asked for again, alone, and at the deadline said aloud."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        if age == "2.8":
            cluster.cap_versions(LIKE_2_8)
        committed(cluster, {"g": {T0: 1, T1: 2}})
        cluster.replace(OffsetFetchRequest, _without(T1))
        with administrator(cluster, timeout=DEADLINE) as admin:
            found = admin.fetch_offsets({"g": [T0, T1, T2]})["g"]
        assert isinstance(found, Mapping)
        assert list(found) == [T0, T1, T2]
        assert (found[T0], found[T2]) == (at(1), None)
        assert isinstance(found[T1], TimedOutError)
        assert "does not contain it" in str(found[T1])
        assert len(cluster.seen(OffsetFetchRequest)) > 2


@pytest.mark.case("G8")
def test_a_partition_that_was_left_out_once_is_read() -> None:
    """The second answer has it."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 1, T1: 2}})
        cluster.replace(OffsetFetchRequest, _without(T1), times=1)
        with administrator(cluster) as admin:
            assert admin.fetch_offsets({"g": [T0, T1]}) == {"g": {T0: at(1), T1: at(2)}}


@pytest.mark.case("G8")
def test_a_group_that_the_answer_leaves_out_is_an_error() -> None:
    """For all that was asked of it; the other groups have theirs."""

    def without_g2(_request: Any, answer: Any) -> None:
        answer.groups = [row for row in answer.groups if row.group_id != "g2"]

    with FakeCluster(1, topics={"t": 3}) as cluster:
        committed(cluster, THREE)
        cluster.replace(OffsetFetchRequest, without_g2)
        with administrator(cluster, timeout=DEADLINE) as admin:
            found = admin.fetch_offsets(dict.fromkeys(THREE))
        assert (found["g1"], found["g3"]) == ({T0: at(1)}, {T2: at(3)})
        assert "does not contain it" in str(found["g2"])


@pytest.mark.case("G8")
@pytest.mark.parametrize("wanted", [None, [T0, T1]])
def test_an_unstable_offset_is_waited_for(wanted: list[TopicPartition] | None) -> None:
    """That partition is asked for again, until the transaction has ended."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 1, T1: 2}})
        unstable = cluster.fail(OffsetFetchRequest, Code.UNSTABLE_OFFSET_COMMIT, where=T1, times=3)
        with administrator(cluster) as admin:
            found = admin.fetch_offsets({"g": wanted}, require_stable=True)
        assert found == {"g": {T0: at(1), T1: at(2)}}
        assert unstable.count == 3
        asked = [s.request for s in cluster.seen(OffsetFetchRequest)]
        assert all(request.require_stable for request in asked)  # type: ignore[attr-defined]
        later = [[p for t in r.groups[0].topics for p in t.partition_indexes] for r in asked[1:]]  # type: ignore[attr-defined]
        assert later == [[1]] * 3


@pytest.mark.case("G8")
def test_an_offset_that_stays_unstable_is_an_error_of_its_partition() -> None:
    """At the deadline, with the reason; never the older offset."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 1, T1: 2}})
        cluster.fail(OffsetFetchRequest, Code.UNSTABLE_OFFSET_COMMIT, where=T1, times=FOREVER)
        with administrator(cluster, timeout=DEADLINE) as admin:
            found = admin.fetch_offsets({"g": None}, require_stable=True)["g"]
        assert isinstance(found, Mapping)
        assert found[T0] == at(1)
        assert "UNSTABLE_OFFSET_COMMIT" in str(found[T1])


def test_waiting_for_stable_offsets_is_refused_where_the_broker_cannot() -> None:
    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.cap_versions({OffsetFetchRequest: 6})
        with administrator(cluster) as admin:
            error = admin.fetch_offsets({"g": None}, require_stable=True)["g"]
        assert isinstance(error, UnsupportedError)
        assert cluster.seen(OffsetFetchRequest) == []


@pytest.mark.case("S1-6")
def test_no_commit_is_distinguished_from_an_offset() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 0}})
        with administrator(cluster) as admin:
            found = admin.fetch_offsets({"g": [T0, T1], "nobody": [T0], "none": None, "empty": []})
        assert found == {"g": {T0: at(0), T1: None}, "nobody": {T0: None}, "none": {}, "empty": {}}


def _unknown_to_kfake(request: Any, answer: Any) -> None:
    """The group ``none``: before version 2 the code is in the rows, from 8 on in the row of the group."""
    groups = answer.groups or ([answer] if request.group_id == "none" else [])
    for group in groups:
        if group is answer or group.group_id == "none":
            for topic in group.topics:
                for row in topic.partitions:
                    row.error_code = Code.GROUP_ID_NOT_FOUND
            group.error_code = Code.GROUP_ID_NOT_FOUND


@pytest.mark.case("S1-6")
@pytest.mark.parametrize("version", [9, 7, 1])
def test_a_group_that_the_broker_does_not_know_has_no_commits(version: int) -> None:
    """Kafka says so with no rows, kfake with GROUP_ID_NOT_FOUND; the other groups of the request are read."""
    with FakeCluster(1, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 3}})
        cluster.cap_versions({OffsetFetchRequest: version})
        cluster.replace(OffsetFetchRequest, _unknown_to_kfake)
        with administrator(cluster) as admin:
            found = admin.fetch_offsets({"none": [T0, T1], "g": [T0]})
            assert found == {"none": {T0: None, T1: None}, "g": {T0: at(3)}}
            if version > 1:
                assert admin.fetch_offsets({"none": None}) == {"none": {}}


def test_an_answer_that_is_no_offset_is_an_error() -> None:
    def below(_request: Any, answer: Any) -> None:
        for group in answer.groups:
            for topic in group.topics:
                for row in topic.partitions:
                    row.committed_offset = -7

    with FakeCluster(1, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 1}})
        cluster.replace(OffsetFetchRequest, below)
        with administrator(cluster) as admin:
            found = admin.fetch_offsets({"g": [T0]})["g"]
        assert isinstance(found, Mapping)
        assert isinstance(found[T0], ProtocolError)


# --- commits: by nobody, by a member -------------------------------------------------------------------------------


def test_a_strangers_commit_to_a_group_with_members_says_so() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        Member(cluster, "g")
        with administrator(cluster) as admin:
            error = admin.commit_offsets({"g": {T0: at(1)}})["g"][T0]
        assert isinstance(error, BrokerError)
        assert error.code == Code.UNKNOWN_MEMBER_ID
        assert "has members" in str(error)
        assert error.do


@pytest.mark.parametrize(
    "place",
    [
        OffsetAndMetadata(1, "x" * 32_768),
        OffsetAndMetadata(1, "\ud800"),
        OffsetAndMetadata(1, 5),  # type: ignore[arg-type]
        OffsetAndMetadata(1 << 63),
        OffsetAndMetadata(1, "", 1 << 31),
    ],
    ids=["metadata too long", "half a character", "no text", "offset too large", "epoch too large"],
)
def test_an_offset_that_kafka_cannot_store_is_an_error_of_its_partition(place: OffsetAndMetadata) -> None:
    """A string that is too long would cost the connection, and with it the commits of all the others."""
    with FakeCluster(1, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        outcome = admin.commit_offsets({"g": {T0: at(7), T1: place, T2: at(7, "x" * 100)}, "h": {T1: place}})
        assert [list(rows) for rows in outcome.values()] == [[T0, T1, T2], [T1]]
        assert (outcome["g"][T0], outcome["g"][T2]) == (None, None)
        for refused in (outcome["g"][T1], outcome["h"][T1]):
            assert isinstance(refused, ConfigError)
            assert "t-1: " in str(refused)
        assert cluster.committed_offsets("g") == {T0: 7, T2: 7}
        (sent,) = cluster.seen(OffsetCommitRequest)
        assert [p.partition_index for p in sent.request.topics[0].partitions] == [0, 2]


@pytest.mark.parametrize("instance", [None, "i"])
def test_a_commit_is_made_as_the_member_that_is_named(instance: str | None) -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        member = Member(cluster, "g", instance=instance)
        right = GroupMetadata("g", member.generation, member.id, instance)
        wrong = GroupMetadata("g", member.generation + 1, member.id, instance)
        with administrator(cluster) as admin:
            assert _codes(admin.commit_offsets({wrong: {T0: at(9)}})["g"]) == {T0: Code.ILLEGAL_GENERATION}
            assert admin.commit_offsets({right: {T0: at(5, "rewound")}}) == {"g": {T0: None}}
            assert admin.fetch_offsets({"g": None}) == {"g": {T0: at(5, "rewound")}}


def test_what_a_broker_would_store_unchecked_is_refused() -> None:
    """Brokers take negative offsets and groups without a name."""
    with FakeCluster(1, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        with pytest.raises(ConfigError, match="-5 is not an offset in t-0"):
            admin.commit_offsets({"g": {T0: at(-5)}})
        with pytest.raises(ConfigError, match="without a name"):
            admin.commit_offsets({"": {T0: at(5)}})
        with pytest.raises(ConfigError, match="named twice"):
            admin.commit_offsets({"g": {T0: at(5)}, GroupMetadata("g", 1, "m"): {T0: at(6)}})
        assert cluster.seen(OffsetCommitRequest) == []


# --- groups: listed, described, deleted ----------------------------------------------------------------------------


@pytest.mark.case("B15")
def test_a_group_that_two_brokers_list_is_reported_once_and_as_its_coordinator_says() -> None:
    """While coordinators move, the old one still lists it."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {**THREE, "both": {T0: 1}})
        home = cluster.coordinator("group", "both")
        other = home % 3 + 1

        def also(_request: Any, answer: Any) -> None:
            stale = type(answer.groups[0])(
                group_id="both", protocol_type="consumer", group_state="Stable", group_type="classic"
            )
            answer.groups.insert(0, stale)

        committed(cluster, {group_at(cluster, other, "x"): {T0: 1}})
        cluster.replace(ListGroupsRequest, also, node=other)
        with administrator(cluster) as admin:
            listing = admin.list_groups()
        rows = [row for row in listing.groups if row.group_id == "both"]
        assert [(row.state, row.coordinator) for row in rows] == [("Empty", home)]
        assert not listing.is_partial
        assert [row.group_id for row in listing.groups] == sorted(row.group_id for row in listing.groups)


@pytest.mark.case("B15")
@pytest.mark.parametrize("how", ["stopped", "loading", "refused"])
def test_a_broker_that_does_not_report_its_groups_makes_the_listing_partial(how: str) -> None:
    """The others' groups are there, the broker that could not be asked is named."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        names = [group_at(cluster, node) for node in (1, 2, 3)]
        committed(cluster, {name: {T0: 1} for name in names})
        if how == "stopped":
            cluster.stop(2)
        elif how == "loading":
            cluster.fail(ListGroupsRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=FOREVER, node=2)
        else:
            cluster.fail(ListGroupsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER, node=2)
        with administrator(cluster, timeout=DEADLINE) as admin:
            listing = admin.list_groups()
        assert [row.group_id for row in listing.groups] == sorted([names[0], names[2]])
        assert listing.is_partial
        assert list(listing.errors) == [2]


@pytest.mark.case("B15")
def test_groups_of_a_broker_that_dies_meanwhile_are_reported_by_its_successor() -> None:
    """All are asked again, since the answers they gave before do not have what moved to them."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        names = [group_at(cluster, node) for node in (1, 2, 3)]
        committed(cluster, {name: {T0: 1} for name in names})
        with administrator(cluster, bootstrap_servers=cluster.address(1)) as admin:
            admin.connect()
            cluster.stop(2)
            failing_over = threading.Timer(0.3, cluster.fail_over, [2])
            failing_over.start()
            listing = admin.list_groups()
            failing_over.join()
        assert [row.group_id for row in listing.groups] == sorted(names)
        assert not listing.is_partial


def test_groups_are_filtered_by_state_and_type() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {"empty": {T0: 1}})
        Member(cluster, "stable")
        modern_member(cluster, "modern")
        with administrator(cluster) as admin:
            names = {
                (state, kind): [row.group_id for row in admin.list_groups(states=state, types=kind).groups]
                for state in ((), ("stable",), ("EMPTY", "Dead"))
                for kind in ((), ("classic",), ("Consumer",))
            }
            with pytest.raises(ConfigError, match="no group state 'bogus'"):
                admin.list_groups(states=["bogus"])
            with pytest.raises(ConfigError, match="no group type 'bogus'"):
                admin.list_groups(types=["bogus"])
    assert names[(), ()] == ["empty", "modern", "stable"]
    assert names[("stable",), ()] == ["modern", "stable"]
    assert names[("EMPTY", "Dead"), ()] == ["empty"]
    assert names[(), ("classic",)] == ["empty", "stable"]
    assert names[(), ("Consumer",)] == ["modern"]
    assert names[("stable",), ("classic",)] == ["stable"]


def test_filters_that_a_broker_does_not_know_are_refused_by_name_not_left_out() -> None:
    with FakeCluster(2, topics={"t": 3}) as cluster:
        cluster.cap_versions({ListGroupsRequest: 3}, node=1)
        cluster.cap_versions({ListGroupsRequest: 4}, node=2)
        with administrator(cluster) as admin:
            listing = admin.list_groups(states=["Empty"])
            assert list(listing.errors) == [1]
            assert isinstance(listing.errors[1], UnsupportedError)
            with pytest.raises(UnsupportedError, match="by type"):
                admin.list_groups(types=["consumer"])
            assert not admin.list_groups(types=["classic"]).is_partial  # they know no others


@pytest.mark.case("S3-7")
@pytest.mark.parametrize("versions", [{}, {DescribeGroupsRequest: 5}, {DescribeGroupsRequest: 0}])
def test_groups_of_both_kinds_are_described_and_unknown_ones_are_unknown(
    versions: dict[type[Request], int],
) -> None:
    """Versions below 6 say "Dead" where later ones say GROUP_ID_NOT_FOUND."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.cap_versions(versions)
        member = Member(cluster, "classic", instance="i")
        modern_member(cluster, "modern")
        committed(cluster, {"empty": {T0: 1}})
        with administrator(cluster) as admin:
            found = admin.describe_groups(["classic", "modern", "empty", "none"], include_operations=True)
        classic, modern, empty, none = found.values()
        assert isinstance(none, NotFoundError)
        assert isinstance(classic, GroupDescription)
        assert isinstance(modern, GroupDescription)
        assert isinstance(empty, GroupDescription)
        told = [
            (g.type, g.state, g.protocol_type, g.assignor, g.coordinator) for g in (classic, modern, empty)
        ]
        homes = [cluster.coordinator("group", g) for g in ("classic", "modern", "empty")]
        assert told == [
            ("classic", "Stable", "consumer", "range", homes[0]),
            ("consumer", "Stable", "consumer", "uniform", homes[1]),
            ("classic", "Empty", "", "", homes[2]),
        ]
        (one,) = classic.members
        assert (one.member_id, one.subscription, one.assignment) == (member.id, ("t",), (T0, T1, T2))
        assert one.instance_id == (None if versions.get(DescribeGroupsRequest) == 0 else "i")
        (two,) = modern.members
        assert (two.member_id, two.subscription, two.target) == ("m", ("t",), (T0, T1, T2))
        assert two.epoch == modern.epoch == cluster.group_generation("modern") > 0
        assert modern.operations is not None
        assert (classic.operations is None) == (versions.get(DescribeGroupsRequest) == 0)


def test_a_broker_without_kip_848_says_that_the_group_is_unknown() -> None:
    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.hide(ConsumerGroupDescribeRequest)
        with administrator(cluster) as admin:
            (error,) = admin.describe_groups(["none"]).values()
        assert isinstance(error, NotFoundError)


def test_a_broker_that_offers_kip_848_but_has_it_switched_off_says_that_the_group_is_unknown() -> None:
    """3.9 with its old coordinator."""
    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.fail(ConsumerGroupDescribeRequest, Code.UNSUPPORTED_VERSION, times=FOREVER)
        with administrator(cluster) as admin:
            (error,) = admin.describe_groups(["none"]).values()
        assert isinstance(error, NotFoundError)


def test_a_group_of_neither_kind_is_refused_as_such() -> None:
    def shared(request: Any, answer: Any) -> None:
        answer.groups[0].error_message = f"Group {answer.groups[0].group_id} is not a consumer group."

    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.replace(ConsumerGroupDescribeRequest, shared)
        with administrator(cluster) as admin:
            (error,) = admin.describe_groups(["shared"]).values()
        assert isinstance(error, UnsupportedError)
        assert "share or a streams group" in str(error)


MALFORMED = b"\0\1\xff"


@pytest.mark.parametrize(
    ("malformed", "topics", "partitions"),
    [
        ("member_assignment", ("t",), None),
        ("member_metadata", (), (T0, T1, T2)),
        ("member_metadata member_assignment", (), None),
    ],
)
def test_members_bytes_that_cannot_be_read_hide_nothing_else(
    malformed: str, topics: tuple[str, ...], partitions: tuple[TopicPartition, ...] | None
) -> None:
    def garbled(_request: Any, answer: Any) -> None:
        for group in answer.groups:
            for row in group.members:
                for part in malformed.split():
                    setattr(row, part, MALFORMED)

    with FakeCluster(1, topics={"t": 3}) as cluster:
        Member(cluster, "g")
        cluster.replace(DescribeGroupsRequest, garbled)
        with administrator(cluster) as admin:
            (found,) = admin.describe_groups(["g"]).values()
        assert isinstance(found, GroupDescription)
        assert (found.members[0].subscription, found.members[0].assignment) == (topics, partitions)


def test_a_member_of_kafka_go_is_described_with_its_topics_and_partitions() -> None:
    """Its subscription says version 1 and has the fields of version 0."""

    def of_kafka_go(_request: Any, answer: Any) -> None:
        for group in answer.groups:
            for row in group.members:
                row.member_metadata = bytes.fromhex("0001000000010001" + b"t".hex() + "ffffffff")

    with FakeCluster(1, topics={"t": 3}) as cluster:
        Member(cluster, "g")
        cluster.replace(DescribeGroupsRequest, of_kafka_go)
        with administrator(cluster) as admin:
            (found,) = admin.describe_groups(["g"]).values()
        assert isinstance(found, GroupDescription)
        assert (found.members[0].subscription, found.members[0].assignment) == (("t",), (T0, T1, T2))


@pytest.mark.case("S3-8", "O4")
def test_one_group_that_cannot_be_deleted_leaves_the_rest_deleted() -> None:
    """One request for each coordinator, an error for each group."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        committed(cluster, {f"g{n}": {T0: 1} for n in range(12)})
        Member(cluster, "g3")
        with administrator(cluster) as admin:
            outcome = admin.delete_groups([*(f"g{n}" for n in range(12)), "none"])
        assert isinstance(outcome.pop("none"), NotFoundError)
        assert _codes(outcome) == {f"g{n}": Code.NON_EMPTY_GROUP if n == 3 else 0 for n in range(12)}
        assert len(cluster.seen(DeleteGroupsRequest)) == 3


def test_a_group_that_went_with_its_last_offset_counts_as_deleted() -> None:
    """Coordinators before 4.0 drop it at once, and then say GROUP_ID_NOT_FOUND."""
    with FakeCluster(1, topics={"t": 3}) as cluster:
        committed(cluster, {"g": {T0: 1}})
        cluster.fail(DeleteGroupsRequest, Code.GROUP_ID_NOT_FOUND, times=FOREVER)
        with administrator(cluster) as admin:
            assert isinstance(admin.delete_groups(["g"])["g"], NotFoundError)
            assert admin.delete_offsets({"g": [T0]}) == {"g": {T0: None}}
            assert admin.delete_groups(["g"]) == {"g": None}
            assert isinstance(admin.delete_groups(["g"])["g"], NotFoundError)


def test_offsets_of_a_group_that_does_not_exist_cannot_be_deleted() -> None:
    with FakeCluster(1, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        (rows,) = admin.delete_offsets({"none": [T0, T1]}).values()
        assert [type(error) for error in rows.values()] == [NotFoundError] * 2


def test_a_member_that_the_answer_leaves_out_does_not_count_as_removed() -> None:
    def without_members(_request: Any, answer: Any) -> None:
        answer.members = []

    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.replace(LeaveGroupRequest, without_members)
        with administrator(cluster, timeout=DEADLINE) as admin:
            (error,) = admin.remove_members({"g": [GroupMember("m")]})["g"].values()
        assert "does not contain it" in str(error)


@pytest.mark.parametrize("version", [5, 3, 2])
def test_members_are_removed_by_id_many_at_once_or_one_by_one(version: int) -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.cap_versions({LeaveGroupRequest: version})
        member = Member(cluster, "g")
        modern_member(cluster, "modern")
        with administrator(cluster) as admin:
            wanted = {"g": [GroupMember(member.id), GroupMember("x")], "modern": [GroupMember("m")]}
            outcome = admin.remove_members(wanted, reason="rewind")
        assert outcome["g"][GroupMember(member.id)] is None
        assert isinstance(outcome["g"][GroupMember("x")], NotFoundError)
        assert outcome["modern"] == {GroupMember("m"): None}
        assert cluster.group_members("g") == cluster.group_members("modern") == {}
        assert len(cluster.seen(LeaveGroupRequest)) == (3 if version == 2 else 2)


def test_static_members_are_removed_by_instance_id() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster:
        Member(cluster, "g", instance="i")
        other, static = GroupMember(instance_id="other"), GroupMember(instance_id="i")
        with administrator(cluster) as admin:
            outcome = admin.remove_members({"g": [other, static]})["g"]
            assert outcome[static] is None
            assert isinstance(outcome[other], NotFoundError)
            cluster.cap_versions({LeaveGroupRequest: 2})
        with administrator(cluster) as admin:
            assert isinstance(admin.remove_members({"g": [static]})["g"][static], UnsupportedError)
            with pytest.raises(ConfigError):
                admin.remove_members({"g": [GroupMember()]})


# --- offsets by place and time -------------------------------------------------------------------------------------

PLACES = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}


@pytest.mark.parametrize("version", [1, 6, 7, 8, 9, 10, 11])
def test_positions_are_sent_only_to_brokers_that_support_them(version: int) -> None:
    """2.8.2 would take a place that it does not know for a time, and answer without an error."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        cluster.append("t", 0, batch(b"x", timestamp=1000))
        cluster.cap_versions({ListOffsetsRequest: version}, node=cluster.leader("t", 0))
        with administrator(cluster) as admin:
            for place, first in PLACES.items():
                found = admin.list_offsets({T0: place, T1: place})
                assert isinstance(found[T1], OffsetInfo)
                if version >= first:
                    assert isinstance(found[T0], OffsetInfo)
                else:
                    assert isinstance(found[T0], UnsupportedError)
                    assert f"needs ListOffsets {first}, but the broker offers only {version}" in str(
                        found[T0]
                    )
        stamps = [
            p.timestamp
            for s in cluster.seen(ListOffsetsRequest, node=cluster.leader("t", 0))
            for t in s.request.topics  # type: ignore[attr-defined]
            for p in t.partitions
        ]
        assert all(PLACES[stamp] <= version for stamp in stamps)


def test_a_partition_of_an_old_broker_does_not_spoil_the_rest_at_it() -> None:
    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.cap_versions({ListOffsetsRequest: 6})
        with administrator(cluster) as admin:
            found = admin.list_offsets({T0: MAX_TIMESTAMP, T1: LATEST, T2: 5})
        assert isinstance(found[T0], UnsupportedError)
        assert found[T1] == OffsetInfo(0, -1, 0)
        assert found[T2] == OffsetInfo(-1, -1, -1)
        (seen,) = cluster.seen(ListOffsetsRequest)
        assert [p.partition_index for p in seen.request.topics[0].partitions] == [1, 2]  # type: ignore[attr-defined]


def test_a_location_that_does_not_exist_is_refused() -> None:
    with FakeCluster(1, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        with pytest.raises(ConfigError, match="-7 is not a timestamp or special offset of t-0"):
            admin.list_offsets({T0: -7})
        assert cluster.seen(ListOffsetsRequest) == []


@pytest.mark.case("O7")
@pytest.mark.parametrize("place", [LATEST, EARLIEST, EARLIEST_LOCAL, 5])
@pytest.mark.parametrize("told", [-1, -2, -5])
def test_a_negative_offset_is_an_error_unless_it_says_that_there_is_none(place: int, told: int) -> None:
    """Not clamped to 0; the other partitions have their answers."""

    def below(_request: Any, answer: Any) -> None:
        for topic in answer.topics:
            for row in topic.partitions:
                if row.partition_index == 0:
                    row.offset = told

    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.replace(ListOffsetsRequest, below)
        with administrator(cluster) as admin:
            found = admin.list_offsets({T0: place, T1: EARLIEST})
        assert isinstance(found[T1], OffsetInfo)
        if place >= 0 and told == -1:
            assert found[T0] == OffsetInfo(-1, -1, -1)
        else:
            assert isinstance(found[T0], ProtocolError)
            assert f"the broker returned {told}" in str(found[T0])


@pytest.mark.case("O7")
def test_a_partition_that_the_answer_leaves_out_is_an_error() -> None:
    """Asked for again, and at the deadline said aloud."""
    with FakeCluster(1, topics={"t": 3}) as cluster:
        cluster.replace(ListOffsetsRequest, _without(T1))
        with administrator(cluster, timeout=DEADLINE) as admin:
            found = admin.list_offsets({T0: LATEST, T1: LATEST})
        assert isinstance(found[T0], OffsetInfo)
        assert "does not contain it" in str(found[T1])


def test_the_newest_timestamp_is_not_that_of_a_deleted_record() -> None:
    """Brokers go on naming it after DeleteRecords (seen on 4.3.1 and 3.9.2)."""

    def stale(_request: Any, answer: Any) -> None:
        row = answer.topics[0].partitions[0]
        row.offset, row.timestamp = 1, 99_000

    def asked_for_newest(request: Any) -> bool:
        return bool(request.topics[0].partitions[0].timestamp == MAX_TIMESTAMP)

    with FakeCluster(1, topics={"t": 1}) as cluster:
        for number in range(4):
            cluster.append("t", 0, batch(b"x", timestamp=99_000 if number == 1 else number))
        with administrator(cluster) as admin:
            assert admin.list_offsets({T0: MAX_TIMESTAMP}) == {T0: OffsetInfo(1, 99_000, 0)}
            cluster.replace(ListOffsetsRequest, stale, when=asked_for_newest)
            cluster.delete_records("t", 0, 2)
            assert isinstance(admin.list_offsets({T0: MAX_TIMESTAMP})[T0], DataLossError)
            cluster.delete_records("t", 0, 4)
            assert admin.list_offsets({T0: MAX_TIMESTAMP}) == {T0: OffsetInfo(-1, -1)}


# --- inside --------------------------------------------------------------------------------------------------------


def _codes(outcome: Any) -> dict[Any, int]:
    """0 for what is no error; of a broker's error its code."""
    return {
        key: value.code if isinstance(value, BrokerError) else 0
        for key, value in outcome.items()
        if isinstance(value, BrokerError) or not isinstance(value, KcliError)
    }


def _without(tp: TopicPartition) -> Callable[[Any, Any], None]:
    """Takes a partition out of answers of any shape."""

    def edit(_request: Any, answer: Any) -> None:
        for part in getattr(answer, "groups", None) or [answer]:
            for topic in part.topics:
                topic.partitions = [p for p in topic.partitions if p.partition_index != tp.partition]

    return edit
