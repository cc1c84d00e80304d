"""What somebody who is not a member may do to a classic group: kafka-facts 1.1, row by row."""

import pytest

from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, code, codes, commit, delete, delete_offsets, fetch, heartbeat, leave
from tests.fake.groups.driver import Driver

POSITION = {"a": {0: 7}}


@pytest.mark.parametrize(
    ("member", "generation", "answer"),
    [
        pytest.param("", -1, Code.UNKNOWN_MEMBER_ID, id="nobody"),
        pytest.param("real", -1, Code.ILLEGAL_GENERATION, id="real id without its generation"),
        pytest.param("real", 3, Code.ILLEGAL_GENERATION, id="real id, generation + 1"),
        pytest.param("real", 1, Code.ILLEGAL_GENERATION, id="real id, generation - 1"),
        pytest.param("real", 2, Code.NONE, id="real id and generation: a stranger may speak as a member"),
        pytest.param("made-up", 2, Code.UNKNOWN_MEMBER_ID, id="right generation, made-up id"),
        pytest.param("", 2, Code.UNKNOWN_MEMBER_ID, id="right generation without an id"),
    ],
)
def test_commit_to_a_live_group(driver: Driver, member, generation, answer):
    leader, _ = asks.pair(driver)
    sent = commit(POSITION, leader if member == "real" else member, generation)
    assert code(driver.ask(sent, 7)) == answer
    assert bool(driver.groups.committed(G)) == (answer == Code.NONE)


@pytest.mark.parametrize("existing", [True, False], ids=["Empty", "not yet existing"])
def test_commit_to_a_group_without_members_is_accepted(driver: Driver, existing):
    if existing:
        driver.ask(leave(asks.lone(driver)))
    assert code(driver.ask(commit(POSITION), 7)) == Code.NONE
    (row,) = driver.ask(asks.list_groups()).groups
    assert (row.group_state, row.protocol_type) == ("Empty", "consumer" if existing else "")


@pytest.mark.parametrize(
    ("version", "answer"),
    [(2, Code.ILLEGAL_GENERATION), (8, Code.ILLEGAL_GENERATION), (9, Code.GROUP_ID_NOT_FOUND)],
)
def test_commit_as_a_member_of_an_unknown_group_makes_none(driver: Driver, version, answer):
    assert code(driver.ask(commit(POSITION, "m", 5), version)) == answer
    assert driver.groups.state(G) == "Dead"


@pytest.mark.parametrize(
    ("offsets", "group"),
    [({"a": {0: -5}}, G), ({"a": {0: 10**9}}, G), (POSITION, "")],
    ids=["negative", "past the end", "no group id"],
)
def test_commit_is_not_checked_for_sense(driver: Driver, offsets, group):
    assert code(driver.ask(commit(offsets, group=group))) == Code.NONE


@pytest.mark.parametrize(("size", "answer"), [(4096, Code.NONE), (4097, Code.OFFSET_METADATA_TOO_LARGE)])
def test_commit_metadata_has_a_limit(driver: Driver, size, answer):
    assert code(driver.ask(commit(POSITION, metadata="x" * size))) == answer


def test_a_commit_for_a_missing_partition_fails_first_and_spares_the_rest(driver: Driver):
    answer = driver.ask(commit({"a": {0: 1, 9: 1}, "missing": {0: 1}}), 8)
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    assert list(codes(answer).items()) == [
        (("a", 9), unknown),
        (("a", 0), Code.NONE),
        (("missing", 0), unknown),
    ]


def test_commit_by_topic_id(driver: Driver):
    answer = driver.ask(commit({"a": {0: 1, 9: 1}, "x": {0: 1}}), 10)
    assert [t.name for t in answer.topics] == ["", ""]
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(answer) == {("a", 0): Code.NONE, ("a", 9): unknown, ("x", 0): Code.UNKNOWN_TOPIC_ID}


@pytest.mark.parametrize("version", [3, 4, 5])
def test_leave_takes_several_members_out_at_once(driver: Driver, version):
    members = asks.pair(driver)
    answer = driver.ask(leave(*members), version)
    assert (answer.error_code, [row.error_code for row in answer.members]) == (0, [0, 0])
    assert driver.groups.state(G) == "Empty"
    assert driver.ask(heartbeat(members[0], 2), 3).error_code == Code.UNKNOWN_MEMBER_ID
    assert code(driver.ask(commit(POSITION, members[0], 2), 7)) == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("who", "answer"),
    [
        pytest.param(("", "inst0"), Code.NONE, id="by instance alone"),
        pytest.param(("wrong", "inst0"), Code.FENCED_INSTANCE_ID, id="instance with a wrong member id"),
        pytest.param(("", "inst9"), Code.UNKNOWN_MEMBER_ID, id="unknown instance"),
        pytest.param(("", None), Code.UNKNOWN_MEMBER_ID, id="nobody named"),
        pytest.param(("wrong", None), Code.UNKNOWN_MEMBER_ID, id="unknown member"),
    ],
)
def test_leave_of_a_static_member(driver: Driver, who, answer):
    member = driver.ask(asks.join(instance="inst0")).member_id
    left = driver.ask(leave(who), 4)
    assert (left.error_code, left.members[0].error_code) == (Code.NONE, answer)
    expected = Code.UNKNOWN_MEMBER_ID if answer == Code.NONE else Code.NONE
    assert driver.ask(heartbeat(member, 1, instance="inst0")).error_code == expected


