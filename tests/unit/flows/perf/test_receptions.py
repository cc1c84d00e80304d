"""Records on their way to the consumer: latencies and integrity, whichever comes first: confirmation or record."""

from collections.abc import Callable

import pytest

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.errors import BrokerError
from kcli.core.producer.origins import OriginRows
from kcli.core.producer.report import Report
from kcli.core.types import Record, TopicPartition
from kcli.flows.perf.deliveries import HandedOver
from kcli.flows.perf.marks import mark, prefix
from kcli.flows.perf.receptions import Receptions
from tests.batches import batch_of

TP = TopicPartition("t", 0)
START = 50.0


def receptions(warmup: int = 0) -> Receptions:
    """One record a second is due from ``START`` on; a value has 30 bytes."""
    found = Receptions(prefix(7, 0), lambda _number: 30, warmup=warmup)
    found.due = lambda number: START + number
    found.begin(START + warmup)
    return found


def report(numbers: range, left: float, *, measured: bool = True, error: BrokerError | None = None) -> Report:
    token = HandedOver(numbers.start, 0, START + numbers.start, 1.0, measured)
    return Report(TP, len(numbers), 30, 0, error, [OriginRows(0, token, range(len(numbers)))], -1, left)


def came(offset: int, *numbers: int, run: int = 7) -> FetchedBatch:
    rows = [
        Record("t", 0, offset + index, 1, 0, None, mark(run, 0, number) + b"x")
        for index, number in enumerate(numbers)
    ]
    return FetchedBatch(TP, batch_of(rows), offset, offset + len(rows), offset + len(rows))


@pytest.mark.parametrize("confirmed_first", [True, False])
def test_latency_ends_at_the_reception_whatever_comes_first(confirmed_first: bool) -> None:
    found = receptions()
    steps: list[Callable[[], None]] = [
        lambda: found.add(report(range(2), left=START + 1.25)),
        lambda: found.receive(came(0, 0, 1), START + 1.5),
    ]
    for step in steps if confirmed_first else reversed(steps):
        step()
    assert found.drain().records == 2
    measured = found.end()
    assert (measured.records, measured.bytes) == (2, 60)
    assert (measured.raw.total, measured.raw.largest, measured.raw.smallest) == (2, 250_000, 250_000)
    assert (measured.corrected.smallest, measured.corrected.largest) == (500_000, 1_500_000)
    assert found.integrity().sound
    assert not found.missing


def test_every_thousandth_record_after_the_warm_up_is_a_sample() -> None:
    found = receptions(warmup=5)
    for number in (4, 5, 6, 1_000, 1_005):
        found.receive(came(number, number), START + number + 0.25)
    assert found.drain().samples == [(1_000, 250_000)]
    assert found.drain().samples == []


def test_a_record_is_missing_from_its_confirmation_until_it_comes() -> None:
    found = receptions()
    found.add(report(range(3), left=START))
    assert (found.decided, found.missing, found.was_received(1)) == (3, 3, False)
    found.receive(came(0, 0, 2), START + 1)
    assert (found.missing, found.was_received(1), found.was_received(2)) == (1, False, True)
    assert found.integrity().lost == 1


def test_a_record_that_comes_again_is_a_duplicate_and_has_one_latency() -> None:
    found = receptions()
    found.add(report(range(3), left=START))
    found.receive(came(0, 0, 1), START + 1)
    found.receive(came(2, 1, 2), START + 2)
    found.drain()
    measured, judged = found.end(), found.integrity()
    assert (measured.records, measured.raw.total, measured.corrected.total) == (3, 3, 3)
    assert (judged.checked, judged.lost, judged.duplicated, judged.reordered) == (4, 0, 1, 0)


def test_records_in_another_order_are_found() -> None:
    found = receptions()
    found.add(report(range(3), left=START))
    found.receive(came(0, 0, 2, 1), START + 1)
    assert (found.integrity().reordered, found.missing) == (1, 0)


def test_records_of_others_are_passed_over() -> None:
    found = receptions()
    found.add(report(range(1), left=START))
    found.receive(came(0, 0, 5, run=8), START + 1)
    assert (found.missing, found.drain().records) == (1, 0)


def test_the_same_offsets_are_received_once() -> None:
    found = receptions()
    found.add(report(range(2), left=START))
    found.receive(came(0, 0, 1), START + 1)
    found.receive(came(0, 0, 1), START + 2)
    assert found.integrity().sound
    assert found.drain().records == 2


def test_the_warm_up_is_checked_and_not_measured() -> None:
    found = receptions(warmup=2)
    found.add(report(range(2), left=START, measured=False))
    found.add(report(range(2, 3), left=START + 2))
    found.receive(came(0, 0, 1, 2), START + 2.5)
    found.drain()
    measured = found.end()
    assert (measured.records, measured.warmup_records, measured.raw.total) == (1, 2, 1)
    assert found.integrity().checked == 3


def test_a_record_that_failed_is_decided_and_is_not_missing() -> None:
    found = receptions()
    found.add(report(range(2), left=START, error=BrokerError(29, "t-0")))
    assert (found.decided, found.missing) == (2, 0)
    found.drain()
    assert found.end().errors == {"TOPIC_AUTHORIZATION_FAILED": 2}
