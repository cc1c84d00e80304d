"""When a topic that the source no longer lists counts as deleted."""

import pytest

from kcli.flows.mirror.follow.deleted import Deletions, Sight

HERE = "cluster-a"
COPIED = ("a", "b")


def sight(*topics: str, unknown: tuple[str, ...] = ("a",), cluster: str = HERE, at: float = 0.0) -> Sight:
    return Sight(at, cluster, topics, unknown)


def test_a_topic_counts_as_deleted_after_three_looks_in_a_row() -> None:
    deletions = Deletions(HERE, 0.0)
    found = [deletions.look(COPIED, sight("b")) for _ in range(3)]
    assert found == [[], [], ["a"]]
    assert not deletions.doubt


@pytest.mark.parametrize(
    ("copied", "other", "doubt"),
    [
        pytest.param(
            COPIED, sight("b", cluster="cluster-b"), "the source is cluster cluster-b", id="replaced"
        ),
        pytest.param(COPIED, sight("b", cluster=""), "the source is cluster without an id", id="without id"),
        pytest.param(COPIED, sight(unknown=COPIED), "no topic at all", id="wiped"),
        pytest.param(
            COPIED, sight("c", unknown=COPIED), "all topics of the job are missing", id="all at once"
        ),
        pytest.param(COPIED, sight("b", unknown=()), "topic a may not be described", id="hidden"),
        pytest.param(("a",), sight(), "no topic at all", id="the only one, of an empty cluster"),
    ],
)
def test_what_could_be_something_else_never_counts(copied: tuple[str, ...], other: Sight, doubt: str) -> None:
    deletions = Deletions(HERE, 0.0)
    for _ in range(10):
        assert deletions.look(copied, other) == []
        assert doubt in deletions.doubt


def test_a_cluster_without_an_id_cannot_be_told_from_another() -> None:
    deletions = Deletions("", 0.0)
    assert [deletions.look(COPIED, sight("b", cluster="")) for _ in range(5)] == [[]] * 5


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(sight("a", "b", unknown=()), id="there again"),
        pytest.param(sight("b", cluster="cluster-b"), id="another cluster"),
        pytest.param(sight("b", unknown=()), id="may not be described"),
    ],
)
def test_a_look_that_says_otherwise_begins_the_count_anew(between: Sight) -> None:
    deletions = Deletions(HERE, 0.0)
    looks = [sight("b"), sight("b"), between, sight("b"), sight("b"), sight("b")]
    assert [deletions.look(COPIED, one) for one in looks] == [[], [], [], [], [], ["a"]]


def test_before_a_copy_is_deleted_the_topic_is_missing_for_a_minute() -> None:
    deletions = Deletions(HERE, 60.0)
    found = [deletions.look(COPIED, sight("b", at=at)) for at in (100.0, 101.0, 102.0, 159.0, 160.0)]
    assert found == [[], [], [], [], ["a"]]


def test_the_only_topic_of_a_job_counts_while_others_are_seen() -> None:
    deletions = Deletions(HERE, 0.0)
    assert [deletions.look(("a",), sight("other")) for _ in range(3)][-1] == ["a"]


def test_the_doubt_ends_when_nothing_is_missing() -> None:
    deletions = Deletions(HERE, 0.0)
    deletions.look(COPIED, sight())
    assert deletions.doubt
    deletions.look(COPIED, sight("a", "b", unknown=(), cluster=""))
    assert not deletions.doubt
