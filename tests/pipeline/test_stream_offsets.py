"""Offsets of a stream in a checkpoint, and what may not be continued with them (case K8)."""

from typing import Any

import pytest

from kcli.core.errors import ConfigError, DataLossError, KcliError
from kcli.core.types import TopicPartition
from kcli.pipeline.spark.stream_offsets import (
    Identity,
    Offsets,
    continued,
    from_json,
    limited,
    slices_between,
    to_json,
)

A, B = TopicPartition("orders", 0), TopicPartition("orders", 11)
ID, OTHER = "01" * 16, "02" * 16
IDENTITY = Identity("cluster-1", {"orders": ID})


def fails(error: KcliError) -> None:
    raise error


def test_offsets_are_those_of_sparks_connector_and_what_they_belong_to() -> None:
    made = to_json({B: 7, A: 3}, IDENTITY)
    assert made["orders"] == {"0": 3, "11": 7}
    assert set(made) == {"orders", "@kcli"}
    assert from_json(made) == ({A: 3, B: 7}, IDENTITY)


@pytest.mark.case("K8")
@pytest.mark.parametrize(
    "kept", [{}, {"orders": {"0": 1}}, {"@kcli": 3}, {"@kcli": {"cluster": "c"}, "orders": {"x": 1}}]
)
def test_a_damaged_or_foreign_checkpoint_is_refused(kept: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="the checkpoint has no offsets"):
        from_json(kept)


@pytest.mark.case("K8")
@pytest.mark.parametrize(
    ("now", "error", "what"),
    [
        (Identity("cluster-2", {"orders": ID}), ConfigError, "belongs to cluster cluster-1"),
        (Identity("cluster-1", {"other": ID}), ConfigError, "belongs to topic orders"),
        (Identity("cluster-1", {"orders": OTHER}), DataLossError, "deleted and created again"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(now: Identity, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        continued({A: 3}, IDENTITY, {A: 3}, now, fails)


def test_further_topics_and_brokers_without_ids_are_accepted() -> None:
    more = Identity("cluster-1", {"orders": ID, "more": OTHER})
    assert continued({A: 3}, IDENTITY, {A: 9}, more, fails) == ({A: 3}, more)
    continued({A: 3}, IDENTITY, {A: 9}, Identity("", {"orders": "00" * 16}), fails)


@pytest.mark.case("K8")
@pytest.mark.parametrize(
    ("end", "what"), [({A: 2, B: 9}, "the log ends at 2"), ({A: 5}, "orders-11 does not exist")]
)
def test_a_log_that_ends_before_the_checkpoint_is_loss(end: Offsets, what: str) -> None:
    with pytest.raises(DataLossError, match=what):
        continued({A: 3, B: 9}, IDENTITY, end, IDENTITY, fails)


@pytest.mark.case("K8")
@pytest.mark.parametrize(
    ("end", "topics", "positions", "said"),
    [
        ({A: 2, B: 9}, {"orders": ID}, {A: 2, B: 9}, "the log ends at 2"),
        ({A: 5}, {"orders": ID}, {A: 3, B: 9}, "orders-11 does not exist"),
        ({A: 1}, {"orders": OTHER}, {}, "deleted and created again"),
        ({}, {}, {A: 3, B: 9}, "which is not read now"),
    ],
)
def test_where_loss_is_no_failure_it_is_said_and_what_is_there_is_read(
    end: Offsets, topics: dict[str, str], positions: Offsets, said: str
) -> None:
    losses: list[KcliError] = []
    found, identity = continued({A: 3, B: 9}, IDENTITY, end, Identity("cluster-1", topics), losses.append)
    assert found == positions
    assert identity.topics == (topics or {"orders": ID})  # of a topic that may come back the id is kept
    assert any(said in str(each) for each in losses)
    with pytest.raises(ConfigError, match="belongs to cluster"):
        continued({A: 3}, IDENTITY, {A: 3}, Identity("cluster-2", topics), losses.append)


@pytest.mark.case("K5")
def test_what_retention_removed_is_an_error_unless_it_shall_be_left_out() -> None:
    losses: list[KcliError] = []

    def planned(*, fail: bool) -> list[tuple[int, int, int]]:
        lost = fails if fail else losses.append
        found = slices_between({A: 3}, {A: 10, B: 5}, {A: 8, B: 2}, {"orders": ID}, lost)
        return [(each.partition, each.start, each.end) for each in found]

    with pytest.raises(DataLossError, match="orders-0: offsets 3 to 7 are no longer there"):
        planned(fail=True)
    assert planned(fail=False) == [(0, 8, 10), (11, 2, 5)]
    assert [each.what for each in losses] == ["orders-0: offsets 3 to 7 are no longer there"]


def test_a_partition_without_a_log_has_no_range() -> None:
    losses: list[KcliError] = []
    assert not slices_between({A: 3, B: 5}, {A: 10, B: 5}, {}, {"orders": ID}, losses.append)
    assert [each.what for each in losses] == ["orders-0: offsets 3 to 9 are no longer there"]


def test_a_limit_is_shared_in_proportion() -> None:
    start, end = {A: 0, B: 100}, {A: 900, B: 200}
    assert limited(start, end, 2000) == end
    assert limited(start, end, 100) == {A: 90, B: 110}
    assert limited(start, end, 1) == {A: 1, B: 100}
