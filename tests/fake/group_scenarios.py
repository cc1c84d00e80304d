"""Groups by hand, told step by step: strangers, classic members, KIP-848 members. Run on the fake and on Kafka."""

from tests.fake.groups import asks
from tests.fake.raw_broker import ready, until


def _codes(answer):
    return sorted(
        (row.partition_index, row.error_code) for topic in answer.topics for row in topic.partitions
    )


def _positions(broker, version=9, **options):
    """Committed offsets by partition, with their codes."""
    answer = broker.client.ask(asks.fetch(broker.group, **options), version)
    rows = [
        (p.partition_index, p.committed_offset, p.metadata, p.error_code)
        for topic in answer.groups[0].topics
        for p in topic.partitions
    ]
    return answer.groups[0].error_code, sorted(rows)


def strangers(broker):
    """Those who are no members, and groups that nobody is in (kafka-facts, 1.1)."""
    group, topic, ask = broker.group, broker.topic, broker.client.ask
    broker.transaction()  # the coordinator is ready
    yield "describe unknown", [_described(ask(asks.describe(group), v)) for v in (4, 5, 6)]
    yield "heartbeat unknown", ask(asks.heartbeat("m", 1, group), 4).error_code
    left = ask(asks.leave("m", group=group), 5)
    yield "leave unknown", (left.error_code, [m.error_code for m in left.members])
    yield "delete unknown", [r.error_code for r in ask(asks.delete(group), 2).results]
    yield "fetch unknown", _positions(broker)
    yield "fetch unknown by name", _positions(broker, partitions={topic: [0, 9]})
    yield "commit as a member", _codes(ask(asks.commit({topic: {0: 1}}, "m", 1, group), 7))
    commit = asks.commit({topic: {0: 3, 1: -5, 9: 1}, "no-such-topic": {0: 1}}, group=group)
    yield "commit", ready(lambda: _codes(ask(commit, 7)))
    yield "committed", _positions(broker)
    yield "past the end", _codes(ask(asks.commit({topic: {1: 10**9}}, group=group, metadata="note"), 7))
    yield "too much metadata", _codes(ask(asks.commit({topic: {1: 1}}, group=group, metadata="x" * 4097), 7))
    yield "committed again", [_positions(broker, version=v) for v in (8, 9)]
    for version, partitions in ((7, None), (2, None), (1, {}), (5, {topic: [0, 7]})):
        old = ask(asks.old_fetch(partitions, group), version)
        rows = [
            (p.partition_index, p.committed_offset, p.error_code) for t in old.topics for p in t.partitions
        ]
        yield f"fetch v{version}", (old.error_code, sorted(rows))
    yield "describe empty", _described(ask(asks.describe(group), 5))
    gone = ask(asks.delete_offsets({topic: [1, 9]}, group), 0)
    yield "delete offsets", (gone.error_code, _codes(gone))
    yield "what is left", _positions(broker)
    yield "delete", [r.error_code for r in ask(asks.delete(group), 2).results]
    yield "deleted", _positions(broker)


