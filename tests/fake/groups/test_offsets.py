"""OffsetFetch in all its forms (kafka-facts 6), and offsets inside of transactions (2)."""

import pytest

from kcli.core.types import TopicPartition
from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, code, commit, fetch, fetched, old_fetch
from tests.fake.groups.driver import Driver, FakeTopic

A0 = TopicPartition("a", 0)


def test_many_groups_are_answered_in_order_each_by_itself(driver: Driver):
    driver.ask(commit({"a": {0: 1}}, group="one"))
    driver.ask(commit({"b": {2: 2}}, group="two"))
    answer = driver.ask(fetch("two", "missing", "one", "two"), 8)
    assert [group.group_id for group in answer.groups] == ["two", "missing", "one", "two"]
    assert [fetched(answer, n) for n in range(4)] == [
        {("b", 2): (2, 0)},
        {},
        {("a", 0): (1, 0)},
        {("b", 2): (2, 0)},
    ]


@pytest.mark.parametrize("version", [8, 9, 10])
def test_groups_of_another_coordinator_are_refused_by_themselves(driver: Driver, version):
    driver.ask(commit({"a": {0: 1}}, group="mine"))
    answer = driver.ask(fetch("mine", "theirs"), version, here=lambda group: group == "mine")
    assert [(g.error_code, len(g.topics)) for g in answer.groups] == [(0, 1), (Code.NOT_COORDINATOR, 0)]


@pytest.mark.parametrize("version", [8, 9])
def test_what_was_not_committed_or_does_not_exist_is_minus_1(driver: Driver, version):
    driver.ask(commit({"a": {0: 7}}))
    answer = driver.ask(fetch(partitions={"a": [0, 1, 99], "missing": [0]}), version)
    assert fetched(answer) == {
        ("a", 0): (7, 0),
        ("a", 1): (-1, 0),
        ("a", 99): (-1, 0),
        ("missing", 0): (-1, 0),
    }


def test_by_topic_id(driver: Driver):
    driver.ask(commit({"a": {0: 7}}))
    everything = driver.ask(fetch(), 10)
    assert [(t.name, bytes(t.topic_id)) for t in everything.groups[0].topics] == [("", b"a" * 16)]
    answer = driver.ask(fetch(partitions={"a": [0], "x": [0]}), 10)
    assert fetched(answer) == {("a", 0): (7, 0), ("x", 0): (-1, Code.UNKNOWN_TOPIC_ID)}


@pytest.mark.parametrize(
    ("version", "partitions", "found"),
    [(1, {}, 0), (7, {}, 0), (2, None, 1), (7, None, 1), (1, {"a": [0, 1]}, 2), (7, {"a": [0, 1]}, 2)],
)
def test_old_forms(driver: Driver, version, partitions, found):
    """v1 has no null: no topics means none. Since v2 null means all."""
    driver.ask(commit({"a": {0: 7}}))
    answer = driver.ask(old_fetch(partitions), version)
    rows = [row for topic in answer.topics for row in topic.partitions]
    assert (len(rows), answer.error_code) == (found, Code.NONE)
    assert [row.committed_offset for row in rows] == [7, -1][:found]


@pytest.mark.parametrize("version", [1, 2, 5, 7])
def test_an_unknown_group_has_no_offsets(driver: Driver, version):
    answer = driver.ask(old_fetch({"a": [0]}, "missing"), version)
    assert (answer.error_code, answer.topics[0].partitions[0].committed_offset) == (Code.NONE, -1)


def test_a_classic_group_ignores_the_member(driver: Driver):
    asks.lone(driver)
    assert driver.ask(fetch(member="nobody", epoch=8), 9).groups[0].error_code == Code.NONE


def test_leader_epoch_and_metadata_are_kept(driver: Driver):
    request = commit({"a": {0: 7, 1: 8}}, metadata="from here")
    request.topics[0].partitions[0].committed_leader_epoch = 5
    request.topics[0].partitions[1].committed_metadata = None
    driver.ask(request, 8)
    rows = driver.ask(fetch()).groups[0].topics[0].partitions
    assert [(r.committed_leader_epoch, r.metadata) for r in rows] == [(5, "from here"), (-1, "")]
    assert driver.groups.committed(G)[A0] == (7, 5, "from here")


def test_offsets_of_a_deleted_topic_vanish(driver: Driver):
    driver.ask(commit({"a": {0: 7}, "b": {0: 8}}))
    driver.groups.txn_commit(G, 1, {A0: (9, -1, "")})
    del driver.topics["a"]
    driver.groups.forget_topic("a")
    driver.groups.complete_txn(1, True)
    driver.topics["a"] = FakeTopic(b"A" * 16, 4)
    assert fetched(driver.ask(fetch())) == {("b", 0): (8, 0)}


# Transactions


