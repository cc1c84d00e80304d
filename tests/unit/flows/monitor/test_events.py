"""What has changed between two readings."""

from kcli.flows.monitor.board import Board
from kcli.flows.monitor.events import GONE, JOINED, KINDS, LEFT, NEW, REBALANCE, REWIND, VERDICT
from kcli.flows.monitor.reading import Reading
from tests.unit.flows.monitor.readings import NOW, P0, group, reading


def events(*readings: Reading) -> list[tuple[str, str]]:
    board = Board()
    shown = [board.add(one) for one in readings][-1].events
    assert all(event.kind in KINDS and event.text for event in shown)
    return [(event.kind, event.group) for event in shown]


def test_the_first_reading_has_none() -> None:
    assert not events(reading(0, group("g", {P0: 1}, "a"), ends={P0: 5}))


def test_members_that_join_and_leave_are_named() -> None:
    board = Board()
    board.add(reading(0, group("g", {P0: 5}, "a", "b"), ends={P0: 5}))
    shown = board.add(reading(2, group("g", {P0: 5}, "b", "c", "d", "e", "f"), ends={P0: 5})).events
    assert [(one.kind, one.text) for one in shown] == [
        (JOINED, "c on host, d on host, e on host and 1 more: now 5 members"),
        (LEFT, "a on host: now 5 members"),
    ]
    assert shown[0].at_ms == NOW + 2_000


def test_the_last_member_leaves_when_the_group_is_empty_and_is_no_longer_described() -> None:
    empty = group("g", {P0: 5}, state="Empty")._replace(description=None)
    assert events(reading(0, group("g", {P0: 5}, "a"), ends={P0: 5}), reading(2, empty, ends={P0: 5})) == [
        (LEFT, "g"),
        (VERDICT, "g"),
    ]


def test_a_rebalance_begins_and_ends_once() -> None:
    states = ("Stable", "PreparingRebalance", "CompletingRebalance", "Stable", "Stable")
    rows = [
        reading(2 * n, group("g", {P0: 5}, "a", state=state), ends={P0: 5}) for n, state in enumerate(states)
    ]
    assert events(*rows) == [(REBALANCE, "g"), (REBALANCE, "g")]


def test_a_stall_is_an_event_and_so_is_its_end() -> None:
    stalled = [reading(n, group("g", {P0: 5}, "a"), ends={P0: 9}) for n in range(0, 12, 2)]
    healthy = [reading(n, group("g", {P0: 9}, "a"), ends={P0: 9}) for n in range(12, 80, 2)]
    assert events(*stalled) == [(VERDICT, "g")]
    assert events(*stalled, *healthy) == [(VERDICT, "g"), (VERDICT, "g")]


def test_a_group_that_is_well_from_the_beginning_is_no_event() -> None:
    assert not events(*(reading(n, group("g", {P0: 9 + n}, "a"), ends={P0: 9 + n}) for n in range(0, 60, 2)))


def test_a_rewind_is_one_event() -> None:
    before = [reading(n, group("g", {P0: 90}, "a"), ends={P0: 90}) for n in range(0, 20, 2)]
    after = [reading(n, group("g", {P0: 10 + n}, "a"), ends={P0: 90}) for n in range(20, 100, 2)]
    assert events(*before, *after)[0] == (REWIND, "g")
    assert [kind for kind, _ in events(*before, *after)].count(REWIND) == 1


def test_groups_that_appear_and_vanish_are_events() -> None:
    one, other = group("g", {P0: 5}, "a"), group("h", {P0: 5}, "a")
    assert events(
        reading(0, one, ends={P0: 5}), reading(2, one, other, ends={P0: 5}), reading(4, other, ends={P0: 5})
    ) == [(NEW, "h"), (GONE, "g")]
