"""What was fetched is handed out once, in order, and only of partitions that may be read now."""

from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.consumer import poll_buffer as poll_buffer_module
from kcli.core.consumer.fetched import Arrived, Cut, cut
from kcli.core.consumer.poll_buffer import PollBuffer
from kcli.core.consumer.subscription import Phase, Span, Subscription
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.fetch import AbortedTransaction, FetchResponse, PartitionData
from kcli.core.records.batch import RecordBatch
from kcli.core.types import TopicPartition
from tests.interrupting import Interrupter
from tests.unit.records.test_isolation import batch, marker

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
OPTIONS = ConsumerOptions(check_crcs=False)


class Reader:
    """A poll_buffer with its subscription; ``fetched`` plays the fetcher."""

    def __init__(self, *partitions: TopicPartition) -> None:
        self.subscription = Subscription()
        self.subscription.assign({tp: Span(0) for tp in partitions})
        self.withheld: frozenset[TopicPartition] = frozenset()
        self.poll_buffer = PollBuffer(self.subscription, lambda: self.withheld)
        self.given_back = 0

    def fetched(self, *partitions: TopicPartition, count: int = 10) -> int:
        """An answer with ``count`` records of each; its size."""
        arrived = Arrived(FetchResponse(responses=[]), self._count)
        for tp in partitions:
            state = self.subscription.get(tp)
            assert state is not None
            raw = memoryview(bytes(batch(state.fetch_from, count=count).raw))
            row = PartitionData(partition_index=tp.partition, error_code=0, high_watermark=0, records=raw)
            found = cut(state, row, OPTIONS)
            state.fetch_from = found.position
            arrived.add_partition(state, found)
        self.poll_buffer.add_response(arrived)
        return arrived.size

    def _count(self, size: int) -> None:
        self.given_back += size

    def take(self, limit: int = 1_000) -> list[tuple[TopicPartition, int, int]]:
        batches = self.poll_buffer.take_batches(limit)
        self.poll_buffer.mark_returned(batches)
        return [(one.tp, one.first, one.stop) for one in batches]

    def place(self, tp: TopicPartition) -> tuple[int, int]:
        state = self.subscription.get(tp)
        assert state is not None
        return state.position, state.fetch_from


def test_all_is_handed_out_and_the_memory_given_back() -> None:
    reader = Reader(P0, P1)
    size = reader.fetched(P0, P1)
    assert reader.take() == [(P0, 0, 10), (P1, 0, 10)]
    assert reader.poll_buffer.empty
    assert reader.given_back == 0
    reader.poll_buffer.release()
    reader.poll_buffer.release()
    assert reader.given_back == size > 0


def test_a_batch_is_cut_to_the_limit() -> None:
    reader = Reader(P0)
    reader.fetched(P0)
    assert reader.take(4) == [(P0, 0, 4)]
    assert reader.place(P0) == (4, 10)
    assert reader.take(100) == [(P0, 4, 10)]


def dropped(change: Callable[[Reader], object]) -> Reader:
    reader = Reader(P0, P1)
    reader.fetched(P0, P1)
    change(reader)
    assert reader.take() == [(P1, 0, 10)]
    return reader


def test_what_is_paused_is_read_again_later() -> None:
    def pause(reader: Reader) -> None:
        state = reader.subscription.get(P0)
        assert state is not None
        state.paused = True

    assert dropped(pause).place(P0) == (0, 0)


def test_a_partition_being_revoked_is_read_again_if_it_is_kept_after_all() -> None:
    """A rebalance that takes it away in vain must not leave a gap."""
    reader = dropped(lambda reader: setattr(reader, "withheld", frozenset({P0})))
    assert reader.place(P0) == (0, 0)


def test_what_was_taken_away_or_sought_elsewhere_is_dropped() -> None:
    dropped(lambda reader: reader.subscription.remove_partition(P0))
    assert dropped(lambda reader: reader.subscription.seek(P0, 3)).place(P0) == (3, 3)


def test_taken_away_and_given_back_begins_where_it_now_is() -> None:
    def again(reader: Reader) -> None:
        reader.subscription.remove_partition(P0)
        reader.subscription.add_partition(P0, Span(5))

    assert dropped(again).place(P0) == (5, 5)


def test_a_position_after_hidden_records_has_their_leader_epoch() -> None:
    """Else a check by the older epoch would find it cut (KIP-320)."""
    reader = Reader(P0)
    state = reader.subscription.get(P0)
    assert state is not None
    raw = bytearray(bytes(batch(0, 7).raw) + bytes(marker(1, 7, abort=False).raw))
    at = len(batch(0, 7).raw) + 12
    raw[at : at + 4] = (5).to_bytes(4, "big")  # the marker's leader epoch
    arrived = Arrived(FetchResponse(responses=[]), lambda _size: None)
    row = PartitionData(partition_index=0, error_code=0, high_watermark=2, records=memoryview(bytes(raw)))
    found = cut(state, row, OPTIONS)
    arrived.add_partition(state, found)
    reader.poll_buffer.add_response(arrived)
    assert reader.take() == [(P0, 0, 1)]
    assert (state.position, state.epoch) == (2, 5)


def _cut(*parts: RecordBatch, start: int = 0, stop: int | None = None, **row: Any) -> Cut:
    subscription = Subscription()
    subscription.assign({P0: Span(start, stop)})
    state = subscription.get(P0)
    assert state is not None
    raw = memoryview(b"".join(part.raw for part in parts))
    data = PartitionData(partition_index=0, error_code=0, high_watermark=0, records=raw, **row)
    return cut(state, data, OPTIONS, joins=1 << 20)


