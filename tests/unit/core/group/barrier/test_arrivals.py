"""Who was sent out of a group, and who is back."""

import pytest

from kcli.core.group.barrier.arrivals import ArrivalLog, ListedMember


def one(member_id: str, client_id: str = "app", instance_id: str | None = None) -> ListedMember:
    return ListedMember(member_id, instance_id, client_id, "/10.0.0.1")


def test_members_of_classic_groups_are_known_by_their_names() -> None:
    log = ArrivalLog(keeps_id=False)
    log.record_eviction([one("1", "a"), one("2", "b")], 10.0)
    log.record_listing([one("3", "a"), one("4", "c")], 11.0)
    assert (log.back, log.all_back) == (1, False)
    log.record_listing([one("3", "a"), one("4", "c"), one("5", "b")], 12.0)
    assert (log.back, log.all_back) == (2, True)
    assert [arrival.at for arrival in log.present.values()] == [11.0, 11.0, 12.0]
    assert (log.evicted_at, log.last_arrival) == (10.0, 12.0)


def test_static_members_are_known_by_their_instance_ids() -> None:
    log = ArrivalLog(keeps_id=False)
    log.record_eviction([one("1", "app", "i1"), one("2", "app", "i2")], 10.0)
    log.record_listing([one("3", "app", "i1"), one("4", "app", "i3")], 11.0)
    assert log.back == 1


@pytest.mark.parametrize(("back", "count"), [("1", 1), ("3", 0)])
def test_members_of_the_new_protocol_keep_their_ids(back: str, count: int) -> None:
    log = ArrivalLog(keeps_id=True)
    log.record_eviction([one("1"), one("2")], 10.0)
    log.record_listing([one(back)], 11.0)
    assert log.back == count


def test_a_member_evicted_again_counts_once() -> None:
    log = ArrivalLog(keeps_id=True)
    log.record_eviction([one("1"), one("2")], 10.0)
    log.record_listing([one("1")], 10.1)
    log.record_eviction([one("1")], 10.2)
    assert len(log.evicted) == 2
    log.record_listing([one("1"), one("2")], 15.0)
    assert log.all_back
    assert log.last_arrival == 15.0


def test_a_member_that_stopped_waiting_to_rejoin_is_not_back() -> None:
    log = ArrivalLog(keeps_id=False)
    log.record_eviction([one("1")], 10.0)
    log.record_listing([one("2")], 11.0)
    log.record_listing([], 12.0)
    assert log.back == 0


def test_since_when_a_member_of_a_classic_group_owns_nothing_is_kept() -> None:
    log = ArrivalLog(keeps_id=False)
    log.record_eviction([one("1", "a"), one("2", "b")], 10.0)
    log.record_listing([one("3", "a"), one("4", "b")], 11.0)
    log.record_unassigned(["barrier", "3"], 12.0)
    log.record_unassigned(["barrier", "3", "4"], 14.0)
    assert [arrival.unassigned_since for arrival in log.present.values()] == [12.0, 14.0]


def test_a_member_of_the_new_protocol_owns_nothing_from_its_arrival_on() -> None:
    log = ArrivalLog(keeps_id=True)
    log.record_eviction([one("1")], 10.0)
    log.record_listing([one("1")], 11.0)
    assert log.present["1"].unassigned_since == 11.0


def test_a_member_that_returned_and_left_is_kept_with_the_time() -> None:
    log = ArrivalLog(keeps_id=False)
    log.record_eviction([one("1")], 10.0)
    log.record_listing([one("2")], 11.0)
    log.record_eviction([one("2")], 12.0)
    log.record_listing([one("3")], 13.0)
    log.record_listing([], 14.0)
    assert [(arrival.member.member_id, arrival.left_at) for arrival in log.gone.values()] == [("3", 14.0)]
    assert log.gone["3"].since(20.0).left_at == -6.0
