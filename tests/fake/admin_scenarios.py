"""What an administrator asks, by hand, told step by step. Run on the fake and on Kafka."""

import time

from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kcli.core.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kcli.core.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kcli.core.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcli.core.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from tests.fake.raw_broker import ready, until
from tests.fake.raw_client import batch

_TOPIC, _GROUP = 2, 32


def records(broker):
    def delete(before, topic=None, partition=0):
        part = DeleteRecordsPartition(partition_index=partition, offset=before)
        rows = [DeleteRecordsTopic(name=topic or broker.topic, partitions=[part])]
        for version in (0, 2):
            ask = DeleteRecordsRequest(topics=rows, timeout_ms=5000)
            row = broker.client.ask(ask, version).topics[0].partitions[0]
            yield row.error_code, row.low_watermark

    for _ in range(5):
        broker.produce(batch(b"x"))
    for before in (2, 2, 1, 6, -2, -1, 0):
        yield f"delete before {before}", list(delete(before))
    yield "unknown topic", list(delete(0, "no-such-topic"))
    yield "unknown partition", list(delete(0, partition=7))
    compacted = f"c{broker.topic}"
    broker.create(compacted, cleanup_policy="compact")
    yield "compacted", list(delete(0, compacted))


def partitions(broker):
    def grow(*counts, dry=False):
        rows = [CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in counts]
        ask = CreatePartitionsRequest(topics=rows, timeout_ms=5000, validate_only=dry)
        return sorted((r.name, r.error_code, r.error_message) for r in broker.client.ask(ask, 3).results)

    def told(count, dry=False):
        return [row[1:] for row in grow((broker.topic, count), dry=dry)]

    yield "check", told(4, dry=True)
    for count in (3, 3, 2, 0, -1):
        yield f"to {count}", [code for code, _ in told(count)]
    yield "the same", [text for _, text in told(3)]
    yield "unknown", [code for _, code, _ in grow(("no-such-topic", 3))]
    until(lambda: len(broker.metadata(broker.topic).partitions) == 3)
    yield "then", len(broker.metadata(broker.topic).partitions)


def configs(broker):
    def alter(*changes, name=None, kind=_TOPIC, dry=False):
        rows = [AlterableConfig(name=n, config_operation=op, value=value) for n, op, value in changes]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name or broker.topic, configs=rows)
        ask = IncrementalAlterConfigsRequest(resources=[resource], validate_only=dry)
        (row,) = broker.client.ask(ask, 1).responses
        return row.error_code

    def own(name=None, kind=_TOPIC, source=1):
        resource = DescribeConfigsResource(
            resource_type=kind, resource_name=name or broker.topic, configuration_keys=None
        )
        (row,) = broker.client.ask(DescribeConfigsRequest(resources=[resource]), 4).results
        return row.error_code, {c.name: c.value for c in row.configs if c.config_source == source}

    def becomes(expected, **which):
        try:
            until(lambda: own(**which)[1] == expected)
        except AssertionError:
            return own(**which)
        return own(**which)

    yield "at first", own()
    yield "check", (alter(("retention.ms", 0, "5"), dry=True), own())
    yield "set", (alter(("retention.ms", 0, "5")), becomes({"retention.ms": "5"}))
    both = {"retention.ms": "5", "cleanup.policy": "delete,compact"}
    yield "append", (alter(("cleanup.policy", 2, "compact")), becomes(both))
    yield "append again", (alter(("cleanup.policy", 2, "compact")), becomes(both))
    one = {"retention.ms": "5", "cleanup.policy": "compact"}
    yield "subtract", (alter(("cleanup.policy", 3, "delete")), becomes(one))
    yield "delete", (alter(("cleanup.policy", 1, None)), becomes({"retention.ms": "5"}))
    wrong = (
        ("no.such.key", 0, "1"),
        ("retention.ms", 0, "soon"),
        ("retention.ms", 2, "1"),
        ("retention.ms", 0, None),
    )
    for change in wrong:
        yield f"wrong {change}", alter(change)
    yield "one wrong of two", (alter(("segment.bytes", 0, "2000000"), wrong[0]), own())
    yield "unknown topic", (alter(("retention.ms", 0, "5"), name="no-such-topic"), own("no-such-topic"))
    yield "unknown kind", alter(("retention.ms", 0, "5"), kind=77)
    key, group = "consumer.heartbeat.interval.ms", broker.group
    yield (
        "group",
        (
            alter((key, 0, "6000"), name=group, kind=_GROUP),
            becomes({key: "6000"}, name=group, kind=_GROUP, source=8),
        ),
    )
    for name in ("1", "77", ""):
        yield f"broker {name}", own(name, kind=4, source=2)[0] if name else 0


def producers(broker):
    def known(partition=0, topic=None):
        rows = [TopicRequest(name=topic or broker.topic, partition_indexes=[partition])]
        row = broker.client.ask(DescribeProducersRequest(topics=rows), 0).topics[0].partitions[0]
        states = [
            (p.producer_epoch, p.last_sequence, p.current_txn_start_offset) for p in row.active_producers
        ]
        return row.error_code, states

    def described(name):
        ask = DescribeTransactionsRequest(transactional_ids=[name])
        (row,) = broker.client.ask(ask, 0).transaction_states
        topics = [sorted(t.partitions) for t in row.topics]
        started = row.transaction_start_time_ms
        recent = started if started <= 0 else abs(started - time.time() * 1000) < 60_000
        return row.error_code, row.transaction_state, row.producer_epoch, topics, recent

    def listed(**filters):
        answer = broker.client.ask(ListTransactionsRequest(**filters), 2)
        states = [t.transaction_state for t in answer.transaction_states if t.transactional_id == broker.txn]
        return answer.error_code, sorted(answer.unknown_state_filters), states

    yield "nobody", known()
    yield "unknown", (known(9), known(topic="no-such-topic"))
    txn = broker.transaction()
    until(lambda: described("no-such-id")[0] == 105)  # a coordinator loads for a moment
    yield "no such id", described("no-such-id")
    yield "begun", ready(txn.init)
    yield "empty", (described(broker.txn), listed())
    yield "produced", ready(lambda: txn.produce(0))
    yield "open", (known(), described(broker.txn))
    for filters in (
        {"state_filters": ["Ongoing"]},
        {"state_filters": ["Empty"]},
        {"state_filters": ["Bogus", "Ongoing"]},
        {"duration_filter": 0},
        {"duration_filter": 600_000},
        {"producer_id_filters": [-5]},
        {"transactional_id_pattern": broker.txn},
        {"transactional_id_pattern": "x"},
    ):
        yield f"listed {next(iter(filters))} {filters.get('duration_filter', '')}", listed(**filters)


def disks(broker):
    def told(topics):
        answer = broker.client.ask(DescribeLogDirsRequest(topics=topics), 4)
        rows = [t for result in answer.results for t in result.topics if t.name == broker.topic]
        return answer.error_code, [
            (p.partition_index, p.partition_size > 0, p.offset_lag, p.is_future_key)
            for t in rows
            for p in sorted(t.partitions, key=lambda p: p.partition_index)
        ]

    broker.produce(batch(b"x"))
    yield "all", told(None)
    yield "one", told([DescribableLogDirTopic(topic=broker.topic, partitions=[1])])
    yield "unknown", told([DescribableLogDirTopic(topic=broker.topic, partitions=[9])])
    yield "none", told([])