def test_what_a_transaction_commits_is_pending_until_it_ends(driver: Driver):
    driver.ask(commit({"a": {0: 1, 1: 1}}))
    assert driver.groups.txn_commit(G, 1, {A0: (5, -1, "")}) == {A0: Code.NONE}
    partitions = {"a": [0, 1]}
    assert fetched(driver.ask(fetch(partitions=partitions))) == {("a", 0): (1, 0), ("a", 1): (1, 0)}
    unstable = {("a", 0): (-1, Code.UNSTABLE_OFFSET_COMMIT), ("a", 1): (1, 0)}
    assert fetched(driver.ask(fetch(partitions=partitions, stable=True))) == unstable
    assert fetched(driver.ask(fetch(stable=True))) == unstable
    old = driver.ask(old_fetch(partitions, stable=True), 7)
    assert [row.error_code for row in old.topics[0].partitions] == [Code.UNSTABLE_OFFSET_COMMIT, Code.NONE]
    driver.groups.complete_txn(1, True)
    assert fetched(driver.ask(fetch(stable=True))) == {("a", 0): (5, 0), ("a", 1): (1, 0)}


def test_an_aborted_transaction_leaves_the_old_offsets(driver: Driver):
    driver.ask(commit({"a": {0: 1}}))
    driver.groups.txn_commit(G, 1, {A0: (5, -1, "")})
    driver.groups.complete_txn(1, False)
    assert fetched(driver.ask(fetch(stable=True))) == {("a", 0): (1, 0)}


def test_two_transactions_on_one_partition(driver: Driver):
    driver.groups.txn_commit(G, 1, {A0: (5, -1, "")})
    driver.groups.txn_commit(G, 2, {A0: (6, -1, "")})
    driver.groups.complete_txn(2, True)
    assert driver.groups.committed(G)[A0].offset == 6
    assert fetched(driver.ask(fetch(stable=True)))["a", 0][1] == Code.UNSTABLE_OFFSET_COMMIT
    driver.groups.complete_txn(1, True)
    assert driver.groups.committed(G)[A0].offset == 6  # it was asked for later


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_plain_commit_that_came_later_wins_wherever_the_marker_is(driver: Driver, when):
    driver.groups.txn_commit(G, 1, {A0: (5, -1, "")})
    if when == "after":
        driver.groups.complete_txn(1, True)
    driver.ask(commit({"a": {0: 9}}))
    driver.groups.complete_txn(1, True)
    assert driver.groups.committed(G)[A0].offset == 9


@pytest.mark.parametrize(
    ("member", "generation", "instance", "answer"),
    [
        pytest.param("", -1, None, Code.NONE, id="stranger"),
        pytest.param("real", 2, None, Code.NONE, id="member"),
        pytest.param("made-up", 2, None, Code.UNKNOWN_MEMBER_ID, id="wrong member"),
        pytest.param("real", 1, None, Code.ILLEGAL_GENERATION, id="wrong generation"),
        pytest.param("real", -1, None, Code.ILLEGAL_GENERATION, id="member without a generation"),
        pytest.param("", -1, "inst9", Code.UNKNOWN_MEMBER_ID, id="unknown instance"),
    ],
)
@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_commit_in_a_transaction_to_a_live_group(driver: Driver, kind, member, generation, instance, answer):
    """The same words for both kinds, though it is an epoch that the new protocol counts."""
    real = "m1"
    if kind == "classic":
        real, _ = asks.pair(driver)
    else:
        driver.ask(asks.consumer_join(real))
    who = real if member == "real" else member
    given = driver.groups.txn_commit(
        G, 1, {A0: (5, -1, "")}, generation_id=generation, member_id=who, group_instance_id=instance
    )
    assert given == {A0: answer}


@pytest.mark.parametrize(
    ("group", "generation", "answer"),
    [(G, -1, Code.NONE), (G, 3, Code.ILLEGAL_GENERATION), ("", -1, Code.INVALID_GROUP_ID)],
)
def test_commit_in_a_transaction_to_an_unknown_group(driver: Driver, group, generation, answer):
    assert driver.groups.txn_commit(group, 1, {A0: (5, -1, None)}, generation_id=generation) == {A0: answer}
    assert driver.groups.state(group) == ("Empty" if answer == Code.NONE else "Dead")


def test_parts_of_a_commit_in_a_transaction_are_judged_by_themselves(driver: Driver):
    missing, long = TopicPartition("a", 9), TopicPartition("a", 1)
    offsets = {A0: (1, -1, ""), missing: (1, -1, ""), long: (1, -1, "x" * 4097)}
    assert driver.groups.txn_commit(G, 1, offsets) == {
        A0: Code.NONE,
        missing: Code.UNKNOWN_TOPIC_OR_PARTITION,
        long: Code.OFFSET_METADATA_TOO_LARGE,
    }


def test_deleting_offsets_or_the_group_takes_what_is_pending_too(driver: Driver):
    driver.groups.txn_commit(G, 1, {A0: (5, -1, "")})
    driver.ask(asks.delete_offsets({"a": [0]}))
    driver.groups.txn_commit("other", 1, {A0: (5, -1, "")})
    driver.ask(asks.delete("other"))
    driver.groups.complete_txn(1, True)
    assert driver.groups.committed(G) == driver.groups.committed("other") == {}


def test_members_do_not_notice_a_commit_in_a_transaction(driver: Driver):
    leader, _ = asks.pair(driver)
    driver.groups.txn_commit(G, 1, {A0: (5, -1, "")})
    driver.groups.complete_txn(1, True)
    assert driver.ask(asks.heartbeat(leader, 2)).error_code == Code.NONE
    assert code(driver.ask(commit({"a": {0: 6}}, leader, 2))) == Code.NONE