def test_leave_of_an_unknown_group_is_reported_by_member(driver: Driver):
    answer = driver.ask(leave("m"), 4)
    assert (answer.error_code, answer.members[0].error_code) == (Code.NONE, Code.UNKNOWN_MEMBER_ID)
    old = leave()
    old.member_id = "m"
    assert driver.ask(old, 0).error_code == Code.UNKNOWN_MEMBER_ID


def test_leave_of_one_member_in_version_0(driver: Driver):
    request = leave()
    request.member_id = asks.lone(driver)
    assert driver.ask(request, 0).error_code == Code.NONE
    assert driver.groups.state(G) == "Empty"


def test_offset_delete_spares_subscribed_topics_of_a_live_group(driver: Driver):
    leader, _ = asks.pair(driver)
    driver.ask(commit({"a": {0: 1}, "b": {0: 1}}, leader, 2))
    answer = driver.ask(delete_offsets({"a": [0], "b": [0, 9], "missing": [1]}))
    assert codes(answer) == {
        ("a", 0): Code.GROUP_SUBSCRIBED_TO_TOPIC,
        ("b", 0): Code.NONE,
        ("b", 9): Code.UNKNOWN_TOPIC_OR_PARTITION,
        ("missing", 1): Code.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [tp.topic for tp in driver.groups.committed(G)] == ["a"]


@pytest.mark.parametrize(
    ("group", "answer"), [("missing", Code.GROUP_ID_NOT_FOUND), ("", Code.INVALID_GROUP_ID)]
)
def test_offset_delete_of_an_unknown_group(driver: Driver, group, answer):
    refused = driver.ask(delete_offsets({"a": [0]}, group))
    assert (refused.error_code, refused.topics) == (answer, [])


@pytest.mark.parametrize(
    ("kind", "metadata", "answer"),
    [
        pytest.param("consumer", b"no subscription", Code.GROUP_SUBSCRIBED_TO_TOPIC, id="unreadable"),
        pytest.param("connect", b"", Code.NON_EMPTY_GROUP, id="no consumers"),
    ],
)
def test_offset_delete_where_subscriptions_are_not_known(driver: Driver, kind, metadata, answer):
    asks.lone(driver, kind=kind, protocols={"range": metadata})
    refused = driver.ask(delete_offsets({"b": [0]}))
    assert (refused.error_code or code(refused)) == answer


def test_delete_groups(driver: Driver):
    asks.lone(driver, "live")
    driver.ask(commit(POSITION, group="empty"))
    answer = driver.ask(delete("live", "missing", "empty", "empty"))
    assert {row.group_id: row.error_code for row in answer.results} == {
        "live": Code.NON_EMPTY_GROUP,
        "missing": Code.GROUP_ID_NOT_FOUND,
        "empty": Code.NONE,
    }
    assert len(answer.results) == 3
    assert driver.ask(fetch("empty")).groups[0].topics == []


@pytest.mark.parametrize(("drops", "answer"), [(False, Code.NONE), (True, Code.GROUP_ID_NOT_FOUND)])
def test_delete_group_after_its_last_offset(drops, answer):
    """4.3.1 keeps such a group, the coordinator before 4.0 dropped it."""
    driver = Driver(drops_groups_without_offsets=drops)
    driver.ask(commit(POSITION))
    driver.ask(delete_offsets({"a": [0]}))
    assert driver.ask(delete(G)).results[0].error_code == answer
    driver.close()


def test_guard_holds_the_barrier_while_it_rewinds(driver: Driver):
    """kafka-facts 1.3: join, evict the others, commit, let them park, commit again, leave."""
    old = asks.pair(driver)
    guard = asks.member_id(driver)
    parked = driver.park(asks.join(guard, protocols={"range": asks.subscription()}), 5)
    assert parked.waits
    driver.ask(leave(*old))
    assert (parked.answer.generation_id, parked.answer.leader, len(parked.answer.members)) == (3, guard, 1)
    driver.ask(asks.sync(guard, 3, {guard: asks.assignment({})}), 3)
    assert code(driver.ask(commit({"a": {0: 100, 2: 200}}, guard, 3), 7)) == Code.NONE
    back = [driver.park(asks.join(asks.member_id(driver)), 5) for _ in old]
    assert driver.ask(heartbeat(guard, 3), 3).error_code == Code.REBALANCE_IN_PROGRESS
    assert len(driver.ask(asks.describe()).groups[0].members) == 3
    assert code(driver.ask(commit({"a": {0: 5}}), 7)) == Code.UNKNOWN_MEMBER_ID
    assert code(driver.ask(commit({"a": {0: 101}}, guard, 3), 7)) == Code.NONE
    assert all(one.waits for one in back)
    driver.ask(leave(guard))
    assert [one.answer.generation_id for one in back] == [4, 4]
    assert {p.partition: c.offset for p, c in driver.groups.committed(G).items()} == {0: 101, 2: 200}


def test_guard_whose_process_is_killed_frees_the_group_at_the_committed_offsets(driver: Driver):
    old = asks.pair(driver)
    guard = asks.member_id(driver, session=6)
    driver.park(asks.join(guard, session=6, protocols={"range": asks.subscription()}))
    driver.ask(leave(*old))
    driver.ask(asks.sync(guard, 3, {guard: asks.assignment({})}))
    driver.ask(commit({"a": {0: 100}}, guard, 3))
    back = driver.park(asks.join(asks.member_id(driver)))
    driver.advance(5.9)
    assert back.waits
    driver.advance(0.2)
    assert back.answer.error_code == Code.NONE
    assert asks.fetched(driver.ask(fetch())) == {("a", 0): (100, 0)}
