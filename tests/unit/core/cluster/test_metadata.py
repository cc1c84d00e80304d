"""The view of a cluster: what an answer changes, and what a late or half answer must not change."""

import pytest

from kcli.core.cluster.metadata import (
    ClusterView,
    PartitionView,
    TopicView,
    apply_metadata,
    topic_missing,
    topic_refused,
    unknown_topic,
)
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import Node, TopicPartition
from tests.unit.core.cluster.scripted import answer, partition, topic


def view_of(*topics: MetadataResponseTopic) -> ClusterView:
    return apply_metadata(ClusterView(), answer(*topics), [t.name or "" for t in topics])


def after(view: ClusterView, *topics: MetadataResponseTopic) -> ClusterView:
    return apply_metadata(view, answer(*topics), [t.name or "" for t in topics])


def leaders(view: ClusterView, name: str = "t") -> list[tuple[int, int]]:
    return [(p.leader, p.leader_epoch) for p in view.topics[name].partitions]


@pytest.mark.case("S4-2")
def test_a_first_answer_is_taken_as_it_is() -> None:
    view = view_of(topic("t", partition(1, leader=2), partition(0)))
    assert view.nodes == {1: Node(1, "b1", 9092), 2: Node(2, "b2", 9092)}
    assert (view.cluster_id, view.controller, view.version) == ("c", 1, 1)
    assert [p.partition for p in view.topics["t"].partitions] == [0, 1]
    assert view.leader(TopicPartition("t", 1)) == Node(2, "b2", 9092)


def test_a_view_is_replaced_and_never_changed() -> None:
    before = view_of(topic("t", partition(0)))
    later = after(before, topic("t", partition(0, leader=2, epoch=6)))
    assert (leaders(before), leaders(later)) == ([(1, 5)], [(2, 6)])
    with pytest.raises(AttributeError):
        before.version = 9  # type: ignore[misc]


def test_topics_that_were_not_requested_stay() -> None:
    view = after(view_of(topic("a", partition(0))), topic("b", partition(0)))
    assert set(view.topics) == {"a", "b"}


def test_an_answer_about_all_topics_drops_those_that_are_gone() -> None:
    view = apply_metadata(view_of(topic("a", partition(0))), answer(topic("b", partition(0))), None)
    assert set(view.topics) == {"b"}


@pytest.mark.case("B5")
def test_a_topic_that_the_answer_leaves_out_keeps_its_partitions() -> None:
    view = apply_metadata(view_of(topic("t", partition(0))), answer(), ["t"])
    assert leaders(view) == [(1, 5)]


@pytest.mark.parametrize("error", [3, 5, 29, 17, -1])
def test_a_topic_in_error_keeps_its_partitions_and_shows_the_error(error: int) -> None:
    view = after(view_of(topic("t", partition(0), partition(1))), topic("t", error=error, topic_id=NO_UUID))
    assert leaders(view) == [(1, 5), (1, 5)]
    assert view.topics["t"].error == error
    assert view.topics["t"].id == b"i" * 16


def test_the_error_goes_when_the_topic_is_back() -> None:
    view = after(view_of(topic("t", error=3)), topic("t", partition(0)))
    assert (view.topics["t"].error, leaders(view)) == (0, [(1, 5)])


@pytest.mark.case("B5")
@pytest.mark.parametrize(("epoch", "leader"), [(4, 1), (5, 2), (6, 2), (-1, 2)])
def test_a_leader_epoch_never_goes_back(epoch: int, leader: int) -> None:
    view = after(view_of(topic("t", partition(0))), topic("t", partition(0, leader=2, epoch=epoch)))
    assert leaders(view)[0][0] == leader


@pytest.mark.case("B8")
def test_a_recreated_topic_replaces_the_old_one_epochs_and_all() -> None:
    old = view_of(topic("t", partition(0, epoch=9), partition(1, epoch=9)))
    view = after(old, topic("t", partition(0, leader=2, epoch=0), topic_id=b"n" * 16))
    assert leaders(view) == [(2, 0)]
    assert view.topics["t"].id == b"n" * 16


@pytest.mark.case("B10")
def test_new_partitions_are_found_and_old_ones_keep_their_state() -> None:
    old = view_of(topic("t", partition(0, epoch=9)))
    view = after(old, topic("t", partition(0, leader=2, epoch=8), partition(1, leader=2, epoch=0)))
    assert leaders(view) == [(1, 9), (2, 0)]


def test_partitions_of_the_same_topic_do_not_vanish() -> None:
    view = after(view_of(topic("t", partition(0), partition(1))), topic("t", partition(0)))
    assert len(view.topics["t"].partitions) == 2


def test_a_partition_without_a_leader_has_none() -> None:
    view = view_of(topic("t", partition(0, leader=1, error=5), partition(1, leader=-1)))
    assert [view.leader(TopicPartition("t", n)) for n in (0, 1)] == [None, None]


def test_a_leader_that_is_not_among_the_brokers_is_not_known() -> None:
    assert view_of(topic("t", partition(0, leader=7))).leader(TopicPartition("t", 0)) is None


@pytest.mark.parametrize("tp", [TopicPartition("t", 1), TopicPartition("u", 0), TopicPartition("t", -1)])
def test_an_unknown_partition_has_no_leader(tp: TopicPartition) -> None:
    assert view_of(topic("t", partition(0))).leader(tp) is None


def test_an_answer_without_brokers_keeps_the_known_ones() -> None:
    view = apply_metadata(view_of(), MetadataResponse(brokers=[], topics=[], controller_id=-1), [])
    assert set(view.nodes) == {1, 2}
    assert view.cluster_id == "c"


def test_a_topic_that_is_answered_by_id_alone_keeps_its_name() -> None:
    nameless = topic("t", partition(0, leader=2, epoch=6))
    nameless.name = None
    assert leaders(after(view_of(topic("t", partition(0))), nameless)) == [(2, 6)]


def test_an_unknown_id_without_a_name_is_left_out() -> None:
    nameless = topic("t", error=100, topic_id=b"x" * 16)
    nameless.name = None
    assert set(apply_metadata(view_of(), answer(nameless), []).topics) == set()


def test_an_id_learned_later_is_kept_when_an_old_broker_omits_it() -> None:
    view = after(view_of(topic("t", partition(0))), topic("t", partition(0, epoch=6), topic_id=NO_UUID))
    assert view.topics["t"].id == b"i" * 16
    assert leaders(view) == [(1, 6)]


def test_a_partition_is_found_by_its_number_even_with_gaps() -> None:
    gaps = TopicView("t", partitions=(PartitionView(2, 1), PartitionView(5, 1)))
    assert gaps.partition(5) == PartitionView(5, 1)
    assert gaps.partition(0) is None


@pytest.mark.parametrize(("error", "missing"), [(0, False), (3, True), (5, False), (29, False)])
def test_only_one_error_says_that_a_topic_is_missing(error: int, *, missing: bool) -> None:
    assert topic_missing(TopicView("t", error=error)) is missing
    assert topic_missing(None) is False


@pytest.mark.parametrize("code", [UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED])
def test_the_name_itself_is_never_proposed(code: int) -> None:
    """It is in the list of another broker, or of a moment later."""
    known = ["orders", "orders2", "order"]
    error = (
        unknown_topic("orders", known)
        if code == UNKNOWN_TOPIC_OR_PARTITION
        else topic_refused("orders", code, known)
    )
    proposed = error.do.partition("did you mean ")[2].partition("?")[0].split(", ")
    assert "orders" not in proposed
    assert ("is not known to all brokers" in str(error)) == (code == UNKNOWN_TOPIC_OR_PARTITION)
