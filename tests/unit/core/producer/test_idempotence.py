"""Producer id, epoch and numbers: when they are given, when they may start over."""

import pytest

from kcli.core.producer.batch import ProducerBatch
from kcli.core.producer.idempotence import LAST_EPOCH, Idempotence
from kcli.core.types import TopicPartition
from tests.unit.core.net.fakes import Clock
from tests.unit.core.producer.batches import P0, P1, open_batch

CLOCK = Clock()


def batch(tp: TopicPartition = P0, count: int = 3) -> ProducerBatch:
    return open_batch(CLOCK, tp, *(b"v" for _ in range(count)))


def ready(epoch: int = 0) -> Idempotence:
    numbers = Idempotence()
    numbers.renew(7, epoch, [])
    return numbers


def test_nothing_is_sent_before_there_is_an_id() -> None:
    numbers = Idempotence()
    assert not numbers.ready
    assert not numbers.may_send(batch())


def test_numbers_count_the_records_of_each_partition() -> None:
    numbers, batches = ready(3), [batch(P0, 3), batch(P0, 2), batch(P1, 5), batch(P0, 1)]
    for one in batches:
        numbers.number(one)
    assert [b.sequence for b in batches] == [0, 3, 0, 5]
    assert {(b.producer_id, b.epoch) for b in batches} == {(7, 3)}


@pytest.mark.case("B5")
def test_a_numbered_batch_keeps_its_number() -> None:
    numbers, one = ready(), batch()
    numbers.number(one)
    numbers.number(one)
    assert one.sequence == 0
    later = batch()
    numbers.number(later)
    assert later.sequence == 3


@pytest.mark.case("P6")
@pytest.mark.parametrize(
    ("start", "count", "following"), [(2**31 - 3, 3, 0), (2**31 - 1, 3, 2), (2**31 - 4, 3, 2**31 - 1)]
)
def test_numbers_wrap_to_zero(start: int, count: int, following: int) -> None:
    numbers = ready()
    numbers._next[P0] = start
    first, second = batch(P0, count), batch(P0, 1)
    numbers.number(first)
    numbers.number(second)
    assert (first.sequence, second.sequence) == (start, following)


def test_after_a_gap_new_batches_wait_and_numbered_ones_of_other_partitions_go() -> None:
    numbers = ready()
    numbered, other, new = batch(P0), batch(P1), batch(P1)
    numbers.number(numbered)
    numbers.number(other)
    numbers.request_bump(P0, "a batch is lost")
    assert not numbers.ready
    assert not numbers.may_send(numbered)  # behind the gap: the broker cannot take it
    assert numbers.may_send(other)
    assert not numbers.may_send(new)


@pytest.mark.case("P1")
def test_no_bump_while_anything_is_in_flight_on_any_partition() -> None:
    numbers = ready()
    numbers.request_bump(P0, "lost")
    assert not numbers.may_bump(1, [])
    assert numbers.may_bump(0, [])


def test_no_bump_while_a_numbered_batch_of_another_partition_is_open() -> None:
    numbers, other = ready(), batch(P1)
    numbers.number(other)
    numbers.request_bump(P0, "lost")
    assert not numbers.may_bump(0, [other])
    assert numbers.may_bump(0, [batch(P1)])


def test_batches_after_the_gap_do_not_delay_the_bump() -> None:
    numbers, behind = ready(), batch(P0)
    numbers.number(behind)
    numbers.request_bump(P0, "lost")
    assert numbers.may_bump(0, [behind])


def test_no_bump_without_a_reason() -> None:
    assert not ready().may_bump(0, [])


def test_the_first_reason_is_kept() -> None:
    numbers = ready()
    numbers.request_bump(P0, "first")
    numbers.request_bump(P1, "second")
    assert numbers.bump_reason == "first"


@pytest.mark.case("P2")
def test_a_new_epoch_starts_all_numbers_over() -> None:
    numbers, done, waiting = ready(), batch(P1), batch(P0)
    for one in (done, waiting):
        numbers.number(one)
    numbers.request_bump(P0, "lost")
    numbers.renew(7, 1, [waiting])
    assert numbers.ready
    assert not waiting.numbered
    assert numbers.may_send(waiting)
    new = batch(P1)
    numbers.number(new)
    numbers.number(waiting)
    assert [(b.epoch, b.sequence) for b in (new, waiting)] == [(1, 0), (1, 0)]
    assert numbers.bump_reason == ""


@pytest.mark.case("P5")
@pytest.mark.parametrize(
    ("epoch", "asked"),
    [(0, (7, 0)), (LAST_EPOCH - 2, (7, LAST_EPOCH - 2)), (LAST_EPOCH - 1, (-1, -1)), (LAST_EPOCH, (-1, -1))],
)
def test_when_the_epochs_are_used_up_a_new_id_is_requested(epoch: int, asked: tuple[int, int]) -> None:
    assert ready(epoch).ids_to_bump() == asked


@pytest.mark.case("P1")
def test_one_batch_at_a_time_until_the_leader_knows_the_producer() -> None:
    """It takes any number of a producer that it does not know; a new epoch of the same id must begin at 0."""
    numbers, one = ready(), batch()
    numbers.number(one)
    assert not numbers.pipelines(P0)
    numbers.confirmed(one)
    assert numbers.pipelines(P0)
    assert not numbers.pipelines(P1)
    numbers.renew(7, 1, [])
    assert numbers.pipelines(P0)
    numbers.renew(8, 0, [])
    assert not numbers.pipelines(P0)
    numbers.confirmed(one)  # of the id before
    assert not numbers.pipelines(P0)


def test_batches_of_a_transaction_are_marked() -> None:
    plain, marked = batch(), batch()
    ready().number(plain)
    assert not plain.transactional
    transactional = Idempotence(transactional=True)
    transactional.renew(7, 0, [])
    transactional.number(marked)
    assert marked.transactional
    assert b"".join(marked.wire())[22] & 0x10
    assert not b"".join(plain.wire())[22] & 0x10
