"""Transactions of both protocols and fencing by hand, told step by step. Run on the fake and on Kafka."""

from tests.fake.raw_broker import ready
from tests.fake.raw_transaction import RawTransaction


def new_transactions(broker):
    txn = broker.transaction()
    yield "init", (ready(txn.init), txn.epoch)
    yield "commit of nothing", txn.end()
    yield "produce", [ready(lambda: txn.produce(0, b"a")), txn.produce(1, b"b")]
    yield "open", broker.fetch(0, committed=1)
    yield "end", (ready(txn.end), txn.epoch)
    yield "end again", (ready(lambda: txn.end(epoch=0)), txn.epoch)
    yield "the other end", ready(lambda: txn.end(commit=False, epoch=0))
    yield "commit of nothing", ready(txn.end)
    yield "wrong sequence", ready(lambda: txn.produce(2))
    yield "old epoch", ready(lambda: txn.produce(0, epoch=0))
    yield "right", ready(lambda: txn.produce(0))
    yield "abort", (ready(lambda: txn.end(commit=False)), txn.epoch)
    yield "abort of nothing", (ready(lambda: txn.end(commit=False)), txn.epoch)
    yield "without the bit", ready(lambda: txn.produce(0, bit=False))
    broker.settled()
    yield "all", [broker.fetch(o, committed=c) for o in range(6) for c in (0, 1)]
    yield "offsets", [ready(lambda: txn.commit_offsets(5)), ready(txn.end), txn.epoch]
    yield "mixed", [ready(lambda: txn.add(0)[0]), txn.produce(1, version=9), ready(txn.end), txn.epoch]
    topic_id = bytes(broker.metadata(broker.topic).topic_id)

    def by_id(**asked):
        return txn.commit_offsets(6, version=6, **{"topic_id": topic_id, **asked})

    yield "offsets by id", [ready(by_id), by_id(topic_id=b"x" * 16), by_id(topic_id=bytes(16))]
    yield "partition of an id", by_id(partition=7)
    yield (
        "strangers by id",
        [by_id(generation_id_or_member_epoch=7, member_id="nobody"), by_id(member_id="m")],
    )
    group, txn.group = txn.group, "nobody-s-group"
    yield (
        "no group",
        [by_id(generation_id_or_member_epoch=7), txn.commit_offsets(1, generation_id_or_member_epoch=7)],
    )
    txn.group = group
    yield "end", [ready(txn.end), txn.epoch]


def old_transactions(broker):
    txn = broker.transaction()
    yield "init", (ready(txn.init), txn.epoch)
    yield "without add", [ready(lambda v=v: txn.produce(0, version=v)) for v in (9, 10, 11)]
    yield "offsets without add", [ready(lambda v=v: txn.commit_offsets(1, version=v)) for v in (0, 3, 4)]
    yield "end of nothing", [txn.end(version=3), txn.end(version=3, commit=False)]
    yield "add", ready(lambda: txn.add(0)[0])
    yield "produce", ready(lambda: txn.produce(0, version=9))
    yield "other partition", ready(lambda: txn.produce(0, version=9, partition=1))
    yield "unknown partition", txn.add(0, 7)
    yield "add group", ready(txn.add_group)
    yield "offsets", ready(lambda: txn.commit_offsets(1, version=3))
    yield (
        "unknown member",
        txn.commit_offsets(1, version=3, generation_id_or_member_epoch=7, member_id="nobody"),
    )
    yield "end", (ready(lambda: txn.end(version=3)), txn.epoch)
    broker.settled()
    yield "end again", ready(lambda: txn.end(version=3))
    yield "the other end", ready(lambda: txn.end(version=3, commit=False))
    yield "next", [ready(lambda: txn.add(0)[0]), txn.produce(1, version=9), ready(lambda: txn.end(version=3))]
    broker.settled()
    yield "all", broker.fetch(0, committed=1)


def fencing(broker):
    zombie = broker.transaction()
    ready(zombie.init)
    yield "open", [ready(lambda: zombie.produce(0, b"zombie")), ready(lambda: zombie.commit_offsets(5))]
    other = broker.transaction()
    yield "first answer", other.init()
    yield "taken over", (ready(other.init), other.id == zombie.id, other.epoch)
    yield "produce", zombie.produce(1)
    yield "other partition", zombie.produce(0, partition=1)
    yield "old produce", [zombie.produce(1, version=v) for v in (9, 11)]
    yield "end", [zombie.end(version=v) for v in (5, 4, 2, 1)]
    yield "abort", zombie.end(commit=False)
    yield "add", [zombie.add(0, version=v) for v in (3, 1)]
    yield "add group", [zombie.add_group(version=v) for v in (3, 1)]
    yield "offsets", [zombie.commit_offsets(6, version=v) for v in (5, 3)]
    yield "init", [zombie.init(zombie.id, zombie.epoch, version=v) for v in (5, 3)]
    yield "own bump", [ready(lambda: other.init(other.id, other.epoch)), other.epoch]
    yield "asked again", [ready(lambda: other.init(other.id, other.epoch - 1)), other.epoch]
    for epoch in (0, 3):
        answer = RawTransaction(broker.client, broker.txn).init(zombie.id + 50_000, epoch)
        yield f"another's id, epoch {epoch}", answer
    yield (
        "refused",
        [
            broker.transaction(timeout=900_001).init(),
            RawTransaction(broker.client, "").init(),
            RawTransaction(broker.client, broker.txn).end(),
        ],
    )
    broker.settled()
    yield "all", [broker.fetch(0, committed=c) for c in (0, 1)]
