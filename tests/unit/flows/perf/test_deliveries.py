"""What reports of a producer become: corrected and raw latencies, warm-up, errors by kind."""

from __future__ import annotations

from array import array

import pytest

from kcli.core.errors import BrokerError, KcliError, NotFoundError, TimedOutError
from kcli.core.producer.origins import OriginRows, Rows
from kcli.core.producer.report import Report
from kcli.core.types import TopicPartition
from kcli.flows.perf.deliveries import Deliveries, HandedOver
from kcli.flows.perf.measurement import Measurement

MESSAGE_TOO_LARGE = 10


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Rig:
    """Deliveries of values of ten bytes; the measured part begins at second 100."""

    def __init__(self, head: bytes | None = None) -> None:
        self.clock = Clock()
        self.deliveries = Deliveries(lambda first, stop: 10 * (stop - first), head, self.clock)
        self.deliveries.begin(100.0)

    def report(
        self,
        token: HandedOver,
        rows: Rows,
        *,
        at: float,
        sent_at: float | None = None,
        error: KcliError | None = None,
    ) -> None:
        self.clock.now = at
        origins = [OriginRows(0, token, rows)]
        count = len(rows)
        self.deliveries.add(Report(TopicPartition("t", 0), count, 99, 0, error, origins, sent_at=sent_at))

    def measured(self) -> Measurement:
        self.deliveries.drain()
        return self.deliveries.end()


def token(
    sequence: int = 0, *, intended: float = 100.0, period: float = 0.0, measured: bool = True
) -> HandedOver:
    return HandedOver(sequence, sequence, intended, period, measured)


def test_corrected_is_from_the_intended_time_and_raw_from_the_request() -> None:
    rig = Rig()
    rig.report(token(intended=100.0), range(5), at=100.5, sent_at=100.25)
    found = rig.measured()
    assert (found.records, found.bytes) == (5, 50)
    assert (found.corrected.total, found.corrected.largest) == (5, 500_000)
    assert (found.raw.total, found.raw.largest) == (5, 250_000)
    assert found.seconds == pytest.approx(0.5)


def test_each_record_of_a_schedule_has_waited_since_its_own_time() -> None:
    rig = Rig()
    rig.report(token(intended=100.0, period=0.01), range(100), at=101.0)
    found = rig.measured().corrected
    assert (found.total, found.smallest, found.largest) == (100, 10_000, 1_000_000)
    assert found.mean == pytest.approx(505_000)


def test_the_rows_of_a_second_batch_are_counted_from_their_own_times() -> None:
    rig = Rig()
    rig.report(token(intended=100.0, period=0.01), range(60, 100), at=101.0)
    found = rig.measured().corrected
    assert (found.total, found.smallest, found.largest) == (40, 10_000, 400_000)


def test_records_due_within_a_slot_count_as_the_first_of_them() -> None:
    rig = Rig()
    rig.report(token(intended=100.0, period=0.00002), range(10), at=101.0)
    found = rig.measured().corrected
    assert found.total == 10
    assert len(set(found.counts)) <= 2
    assert found.smallest == 1_000_000 - 100


def test_the_warm_up_is_in_no_figure_but_its_own() -> None:
    rig = Rig()
    rig.report(token(measured=False), range(7), at=100.5, sent_at=100.1)
    rig.report(token(7), range(3), at=100.7, sent_at=100.6)
    found = rig.measured()
    assert (found.warmup_records, found.records, found.raw.total, found.corrected.total) == (7, 3, 3, 3)
    assert sum(interval.records for interval in found.intervals.values()) == 3


def test_intervals_are_those_of_the_confirmations() -> None:
    rig = Rig()
    for at in (100.05, 100.06, 100.31):
        rig.report(token(), range(2), at=at)
    found = rig.measured()
    assert {number: one.records for number, one in found.intervals.items()} == {0: 4, 3: 2}


def test_drain_returns_each_record_once() -> None:
    rig = Rig()
    rig.report(token(), range(2), at=100.1)
    assert rig.deliveries.drain().records == 2
    assert rig.deliveries.drain().records == 0
    rig.report(token(), range(3), at=100.2)
    progress = rig.deliveries.drain()
    assert (progress.records, progress.latencies.total) == (3, 3)
    assert rig.measured().records == 5


def test_errors_are_counted_by_kind_and_the_first_one_is_kept() -> None:
    rig = Rig()
    rig.report(token(), range(2), at=100.1)
    rig.report(token(), range(3), at=100.2, error=BrokerError(MESSAGE_TOO_LARGE, "produce to t-0"))
    rig.report(token(), range(4), at=100.3, error=TimedOutError("not confirmed"))
    rig.deliveries.refuse(5, TimedOutError("no room"))
    found = rig.measured()
    assert found.errors == {"MESSAGE_TOO_LARGE": 3, "TimedOut": 9}
    assert found.failure is not None
    assert "t-0" in found.failure.what
    assert sum(interval.errors for interval in found.intervals.values()) == 12
    assert found.records == 2
    assert not rig.deliveries.hopeless


def test_a_load_whose_first_records_fail_is_hopeless() -> None:
    rig = Rig()
    rig.report(token(), range(3), at=100.2, error=TimedOutError("not confirmed"))
    assert rig.deliveries.hopeless


def test_a_producer_that_accepts_no_more_ends_the_load_and_one_without_room_does_not() -> None:
    rig = Rig()
    rig.report(token(), range(2), at=100.1)
    rig.deliveries.refuse(5, TimedOutError("no room"))
    assert not rig.deliveries.hopeless
    rig.deliveries.refuse(5, NotFoundError("topic t does not exist"), final=True)
    assert rig.deliveries.hopeless
    assert rig.measured().errors == {"TimedOut": 5, "NotFound": 5}


def test_what_fails_while_the_producer_is_closed_is_unconfirmed() -> None:
    rig = Rig()
    rig.deliveries.close()
    rig.report(token(), range(3), at=100.2, error=TimedOutError("closed"))
    found = rig.measured()
    assert (found.unconfirmed, found.errors.total()) == (3, 0)


@pytest.mark.parametrize("rows", [range(2, 4), memoryview(array("i", [2, 3]))])
def test_the_numbers_of_confirmed_records_are_kept_where_they_are_read_back(rows: Rows) -> None:
    rig = Rig(b"head")
    rig.report(token(10), rows, at=100.1)
    rig.report(token(20), range(5), at=100.1, error=TimedOutError("not confirmed"))
    found = rig.measured()
    assert list(found.confirmed[b"head"]) == [(12, 14)]
    assert (found.records, found.bytes, found.corrected.total) == (2, 20, 2)


def test_without_reading_back_no_number_is_kept() -> None:
    rig = Rig()
    rig.report(token(10), range(4), at=100.1)
    assert rig.measured().confirmed == {}
