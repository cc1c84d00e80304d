"""The lag of a partition: in records, in time, what is lost, what is unknown."""

import pytest

from kcli.core.errors import BrokerError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.partition_lag import PartitionLag, RecordTime, RecordTimes, Retention, partition_lags
from kcli.flows.lag.sample import LagSample
from tests.unit.flows.lag.samples import NOW, P0, P1, sample


def only(
    seen: LagSample, times: RecordTimes | None = None, retention: Retention | None = None
) -> PartitionLag:
    notes = {tp: "open transaction" for tp, log in seen.bounds.items() if log.stable != log.end}
    (row,) = partition_lags(seen, seen.groups[0], times or {}, retention or {}, notes)
    return row


@pytest.mark.parametrize(
    ("commit", "bounds", "lag", "lost", "note"),
    [
        (5, LogEnds(0, 20, 20), 15, 0, ""),
        (20, LogEnds(0, 20, 20), 0, 0, ""),
        (0, LogEnds(0, 0, 0), 0, 0, ""),
        (5, LogEnds(8, 20, 20), 15, 3, "3 offsets below the log start are lost"),
        (5, LogEnds(20, 20, 20), 15, 15, "15 offsets below the log start are lost"),
        (
            25,
            LogEnds(0, 20, 20),
            0,
            0,
            "committed 5 past the end: the log was truncated or the topic recreated",
        ),
        (5, LogEnds(0, 20, 12), 15, 0, "open transaction"),
    ],
)
def test_lag_in_records(commit: int, bounds: LogEnds, lag: int, lost: int, note: str) -> None:
    row = only(sample({P0: commit}, {P0: bounds}))
    assert (row.committed, row.end, row.log_start) == (commit, bounds.end, bounds.start)
    assert (row.lag, row.lost, row.note) == (lag, lost, note)


def test_nothing_committed_and_a_partition_without_a_leader_are_rows_that_say_so() -> None:
    row = only(sample({P0: None}, {P0: LogEnds(0, 20, 20)}))
    assert (row.lag, row.seconds, row.method, row.note) == (None, None, "unknown", "no committed offset")
    row = only(sample({P0: 7}, {P0: LogEnds(note="no leader")}))
    assert (row.committed, row.end, row.lag, row.note) == (7, None, None, "no leader")
    row = only(sample({P0: BrokerError(30, "reading")}, {P0: LogEnds(0, 20, 20)}))
    assert (row.end, row.lag, row.method) == (20, None, "unknown")


@pytest.mark.parametrize(
    ("commit", "bounds", "time", "seconds", "method"),
    [
        (5, LogEnds(0, 20, 20), RecordTime(NOW - 90_000, "read"), 90.0, "read"),
        (5, LogEnds(0, 20, 20), RecordTime(NOW - 500, "interpolated"), 0.5, "interpolated"),
        (5, LogEnds(0, 20, 20), RecordTime(NOW + 9_000, "read"), 0.0, "read"),  # clocks differ
        (5, LogEnds(0, 20, 20), RecordTime(None, "read"), 0.0, "read"),  # markers only
        (5, LogEnds(0, 20, 20), RecordTime(None, "unknown"), None, "unknown"),
        (5, LogEnds(0, 20, 20), None, None, "unknown"),
        (20, LogEnds(0, 20, 20), None, 0.0, "read"),  # drained: no record has to be read for it
        (25, LogEnds(0, 20, 20), None, 0.0, "read"),
    ],
)
def test_lag_in_time(
    commit: int, bounds: LogEnds, time: RecordTime | None, seconds: float | None, method: str
) -> None:
    times = {} if time is None else {(P0, commit): time}
    row = only(sample({P0: commit}, {P0: bounds}), times)
    assert (row.seconds, row.method) == (seconds, method)


def test_what_was_lost_is_not_waited_for_and_time_begins_at_the_log() -> None:
    row = only(
        sample({P0: 5}, {P0: LogEnds(8, 20, 20)}), {(P0, 8): RecordTime(NOW - 1_000, "read")}, {"t": 60_000}
    )
    assert (row.seconds, row.margin, row.at_risk) == (1.0, 0.0, True)


@pytest.mark.parametrize(
    ("age", "margin", "risk"), [(1, 59.0, False), (53, 7.0, False), (55, 5.0, True), (70, 0.0, True)]
)
def test_the_retention_margin_is_how_long_the_first_unread_record_is_kept(
    age: int, margin: float, risk: bool
) -> None:
    times = {(P0, 5): RecordTime(NOW - age * 1_000, "read")}
    seen = sample({P0: 5}, {P0: LogEnds(0, 20, 20)})
    row = only(seen, times, {"t": 60_000})
    assert (row.margin, row.at_risk) == (margin, risk)
    row = only(seen, times)
    assert (row.margin, row.at_risk) == (None, False)


def test_rows_come_in_the_order_of_the_sample() -> None:
    bounds = {P0: LogEnds(0, 1, 1), P1: LogEnds(0, 2, 2), TopicPartition("s", 0): LogEnds(0, 3, 3)}
    seen = sample({P1: 0, P0: 0}, bounds)
    rows = partition_lags(seen, seen.groups[0], {}, {}, {})
    assert [(row.group, row.tp, row.lag) for row in rows] == [("g", P1, 2), ("g", P0, 1)]
