"""Whose internal topic is it? By topology, else by name, unless another group's name fits it, too."""

import pytest

from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.streams_members import Subtopology
from kcli.core.errors import KcliError, NotFoundError
from kcli.flows.groups.internal_topics import InternalTopics, judged, may_be_internal, of_topology

TOPICS = ["app-a-changelog", "app-b-repartition", "app-2-c-changelog", "lines", "other-a-changelog"]
PART = Subtopology("0", ("lines",), ("app-b-repartition",), ("app-b-repartition",), ("app-a-changelog",))


def group(name: str, *parts: Subtopology, known: bool = True) -> GroupDescription:
    kind = "streams" if known else "classic"
    return GroupDescription(name, kind, "Empty", kind, "", 1, subtopologies=parts if known else None)


@pytest.mark.parametrize(
    "name",
    [
        "app-store-changelog",
        "app-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition",
        "app-x-subscription-registration-topic",
        "app-x-subscription-response-topic",
        "app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
        "app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
    ],
)
def test_names_that_kafka_streams_gives(name: str) -> None:
    assert may_be_internal(name, "app")
    assert not may_be_internal(name, "ap")
    assert not may_be_internal(name, "app-store-changelog")


@pytest.mark.parametrize(
    "name", ["app", "app-orders", "app-changelogs", "xapp-a-changelog", "app_a-changelog"]
)
def test_other_names(name: str) -> None:
    assert not may_be_internal(name, "app")


def test_a_source_topic_that_serves_as_a_changelog_is_no_internal_topic() -> None:
    reads = Subtopology("0", ("table",), (), (), ("table", "app-a-changelog"))
    assert of_topology([reads]) == {"app-a-changelog"}


def test_without_another_group_names_decide() -> None:
    found = judged("app", TOPICS, None, {})
    assert found == InternalTopics(("app-2-c-changelog", "app-a-changelog", "app-b-repartition"), {}, {})


def test_a_topology_decides_and_names_alike_are_left() -> None:
    found = judged("app", TOPICS, of_topology([PART]), {})
    assert found.own == ("app-a-changelog", "app-b-repartition")
    assert found.left == {"app-2-c-changelog": "it is not in the topology of app"}
    assert not found.unsure


def test_topics_of_the_topology_that_do_not_exist_are_not_there() -> None:
    assert judged("app", ["app-a-changelog"], of_topology([PART]), {}).own == ("app-a-changelog",)


@pytest.mark.parametrize("rival", [group("app-2", known=False), NotFoundError("away")])
def test_a_group_whose_name_fits_better_leaves_it_open(rival: GroupDescription | KcliError) -> None:
    found = judged("app", TOPICS, None, {"app-2": rival})
    assert found.own == ("app-a-changelog", "app-b-repartition")
    assert found.unsure == {"app-2-c-changelog": "app-2"}
    known = judged("app", TOPICS, of_topology([PART]), {"app-2": rival})
    assert known.left == {
        "app-2-c-changelog": "it is not in the topology of app, and group app-2 fits it, too"
    }


def test_the_topology_of_the_other_group_decides() -> None:
    has = Subtopology("0", ("lines",), (), (), ("app-2-c-changelog",))
    found = judged("app", TOPICS, None, {"app-2": group("app-2", has)})
    assert (found.left, found.unsure) == (
        {"app-2-c-changelog": "it is in the topology of group app-2"},
        {},
    )
    lacks = judged("app", TOPICS, None, {"app-2": group("app-2", PART)})
    assert "app-2-c-changelog" in lacks.own


def test_of_several_groups_that_fit_the_longest_name_is_named() -> None:
    others = {name: group(name, known=False) for name in ("app-2", "app-2-c")}
    found = judged("app", ["app-2-c-d-changelog"], None, others)
    assert found.unsure == {"app-2-c-d-changelog": "app-2-c"}
