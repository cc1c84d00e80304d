"""``Sealing``: full batches are compressed by threads, whatever becomes of one of them."""

import threading

import pytest

from kcli.core.codecs import compression
from kcli.core.producer.accumulator import Accumulator
from kcli.core.producer.batch import ProducerBatch
from kcli.core.producer.sealing import Sealing
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import Codec, TopicPartition

TP = TopicPartition("t", 0)


def batch_of(text: bytes) -> BatchBuilder:
    made = BatchBuilder(1 << 20, codec=Codec.GZIP)
    assert made.append(None, text, (), 0)
    return made


def test_batches_are_sealed_by_threads_and_are_what_they_were_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []
    compress = compression.compress

    def noted(codec: int, data: bytes, level: int | None) -> object:
        threads.append(threading.current_thread().name)
        if b"defect" in data:
            raise MemoryError
        return compress(codec, data, level)

    monkeypatch.setattr(compression, "compress", noted)
    made = [batch_of(text) for text in (b"a" * 100, b"defect", b"b" * 100)]
    sealing = Sealing(2)
    for builder, lock in [(one, sealing.add(one)) for one in made]:
        with lock:
            assert builder.count == 1
    assert threads == ["kcli-seal"] * 3
    plain = [batch_of(text) for text in (b"a" * 100, b"b" * 100)]
    assert [one.wire() for one in (made[0], made[2])] == [one.wire() for one in plain]
    with pytest.raises(MemoryError):  # the sender meets it in its place
        made[1].wire()


def test_a_full_batch_is_sealed_before_it_is_taken() -> None:
    now = [0.0]
    queue = Accumulator(
        batch_size=200,
        linger=1.0,
        memory=1 << 20,
        max_block=1.0,
        delivery_timeout=60.0,
        new_builder=lambda room: BatchBuilder(room, codec=Codec.GZIP),
        now=lambda: now[0],
        sealing=Sealing(1),
    )

    def fill(batch: ProducerBatch) -> int:
        return int(batch.builder.append(None, b"x" * 80, (), 0))

    for _ in range(3):
        queue.append(TP, fill)
    now[0] = 2.0
    (first,), _, _ = queue.take_batches([TP], now[0], lambda _batch: True, 1 << 20)
    assert first.sealed is not None
    size = first.builder.size
    assert sum(map(len, first.wire())) == first.builder.wire_size < size
    assert first.sealed is None
    (second,), _, _ = queue.take_batches([TP], now[0], lambda _batch: True, 1 << 20)
    assert len(second.wire()) == 2
