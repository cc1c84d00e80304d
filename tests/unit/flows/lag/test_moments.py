"""The search for an offset's time through answers of ListOffsets, against logs whose times are known."""

from hypothesis import given
from hypothesis import strategies as st

from kcli.core.cluster.offsets import OffsetInfo
from kcli.flows.lag.moments import TimeSearch
from tests.unit.flows.lag.looking import NOW

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
        search.learn(search.middle, answer(times, search.middle))
    assert search.done
    found = search.moment
    assert found.method == "interpolated"
    assert found.time_ms is not None
    assert abs(found.time_ms - times[at]) <= 1_000


def test_without_a_question_time_goes_by_evenly() -> None:
    search = TimeSearch(50, (0, NOW), (100, NOW + 10_000))
    assert search.moment.time_ms == NOW + 5_000
    search.learn(NOW + 9_000, OffsetInfo(-1, -1))
    assert search.moment.time_ms == NOW + 4_500
    search.learn(NOW + 1_000, OffsetInfo(50, NOW + 1_200))
    assert search.done
    assert search.moment.time_ms == NOW + 1_200


def test_a_log_whose_first_record_lies_behind_the_commit_begins_there() -> None:
    search = TimeSearch(3, (7, NOW), (100, NOW + 10_000))
    assert search.done
    assert search.moment.time_ms == NOW
