"""Properties of the balanced assignment: valid, spread over racks, even, and near to the present one."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition
from kcli.flows.reassign.assignment import Placement, assignment

Replicas = Mapping[TopicPartition, tuple[int, ...]]
QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))


def placements(*replicas: tuple[int, ...]) -> list[Placement]:
    return [Placement(TopicPartition("t", i), row, row[0]) for i, row in enumerate(replicas)]


def without_racks(*brokers: int) -> dict[int, str | None]:
    return dict.fromkeys(brokers)


def loads(found: Replicas, brokers: Sequence[int] | Mapping[int, object]) -> list[int]:
    count = Counter(broker for row in found.values() for broker in row)
    return [count[broker] for broker in brokers]


def leads(found: Replicas, brokers: Sequence[int] | Mapping[int, object]) -> list[int]:
    count = Counter(row[0] for row in found.values())
    return [count[broker] for broker in brokers]


def even(numbers: Sequence[int]) -> bool:
    return max(numbers) - min(numbers) <= 1


def moved(before: Sequence[Placement], found: Replicas) -> int:
    return sum(len(set(found[row.tp]) - set(row.replicas)) for row in before)


def again(before: Sequence[Placement], found: Replicas) -> list[Placement]:
    return [Placement(row.tp, found[row.tp], found[row.tp][0], row.size) for row in before]


@st.composite
def clusters(draw: st.DrawFn, *, racks: bool) -> tuple[list[Placement], dict[int, str | None], int | None]:
    """Partitions on brokers 1 … n, the brokers they are to be on (some of these, some new ones), a factor."""
    old = draw(st.integers(1, 7))
    if racks:
        per_rack = draw(st.integers(1, 3))
        names = "abcd"[: draw(st.integers(1, 4))]
        first = draw(st.integers(1, 4))
        numbers = range(first, first + per_rack * len(names))
        target: dict[int, str | None] = {n: names[i % len(names)] for i, n in enumerate(numbers)}
    else:
        target = without_racks(*draw(st.sets(st.integers(1, 9), min_size=1, max_size=7)))
    most = min(old, len(target), 4)
    factor = draw(st.none() | st.integers(1, min(len(target), 4)))
    own = draw(st.integers(1, most))
    rows = draw(
        st.lists(
            st.permutations(range(1, old + 1)).map(lambda order: tuple(order[:own])), min_size=1, max_size=25
        )
    )
    sizes = draw(st.lists(st.integers(0, 9), min_size=len(rows), max_size=len(rows)))
    topics = draw(st.lists(st.sampled_from("tu"), min_size=len(rows), max_size=len(rows)))
    found = [
        Placement(TopicPartition(topic, i), row, row[-1], size)
        for i, (row, size, topic) in enumerate(zip(rows, sizes, topics, strict=True))
    ]
    return found, target, factor


@QUICK
@given(clusters(racks=False))
def test_without_racks_it_is_valid_even_and_final(
    case: tuple[list[Placement], dict[int, str | None], int | None],
) -> None:
    rows, target, factor = case
    found = assignment(rows, target, factor)
    for row in rows:
        new = found[row.tp]
        assert len(new) == len(set(new)) == (factor or len(row.replicas))
        assert set(new) <= target.keys()
    assert even(loads(found, target))
    assert even(leads(found, target))
    assert assignment(again(rows, found), target, factor) == found


@QUICK
@given(clusters(racks=True))
def test_with_racks_of_one_size_it_is_spread_even_and_final(
    case: tuple[list[Placement], dict[int, str | None], int | None],
) -> None:
    rows, target, factor = case
    found = assignment(rows, target, factor)
    racks = set(target.values())
    for row in rows:
        new = found[row.tp]
        assert len(new) == len(set(new)) == (factor or len(row.replicas))
        used = Counter(target[broker] for broker in new)
        assert len(used) == min(len(new), len(racks))
        assert even([used[rack] for rack in racks])
    assert even(loads(found, target))
    assert even(leads(found, target))
    assert assignment(again(rows, found), target, factor) == found


@QUICK
@given(clusters(racks=False))
def test_no_more_is_moved_than_evenness_requires(
    case: tuple[list[Placement], dict[int, str | None], int | None],
) -> None:
    """The least that is possible where no two replicas of a partition compete for a broker: a single replica each."""
    rows, target, _ = case
    rows = [row._replace(replicas=row.replicas[:1]) for row in rows]
    found = assignment(rows, target)
    had = sorted(loads({row.tp: row.replicas for row in rows}, target), reverse=True)
    share, more = divmod(len(rows), len(had))
    stay = sum(min(count, share + (place < more)) for place, count in enumerate(had))
    assert moved(rows, found) == len(rows) - stay


def test_a_balanced_cluster_stays_as_it_is() -> None:
    rows = placements((1, 2, 3), (2, 3, 1), (3, 1, 2))
    assert assignment(rows, without_racks(1, 2, 3)) == {row.tp: row.replicas for row in rows}


def test_a_drained_broker_loses_its_replicas_and_nothing_else_is_moved() -> None:
    rows = placements((1, 2), (2, 3), (3, 4), (4, 1))
    found = assignment(rows, without_racks(1, 2, 3))
    assert moved(rows, found) == 2
    assert loads(found, (1, 2, 3, 4)) in ([3, 3, 2, 0], [3, 2, 3, 0], [2, 3, 3, 0])


def test_a_new_broker_gets_its_share() -> None:
    rows = placements(*[(1, 2, 3)] * 8)
    found = assignment(rows, without_racks(1, 2, 3, 4))
    assert loads(found, (1, 2, 3, 4)) == [6, 6, 6, 6]
    assert leads(found, (1, 2, 3, 4)) == [2, 2, 2, 2]
    assert moved(rows, found) == 6


def test_more_replicas_are_added_and_fewer_dropped_without_a_move() -> None:
    rows = placements((1,), (2,), (3,))
    wider = assignment(rows, without_racks(1, 2, 3), 2)
    assert [wider[row.tp][0] for row in rows] == [1, 2, 3]
    assert (loads(wider, (1, 2, 3)), moved(rows, wider)) == ([2, 2, 2], 3)
    narrow = assignment(again(rows, wider), without_racks(1, 2, 3), 1)
    assert moved(again(rows, wider), narrow) == 0
    assert even(loads(narrow, (1, 2, 3)))


def test_the_smallest_partition_is_moved() -> None:
    rows = [Placement(TopicPartition("t", i), (1,), 1, size) for i, size in enumerate((9, 1, 5))]
    found = assignment(rows, without_racks(1, 2))
    assert [row.tp.partition for row in rows if found[row.tp] == (2,)] == [1]


def test_racks_of_different_sizes_are_used_by_every_partition() -> None:
    rows = placements(*[(2, 3)] * 6)
    racks: dict[int, str | None] = {1: "a", 2: "b", 3: "b", 4: "b"}
    found = assignment(rows, racks)
    assert all({racks[broker] for broker in row} == {"a", "b"} for row in found.values())
    assert loads(found, racks) == [6, 2, 2, 2]


def test_racks_do_not_count_where_a_broker_has_none() -> None:
    rows = placements(*[(1, 2)] * 4)
    found = assignment(rows, {1: "a", 2: "a", 3: None, 4: "b"})
    assert loads(found, (1, 2, 3, 4)) == [2, 2, 2, 2]


def test_too_few_brokers_are_a_usage_error() -> None:
    with pytest.raises(ConfigError, match="t-0 cannot have 3 replicas on 2 brokers"):
        assignment(placements((1, 2, 3)), without_racks(1, 2))


def test_a_large_cluster_is_planned_in_seconds() -> None:
    rows = placements(*[tuple((i + k) % 20 + 1 for k in range(3)) for i in range(4_000)])
    found = assignment(rows, without_racks(*range(1, 23)))
    assert even(loads(found, range(1, 23)))
    assert 1_090 <= moved(rows, found) <= 1_092