def members(broker):
    """Two classic members on two connections, and a stranger who knows their names."""
    group, topic = broker.group, broker.topic
    one, two = broker.client, broker.again()
    broker.transaction()
    wish = {"protocols": {"range": asks.subscription(topic)}}
    first = one.ask(asks.join("", group, **wish), 5)
    yield "join", (first.error_code, bool(first.member_id))
    me = first.member_id
    joined = one.ask(asks.join(me, group, **wish), 5)
    yield "joined", _joined(joined)
    mine = asks.assignment({topic: [0, 1]})
    synced = one.ask(asks.sync(me, 1, {me: mine}, group), 5)
    yield "synced", (synced.error_code, synced.protocol_name, bytes(synced.assignment))
    yield (
        "heartbeats",
        [one.ask(asks.heartbeat(*who, group), 4).error_code for who in ((me, 1), (me, 2), ("x", 1))],
    )
    yield "described", _described(one.ask(asks.describe(group), 5))
    for member, generation in ((me, 1), (me, 0), ("x", 1), ("", -1), (me, -1)):
        answer = one.ask(asks.commit({topic: {0: 5}}, member, generation, group), 7)
        yield f"commit {member == me} {generation}", _codes(answer)
    yield "wrong protocol", two.ask(asks.join("", group, protocols={"other": b""}), 5).error_code
    yield "wrong kind", two.ask(asks.join("", group, kind="connect", **wish), 5).error_code
    second = two.ask(asks.join("", group, **wish), 5).member_id
    two.send(asks.join(second, group, **wish), 5)
    until(lambda: one.ask(asks.heartbeat(me, 1, group), 4).error_code)
    yield "rebalancing", one.ask(asks.heartbeat(me, 1, group), 4).error_code
    yield "described", _described(one.ask(asks.describe(group), 5))
    yield "commit meanwhile", _codes(one.ask(asks.commit({topic: {0: 6}}, me, 1, group), 7))
    yield "first again", _joined(one.ask(asks.join(me, group, **wish), 5))
    yield "second", _joined(two.receive())
    two.send(asks.sync(second, 2, {}, group), 5)
    halves = {me: asks.assignment({topic: [0]}), second: asks.assignment({topic: [1]})}
    yield (
        "halves",
        [bytes(a.assignment) for a in (one.ask(asks.sync(me, 2, halves, group), 5), two.receive())],
    )
    yield "old generation", one.ask(asks.heartbeat(me, 1, group), 4).error_code
    yield "delete", [r.error_code for r in one.ask(asks.delete(group), 2).results]
    yield "delete offsets", _codes(one.ask(asks.delete_offsets({topic: [0]}, group), 0))
    left = one.ask(asks.leave(me, second, "x", group=group), 4)
    yield "evicted", (left.error_code, sorted(m.error_code for m in left.members))
    yield (
        "afterwards",
        [
            two.ask(asks.heartbeat(second, 2, group), 4).error_code,
            _codes(two.ask(asks.commit({topic: {0: 1}}, second, 2, group), 7)),
            _described(one.ask(asks.describe(group), 5)),
            _positions(broker),
        ],
    )
    two.close()


def new_members(broker):
    """One member of the new protocol (KIP-848), and a stranger."""
    group, topic, ask = broker.group, broker.topic, broker.client.ask
    broker.transaction()

    def beat(member, epoch, **more):
        answer = ask(asks.consumer_heartbeat(member, epoch, group, **more), 1)
        return answer.error_code, answer.member_epoch

    me = "AAAAAAAAAAAAAAAAAAAAAA"
    yield "unknown", beat(me, 1)
    yield "no topics", ask(asks.consumer_heartbeat(me, 0, group), 1).error_code
    joined = ask(asks.consumer_join(me, topic, group=group), 1)
    yield "joined", (joined.error_code, joined.member_id == me, joined.member_epoch)
    until(lambda: (a := ask(asks.consumer_heartbeat(me, joined.member_epoch, group), 1)) and (
        a.error_code or (a.assignment or joined.assignment).topic_partitions
    ))  # fmt: skip
    yield "wrong epoch", beat(me, 77)
    yield (
        "strangers commit",
        [_codes(ask(asks.commit({topic: {0: 1}}, *who, group), 9)) for who in (("", -1), (me, 77), ("x", 1))],
    )
    yield "as a classic member", _codes(ask(asks.commit({topic: {0: 1}}, me, 1, group), 7))
    yield "describe as classic", [_described(ask(asks.describe(group), v)) for v in (5, 6)]
    yield "classic heartbeat", ask(asks.heartbeat(me, 1, group), 4).error_code
    yield "delete", [r.error_code for r in ask(asks.delete(group), 2).results]
    yield "evicted", beat(me, -1)
    yield "gone", beat(me, 1)
    yield "empty", _codes(ask(asks.commit({topic: {0: 1}}, group=group), 9))


def _joined(answer):
    leads = answer.leader == answer.member_id
    return answer.error_code, answer.generation_id, answer.protocol_name, leads, len(answer.members)


def _described(answer):
    row = answer.groups[0]
    return row.error_code, row.group_state, row.protocol_type, row.protocol_data, len(row.members)
