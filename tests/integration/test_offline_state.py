"""Every command that reads, on a cluster that runs and on the log directories that it leaves when it is killed: the same
answers.
"""

import json
import time
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position

from kcli.core.admin.admin import Admin
from kcli.core.options import ClientOptions
from kcli.core.types import OffsetAndMetadata, TopicPartition, TopicSpec
from kcli.flows.resources.resource import Kind
from kcli.sandbox.config import uses_zookeeper
from kcli.sandbox.state import log_dirs, read_state
from tests.integration.cluster_states import current, random_state, set_state
from tests.integration.test_access_commands import AUTHORIZER
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed, version_of
from tests.run import Done, kcli

pytestmark = pytest.mark.integration

PROPERTIES = {
    **TEST_PROPERTIES,
    **AUTHORIZER,
    "delegation.token.secret.key": "not a secret",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "3",
}

READ = (
    "topics list --internal",
    "topics describe orders refunds again",
    "topics offsets orders refunds again",
    "groups list",
    "groups describe billing audit etl",
    "groups lag",
    "configs describe topics orders refunds again",
    "configs describe brokers default",
    "acls list",
    "users list",
    "quotas list",
    "txn list",
    "txn describe committed",
    "txn describe aborted",
    "txn describe open",
    "features list",
    "brokers list",
)
"""The commands whose documents have to be equal, but for ``LATER``."""
SHARE_GROUP = "groups create work --type share -t orders --from earliest --yes"
CONSUME = "consume refunds orders --from-beginning --exit"
RECORD = r"%t %p %o %k %v %T\n"
LATER = frozenset(
    ("age_seconds", "assignment_epoch", "assignor", "at", "ends_at", "epoch", "idle_seconds", "lag_seconds", "note",
     "roles", "type", "verdict", "warnings")
)  # fmt: skip
"""What changes with time, or was never stored: the type of a configuration, the assignor by default, an epoch of a share
group that nobody has joined.
"""


def document(done: Done) -> Any:
    found: dict[str, Any] = json.loads(done.out)
    return without(found, LATER)


def without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        if "broker" in value:
            names |= {"state"}  # nobody has asked the brokers of log directories
        return {key: without(one, names) for key, one in value.items() if key not in names}
    if isinstance(value, list):
        return sorted((without(one, names) for one in value), key=json.dumps)  # those of sets have no order
    return value


def left_by(kafka: Kafka) -> list[str]:
    """Kills all nodes at once; their log directories, those of the first node first."""
    assert kafka.sandbox is not None
    state = read_state(kafka.sandbox.home)
    assert state is not None
    paths = [path for node in state.nodes for path in log_dirs(state, node.node_id)]
    kafka.sandbox.down(grace=0)
    return [str(path) for path in paths]


def from_dirs(paths: list[str]) -> tuple[str, str]:
    return "-X", f"log.dirs={','.join(paths)}"


def consumed(kafka: Kafka, group: str, topics: list[str], count: int, **options: str) -> None:
    """As a consumer group that commits and leaves."""
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": group, "auto.offset.reset": "earliest",
         "enable.auto.commit": False, **options}
    )  # fmt: skip
    consumer.subscribe(topics)
    read = 0
    while read < count:
        read += len(consumer.consume(50, 120))
    consumer.commit(asynchronous=False)
    consumer.close()


def in_transaction(kafka: Kafka, name: str, group: str, offsets: list[Position]) -> Producer:
    """A transaction that has written to refunds and committed offsets, and is open."""
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": name, "transaction.timeout.ms": 900_000}
    )
    producer.init_transactions(120)
    producer.begin_transaction()
    for number in range(10):
        producer.produce("refunds", b"%d" % number, partition=number % 2)
    producer.flush(120)
    reader = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 120)
    reader.close()
    return producer


