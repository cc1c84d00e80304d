"""Which groups cannot be rewound, and why."""

import pytest

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.flows.rewind.plan import not_possible

MEMBER = MemberDescription("reader-1", None, "reader", "/10.0.0.7")


def group(state: str, protocol: str = "consumer", members: int = 0) -> GroupDescription:
    return GroupDescription("g", "classic", state, protocol, "", 1, (MEMBER,) * members)


@pytest.mark.parametrize("described", [group("Empty"), group("Empty", ""), group("Dead")])
def test_groups_without_members_can_be(described: GroupDescription) -> None:
    assert not_possible(described) is None


@pytest.mark.parametrize(
    ("described", "what", "why"),
    [
        (
            group("Stable", members=1),
            "g has members (1), it is Stable",
            "reader at 10.0.0.7 (member reader-1)",
        ),
        (group("Stable", members=12), "g has members (12)", "and 7 more"),
        (group("PreparingRebalance"), "g is PreparingRebalance", "joining or leaving"),
        (group("Empty", "connect"), "the offsets of group g cannot be set", "its protocol is 'connect'"),
        (group("Stable", "sr", 1), "the offsets of group g cannot be set", "its protocol is 'sr'"),
    ],
)
def test_others_are_refused(described: GroupDescription, what: str, why: str) -> None:
    refused = not_possible(described)
    assert refused is not None
    assert refused.exit_code == 7
    assert what in refused.what
    assert why in refused.why
