"""What an import reads of the cluster, in which order, and what becomes of what cannot be read."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import BrokerError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.plan import RewindPlan
from kcli.flows.transfer.change import at_times, survey_import
from kcli.flows.transfer.importing import ImportRequest, import_targets
from kcli.flows.transfer.saved_offset import SavedOffset
from tests.unit.at_once import AtOnce
from tests.unit.flows.rewind.test_survey import COMMIT, T0, T1, StandIn


def no_spans(groups: Sequence[object]) -> list[dict[TopicPartition, int]]:
    return [{} for _ in groups]


def surveyed(admin: StandIn, *saved: SavedOffset, spans: Any = no_spans, **wish: Any) -> RewindPlan:
    asked = ImportRequest(**wish)
    chosen = import_targets(saved, asked)
    return survey_import(cast(Admin, admin), "Qx3", chosen, asked, "the offsets in f", 1_000, spans)


def saved(partition: int = 0, offset: int = 12, **more: Any) -> SavedOffset:
    return SavedOffset("t", partition, offset, **{"group": "g", "metadata": "new", **more})


def test_the_plan_of_groups_that_exist_and_that_do_not() -> None:
    asked: list[Any] = []

    def spans(groups: Sequence[Mapping[TopicPartition, tuple[int, int]]]) -> list[dict[TopicPartition, int]]:
        asked.extend(groups)
        return [dict.fromkeys(ranges, 7) for ranges in groups]

    plan = surveyed(StandIn(), saved(), saved(group="fresh", partition=1), spans=spans)
    assert (plan.cluster, plan.act, plan.unplanned) == ("Qx3", "Import into group", {})
    fresh, known = plan.groups
    assert (fresh.group, fresh.state, fresh.items[0].committed) == ("fresh", "Dead", None)
    (item,) = known.items
    assert (item.committed, item.new) == (COMMIT, OffsetAndMetadata(12, "new"))
    assert (item.change, item.records, item.span_ms) == (-3, 3, 7)
    assert [one for one in asked if one] == [{T0: (12, 15)}]
    assert known.to == "the offsets in f"


def test_other_topics_of_a_group_are_untouched() -> None:
    admin = StandIn()
    admin.committed[TopicPartition("u", 0)] = OffsetAndMetadata(1)
    assert surveyed(admin, saved()).groups[0].untouched == 1


def test_what_cannot_be_read_refuses_its_partition_alone() -> None:
    admin = StandIn()
    admin.broken = T1
    admin.committed[T0] = BrokerError(88, "t-0")
    rows = [saved(0), saved(1), saved(2), SavedOffset("gone", 0, 1, group="g")]
    plan = surveyed(admin, *rows)
    assert not plan.unplanned
    assert [(item.tp.topic, item.action) for item in plan.groups[0].items] == [
        ("gone", "refused"), ("t", "refused"), ("t", "refused"), ("t", "refused"),
    ]  # fmt: skip
    assert [item.note for item in plan.groups[0].items if item.tp.partition == 2] == [
        "refused: the topic has 2 partitions, numbered from 0"
    ]
    assert not plan.possible


def test_start_offsets_have_no_metadata_and_make_a_share_group_that_is_not_there() -> None:
    rows = [saved(group="queue", offset=11), saved(group="fresh", group_type="share")]
    fresh, queue = surveyed(StandIn(), *rows).groups
    assert (fresh.type, fresh.state, fresh.items[0].committed) == ("share", "Dead", None)
    (item,) = queue.items
    assert item.new is not None
    assert (item.new.offset, item.new.metadata, item.forgotten) == (11, "", 5)
    assert item.note == "5 acknowledged after it, delivered again"


def test_a_group_that_cannot_be_described_is_a_failure_and_the_rest_are_planned() -> None:
    plan = surveyed(StandIn(), saved(), saved(group="shared"))
    assert [group.group for group in plan.groups] == ["g"]
    assert [(error.what, error.exit_code) for error in plan.unplanned.values()] == [
        ("the offsets of group shared cannot be set", 7)
    ]


@pytest.mark.case("O8")
def test_ends_are_read_before_times_and_times_only_when_requested() -> None:
    admin = StandIn()
    plan = surveyed(admin, saved(timestamp=500), by_time=True)
    assert admin.listed == [{EARLIEST}, {LATEST}, {500}]
    assert plan.groups[0].items[0].note == "no record since; goes to end"
    admin = StandIn()
    surveyed(admin, saved(timestamp=500))
    assert admin.listed == [{EARLIEST}, {LATEST}]


class Clock(AtOnce):
    """A log whose offsets are its times; records the requests."""

    def __init__(self) -> None:
        self.asked: list[dict[TopicPartition, int]] = []

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], **_patience: float
    ) -> dict[TopicPartition, OffsetInfo]:
        self.asked.append(dict(wanted))
        return {tp: OffsetInfo(ms, ms) for tp, ms in wanted.items()}


def test_one_request_for_each_time_of_the_partition_that_has_most() -> None:
    clock = Clock()
    times = {(T0, 1), (T0, 2), (T0, 3), (T1, 9)}
    found = at_times(cast(Admin, clock), times)
    assert found == {(tp, ms): OffsetInfo(ms, ms) for tp, ms in times}
    assert [len(request) for request in clock.asked] == [2, 1, 1]
    assert at_times(cast(Admin, clock), ()) == {}
