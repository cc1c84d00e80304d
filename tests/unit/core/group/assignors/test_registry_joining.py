"""What a member offers in JoinGroup."""

from kcli.core.group.assignors.registry import choose, offers
from kcli.core.group.assignors.sticky import read_claim
from kcli.core.group.consumer_protocol import Subscription, decode_subscription
from tests.unit.core.group.assignors.worlds import places

LAST = places("a0 b1")


def offered(names: str, **last) -> dict[str, Subscription]:
    rows = offers(choose(names), ["b", "a"], **last)
    return {row.name: decode_subscription(row.metadata, "m") for row in rows}


def test_one_subscription_per_assignor_the_preferred_one_first() -> None:
    found = offered("sticky,range", rack="r1")
    assert list(found) == ["sticky", "range"]
    assert found["range"] == Subscription(("a", "b"), rack="r1")
    assert found["sticky"] == found["range"]


def test_an_eager_member_claims_nothing_but_sticky_remembers() -> None:
    found = offered("sticky,range", last=LAST, generation=4)
    assert [one.owned_partitions for one in found.values()] == [(), ()]
    assert found["range"].user_data is None
    claim = read_claim(found["sticky"])
    assert (list(claim.partitions), claim.generation) == (LAST, 4)


def test_a_cooperative_member_claims_the_partitions_it_keeps() -> None:
    (found,) = offered("cooperative-sticky", last=LAST, generation=4).values()
    assert found == Subscription(("a", "b"), tuple(LAST), 4, user_data=b"\0\0\0\4")


def test_cooperative_beside_eager_claims_nothing() -> None:
    found = offered("cooperative-sticky,range", last=LAST, generation=4)
    assert [one.owned_partitions for one in found.values()] == [(), ()]
