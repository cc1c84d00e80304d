"""The judge of live rewinds against a model of groups whose members do what they like: it never says held of a partition
that was then read on from elsewhere.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from kcli.flows.rewind.attendance import LONGEST_BATCH
from tests.unit.flows.rewind.live_model import World

HOLDS = (0.0, 2.0, LONGEST_BATCH)
"""For how long a group is held for what its members have in hand; shorter, more old batches are committed later."""


def worlds(seeds: range, *, bound: float, accidents: bool) -> Iterator[World]:
    for seed in seeds:
        for protocol in ("classic", "consumer"):
            rng = Random(f"{seed} {protocol} {accidents}")
            world = World(rng, protocol=protocol, accidents=accidents, bound=bound)
            world.run()
            yield world


@pytest.mark.case("O11")
@pytest.mark.parametrize("accidents", [False, True], ids=["calm", "accidents"])
@pytest.mark.parametrize("bound", HOLDS)
def test_a_partition_that_is_held_is_never_read_on_from_elsewhere(bound: float, accidents: bool) -> None:
    for world in worlds(range(8), bound=bound, accidents=accidents):
        false = world.held.keys() & world.jumped.keys()
        assert not false, (world.jumped, world.held, *world.log)


def test_late_commits_do_harm_in_the_model_and_are_seen() -> None:
    """Else it would prove nothing."""
    said: Counter[str] = Counter()
    for world in worlds(range(100, 145), bound=0.0, accidents=True):
        said.update(world.verdicts[partition] for partition in world.jumped)
    assert said["unknown"] + said["overwritten"] > 10
    assert said["held"] == 0


@pytest.mark.parametrize(("accidents", "most"), [(False, 0.03), (True, 0.10)], ids=["calm", "accidents"])
def test_little_stays_unknown_where_a_group_is_held_for_what_its_members_have_in_hand(
    accidents: bool, most: float
) -> None:
    said: Counter[str] = Counter()
    for world in worlds(range(200, 215), bound=LONGEST_BATCH, accidents=accidents):
        said.update(world.verdicts.values())
    assert said.total() - said["held"] <= most * said.total(), said
