"""What an administrator asks, by hand, told step by step. Run on the fake and on Kafka."""

import time

from kcli.core.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kcli.core.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
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
from kcli.core.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kcli.core.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kcli.core.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kcli.core.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
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


def replicas(broker):
    def move(replicas, topic=None, partition=0):
        row = ReassignableTopic(
            name=topic or broker.topic,
            partitions=[ReassignablePartition(partition_index=partition, replicas=replicas)],
        )
        answer = broker.client.ask(AlterPartitionReassignmentsRequest(timeout_ms=5000, topics=[row]), 0)
        rows = [r for topic in answer.responses for r in topic.partitions]
        return answer.error_code, [(r.partition_index, r.error_code, r.error_message) for r in rows]

    def listed(partition=0):
        topic = ListPartitionReassignmentsTopics(name=broker.topic, partition_indexes=[partition])
        answer = broker.client.ask(ListPartitionReassignmentsRequest(timeout_ms=5000, topics=[topic]), 0)
        return answer.error_code, len(answer.topics)

    def elect(kind, topic=None, partition=0):
        row = TopicPartitions(topic=topic or broker.topic, partitions=[partition])
        ask = ElectLeadersRequest(election_type=kind, topic_partitions=[row], timeout_ms=5000)
        answer = broker.client.ask(ask, 2)
        rows = [r for topic in answer.replica_election_results for r in topic.partition_result]
        return answer.error_code, [(r.partition_id, r.error_code) for r in rows]

    yield "as it is", move([1])
    yield "nobody", move([])[1][0][1]
    yield "twice", move([1, 1])[1][0][1]
    yield "no such broker", move([77])[1][0][1]
    yield "unknown topic", move([1], topic="no-such-topic")[1][0][1]
    yield "unknown partition", move([1], partition=7)[1][0][1]
    yield "nothing to cancel", move(None)[1][0][1]
    yield "listed", (listed(), listed(7))
    yield "elections", (elect(0), elect(1))
    yield "elections of what is not", (elect(0, "no-such-topic"), elect(0, partition=7))


def throttles(broker):
    def alter(kind, name, *changes):
        rows = [AlterableConfig(name=n, config_operation=op, value=value) for n, op, value in changes]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=rows)
        (row,) = broker.client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
        return row.error_code

    def found(kind, name, key):
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        (row,) = broker.client.ask(DescribeConfigsRequest(resources=[resource]), 4).results
        return [
            (c.value, c.config_source, c.config_type, c.is_sensitive) for c in row.configs if c.name == key
        ]

    rate, replicas = "leader.replication.throttled.rate", "leader.replication.throttled.replicas"
    yield "no rate", found(4, "1", rate)
    yield "rate", alter(4, "1", (rate, 0, "1000"))
    yield "then", until(lambda: found(4, "1", rate))
    yield "no rate again", (alter(4, "1", (rate, 1, None)), until(lambda: not found(4, "1", rate)))
    yield "no replicas", found(_TOPIC, broker.topic, replicas)
    for op, value in ((2, "0:1,0:2"), (2, "1:1"), (3, "0:1"), (3, "0:2,1:1"), (1, None)):
        yield f"replicas {op} {value}", alter(_TOPIC, broker.topic, (replicas, op, value))
        time.sleep(0.2)
        yield "now", found(_TOPIC, broker.topic, replicas)
    yield "all of them", alter(_TOPIC, broker.topic, (replicas, 0, "*"))


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


def users(broker):
    name = broker.topic

    def alter(*changes):
        """(mechanism, iterations) or (mechanism, None) to delete."""
        upserts = [
            ScramCredentialUpsertion(
                name=name, mechanism=mechanism, iterations=number, salt=b"s" * 16, salted_password=b"p" * 64
            )
            for mechanism, number in changes
            if number is not None
        ]
        deletions = [
            ScramCredentialDeletion(name=name, mechanism=m) for m, number in changes if number is None
        ]
        ask = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upserts)
        return [
            (row.user == name, row.error_code, row.error_message) for row in broker.client.ask(ask, 0).results
        ]

    def found(*names):
        ask = DescribeUserScramCredentialsRequest(users=[UserName(name=one) for one in names])
        answer = broker.client.ask(ask, 0)
        return answer.error_code, [
            (row.error_code, sorted((i.mechanism, i.iterations) for i in row.credential_infos))
            for row in answer.results  # a real broker's order of mechanisms changes with its process
        ]

    yield "unknown", found(name)
    yield "nothing to delete", alter((1, None))
    for mechanism, number in ((1, 4095), (1, 16385), (3, 4096), (0, 4096), (2, 4096), (1, 8192), (1, 4096)):
        yield f"set {mechanism} {number}", alter((mechanism, number))
    yield "then", until(lambda: found(name)[1] == [(0, [(1, 4096), (2, 4096)])])
    yield "two of a user", alter((1, 5000), (2, 5000))
    yield "set and delete", alter((1, 5000), (2, None))
    yield "twice", found(name, name)
    yield "delete", alter((2, None))
    yield "left", until(lambda: found(name)[1] == [(0, [(1, 4096)])])
    name = ""
    yield "no name", [row[:2] for row in alter((1, 4096))]
