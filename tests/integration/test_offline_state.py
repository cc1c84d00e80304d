"""Every command that reads, on a cluster that runs and on the log directories that it leaves when it is killed: the same
answers.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position

from kcli.core.admin.admin import Admin
from kcli.core.options import ClientOptions
from kcli.core.types import OffsetAndMetadata, TopicPartition, TopicSpec
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
RECORD = r"%t %p %o %k %v %T\n"
LATER = frozenset(
    ("at", "type", "age_seconds", "lag_seconds", "idle_seconds", "epoch", "assignor", "high_watermark", "ends_at", "roles",
     "verdict", "note", "rate", "coordinator_epoch", "warnings", "documentation", "milliseconds", "since_seconds")
)  # fmt: skip
"""What changes with time, or is kept by a process only: the type of a configuration, an assignor that is the default."""


def document(done: Done) -> Any:
    found: dict[str, Any] = json.loads(done.out)
    return without(found, LATER)


def without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: without(one, names) for key, one in value.items() if key not in names}
    return [without(one, names) for one in value] if isinstance(value, list) else value


@contextmanager
def left_by(kafka: Kafka) -> Iterator[list[str]]:
    """Kills all nodes at once; the log directories of each."""
    assert kafka.sandbox is not None
    state = read_state(kafka.sandbox.home)
    assert state is not None
    paths = [path for node in state.nodes for path in log_dirs(state, node.node_id)]
    kafka.sandbox.down(grace=0)
    yield [str(path) for path in paths]


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
    """Topics that were made, changed and made again, groups of all kinds, transactions that ended and one that did not."""
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


@pytest.mark.xdist_group("offline_state")
def test_a_dead_cluster_answers_as_it_did_before(pytestconfig: pytest.Config) -> None:
    version = version_of(pytestconfig)
    if version != "unknown" and uses_zookeeper(version):
        pytest.skip(f"Kafka {version} has no metadata log")
    with sandboxed(
        version=version, brokers=3, log_dirs=2, ephemeral=False, extra=PROPERTIES, jvm_options=QUICK_JVM
    ) as kafka:
        lines = READ
        with Admin(ClientOptions(bootstrap_servers=kafka.bootstrap, allow_plaintext_secrets=True)) as admin:
            set_state(admin, random_state(Random(7)))
            producers = give_records_and_groups(kafka, admin)
            if release(kafka) >= (4, 0):
                consumed(kafka, "modern", ["orders", "refunds"], 600, **{"group.protocol": "consumer"})
                lines = (*lines, "groups describe modern")
            if release(kafka) >= (4, 2):
                words = (
                    "groups",
                    "create",
                    "work",
                    "--type",
                    "share",
                    "-t",
                    "orders",
                    "--from",
                    "earliest",
                    "--yes",
                )
                assert kcli(*words, bootstrap=kafka.bootstrap).code == 0
                lines = (*lines, "groups describe work")
            state = current(admin)
            before = read_all(lines, bootstrap=kafka.bootstrap)
            export = kcli("export", bootstrap=kafka.bootstrap)
            records = kcli(
                "consume",
                "refunds",
                "orders",
                "--from-beginning",
                "--exit",
                "-f",
                RECORD,
                bootstrap=kafka.bootstrap,
            )
        with left_by(kafka) as paths:
            del producers
            there = from_dirs(paths)
            after = read_all(lines, *there)
            for line in lines:
                assert after[line] == before[line], line
            assert kcli("export", *there).out == export.out
            again = kcli("consume", "refunds", "orders", "--from-beginning", "--exit", "-f", RECORD, *there)
            assert sorted(again.out.splitlines()) == sorted(records.out.splitlines())
            with Admin(ClientOptions(log_dirs=tuple(paths))) as admin:
                assert current(admin) == state
            # What one broker's disks do not have is missing, and not empty.
            one = paths[:2]
            listed = kcli("groups", "list", "-o", "json", *from_dirs(one))
            assert listed.code == 6, listed.err
            assert not json.loads(listed.out)["complete"]
