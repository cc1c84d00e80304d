"""Places, epochs, fetch sessions and names by hand, told step by step. Run on the fake and on Kafka."""

import time

from kcli.core.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kcli.core.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.fake.raw_client import batch

NOW = int(time.time() * 1000) - 1_000_000
ONE = batch(b"one")


def places(broker):
    yield "empty", [broker.find(t) for t in (-1, -2, -3, -4, -5, -6, -7, 1)]
    for number in range(1, 21):
        stamp = 99_000 if number in (11, 12) else number * 1000
        broker.produce(batch(b"x" * 50, timestamp=NOW + stamp))
    broker.produce(batch(b"a", b"b", b"c", timestamp=NOW))
    for time_ in (-1, -2, -3, -4, -5, -6, -7):
        for version in (1, 4, 6, 7, 8, 9, 10, 11):
            yield f"{time_} v{version}", broker.find(time_, version=version)
    for stamp in (0, 1, 6001, 10_001, 99_000, 99_001):
        yield f"stamp {stamp}", broker.find(NOW + stamp)
    for epoch in (0, 1):
        yield f"list in epoch {epoch}", broker.find(-1, current_leader_epoch=epoch)
        yield f"fetch in epoch {epoch}", broker.fetch(0, current_leader_epoch=epoch)
    for offset in (0, 5, 21, 22, 23, 24, -1):
        for version in (4, 11, 12):
            yield f"fetch {offset} v{version}", broker.fetch(offset, version=version)
        yield f"fetch {offset} committed", broker.fetch(offset, committed=1)
        yield f"fetch {offset} after epoch 0", broker.fetch(offset, last_fetched_epoch=0)
    for size in (0, 1, 130, 300, 1000):
        yield f"fetch {size} bytes", broker.fetch(0, max_bytes=size)
    for asked in (-1, 0, 1):
        for current in (-1, 0, 1):
            part = OffsetForLeaderPartition(partition=0, leader_epoch=asked, current_leader_epoch=current)
            ask = OffsetForLeaderEpochRequest(
                topics=[OffsetForLeaderTopic(topic=broker.topic, partitions=[part])]
            )
            row = broker.client.ask(ask, 4).topics[0].partitions[0]
            yield f"end of {asked} in {current}", (row.error_code, row.leader_epoch, row.end_offset)


def fetch_sessions(broker):
    def ask(number, epoch, *offsets, forget=(), version=12):
        parts = [FetchPartition(partition=p, fetch_offset=o, partition_max_bytes=1 << 20) for p, o in offsets]
        gone = [ForgottenTopic(topic=broker.topic, partitions=list(forget))] if forget else []
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            session_id=number,
            session_epoch=epoch,
            topics=[FetchTopic(topic=broker.topic, partitions=parts)] if parts else [],
            forgotten_topics_data=gone,
        )
        answer = broker.client.ask(request, version)
        rows = [p for t in answer.responses for p in t.partitions]
        told = [(p.partition_index, p.error_code, p.high_watermark, len(p.records)) for p in rows]
        numbers.append(answer.session_id)
        return answer.error_code, answer.session_id > 0, sorted(told)

    numbers = []
    yield "first", ask(0, 0, (0, 0), (1, 0))
    number = numbers[0]
    yield "nothing new", ask(number, 1)
    broker.produce(ONE)
    yield "records", ask(number, 2)
    yield "the same place again", ask(number, 3)
    yield "moved on", ask(number, 4, (0, 1))
    yield "nothing new", ask(number, 5)
    yield "the same epoch", ask(number, 5)
    yield "a later epoch", ask(number, 7)
    yield "the right epoch", ask(number, 6)
    yield "out of range", ask(number, 7, (0, 99))
    yield "still", ask(number, 8)
    yield "forgotten", ask(number, 9, forget=[0])
    broker.produce(ONE)
    yield "unheard", ask(number, 10)
    yield "back again", ask(number, 11, (0, 2))
    yield "unknown partition", ask(number, 12, (7, 0))
    yield "unknown session", ask(number + 1, 1)
    yield "without a session", ask(0, -1, (0, 0))
    yield "closed", ask(number, -1, (0, 0))
    yield "gone", ask(number, 13)
    yield "old version", ask(0, 0, (0, 0), version=6)


def names(broker):
    for name in ("no-such-topic", "a/b", "..", "x" * 250):
        row = broker.metadata(name)
        yield f"metadata {name[:9]}", (row.error_code, row.name, row.topic_id, len(row.partitions))
    ask = MetadataRequest(topics=[MetadataRequestTopic(topic_id=b"\1" * 16, name=None)])
    row = broker.client.ask(ask, 12).topics[0]
    yield "metadata by id", (row.error_code, row.name, row.topic_id)

    def create(name, partitions=1, copies=1):
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=copies, assignments=[], configs=[]
        )
        return (
            broker.client.ask(CreateTopicsRequest(topics=[topic], validate_only=True), 7).topics[0].error_code
        )

    wrong = ((broker.topic, 1, 1), ("a/b", 1, 1), ("ok", 0, 1), ("ok", 1, 0), ("ok", 1, 9), ("ok", -1, -1))
    yield "create", [create(*row) for row in wrong]
