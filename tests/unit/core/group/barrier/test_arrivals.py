"""Who was sent out of a group, and who is back."""

import pytest

from kcli.core.group.barrier.arrivals import ArrivalLog, ListedMember


def one(member_id: str, client_id: str = "app", instance_id: str | None = None) -> ListedMember:
    return ListedMember(member_id, instance_id, client_id, "/10.0.0.1")


def test_members_of_classic_groups_are_known_by_their_names() -> None:
    door = ArrivalLog(keeps_id=False)
    door.evicted([one("1", "a"), one("2", "b")], 10.0)
    door.looked([one("3", "a"), one("4", "c")], 11.0)
    assert (door.back, door.all_back) == (1, False)
    door.looked([one("3", "a"), one("4", "c"), one("5", "b")], 12.0)
    assert (door.back, door.all_back) == (2, True)
    assert [arrival.at for arrival in door.inside.values()] == [11.0, 11.0, 12.0]
    assert (door.sent_out_at, door.last_arrival) == (10.0, 12.0)


def test_static_members_are_known_by_their_instance_ids() -> None:
    door = ArrivalLog(keeps_id=False)
    door.evicted([one("1", "app", "i1"), one("2", "app", "i2")], 10.0)
    door.looked([one("3", "app", "i1"), one("4", "app", "i3")], 11.0)
    assert door.back == 1


@pytest.mark.parametrize(("back", "count"), [("1", 1), ("3", 0)])
def test_members_of_the_new_protocol_keep_their_ids(back: str, count: int) -> None:
    door = ArrivalLog(keeps_id=True)
    door.evicted([one("1"), one("2")], 10.0)
    door.looked([one(back)], 11.0)
    assert door.back == count


def test_a_member_evicted_again_counts_once() -> None:
    door = ArrivalLog(keeps_id=True)
    door.evicted([one("1"), one("2")], 10.0)
    door.looked([one("1")], 10.1)
    door.evicted([one("1")], 10.2)
    assert len(door.sent_out) == 2
    door.looked([one("1"), one("2")], 15.0)
    assert door.all_back
    assert door.last_arrival == 15.0


def test_a_member_that_stopped_waiting_to_rejoin_is_not_back() -> None:
    door = ArrivalLog(keeps_id=False)
    door.evicted([one("1")], 10.0)
    door.looked([one("2")], 11.0)
    door.looked([], 12.0)
    assert door.back == 0


def test_since_when_a_member_of_a_classic_group_owns_nothing_is_kept() -> None:
    door = ArrivalLog(keeps_id=False)
    door.evicted([one("1", "a"), one("2", "b")], 10.0)
    door.looked([one("3", "a"), one("4", "b")], 11.0)
    door.unassigned(["barrier", "3"], 12.0)
    door.unassigned(["barrier", "3", "4"], 14.0)
    assert [arrival.unassigned_since for arrival in door.inside.values()] == [12.0, 14.0]


def test_a_member_of_the_new_protocol_owns_nothing_from_its_arrival_on() -> None:
    door = ArrivalLog(keeps_id=True)
    door.evicted([one("1")], 10.0)
    door.looked([one("1")], 11.0)
    assert door.inside["1"].unassigned_since == 11.0


def test_a_member_that_returned_and_left_is_kept_with_the_time() -> None:
    door = ArrivalLog(keeps_id=False)
    door.evicted([one("1")], 10.0)
    door.looked([one("2")], 11.0)
    door.evicted([one("2")], 12.0)
    door.looked([one("3")], 13.0)
    door.looked([], 14.0)
    assert [(arrival.member.member_id, arrival.left_at) for arrival in door.gone.values()] == [("3", 14.0)]
    assert door.gone["3"].since(20.0).left_at == -6.0
