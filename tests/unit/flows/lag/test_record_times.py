"""The search for an offset's time through answers of ListOffsets, against logs whose times are known."""

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from kcli.core import Admin
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.partition_lag import UNKNOWN, RecordTime
from kcli.flows.lag.record_times import TimeSearch, estimate_record_times
from kcli.flows.lag.sample import GroupSample, LagSample
from tests.unit.flows.lag.samples import NOW, P0, P1

TIMES = st.lists(st.integers(0, 3_600_000), min_size=1, max_size=40).map(sorted)


def answer(times: list[int], asked: int) -> OffsetInfo:
    """What a leader says: the first record that is not older."""
    return next((OffsetInfo(n, time) for n, time in enumerate(times) if time >= asked), OffsetInfo(-1, -1))


@given(TIMES, st.data())
def test_it_comes_to_within_a_second_of_the_record_where_times_increase(
    times: list[int], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(times) - 1))
    search = TimeSearch(at, (0, times[0]), (len(times), 3_600_000))
    for _ in range(30):
        if search.done:
            break
        search.narrow(search.middle, answer(times, search.middle))
    assert search.done
    found = search.time
    assert found.method == "interpolated"
    assert found.time_ms is not None
    assert abs(found.time_ms - times[at]) <= 1_000


class Leader:
    """Answers offsets by time of t-0."""

    def __init__(self, times: list[int]) -> None:
        self._times = times
        self.asked = 0

    def list_offsets(self, wanted: dict[TopicPartition, int]) -> dict[TopicPartition, OffsetInfo]:
        self.asked += 1
        return {tp: answer(self._times, asked) for tp, asked in wanted.items()}


def test_many_groups_on_one_partition_help_one_another() -> None:
    week = 7 * 24 * 3_600_000
    times = [NOW - week + round(week * (n / 2_000) ** 3) for n in range(2_000)]
    groups = [GroupSample(f"g{at}", "Empty", {P0: OffsetAndMetadata(at)}) for at in range(0, 2_000, 100)]
    leader = Leader(times)
    found = estimate_record_times(
        cast("Admin", leader),
        [(P0, at) for at in range(0, 2_000, 100)],
        LagSample(NOW, groups, {P0: LogEnds(0, 2_000, 2_000)}),
    )
    for (_, at), moment in found.items():
        assert moment.time_ms is not None
        assert abs(moment.time_ms - times[at]) < 0.01 * week
    assert leader.asked <= 62


class FailingLeader(Leader):
    """Answers twice, and never again."""

    def list_offsets(self, wanted: dict[TopicPartition, int]) -> dict[TopicPartition, OffsetInfo]:
        found = super().list_offsets(wanted)
        failed = {tp: KcliError("no answer") for tp in wanted if tp == P0 and self.asked > 2}
        return found | cast("dict[TopicPartition, OffsetInfo]", failed)


def test_a_leader_that_dies_meanwhile_is_waited_for_once() -> None:
    leader = FailingLeader([NOW - 10_000_000 + 1_000 * n for n in range(10_000)])
    wanted = [(P0, 1_234), (P1, 1_234)]
    sample = LagSample(NOW, (), {tp: LogEnds(0, 10_000, 10_000) for tp, _ in wanted})
    asked: list[set[TopicPartition]] = []

    def noted(wanted: dict[TopicPartition, int]) -> dict[TopicPartition, OffsetInfo]:
        asked.append(set(wanted))
        return FailingLeader.list_offsets(leader, wanted)

    leader.list_offsets = noted  # type: ignore[method-assign]
    found = estimate_record_times(cast("Admin", leader), wanted, sample)
    assert [P0 in one for one in asked[:4]] == [True, True, True, False]
    assert not any(P0 in one for one in asked[3:])
    assert found[P0, 1_234] == RecordTime(None, UNKNOWN)
    assert found[P1, 1_234].time_ms is not None


def test_without_a_prompt_time_goes_by_evenly() -> None:
    search = TimeSearch(50, (0, NOW), (100, NOW + 10_000))
    assert search.time.time_ms == NOW + 5_000
    search.narrow(NOW + 9_000, OffsetInfo(-1, -1))
    assert search.time.time_ms == NOW + 4_500
    search.narrow(NOW + 1_000, OffsetInfo(50, NOW + 1_200))
    assert search.done
    assert search.time.time_ms == NOW + 1_200


def test_a_log_whose_first_record_lies_behind_the_commit_begins_there() -> None:
    search = TimeSearch(3, (7, NOW), (100, NOW + 10_000))
    assert search.done
    assert search.time.time_ms == NOW
