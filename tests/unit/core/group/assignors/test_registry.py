"""Assignors by name, and the value of ``partition.assignment.strategy``."""

import pytest

from kcli.core.errors import ConfigError
from kcli.core.group.assignors.assignor import Remembering
from kcli.core.group.assignors.registry import NAMES, assignor, choose, rebalance_protocol


class OneReader:
    """The example of ``Assignor``."""

    name = "one-reader"
    protocol = "EAGER"

    def assign(self, members, partitions):
        return {}


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_kafkas_names_are_known(name: str) -> None:
    assert name in NAMES
    assert assignor(name).name == name


@pytest.mark.parametrize(
    ("java", "name"),
    [
        ("RangeAssignor", "range"),
        ("RoundRobinAssignor", "roundrobin"),
        ("StickyAssignor", "sticky"),
        ("CooperativeStickyAssignor", "cooperative-sticky"),
    ],
)
def test_the_java_clients_class_names_are_understood(java: str, name: str) -> None:
    assert assignor(f"org.apache.kafka.clients.consumer.{java}").name == name


def test_an_unknown_name_is_reported_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match=r"partition.assignment.strategy: there is no assignor 'ranged'"
    ) as caught:
        assignor("ranged")
    assert caught.value.do == "choose of range, roundrobin, sticky, cooperative-sticky"


@pytest.mark.case("S0-35")
def test_an_option_is_a_name_an_object_or_several() -> None:
    own = OneReader()
    assert [one.name for one in choose("cooperative-sticky, range")] == ["cooperative-sticky", "range"]
    assert choose(own) == (own,)
    assert choose([own, "range"])[0] is own


@pytest.mark.parametrize("chosen", ["", " , ", []])
def test_no_assignor_at_all_is_refused(chosen) -> None:
    with pytest.raises(ConfigError, match="names no assignor"):
        choose(chosen)


def test_one_name_for_two_assignors_is_refused() -> None:
    with pytest.raises(ConfigError, match="two assignors are called 'range'"):
        choose("range,sticky,range")


def test_a_member_is_cooperative_only_with_all_its_assignors() -> None:
    """KIP-429: a group changes over by offering both first, which is eager, and then one."""
    assert rebalance_protocol(choose("cooperative-sticky")) == "COOPERATIVE"
    assert rebalance_protocol(choose("cooperative-sticky,range")) == "EAGER"
    assert rebalance_protocol(choose("sticky")) == "EAGER"


def test_members_that_keep_positions_are_distinguished_from_others() -> None:
    assert [name for name in NAMES if isinstance(assignor(name), Remembering)] == [
        "sticky",
        "cooperative-sticky",
    ]
    assert not isinstance(OneReader(), Remembering)
