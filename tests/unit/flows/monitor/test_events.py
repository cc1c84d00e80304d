"""What has changed between two readings."""

import dataclasses
from collections.abc import Sequence

import pytest

from kcli.core.errors import KcliError
from kcli.flows.lag.partition_lag import READ, RecordTime
from kcli.flows.lag.sample import GroupSample
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.events import GONE, JOINED, KINDS, LEFT, NEW, REBALANCE, REWIND, VERDICT
from tests.unit.flows.monitor.readings import NOW, P0, P1, group, reading


def events(*readings: Reading) -> list[tuple[str, str]]:
    board = Board()
    shown = [board.add(one) for one in readings][-1].events
    for event in shown:
        assert event.kind in KINDS
        assert event.text
        assert event.kind not in event.text, "it follows the kind"
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


def test_one_rewind_is_one_event_though_another_verdict_comes_between() -> None:
    """The risk of loss is known while times are; its commits are those that went back once."""
    rows = [reading(0, group("g", {P0: 50}, "a"), ends={P0: 90})]
    for number in range(1, 6):
        state = "PreparingRebalance" if number == 3 else "Stable"
        timed = {"timed": frozenset({"g"}), "times": {(P0, 5): RecordTime(NOW - 1_000_000, READ)}}
        at_risk = {**timed, "retention": {"t": 1_000_500}} if number == 4 else {}
        rows.append(reading(2 * number, group("g", {P0: 5}, "a", state=state), ends={P0: 90}, **at_risk))
    kinds = [kind for kind, _ in events(*rows)]
    assert kinds == [REWIND, REBALANCE, REBALANCE, VERDICT]
    again = [
        reading(40, group("g", {P0: 60}, "a"), ends={P0: 90}),
        reading(80, group("g", {P0: 60}, "a"), ends={P0: 90}),
    ]
    later = reading(90, group("g", {P0: 1}, "a"), ends={P0: 90})
    assert [kind for kind, _ in events(*rows, *again, later)].count(REWIND) == 2


def test_a_rebalance_begins_and_ends_once() -> None:
    states = ("Stable", "PreparingRebalance", "CompletingRebalance", "Stable", "Stable")
    rows = [
        reading(2 * n, group("g", {P0: 5}, "a", state=state), ends={P0: 5}) for n, state in enumerate(states)
    ]
    assert events(*rows) == [(REBALANCE, "g"), (REBALANCE, "g")]


def test_a_stall_is_an_event_and_so_is_its_end() -> None:
    stalled = [reading(n, group("g", {P0: 5}, "a"), ends={P0: 9}) for n in range(0, 34, 2)]
    healthy = [reading(n, group("g", {P0: 9}, "a"), ends={P0: 9}) for n in range(34, 80, 2)]
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
    later = [reading(second, other, ends={P0: 5}) for second in range(4, 16, 2)]
    assert events(reading(0, one, ends={P0: 5}), reading(2, one, other, ends={P0: 5}), *later) == [
        (NEW, "h"),
        (GONE, "g"),
    ]


def lacking(after: float, *groups: GroupSample, failed: Sequence[str] = (), partial: bool = False) -> Reading:
    """A reading without some groups, because of errors."""
    error = KcliError("node 2 does not answer")
    found = reading(after, *groups, ends={P0: 5})
    sample = found.sample._replace(failed=dict.fromkeys(failed, error), partial=(error,) if partial else ())
    return dataclasses.replace(found, sample=sample)


@pytest.mark.case("T6")
def test_groups_that_cannot_be_read_are_neither_gone_nor_new_nor_different_when_they_are_back() -> None:
    one, other = group("g", {P0: 5}, "a", "b"), group("h", {P0: 5}, "c")
    board = Board()
    for second in range(0, 20, 2):
        board.add(reading(second, one, other, ends={P0: 5}))
    for second in range(20, 60, 2):
        shown = board.add(lacking(second, other, failed=["g"], partial=second >= 40))
        assert [line.group for line in shown.groups] == ["h"]
        [line] = shown.unread
        assert (line.group, line.summary.lag, line.summary.note, line.verdict, line.members) == (
            "g", None, "node 2 does not answer", "unread", None,
        )  # fmt: skip
        assert line.last is not None
        assert (line.last.lag, line.age) == (0, second - 18)
        assert line.recent[-1] is None
    for second in range(60, 80, 2):
        shown = board.add(reading(second, one, other, ends={P0: 5}))
    assert (shown.events, shown.unread) == ([], [])
    assert shown.groups[0].verdict == "ok"


@pytest.mark.case("T6")
def test_a_group_that_is_missing_for_a_moment_is_not_gone() -> None:
    """While a coordinator moves no broker lists its groups, and none reports an error."""
    one = group("g", {P0: 5}, "a")
    assert not events(
        reading(0, one, ends={P0: 5}), reading(2, ends={P0: 5}), reading(8, ends={P0: 5}), reading(10, one, ends={P0: 5})
    )  # fmt: skip


@pytest.mark.case("T6")
def test_groups_are_not_new_when_the_first_lists_were_incomplete() -> None:
    one, other = group("g", {P0: 5}, "a"), group("h", {P0: 5}, "a")
    assert not events(
        lacking(0, one, partial=True), lacking(2, one, failed=["h"]), reading(4, one, other, ends={P0: 5})
    )
    assert events(
        lacking(0, one, partial=True), reading(2, one, ends={P0: 5}), reading(4, one, other, ends={P0: 5})
    ) == [(NEW, "h")]


@pytest.mark.case("T6")
def test_no_verdict_is_found_across_a_time_in_which_the_cluster_was_away() -> None:
    """Nobody could commit: that is no stall."""
    board = Board()
    board.add(reading(0, group("g", {P0: 5}, "a"), ends={P0: 9}))
    board.interrupt()
    shown = board.add(reading(30, group("g", {P0: 5}, "a"), ends={P0: 9}))
    assert (shown.groups[0].verdict, shown.events) == (None, [])
    other = Board()
    other.add(reading(0, group("g", {P0: 5}, "a"), ends={P0: 9}))
    assert other.add(reading(30, group("g", {P0: 5}, "a"), ends={P0: 9})).groups[0].verdict == "stalled"


@pytest.mark.case("T6")
def test_a_log_that_could_not_be_read_for_a_moment_has_not_grown_by_all_that_it_holds() -> None:
    board = Board()
    for second, ends in enumerate(({P0: 100, P1: 1_000_000}, {P0: 110}, {P0: 120, P1: 1_000_010})):
        shown = board.add(reading(second, group("g", {P0: 5}, "a"), ends=ends))
    assert shown.totals.produced == 10