def give_records_and_groups(kafka: Kafka, admin: Admin) -> list[Producer]:
    """Topics, one of them made again; groups, one deleted; transactions: one committed, one aborted, one open."""
    made = admin.create_topics(
        [
            TopicSpec("orders", 3, kafka.brokers, {"retention.ms": "-1", "cleanup.policy": "compact"}),
            TopicSpec("refunds", 2, 1, {"max.message.bytes": "2000000"}),
            TopicSpec("again", 1, 1, {"retention.ms": "-1"}),
        ]
    )
    assert not any(made.values()), made
    assert not any(admin.delete_topics(["again"]).values())
    until = time.monotonic() + 120
    while any(admin.create_topics([TopicSpec("again", 2, 1)]).values()):
        assert time.monotonic() < until, "the topic of that name is not gone"
        time.sleep(0.1)
    records = b"".join(b"k%d:v%d\n" % (number, number) for number in range(300))
    assert kcli("produce", "orders", "-K", ":", bootstrap=kafka.bootstrap, stdin=records).code == 0
    assert kcli("produce", "refunds", bootstrap=kafka.bootstrap, stdin=records).code == 0
    consumed(kafka, "billing", ["orders", "refunds"], 600)
    place = TopicPartition("orders", 1)
    admin.commit_offsets(
        {"audit": {place: OffsetAndMetadata(7, "by hand", 0)}, "dropped": {place: OffsetAndMetadata(7)}}
    )
    assert not any(admin.delete_groups(["dropped"]).values())
    in_transaction(
        kafka, "committed", "etl", [Position("orders", 0, 5), Position("orders", 1, 6)]
    ).commit_transaction(120)
    in_transaction(kafka, "aborted", "etl", [Position("orders", 0, 50)]).abort_transaction(120)
    return [in_transaction(kafka, "open", "etl", [Position("orders", 1, 77)])]


def release(kafka: Kafka) -> tuple[int, ...]:
    """Its first two numbers; those of a cluster that does not say are the newest."""
    found = tuple(int(part) for part in kafka.version.split(".")[:2] if part.isdecimal())
    return found or (99, 0)


def read_all(lines: tuple[str, ...], *more: str, bootstrap: str = "") -> dict[str, Any]:
    found = {}
    for line in lines:
        done = kcli(*line.split(), "-o", "json", *more, bootstrap=bootstrap)
        assert done.code == 0, f"{line}\n{done.out}\n{done.err}"
        found[line] = document(done)
    return found


def test_a_dead_cluster_answers_as_it_did_before(pytestconfig: pytest.Config) -> None:
    version = version_of(pytestconfig)
    if version != "unknown" and uses_zookeeper(version):
        pytest.skip(f"Kafka {version} has no metadata log")
    settings = {"version": version, "brokers": 3, "log_dirs": 2, "ephemeral": False}
    with sandboxed(**settings, extra=PROPERTIES, jvm_options=QUICK_JVM) as kafka:
        lines = READ
        with Admin(ClientOptions(bootstrap_servers=kafka.bootstrap, allow_plaintext_secrets=True)) as admin:
            wanted = random_state(Random(7))
            if release(kafka) < (4, 0):
                wanted = {ref: spec for ref, spec in wanted.items() if ref.kind is not Kind.GROUP_CONFIG}
            set_state(admin, wanted)
            producers = give_records_and_groups(kafka, admin)
            if release(kafka) >= (4, 0):
                consumed(kafka, "modern", ["orders", "refunds"], 600, **{"group.protocol": "consumer"})
                lines = (*lines, "groups describe modern")
            if release(kafka) >= (4, 2):
                made = kcli(*SHARE_GROUP.split(), bootstrap=kafka.bootstrap)
                assert made.code == 0, made.err
                lines = (*lines, "groups describe work")
            state = current(admin)
        before = read_all(lines, bootstrap=kafka.bootstrap)
        export = kcli("export", bootstrap=kafka.bootstrap)
        records = kcli(*CONSUME.split(), "-f", RECORD, bootstrap=kafka.bootstrap)
        paths = left_by(kafka)
        del producers
        there = from_dirs(paths)
        after = read_all(lines, *there)
        for line in lines:
            assert after[line] == before[line], line
        assert kcli("export", *there).out == export.out
        again = kcli(*CONSUME.split(), "-f", RECORD, *there)
        assert sorted(again.out.splitlines()) == sorted(records.out.splitlines())
        with Admin(ClientOptions(log_dirs=",".join(paths))) as admin:
            assert current(admin) == state
        # What the disks of one broker do not have is missing, and not empty.
        listed = kcli("groups", "list", "-o", "json", *from_dirs(paths[:2]))
        assert listed.code == 6, listed.err
        assert not json.loads(listed.out)["complete"]
