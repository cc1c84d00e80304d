"""Rows and verdicts of share groups: the start offset may be behind what was acknowledged, the lag is the broker's."""

from collections.abc import Mapping

import pytest

from kcli.core.errors import KcliError, NoLeaderError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.measure import lags_of
from kcli.flows.lag.partition_lag import READ, UNKNOWN, PartitionLag, RecordTime
from kcli.flows.lag.record_times import unread_offsets
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.lag.summary import summary
from kcli.flows.lag.verdicts import EMPTY, LOSS_RISK, OK, REWOUND, STALLED, STOPPED, UNREAD, History, Verdict
from tests.unit.flows.lag.samples import NOW, P0, P1

Places = Mapping[TopicPartition, tuple[int | KcliError | None, int | None]]
"""Start offset and lag, as the coordinator reports them."""


def share(places: Places, ends: Mapping[TopicPartition, LogEnds], state: str = "Stable") -> LagSample:
    committed = {
        tp: OffsetAndMetadata(start) if isinstance(start, int) else start for tp, (start, _) in places.items()
    }
    lags = {tp: lag for tp, (_, lag) in places.items() if lag is not None}
    return LagSample(NOW, [GroupSample("g", state, committed, None, "share", lags)], ends)


def rows_of(sample: LagSample, **more: object) -> list[PartitionLag]:
    return list(lags_of(sample, **more)["g"])  # type: ignore[arg-type]


def one(start: int | KcliError | None, lag: int | None, log: LogEnds) -> PartitionLag:
    (row,) = rows_of(share({P0: (start, lag)}, {P0: log}))
    return row


def test_the_lag_is_what_the_broker_reports_and_not_the_distance_to_the_end() -> None:
    row = one(0, 3, LogEnds(0, 100, 100))
    assert (row.committed, row.end, row.lag, row.read) == (0, 100, 3, 97)


def test_the_age_is_unknown_where_records_after_the_start_offset_are_acknowledged() -> None:
    some, none = share({P0: (0, 3)}, {P0: LogEnds(0, 100)}), share({P0: (97, 3)}, {P0: LogEnds(0, 100)})
    assert unread_offsets(some.groups, some) == {}
    assert unread_offsets(none.groups, none) == {(P0, 97): None}
    times = {(P0, 97): RecordTime(NOW - 5_000, READ), (P0, 0): RecordTime(NOW - 90_000, READ)}
    assert [(row.seconds, row.method) for row in rows_of(some, times=times)] == [(None, UNKNOWN)]
    assert [(row.seconds, row.method) for row in rows_of(none, times=times)] == [(5.0, READ)]


def test_all_is_read_where_the_start_offset_was_not_stored_since() -> None:
    row = one(0, 0, LogEnds(0, 100))
    assert (row.lag, row.seconds, row.method, row.drained, row.at_risk) == (0, 0.0, READ, True, False)


def test_deleted_records_that_were_acknowledged_are_not_lost() -> None:
    read, unread = one(0, 10, LogEnds(50, 100)), one(0, 70, LogEnds(50, 100))
    assert (read.lost, read.at_risk, read.note) == (0, False, "")
    assert (unread.lost, unread.at_risk) == (20, True)
    assert "at least 20 offsets" in unread.note


def test_a_start_offset_past_the_end_is_a_risk() -> None:
    row = one(120, 0, LogEnds(0, 100))
    assert row.at_risk
    assert "starts 20 past the end" in row.note


def test_a_broker_that_reports_no_lag_leaves_it_unknown_and_says_so() -> None:
    sample = share({P0: (40, None), P1: (10, 0)}, {P0: LogEnds(0, 100), P1: LogEnds(0, 10)})
    old, new = rows_of(sample)
    assert (old.lag, old.seconds, old.judged) == (None, None, False)
    assert old.note == "at most 60 unread, the broker does not report the lag of share groups"
    assert new.lag == 0
    assert summary([old, new]).note == (
        "1 of 2 partitions unknown: the broker does not report the lag of share groups"
    )
    assert words(sample) == [None, OK]


