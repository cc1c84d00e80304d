"""Properties of where drained replicas go: valid, on as many racks as before, only what has to move, balanced."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.core.types import TopicPartition
from kcli.flows.brokers.drain_targets import drain_targets, leader_targets, led_elsewhere
from kcli.flows.reassign.assignment import Placement

QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))
Racks = Mapping[int, str | None]


def placements(*rows: tuple[int, ...], sizes: Sequence[int] = ()) -> list[Placement]:
    sizes = sizes or [0] * len(rows)
    return [
        Placement(TopicPartition("t", i), row, row[0], size)
        for i, (row, size) in enumerate(zip(rows, sizes, strict=True))
    ]


def drain(
    rows: Sequence[Placement], racks: Racks, *drained: int, rack_aware: bool = True
) -> tuple[dict[int, tuple[int, ...]], dict[int, str]]:
    scope = [row for row in rows if set(row.replicas) & set(drained)]
    others = [row for row in rows if row not in scope]
    candidates = racks.keys() - set(drained)
    found, refused = drain_targets(scope, others, racks, drained, candidates, rack_aware=rack_aware)
    return {tp.partition: new for tp, new in found.items()}, {
        tp.partition: error.why for tp, error in refused.items()
    }


def without_racks(*brokers: int) -> Racks:
    return dict.fromkeys(brokers)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Placement], Racks, list[int]]:
    """Partitions of one to three replicas on four to nine brokers of three racks, and one or two that are drained."""
    count = draw(st.integers(4, 9))
    racks = {number: "abc"[number % 3] for number in range(1, count + 1)}
    rows = draw(
        st.lists(
            st.lists(st.sampled_from(sorted(racks)), min_size=1, max_size=3, unique=True),
            min_size=1,
            max_size=30,
        )
    )
    sizes = draw(st.lists(st.integers(0, 1000), min_size=len(rows), max_size=len(rows)))
    drained = draw(st.lists(st.sampled_from(sorted(racks)), min_size=1, max_size=2, unique=True))
    return placements(*map(tuple, rows), sizes=sizes), racks, drained


@QUICK
@given(clusters())
def test_only_drained_replicas_move_to_other_live_brokers(
    given_: tuple[list[Placement], Racks, list[int]],
) -> None:
    rows, racks, drained = given_
    found, refused = drain(rows, racks, *drained)
    by_number = {row.tp.partition: row.replicas for row in rows}
    assert found.keys() | refused.keys() == {n for n, row in by_number.items() if set(row) & set(drained)}
    for number, new in found.items():
        old = by_number[number]
        assert len(new) == len(set(new)) == len(old)
        assert not set(new) & set(drained)
        assert set(old) - set(drained) <= set(new)
        assert len({racks[b] for b in new}) >= len({racks[b] for b in old})
        if old[0] not in drained:
            assert new[0] == old[0]


@QUICK
@given(clusters())
def test_without_racks_only_too_few_brokers_are_refused(
    given_: tuple[list[Placement], Racks, list[int]],
) -> None:
    rows, racks, drained = given_
    found, refused = drain(rows, racks, *drained, rack_aware=False)
    left = len(racks) - len(drained)
    assert refused.keys() == {row.tp.partition for row in rows if len(row.replicas) > left} - found.keys()


def test_bytes_are_balanced() -> None:
    rows = placements(*[(1,)] * 40, sizes=[1000 - 20 * n for n in range(40)])
    found, _ = drain(rows, without_racks(1, 2, 3, 4), 1)
    loads = [sum(rows[n].size for n, new in found.items() if b in new) for b in (2, 3, 4)]
    assert max(loads) - min(loads) < 300


def test_counts_are_balanced_where_sizes_are_unknown() -> None:
    found, _ = drain(placements(*[(1,)] * 31), without_racks(1, 2, 3, 4), 1)
    counts = [sum(b in new for new in found.values()) for b in (2, 3, 4)]
    assert max(counts) - min(counts) <= 1


def test_what_brokers_have_already_counts() -> None:
    rows = placements((1,), (1,), *[(2,)] * 4, sizes=[10, 10, 10, 10, 10, 10])
    found, _ = drain(rows, without_racks(1, 2, 3), 1)
    assert set(found.values()) == {(3,)}


def test_leaders_are_spread() -> None:
    found, _ = drain(placements(*[(1, 2, 3)] * 8), without_racks(1, 2, 3, 4), 1)
    firsts = [new[0] for new in found.values()]
    assert sorted(firsts.count(b) for b in (2, 3, 4)) == [2, 3, 3]


def test_a_rack_that_would_be_lost_is_refused_unless_racks_do_not_count() -> None:
    racks: Racks = {1: "a", 2: "b", 3: "c", 4: "c"}
    rows = placements((1, 2, 3), (1, 2))
    found, refused = drain(rows, racks, 1)
    assert found in ({1: (2, 3)}, {1: (2, 4)})
    assert refused == {0: "its replicas are on 3 racks, and would be on 2"}
    found, refused = drain(rows, racks, 1, rack_aware=False)
    assert (set(found[0]), refused) == ({2, 3, 4}, {})


def test_too_few_brokers_are_refused() -> None:
    found, refused = drain(placements((1, 2, 3), (1, 2)), without_racks(1, 2, 3), 1)
    assert found == {1: (2, 3)}
    assert refused == {
        0: "a partition of 3 replicas needs as many brokers, and there are 2 without those that are drained"
    }


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        ((3, 1), (1, 2), (1, 3)),
        ((1, 3, 2), (1, 2, 4), (1, 2, 3)),
        ((3, 1, 2), (2, 1, 4), (2, 1, 3)),
        ((3, 1), (2, 1), (1, 3)),
        ((3,), (1,), ()),
    ],
)
def test_the_order_that_makes_another_leader_keeps_the_replicas(
    old: tuple[int, ...], new: tuple[int, ...], order: tuple[int, ...]
) -> None:
    assert led_elsewhere(old, new, {3}) == order


def test_leaders_only_are_spread_and_refused_where_there_is_no_other_replica() -> None:
    rows = placements((3, 1, 2), (3, 1, 2), (1, 3), (3,))
    found, refused = leader_targets(rows, [], [3])
    assert {tp.partition: new for tp, new in found.items()} == {0: (2, 1, 3), 1: (1, 2, 3), 2: (1, 3)}
    assert [tp.partition for tp in refused] == [3]
