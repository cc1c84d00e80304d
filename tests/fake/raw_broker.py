"""One broker, fake or real, asked by hand over one connection: scenarios compare what these methods return."""

import time
from dataclasses import dataclass

from kcli.core.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kcli.core.records.batch import split_batches
from tests.fake.raw_client import RawClient, produce_request
from tests.fake.raw_transaction import RawTransaction

_LATER = (5, 14, 15, 16, 51)
"""Codes that a real broker gives while it gets something ready."""


@dataclass
class RawBroker:
    """One of the two, with names that are its own."""

    client: RawClient
    topic: str
    group: str = ""
    txn: str = ""

    def again(self):
        """Another connection to the same broker."""
        return RawClient(self.client.address, timeout=30)

    def create(self, name, partitions=2, **configs):
        rows = [CreatableTopicConfig(name=k.replace("_", "."), value=v) for k, v in configs.items()]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=rows
        )
        code = self.client.ask(CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code
        for partition in range(partitions):  # a leader takes a moment
            until(lambda partition=partition: not self.find(-1, topic=name, partition=partition)[0])
        return code

    def metadata(self, name):
        ask = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        return self.client.ask(ask, 12).topics[0]

    def produce(self, raw, *, version=12, acks=-1, topic=None, **options):
        ask = produce_request(topic or self.topic, {0: raw}, acks=acks, **options)
        row = self.client.ask(ask, version).responses[0].partition_responses[0]
        return row.error_code, row.base_offset

    def fetch(self, offset, *, version=12, committed=0, max_bytes=1 << 20, **fields):
        part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes, **fields)
        ask = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            isolation_level=committed,
            topics=[FetchTopic(topic=self.topic, partitions=[part])],
        )
        row = self.client.ask(ask, version).responses[0].partitions[0]
        batches = [(b.base_offset, b.count, b.attributes) for b in split_batches(row.records)]
        aborted = row.aborted_transactions
        return {
            "code": row.error_code,
            "high": row.high_watermark,
            "stable": row.last_stable_offset,
            "start": row.log_start_offset,
            "diverging": (row.diverging_epoch.epoch, row.diverging_epoch.end_offset),
            "batches": batches,
            "bytes": len(row.records),
            "aborted": aborted if aborted is None else [a.first_offset for a in aborted],
        }

    def find(self, timestamp, *, version=11, committed=0, topic=None, partition=0, **fields):
        part = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, **fields)
        topics = [ListOffsetsTopic(name=topic or self.topic, partitions=[part])]
        ask = ListOffsetsRequest(replica_id=-1, isolation_level=committed, topics=topics)
        row = self.client.ask(ask, version).topics[0].partitions[0]
        return row.error_code, row.timestamp, row.offset, row.leader_epoch

    def transaction(self, **options):
        """A transactional producer whose coordinator is ready."""
        found = RawTransaction(self.client, self.txn, topic=self.topic, group=self.group, **options)
        for kind, key in ((1, self.txn), (0, self.group)):
            ask = FindCoordinatorRequest(key=key, key_type=kind)
            until(lambda ask=ask: not self.client.ask(ask, 3).error_code)
        return found

    def settled(self):
        """Returns when no transaction is open on the partition: markers come a little after EndTxn."""
        until(lambda: self.find(-1, committed=1) == self.find(-1))


def until(condition):
    """Asks again until it is true."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def ready(ask):
    """The first code that is not about something being made ready."""
    code = []
    until(lambda: code.append(ask()) or code[-1] not in _LATER)
    return code[-1]
