"""What an import would commit, and what it refuses."""

from dataclasses import replace
from typing import Any

import pytest

from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import BrokerError, ConfigError, KcliError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.plan import RewindItem
from kcli.flows.transfer.importing import (
    ClusterState,
    ImportRequest,
    Log,
    import_targets,
    plan_item,
    unread_times,
)
from kcli.flows.transfer.saved_offset import SavedOffset

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("copy", 0)
LOG = Log(OffsetInfo(10, -1, 2), OffsetInfo(100, -1, 7))
STATE = ClusterState("Qx3", {"orders": "id-1", "copy": "id-2"}, {ORDERS: LOG, COPY: LOG})
SAVED = SavedOffset("orders", 0, 50, group="billing", leader_epoch=5, cluster="Qx3", topic_id="id-1")


def file(*offsets: SavedOffset) -> tuple[SavedOffset, ...]:
    return offsets


def planned(saved: SavedOffset = SAVED, state: ClusterState = STATE, **request: Any) -> RewindItem:
    request = ImportRequest(**request)
    (target,) = import_targets(file(saved), request)
    return plan_item(target, state, request)


def new(item: RewindItem) -> tuple[int, int, str]:
    assert item.refusal is None, item.refusal
    assert item.new is not None
    return item.new.offset, item.new.leader_epoch, item.note


def refused(item: RewindItem) -> str:
    assert item.new is None
    assert item.refusal is not None
    assert item.refusal.exit_code == 7
    assert item.note == f"refused: {item.refusal.why}"
    return item.refusal.why


# --- which partitions ------------------------------------------------------------------------------------


def test_groups_of_the_file_keep_their_names_and_the_order_is_by_name() -> None:
    rows = [replace(SAVED, group=g, partition=p) for g, p in (("b", 0), ("a", 11), ("a", 2))]
    assert [
        (target.group, target.tp.partition) for target in import_targets(file(*rows), ImportRequest())
    ] == [
        ("a", 2),
        ("a", 11),
        ("b", 0),
    ]


def test_another_group_gets_the_offsets_of_one_group_only() -> None:
    for saved in (SAVED, replace(SAVED, group=None)):
        assert [target.group for target in import_targets(file(saved), ImportRequest(group="new"))] == ["new"]
    with pytest.raises(ConfigError, match="would get the offsets of 2 groups"):
        import_targets(file(SAVED, replace(SAVED, group="other")), ImportRequest(group="new"))
    with pytest.raises(ConfigError, match="does not name its group"):
        import_targets(file(replace(SAVED, group=None)), ImportRequest())


def test_topics_are_chosen_by_their_names_in_the_file_then_mapped() -> None:
    rows = file(SAVED, replace(SAVED, topic="refunds"))
    request = ImportRequest(topics={"orders": "copy"}, wanted=lambda tp: tp.topic == "orders")
    assert [target.tp for target in import_targets(rows, request)] == [COPY]
    with pytest.raises(ConfigError, match="nothing to import"):
        import_targets(rows, ImportRequest(wanted=lambda tp: tp.topic == "copy"))
    with pytest.raises(ConfigError, match="no offsets of topic ordesr"):
        import_targets(rows, ImportRequest(topics={"ordesr": "copy"}))
    with pytest.raises(ConfigError, match="would get two offsets"):
        import_targets(rows, ImportRequest(topics={"orders": "refunds"}))


# --- by offset -------------------------------------------------------------------------------------------


def test_an_offset_of_the_same_topic_keeps_its_leader_epoch() -> None:
    assert new(planned()) == (50, 5, "")
    assert new(planned(replace(SAVED, leader_epoch=None))) == (50, -1, "")


def test_metadata_of_the_file_wins_and_else_the_old_one_is_kept() -> None:
    state = replace(STATE, committed={"billing": {ORDERS: OffsetAndMetadata(3, "old")}})
    kept, given = planned(state=state), planned(replace(SAVED, metadata=""), state)
    assert kept.committed == OffsetAndMetadata(3, "old")
    assert kept.new == OffsetAndMetadata(50, "old", 5)
    assert given.new == OffsetAndMetadata(50, "", 5)


