"""The lag of a partition: in records, in time, what is lost, what is unknown."""

import pytest

from kcli.core.errors import BrokerError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.partition_lag import Moment, Moments, PartitionLag, Retention, partition_lags
from kcli.flows.lag.sample import LagSample
from tests.unit.flows.lag.looking import NOW, P0, P1, sample


def only(seen: LagSample, moments: Moments | None = None, retention: Retention | None = None) -> PartitionLag:
    held_back = {tp: "held back" for tp, log in seen.bounds.items() if log.stable != log.end}
    (row,) = partition_lags(seen, moments or {}, retention or {}, held_back)
    return row


@pytest.mark.parametrize(
    ("commit", "bounds", "lag", "lost", "note"),
    [
        (5, LogEnds(0, 20, 20), 15, 0, ""),
        (20, LogEnds(0, 20, 20), 0, 0, ""),
        (0, LogEnds(0, 0, 0), 0, 0, ""),
        (5, LogEnds(8, 20, 20), 15, 3, "3 offsets below the log's start are lost"),
        (5, LogEnds(20, 20, 20), 15, 15, "15 offsets below the log's start are lost"),
        (25, LogEnds(0, 20, 20), 0, 0, "committed 5 past the end: the log was cut or the topic made anew"),
        (5, LogEnds(0, 20, 12), 15, 0, "held back"),
    ],
)
def test_lag_in_records(commit: int, bounds: LogEnds, lag: int, lost: int, note: str) -> None:
    row = only(sample({P0: commit}, {P0: bounds}))
    assert (row.committed, row.end, row.log_start) == (commit, bounds.end, bounds.start)
    assert (row.lag, row.lost, row.note) == (lag, lost, note)


def test_nothing_committed_and_a_partition_without_a_leader_are_rows_that_say_so() -> None:
    row = only(sample({P0: None}, {P0: LogEnds(0, 20, 20)}))
    assert (row.lag, row.seconds, row.method, row.note) == (None, None, "unknown", "nothing is committed")
    row = only(sample({P0: 7}, {P0: LogEnds(note="no leader")}))
    assert (row.committed, row.end, row.lag, row.note) == (7, None, None, "no leader")
    row = only(sample({P0: BrokerError(30, "reading")}, {P0: LogEnds(0, 20, 20)}))
    assert (row.end, row.lag, row.method) == (20, None, "unknown")


@pytest.mark.parametrize(
    ("commit", "bounds", "moment", "seconds", "method"),
    [
        (5, LogEnds(0, 20, 20), Moment(NOW - 90_000, "read"), 90.0, "read"),
        (5, LogEnds(0, 20, 20), Moment(NOW - 500, "interpolated"), 0.5, "interpolated"),
        (5, LogEnds(0, 20, 20), Moment(NOW + 9_000, "read"), 0.0, "read"),  # clocks differ
        (5, LogEnds(0, 20, 20), Moment(None, "read"), 0.0, "read"),  # markers only
        (5, LogEnds(0, 20, 20), Moment(None, "unknown"), None, "unknown"),
        (5, LogEnds(0, 20, 20), None, None, "unknown"),
        (20, LogEnds(0, 20, 20), None, 0.0, "read"),  # drained: no record has to be read for it
        (25, LogEnds(0, 20, 20), None, 0.0, "read"),
    ],
)
def test_lag_in_time(
    commit: int, bounds: LogEnds, moment: Moment | None, seconds: float | None, method: str
) -> None:
    moments = {} if moment is None else {(P0, commit): moment}
    row = only(sample({P0: commit}, {P0: bounds}), moments)
    assert (row.seconds, row.method) == (seconds, method)


def test_what_was_lost_is_not_waited_for_and_time_begins_at_the_log() -> None:
    row = only(
        sample({P0: 5}, {P0: LogEnds(8, 20, 20)}), {(P0, 8): Moment(NOW - 1_000, "read")}, {"t": 60_000}
    )
    assert (row.seconds, row.margin, row.at_risk) == (1.0, 0.0, True)


@pytest.mark.parametrize(
    ("age", "margin", "risk"), [(1, 59.0, False), (53, 7.0, False), (55, 5.0, True), (70, 0.0, True)]
)
def test_the_retention_margin_is_how_long_the_first_unread_record_is_kept(
    age: int, margin: float, risk: bool
) -> None:
    moments = {(P0, 5): Moment(NOW - age * 1_000, "read")}
    seen = sample({P0: 5}, {P0: LogEnds(0, 20, 20)})
    row = only(seen, moments, {"t": 60_000})
    assert (row.margin, row.at_risk) == (margin, risk)
    row = only(seen, moments)
    assert (row.margin, row.at_risk) == (None, False)


def test_rows_come_in_the_order_of_the_sample() -> None:
    bounds = {P0: LogEnds(0, 1, 1), P1: LogEnds(0, 2, 2), TopicPartition("s", 0): LogEnds(0, 3, 3)}
    rows = partition_lags(sample({P1: 0, P0: 0}, bounds), {}, {}, {})
    assert [(row.group, row.tp, row.lag) for row in rows] == [("g", P1, 2), ("g", P0, 1)]
