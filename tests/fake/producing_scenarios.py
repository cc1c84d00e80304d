"""Batches and sequences by hand, told step by step: (what was asked, what was answered). Run on the fake and on Kafka."""

import struct
import time

from kcli.core.kernels.active import crc32c
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.records.batch import CRC_START
from tests.fake.raw_broker import until
from tests.fake.raw_client import batch


def patched(raw, at, form, value):
    data = bytearray(raw)
    struct.pack_into(form, data, at, value)
    struct.pack_into(">I", data, CRC_START - 4, crc32c(bytes(data[CRC_START:])))
    return bytes(data)


ONE = batch(b"one")


def batches_and_acks(broker):
    yield "good", broker.produce(ONE)
    yield "base offset 77", broker.produce(patched(ONE, 0, ">q", 77))
    yield "bad checksum", broker.produce(ONE[:-1] + b"\1")
    yield "cut short", broker.produce(ONE[:-3])
    yield "two batches", broker.produce(ONE + ONE)
    yield "and a part of one", broker.produce(ONE + ONE[:30])
    yield "empty", broker.produce(b"")
    yield "magic 1", broker.produce(patched(ONE, 16, ">b", 1))
    yield "control bit", broker.produce(patched(ONE, 21, ">h", 0x20))
    yield "a gap in the offsets", broker.produce(patched(ONE, 23, ">i", 5))
    yield "no records", broker.produce(patched(ONE, 57, ">i", 0))
    yield (
        "two records are said to be one",
        broker.produce(patched(patched(batch(b"", b""), 57, ">i", 1), 23, ">i", 0)),
    )
    yield "sequence -1", broker.produce(batch(b"x", producer_id=5, epoch=0, sequence=-1))
    yield "two hours ahead", broker.produce(batch(b"x", timestamp=int(time.time() * 1000) + 7_200_000))
    yield "transactional bit", broker.produce(batch(b"x", transactional=True))
    yield "leader epoch 5", broker.produce(patched(ONE, 12, ">i", 5))
    yield "no such topic", broker.produce(ONE, topic="no-such-topic")
    yield "no such id", broker.produce(ONE, topic=b"\1" * 16, version=13)
    for version in (6, 7):
        yield f"zstd v{version}", broker.produce(batch(b"x" * 100, codec=4), version=version)
    for codec in (1, 2, 3):
        yield f"codec {codec}", broker.produce(batch(b"x" * 100, codec=codec))
    for acks in (2, 1, 0x7FFF):
        yield f"acks {acks}", broker.produce(ONE, acks=acks)
    yield "all of it", broker.fetch(0)
    small, compacted = broker.topic + "-small", broker.topic + "-compacted"
    broker.create(small, max_message_bytes="200")
    broker.create(compacted, cleanup_policy="compact")
    yield "too large", broker.produce(batch(b"x" * 200), topic=small)
    yield "key wanted", broker.produce(ONE, topic=compacted)
    yield "key given", broker.produce(batch(b"x", key=b"k"), topic=compacted)


def sequences(broker):
    client = broker.client
    ask = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    until(lambda: not client.ask(ask, 4).error_code)
    who = client.ask(ask, 4)
    yield "granted", (who.producer_id >= 0, who.producer_epoch)

    def send(sequence, count=1, epoch=0):
        raw = batch(*[b"v"] * count, producer_id=who.producer_id, epoch=epoch, sequence=sequence)
        return broker.produce(raw)

    for sequence in range(8):
        yield f"first {sequence}", send(sequence)
    for sequence in reversed(range(8)):
        yield f"again {sequence}", send(sequence)
    yield "gap", send(9)
    yield "overlap", send(7, count=2)
    yield "next", send(8, count=3)
    yield "its repeat", send(8, count=3)
    yield "a part of it", send(8, count=2)
    yield "new epoch, not 0", send(11, epoch=1)
    yield "new epoch", send(0, epoch=1)
    yield "old epoch", send(11, epoch=0)
    yield "old repeat", send(8, count=3)
    who.producer_id += 100_000
    yield "unknown id", send(2**31 - 2)
    yield "wrap", send(2**31 - 1, count=2)
    yield "behind it", send(1)
    yield "repeat of the wrap", send(2**31 - 1, count=2)