@pytest.mark.parametrize(
    ("saved", "reason"),
    [
        (replace(SAVED, topic_id="id-0"), "topic orders was deleted and recreated since"),
        (replace(SAVED, topic_id="id-0", cluster=None), "topic orders was deleted and recreated since"),
        (replace(SAVED, topic_id="id-0", cluster="Other"), "the file is of cluster Other, this is Qx3"),
        (replace(SAVED, topic_id=None, cluster="Other"), "the file is of cluster Other, this is Qx3"),
    ],
)
def test_offsets_of_another_topic_or_cluster_need_force(saved: SavedOffset, reason: str) -> None:
    assert refused(planned(saved)) == reason
    assert new(planned(saved, force=True)) == (50, -1, f"forced: {reason}")


def test_a_mapped_topic_is_another_one() -> None:
    request: dict[str, Any] = {"topics": {"orders": "copy"}}
    assert refused(planned(**request)) == "it is an offset of topic orders"
    assert new(planned(force=True, **request)) == (50, -1, "forced: it is an offset of topic orders")


@pytest.mark.parametrize(
    "saved",
    [
        replace(SAVED, cluster="Other"),  # restored elsewstate: the topic is the same
        replace(SAVED, topic_id=None),
        replace(SAVED, topic_id=None, cluster=None),
    ],
)
def test_an_equal_or_unknown_cluster_id_is_accepted(saved: SavedOffset) -> None:
    assert new(planned(saved))[0] == 50


def test_offsets_at_both_ends_of_the_log_are_within() -> None:
    assert [new(planned(replace(SAVED, offset=offset)))[0] for offset in (10, 100)] == [10, 100]


@pytest.mark.case("O5")
@pytest.mark.parametrize(("offset", "edge"), [(9, (10, 2, "log start")), (101, (100, 7, "log end"))])
def test_an_offset_outside_of_the_log_needs_clamp(offset: int, edge: tuple[int, int, str]) -> None:
    saved = replace(SAVED, offset=offset)
    assert refused(planned(saved)) == "the log goes from 10 to 100"
    assert new(planned(saved, clamp=True)) == (edge[0], edge[1], f"clamped to {edge[2]}")


def test_a_partition_without_information_does_not_affect_the_rest() -> None:
    missing = NotFoundError("topic orders has no partition 1", why="it has 1")
    state = replace(STATE, logs={**STATE.logs, TopicPartition("orders", 1): missing})
    request = ImportRequest()
    targets = import_targets(file(replace(SAVED, partition=1), SAVED), request)
    good, bad = (plan_item(target, state, request) for target in targets)
    assert bad.refusal is missing
    assert new(good)[0] == 50


# --- by time ---------------------------------------------------------------------------------------------


TIMED = replace(SAVED, timestamp=1_700, drained=False, cluster="Other", topic_id="far")


def at(found: OffsetInfo | KcliError, ms: int = 1_700) -> ClusterState:
    return replace(STATE, at_time={(ORDERS, ms): found})


def test_by_time_the_record_that_was_next_is_found_elsewstate() -> None:
    assert unread_times(import_targets(file(TIMED, replace(SAVED, partition=1)), ImportRequest())) == {
        (ORDERS, 1_700)
    }
    assert new(planned(TIMED, at(OffsetInfo(33, 1_701, 6)), by_time=True)) == (33, 6, "")
    assert new(planned(TIMED, at(OffsetInfo(-1, -1)), by_time=True)) == (
        100,
        7,
        "no record since; goes to end",
    )


def test_by_time_a_group_that_had_read_all_goes_to_what_came_after_the_export() -> None:
    drained = replace(TIMED, timestamp=None, drained=True, at_ms=2_000)
    assert unread_times(import_targets(file(drained), ImportRequest())) == {(ORDERS, 2_000)}
    note = "no unread records; goes to the first since"
    assert new(planned(drained, at(OffsetInfo(98, 2_005, 7), 2_000), by_time=True)) == (98, 7, note)
    unknown = replace(drained, at_ms=None)
    assert new(planned(unknown, by_time=True)) == (100, 7, "no unread records; goes to end")


def test_by_time_without_a_time_is_refused() -> None:
    assert "not known" in refused(planned(SAVED, by_time=True))
    error = BrokerError(6, "orders-0")
    assert planned(TIMED, at(error), by_time=True).refusal is error
