"""What the broker says to produced batches: the table of kafka-facts, section 7, row by row."""

import struct
import time

import pytest

from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import CRC_START
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient, batch, produce_request


@pytest.fixture(scope="module")
def cluster():
    with FakeCluster(3, topics={"t": 1, "idempotent": 1}) as made:
        made.create_topic("small", configs={"max.message.bytes": "200"})
        made.create_topic("compacted", configs={"cleanup.policy": "compact"})
        made.create_topic("stamped", configs={"message.timestamp.type": "LogAppendTime"})
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    with RawClient(cluster.address(1)) as made:
        yield made


def code(client, raw, *, topic="t", version=12, acks=-1, **options):
    answer = client.ask(produce_request(topic, {0: raw}, acks=acks, **options), version)
    return answer.responses[0].partition_responses[0].error_code


def patched(raw, at, form, value):
    """The batch with one header field changed and the checksum made right."""
    data = bytearray(raw)
    struct.pack_into(form, data, at, value)
    struct.pack_into(">I", data, CRC_START - 4, crc32c(bytes(data[CRC_START:])))
    return bytes(data)


ONE = batch(b"one")
REFUSED = {
    "base offset 77": (patched(ONE, 0, ">q", 77), 87),
    "bad checksum": (ONE[:-1] + b"\1", 2),
    "cut short": (ONE[:-3], 87),
    "two batches": (ONE + ONE, 87),
    "empty": (b"", 87),
    "null": (None, 87),
    "magic 1": (patched(ONE, 16, ">b", 1), 87),
    "control bit": (patched(ONE, 21, ">h", 0x20), 87),
    "a gap in the offsets": (patched(ONE, 23, ">i", 5), 87),
    "no records": (patched(ONE, 57, ">i", 0), 87),
    "sequence -1 with a producer id": (batch(b"x", producer_id=5, epoch=0, sequence=-1), 87),
    "two hours ahead": (batch(b"x", timestamp=int(time.time() * 1000) + 7_200_000), 32),
    "transactional without a transaction": (batch(b"x", transactional=True), 53),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(client, name):
    raw, expected = REFUSED[name]
    assert code(client, raw) == expected


def test_accepted_although_odd(cluster, client):
    before = cluster.log("t").end_offset
    assert code(client, ONE + ONE[:30]) == 0  # the tail is dropped silently
    assert code(client, patched(ONE, 12, ">i", 5)) == 0  # leader epoch: overwritten
    assert cluster.log("t").end_offset == before + 2
    assert cluster.log("t").batches[-1].leader_epoch == 0


def test_zstd_needs_v7(client):
    raw = batch(b"x" * 100, codec=4)
    assert code(client, raw, version=6) == 76
    assert code(client, raw, version=7) == 0


def test_topic_ids(cluster, client):
    assert code(client, ONE, topic=cluster.topic_id("t"), version=13) == 0
    assert code(client, ONE, topic=b"\1" * 16, version=13) == 100
    assert code(client, ONE, topic="nope") == 3
    answer = client.ask(produce_request("t", {9: ONE}), 12)
    assert answer.responses[0].partition_responses[0].error_code == 3


def test_acks(cluster, client):
    assert code(client, ONE, acks=2) == 21
    assert code(client, ONE, acks=1) == 0
    before = cluster.log("t").end_offset
    client.send(produce_request("t", ONE, acks=0), 9)
    cluster.wait_until(lambda: cluster.log("t").end_offset == before + 1)


def test_acks_0_closes_the_connection_on_an_error(cluster):
    with RawClient(cluster.address(2)) as wrong:
        wrong.send(produce_request("t", ONE, acks=0), 9)
        with pytest.raises(EOFError):
            wrong.read(1)


def test_size_counts_the_whole_batch(client):
    fits = batch(b"x" * (200 - len(batch(b"")) - 2))
    assert len(fits) in (199, 200)
    assert code(client, fits, topic="small") == 0
    assert code(client, batch(b"x" * 200), topic="small") == 10


def test_a_compacted_topic_wants_keys(client):
    assert code(client, ONE, topic="compacted") == 87
    assert code(client, batch(b"x", key=b"k"), topic="compacted") == 0


def test_log_append_time(cluster, client):
    assert code(client, ONE, topic="stamped") == 0
    log = cluster.log("stamped")
    log.batches[0].verify_crc()
    assert log.batches[0].timestamp_type == 1
    assert abs(log.records()[0].timestamp - time.time() * 1000) < 60_000


def test_too_few_replicas_in_sync(cluster, client):
    cluster.create_topic("safe", configs={"min.insync.replicas": "2"})
    cluster.set_isr("safe", 0, [1])
    assert [code(client, ONE, topic="safe", acks=a) for a in (-1, 1)] == [19, 0]
    cluster.set_isr("safe", 0, [1, 2])
    assert code(client, ONE, topic="safe") == 0


class Idempotent:
    """One producer id after the other, on a topic of its own."""

    numbers = iter(range(1000, 2000))

    def __init__(self, client):
        self.client, self.id = client, next(self.numbers)

    def send(self, sequence, count=1, epoch=0):
        raw = batch(*[b"v"] * count, producer_id=self.id, epoch=epoch, sequence=sequence)
        row = self.client.ask(produce_request("idempotent", raw), 12).responses[0].partition_responses[0]
        return row.error_code, row.base_offset


def test_a_repeat_of_the_last_five_gets_its_first_offset(client):
    producer = Idempotent(client)
    first = [producer.send(i) for i in range(8)]
    assert {c for c, _ in first} == {0}
    again = [producer.send(i) for i in reversed(range(8))]
    assert again == [*reversed(first[3:]), (45, -1), (45, -1), (45, -1)]


def test_gaps_and_overlaps_are_out_of_order(client):
    producer = Idempotent(client)
    assert producer.send(0, count=3)[0] == 0
    assert producer.send(4)[0] == 45
    assert producer.send(2, count=2)[0] == 45
    assert producer.send(3)[0] == 0


def test_an_unknown_producer_starts_anywhere_a_new_epoch_at_0(client):
    producer = Idempotent(client)
    assert producer.send(5, epoch=3)[0] == 0
    assert producer.send(6, epoch=4)[0] == 45
    assert producer.send(0, epoch=4)[0] == 0
    assert producer.send(7, epoch=3)[0] == 47


def test_sequences_wrap(cluster, client):
    producer = Idempotent(client)
    cluster.set_sequence("idempotent", 0, producer.id, 0, 2**31 - 3)
    assert producer.send(2**31 - 2, count=3)[0] == 0
    assert producer.send(1)[0] == 0
    assert producer.send(2**31 - 2, count=3)[0] == 0  # a repeat
    cluster.set_sequence("idempotent", 0, producer.id, 0, 2**31 - 1)
    assert producer.send(0)[0] == 0


def test_a_forgotten_producer_starts_anywhere(cluster, client):
    producer = Idempotent(client)
    assert producer.send(0)[0] == 0
    cluster.forget_producer("idempotent", 0, producer.id)
    assert producer.send(9)[0] == 0