def test_without_a_start_offset_the_lag_is_unknown_unless_there_are_no_records() -> None:
    sample = share({P0: (None, None), P1: (None, None)}, {P0: LogEnds(0, 9), P1: LogEnds(4, 4)})
    some, none = rows_of(sample)
    assert (some.lag, some.note) == (None, "no start offset yet")
    assert (none.lag, none.seconds, none.note) == (0, 0.0, "no start offset yet")
    assert words(sample) == [None, OK]
    assert (summary([some, none]).lag, summary([some, none]).note) == (
        0,
        "1 of 2 partitions without a start offset",
    )


def test_what_could_not_be_read_is_unread() -> None:
    failed, away = KcliError("no state", why="its shard is away"), NoLeaderError("no leader")
    sample = share(
        {P0: (failed, None), P1: (None, None)}, {P0: LogEnds(0, 9), P1: LogEnds(note="no leader", error=away)}
    )
    assert words(sample) == [UNREAD, UNREAD]
    assert [part.error for part in sample.missing][-1] is failed


# --- over time ---------------------------------------------------------------------------------------------------------


def words(sample: LagSample) -> list[str | None]:
    rows = rows_of(sample)
    history = History()
    history.add_rows(NOW, "g", rows, sample.groups[0].state)
    return list(history.verdict("g", sample.groups[0].state, rows).of(rows))


def verdict(steps: list[tuple[int, int, int]], state: str = "Stable", every: int = 2_000) -> Verdict:
    """The last verdict over samples of (start offset, lag, end)."""
    history = History()
    for number, (start, lag, end) in enumerate(steps):
        rows = rows_of(share({P0: (start, lag)}, {P0: LogEnds(0, end, end)}, state))
        history.add_rows(NOW + number * every, "g", rows, state)
        found = history.verdict("g", state, rows)
    return found


def test_a_group_that_acknowledges_nothing_is_stalled() -> None:
    found = verdict([(10, 90 + 10 * n, 100 + 10 * n) for n in range(30)])
    assert found.word == STALLED
    assert found.why.startswith("t-0 nothing acknowledged for 58s while ")


@pytest.mark.parametrize("jitter", [0, 1, 7])
def test_what_was_written_between_reading_lag_and_end_is_no_progress_and_no_rewind(jitter: int) -> None:
    """The lag is of a moment before the end is read, so that their difference goes up and down."""
    found = verdict([(10, 90 + 10 * n, 100 + 10 * n + jitter * (n % 3)) for n in range(30)])
    assert found.word == STALLED


def test_a_record_that_is_stuck_at_the_start_does_not_stall_the_others() -> None:
    """The start offset stands still, and the lag goes up and down."""
    found = verdict([(10, 5 + n % 2, 100 + 10 * n) for n in range(30)])
    assert found.word == OK


def test_a_start_offset_that_moves_is_progress_while_the_lag_grows() -> None:
    found = verdict([(10 + n, 90 + 10 * n, 100 + 11 * n) for n in range(8)])
    assert found.word == OK


def test_a_start_offset_that_went_back_is_rewound() -> None:
    assert verdict([(50, 0, 50)] * 3 + [(10, 40, 50)]).word == REWOUND


def test_a_drained_group_is_ok_while_its_stored_start_offset_is_old() -> None:
    assert verdict([(0, 0, 100)] * 30).word == OK


def test_an_empty_group_is_stopped_or_empty() -> None:
    assert verdict([(0, 40, 100)] * 3, "Empty").word == STOPPED
    assert verdict([(0, 0, 100)] * 3, "Empty").word == EMPTY


def test_lost_records_are_a_risk_with_the_least_that_they_can_be() -> None:
    rows = rows_of(share({P0: (0, 70)}, {P0: LogEnds(50, 100)}))
    history = History()
    history.add_rows(NOW, "g", rows, "Stable")
    found = history.verdict("g", "Stable", rows)
    assert (found.word, found.why) == (LOSS_RISK, "t-0 has lost at least 20 offsets")


def test_the_pace_is_that_of_acknowledgements() -> None:
    history = History()
    for number in range(11):
        rows = rows_of(
            share(
                {
                    P0: (
                        10 * number,
                        5,
                    )
                },
                {P0: LogEnds(0, 10 * number + 5)},
            )
        )
        history.add_rows(NOW + number * 1_000, "g", rows, "Stable")
    trend = history.trend("g")
    assert (trend.consumed, trend.produced) == (10.0, 10.0)
