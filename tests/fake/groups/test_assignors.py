"""The assignors on their own: every partition once, balanced, and no more moves than needed."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fake.groups.assignors import Seat, range_, uniform

A, B = b"a" * 16, b"b" * 16


def seats(**topics: bytes | tuple[bytes, ...]) -> dict[str, Seat]:
    return {
        name: Seat(None, frozenset((wanted,) if isinstance(wanted, bytes) else wanted), frozenset())
        for name, wanted in topics.items()
    }


def again(before: dict[str, Seat], targets: dict[str, frozenset]) -> dict[str, Seat]:
    """The same members, knowing what they have."""
    return {name: Seat(s.instance_id, s.topics, targets.get(name, frozenset())) for name, s in before.items()}


def test_uniform_moves_only_what_a_newcomer_needs():
    first = uniform(seats(m1=A, m2=A), {A: 6})
    grown = uniform(again(seats(m1=A, m2=A, m3=A), first), {A: 6})
    assert [len(grown[name]) for name in ("m1", "m2", "m3")] == [2, 2, 2]
    assert grown["m1"] < first["m1"]
    assert grown["m2"] < first["m2"]


def test_uniform_keeps_everything_when_nothing_changed():
    first = uniform(seats(m1=A, m2=(A, B), m3=B), {A: 4, B: 3})
    assert uniform(again(seats(m1=A, m2=(A, B), m3=B), first), {A: 4, B: 3}) == first


def test_the_uniform_assignor_revokes_unsubscribed_and_missing_partitions():
    had = again(seats(m1=B, m2=A), {"m1": frozenset({(A, 0), (B, 0), (B, 2)}), "m2": frozenset()})
    assert uniform(had, {A: 1, B: 1}) == {"m1": {(B, 0)}, "m2": {(A, 0)}}


def test_range_cuts_each_topic_static_members_first():
    members = seats(m1=(A, B), m2=(A, B)) | {"z": Seat("i0", frozenset({A}), frozenset())}
    assert range_(members, {A: 4, B: 3}) == {
        "z": {(A, 0), (A, 1)},
        "m1": {(A, 2), (B, 0), (B, 1)},
        "m2": {(A, 3), (B, 2)},
    }


subscriptions = st.dictionaries(
    st.sampled_from("pqrstu"), st.frozensets(st.sampled_from([A, B]), min_size=1), min_size=1
)


@given(subscriptions, st.integers(0, 9), st.integers(0, 9), st.sampled_from([uniform, range_]))
def test_every_wanted_partition_has_one_owner_that_wants_it(wanted, a, b, assignor):
    members = {name: Seat(None, topics, frozenset()) for name, topics in wanted.items()}
    targets = assignor(members, {A: a, B: b})
    places = sorted(place for target in targets.values() for place in target)
    asked = frozenset().union(*wanted.values())
    assert places == [(t, p) for t, size in ((A, a), (B, b)) if t in asked for p in range(size)]
    assert all(topic in wanted[name] for name, target in targets.items() for topic, _ in target)


@given(st.integers(1, 7), st.integers(0, 20), st.integers(1, 7))
def test_uniform_is_balanced_whatever_was_before(former, partitions, now):
    before = uniform(seats(**{f"m{n}": A for n in range(former)}), {A: partitions})
    targets = uniform(again(seats(**{f"m{n}": A for n in range(now)}), before), {A: partitions})
    sizes = [len(target) for target in targets.values()]
    assert max(sizes) - min(sizes) <= 1
