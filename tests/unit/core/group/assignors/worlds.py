"""Groups for the tests of assignors: made up, carried from one rebalance to the next, judged. Not a test."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from kcli.core.group.assignors.assignor import Assignor
from kcli.core.group.assignors.registry import assignor
from kcli.core.group.consumer_protocol import Subscription
from kcli.core.types import TopicPartition

Given = Mapping[str, Sequence[TopicPartition]]


@dataclass(frozen=True)
class World:
    members: dict[str, Subscription]
    partitions: dict[str, int]


def places(text: str) -> list[TopicPartition]:
    """``"a0 b12"`` is a-0 and b-12."""
    return [
        TopicPartition(word.rstrip("0123456789"), int(word.lstrip("abcdefghijklmnop")))
        for word in text.split()
    ]


def spelled(given: Given) -> dict[str, str]:
    return {member: " ".join(f"{tp.topic}{tp.partition}" for tp in given[member]) for member in sorted(given)}


def subscribers(**topics: str) -> dict[str, Subscription]:
    """``subscribers(x="a b")``: the member x subscribes to a and b."""
    return {member: Subscription(tuple(wanted.split())) for member, wanted in topics.items()}


def after(
    assignor: Assignor, members: Mapping[str, Subscription], had: Given, generation: int = 1
) -> dict[str, Subscription]:
    """The same members when they join again and own what they were given in ``generation``."""
    return {member: owning(assignor, one, had.get(member, ()), generation) for member, one in members.items()}


def owning(
    assignor: Assignor, one: Subscription, had: Iterable[TopicPartition], generation: int
) -> Subscription:
    """As members tell it: in the fields when cooperative, in the user data when sticky."""
    had = tuple(had)
    data = assignor.user_data(had, generation) if hasattr(assignor, "user_data") else None
    fields = had if assignor.protocol == "COOPERATIVE" else ()
    return replace(one, owned_partitions=fields, generation=generation, user_data=data)


TOPICS = [f"t{number}" for number in range(6)]
SIZES = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9))
IDS = st.lists(st.integers(0, 99).map("m{:02d}".format), min_size=1, max_size=8, unique=True)
INSTANCES = st.none() | st.integers(0, 9).map("i{}".format)


@st.composite
def worlds(draw: st.DrawFn, *, same: bool | None = None) -> World:
    """A group of members that subscribe to the same topics, to different ones, or either."""
    ids = draw(IDS)
    some = st.lists(st.sampled_from([*TOPICS, "unknown"]), unique=True, max_size=6).map(tuple)
    alike = draw(st.booleans()) if same is None else same
    common = draw(some)
    members = {
        member: Subscription(common if alike else draw(some), group_instance_id=draw(INSTANCES))
        for member in ids
    }
    return World(members, draw(SIZES))


def assert_exact(world: World, given: Given) -> None:
    """Every partition that somebody wants is assigned once, to somebody who wants it; nothing else is."""
    assert_no_faults(world, given)
    wanted = {topic for one in world.members.values() for topic in one.topics}
    everything = {TopicPartition(t, p) for t, n in world.partitions.items() if t in wanted for p in range(n)}
    assert {tp for row in given.values() for tp in row} == everything


def assert_no_faults(world: World, given: Given) -> None:
    """Nothing twice, nothing that does not exist, nothing to who did not subscribe; every member has a row."""
    assert given.keys() == world.members.keys()
    rows = [(member, tp) for member, row in given.items() for tp in row]
    assert len({tp for _, tp in rows}) == len(rows)
    for member, tp in rows:
        assert tp.topic in world.members[member].topics
        assert 0 <= tp.partition < world.partitions[tp.topic]


def loads(given: Given) -> list[int]:
    return sorted(len(row) for row in given.values())


def unevenness(given: Given) -> int:
    """The sum of squares: no spread of the same partitions is more even than one that has the least."""
    return sum(len(row) ** 2 for row in given.values())


def moved(before: Given, now: Given) -> set[TopicPartition]:
    """Partitions that one member had and another one has."""
    owner = {tp: member for member, row in before.items() for tp in row}
    return {tp for member, row in now.items() for tp in row if owner.get(tp, member) != member}


STICKY = assignor("sticky")
COOPERATIVE = assignor("cooperative-sticky")
EVERY = [assignor(name) for name in ("range", "roundrobin", "sticky", "cooperative-sticky")]


def name_of(assignor: Assignor) -> str:
    return assignor.name