def test_plain_neighbours_are_cut_as_one_batch() -> None:
    found = _cut(batch(0, count=3), batch(3, count=2), marker(5, 7, abort=False), batch(6, count=4))
    assert [(b.first, b.stop, b.batch.count, b.then) for b in found.batches] == [(0, 5, 5, 5), (6, 10, 4, 10)]
    assert (found.position, found.needed) == (10, 0)


def test_a_run_is_read_from_the_position_up_to_the_stop() -> None:
    found = _cut(batch(0, count=3), batch(3, count=2), start=2, stop=4)
    assert [(b.first, b.stop) for b in found.batches] == [(2, 4)]
    assert found.position == 5


def test_aborted_records_are_read_batch_by_batch() -> None:
    aborted = [AbortedTransaction(producer_id=7, first_offset=0)]
    found = _cut(batch(0, 7), batch(1), marker(2, 7, abort=True), batch(3), aborted_transactions=aborted)
    assert [(b.first, b.stop) for b in found.batches] == [(1, 2), (3, 4)]


def test_a_batch_that_is_cut_off_ends_the_runs_too() -> None:
    whole, rest = batch(0, count=3), batch(3, count=2)
    found = _cut(whole, RecordBatch(rest.raw[:-1]))
    assert [(b.first, b.stop) for b in found.batches] == [(0, 3)]
    assert (found.position, found.needed) == (3, len(rest.raw))


# --- Ctrl-C ------------------------------------------------------------------------------------------------


Given = list[tuple[TopicPartition, int]]


NEVER = 1_000_000


class InterruptedReader(Reader):
    """Polls as a consumer does; whatever was not handed out is fetched again from where it now is."""

    def refill(self) -> None:
        self.poll_buffer.end_open()
        for tp, state in self.subscription.items():
            if self.poll_buffer.empty and state.fetch_from < 10:
                self.fetched(tp, count=10 - state.fetch_from)

    def batches(self, at: int, given: Given) -> bool:
        """One poll; whether it was interrupted."""
        self.refill()
        batches: list[Any] = []
        with Interrupter(at, poll_buffer_module) as interrupter:
            try:
                batches = self.poll_buffer.take_batches(4)
                self.poll_buffer.mark_returned(batches)
            except KeyboardInterrupt:
                self.poll_buffer.take_back(batches)
                return True
        assert not interrupter.hit, "it was swallowed"
        given += [(one.tp, offset) for one in batches for offset in range(one.first, one.stop)]
        return False

    def records(self, at: int, given: Given) -> bool:
        """One loop over the records of a poll; whether it was interrupted."""
        self.refill()
        with Interrupter(at, poll_buffer_module) as interrupter:
            try:
                for record in self.poll_buffer.one_by_one(self.poll_buffer.take_batches(4)):
                    given.append((TopicPartition(record.topic, record.partition), record.offset))
            except KeyboardInterrupt:
                return True
        assert not interrupter.hit, "it was swallowed"
        return False


@pytest.mark.parametrize("how", ["batches", "records"])
def test_ctrl_c_between_any_two_steps_loses_nothing_and_keeps_the_order(how: str) -> None:
    """What the application did not get comes with the next poll; of what it got, one record may come once more."""
    interrupted, at = True, 0
    while interrupted:
        reader, given = InterruptedReader(P0, P1), list[tuple[TopicPartition, int]]()
        poll = getattr(reader, how)
        poll(
            NEVER, given
        )  # so that it happens in the middle; Python 3.13 says no bytecodes of a function's first call
        interrupted = poll(at, given)
        while any(reader.place(tp)[0] < 10 for tp in (P0, P1)):
            poll(-1, given)
        for tp in (P0, P1):
            offsets = [offset for of, offset in given if of == tp]
            assert list(dict.fromkeys(offsets)) == list(range(10)), f"at step {at}"
            assert len(offsets) <= 11, f"at step {at}: only the record at hand may come once more"
        at += 1
    assert at > 100


def test_an_interrupted_poll_moves_no_position() -> None:
    reader = Reader(P0, P1)
    reader.fetched(P0, P1)
    taken = reader.poll_buffer.take_batches(1_000)
    reader.poll_buffer.mark_returned(taken)
    assert [reader.place(tp) for tp in (P0, P1)] == [(10, 10), (10, 10)]
    reader.poll_buffer.take_back(taken)
    assert [reader.place(tp) for tp in (P0, P1)] == [(0, 0), (0, 0)]


def test_what_was_taken_and_never_handed_out_is_read_again() -> None:
    reader = Reader(P0)
    reader.fetched(P0)
    reader.poll_buffer.take_batches(4)
    reader.poll_buffer.end_open()
    assert reader.place(P0) == (0, 0)
    assert reader.take() == []
    reader.fetched(P0)
    assert reader.take() == [(P0, 0, 10)]


def test_an_error_after_records_that_are_read_again_is_found_again() -> None:
    reader = Reader(P0)
    reader.fetched(P0)
    state = reader.subscription.get(P0)
    assert state is not None
    state.phase = Phase.FAILED
    reader.poll_buffer.take_batches(4)
    reader.poll_buffer.end_open()
    assert (state.phase, reader.place(P0)) == (Phase.READING, (0, 0))
