"""Whose lag in time is looked up when not all can be: each group gets its turn."""

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kcli.core.types import TopicPartition
from kcli.flows.lag.partition_lag import INTERPOLATED, UNKNOWN, RecordTime
from kcli.flows.monitor import ages
from kcli.flows.monitor.ages import Ages, Lookups
from kcli.flows.monitor.cluster_reading import View
from tests.unit.flows.monitor.readings import P0, P1, group, reading

ADMIN = cast("Any", SimpleNamespace(within=lambda _seconds: nullcontext()))
ALL = View(time="estimate", all_timed=True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """The offsets that each reading looks up."""
    found: list[set[int]] = []

    def estimate(
        _admin: Any, wanted: Collection[tuple[TopicPartition, int]], _sample: Any
    ) -> Mapping[Any, Any]:
        found.append({at for _, at in wanted})
        return {one: RecordTime(1, INTERPOLATED) for one in wanted}

    monkeypatch.setattr(ages, "estimate_record_times", estimate)
    monkeypatch.setattr(ages, "open_transactions", lambda *_: {})
    monkeypatch.setattr(ages, "retention", lambda *_: {})
    return found


def moving(second: int, count: int, *, step: int) -> Any:
    """``count`` groups, each with an offset of its own; a step later they have moved on."""
    return reading(
        second, *(group(f"g{n}", {P0: n + step}) for n in range(count)), ends={P0: 1_000_000, P1: 5}
    ).sample


def test_groups_whose_turn_is_longest_ago_come_first(asked: list[set[int]]) -> None:
    one = Ages(ADMIN, Lookups(most=2, again_ms=0))
    for turn in range(4):
        one.of(moving(15 * turn, 5, step=100 * turn), ALL)
    assert asked == [{0, 1}, {102, 103}, {204, 200}, {301, 302}]


def test_what_is_known_of_groups_that_stand_still_is_not_looked_up_again(asked: list[set[int]]) -> None:
    one = Ages(ADMIN, Lookups(most=2, again_ms=0))
    for turn in range(4):
        known = one.of(moving(15 * turn, 5, step=0), ALL)
    assert asked == [{0, 1}, {2, 3}, {4}]
    assert {at for _, at in known.times} == {0, 1, 2, 3, 4}


def test_a_group_that_moves_is_looked_up_again_after_a_while_only(asked: list[set[int]]) -> None:
    one = Ages(ADMIN, Lookups(most=100, again_ms=10_000))
    for turn in range(4):
        one.of(moving(4 * turn, 1, step=turn), ALL)
    assert asked == [{0}, {3}]


def test_only_the_groups_of_a_view_are_looked_up_unless_all_are_wanted(asked: list[set[int]]) -> None:
    one = Ages(ADMIN)
    one.of(moving(0, 5, step=0), View(("g3", "gone"), "estimate"))
    one.of(moving(0, 5, step=0), View(time="off", all_timed=True))
    assert asked == [{3}]


def test_what_a_leader_did_not_say_is_asked_again_in_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []

    def estimate(_admin: Any, wanted: Collection[Any], _sample: Any) -> Mapping[Any, Any]:
        turns.append(len(wanted))
        return dict.fromkeys(wanted, RecordTime(None, UNKNOWN))

    monkeypatch.setattr(ages, "estimate_record_times", estimate)
    monkeypatch.setattr(ages, "open_transactions", lambda *_: {})
    monkeypatch.setattr(ages, "retention", lambda *_: {})
    one = Ages(ADMIN, Lookups(again_ms=10_000))
    for second in (0, 2, 12, 13):
        one.of(moving(second, 3, step=0), ALL)
    assert turns == [3, 3]
