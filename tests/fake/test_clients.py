"""Clients that know nothing of the fake produce to it and read from it: kcat, librdkafka, kafka-python, kcli's own."""

import shutil
import subprocess
import time

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kcli.core import Admin, Consumer, Producer
from kcli.core.consumer.subscription import Span
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import ProducerRecord, TopicPartition, TopicSpec
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
VALUES = [b"v%d" % number * 20 for number in range(200)]  # worth compressing, alone too


@pytest.fixture
def cluster():
    with FakeCluster(3, topics={"t": 3}) as made:
        yield made


def rdkafka(cluster, **options):
    named = {key.replace("_", "."): value for key, value in options.items()}
    return confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, **named})


def read_rdkafka(cluster, partition=0, isolation="read_uncommitted", count=10**9):
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "check.crcs": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition("t", partition, confluent_kafka.OFFSET_BEGINNING)])
    found = []
    try:
        while (message := consumer.poll(10)) is not None and len(found) < count:
            if message.error():
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
                break
            found.append(message.value())
    finally:
        consumer.close()
    return found


@pytest.mark.skipif(not shutil.which("kcat"), reason="kcat is not installed")
@pytest.mark.parametrize("codec", CODECS)
def test_kcat(cluster, codec):
    base = ["kcat", "-b", cluster.bootstrap, "-t", "t", "-p", "1"]
    subprocess.run([*base, "-P", "-z", codec], input=b"\n".join(VALUES), check=True, timeout=120)
    assert cluster.log("t", 1).values() == VALUES
    assert {b.codec for b in cluster.log("t", 1).batches} == {CODECS.index(codec)}
    read = subprocess.run([*base, "-C", "-e", "-q"], capture_output=True, check=True, timeout=120)
    assert read.stdout.split() == VALUES


@pytest.mark.skipif(not shutil.which("kcat"), reason="kcat is not installed")
def test_kcat_in_a_group(cluster):
    """It shares the group with a second client: each record is read by one of them."""
    quick = ["-X", "auto.offset.reset=earliest", "-X", "heartbeat.interval.ms=100"]
    command = ["kcat", "-b", cluster.bootstrap, "-q", "-u", "-f", "%s\n", *quick, "-G", "g", "t"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as kcat:
        assert kcat.stdout is not None
        try:
            cluster.wait_until(lambda: shares(cluster) == [3], 10)
            other = in_group(cluster, "g", heartbeat_interval_ms=100)
            give_up = time.monotonic() + 120
            while not (shares(cluster) == [1, 2] and other.assignment()) and time.monotonic() < give_up:
                assert other.poll(0.1) is None  # the cluster knows its share before it does
            mine = [one.partition for one in other.assignment()]
            assert mine
            for partition in range(3):
                cluster.append("t", partition, batch(b"%d" % partition))
            assert {other.poll(10).value() for _ in mine} == {b"%d" % partition for partition in mine}
            theirs = {kcat.stdout.readline().strip() for _ in range(3 - len(mine))}
            assert theirs == {b"0", b"1", b"2"} - {b"%d" % partition for partition in mine}
            other.close()
            cluster.wait_until(lambda: shares(cluster) == [3], 10)
            reread = {kcat.stdout.readline().strip() for _ in mine}
            assert reread == {b"%d" % partition for partition in mine}, "it had not been committed"
        finally:
            kcat.terminate()
    assert cluster.group_state("g") == "Empty"


def shares(cluster):
    """How many partitions each member has, from few to many."""
    return sorted(len(member.partitions) for member in cluster.group_members("g").values())


@pytest.mark.parametrize("idempotent", [True, False])
def test_librdkafka(cluster, idempotent):
    producer = rdkafka(cluster, enable_idempotence=idempotent, compression_type="zstd")
    for value in VALUES:
        producer.produce("t", value, partition=0, headers={"h": b"1"})
    assert producer.flush(10) == 0
    assert cluster.log("t").values() == VALUES
    assert (cluster.log("t").batches[0].producer_id >= 0) is idempotent
    assert read_rdkafka(cluster) == VALUES


def test_librdkafka_resends_what_was_swallowed_without_a_duplicate(cluster):
    cluster.swallow(ProduceRequest, "reset")
    producer = rdkafka(cluster, enable_idempotence=True, retry_backoff_ms=10, reconnect_backoff_ms=10)
    for value in VALUES:
        producer.produce("t", value, partition=0)
    assert producer.flush(15) == 0
    assert cluster.log("t").values() == VALUES
    sent = [b.base_sequence for s in cluster.seen(ProduceRequest) for b in s.batches()]
    assert sent.count(0) == 2


def test_librdkafka_follows_a_moved_leader(cluster):
    producer = rdkafka(cluster, enable_idempotence=True, retry_backoff_ms=10)
    producer.produce("t", b"one", partition=0)
    assert producer.flush(10) == 0
    cluster.move_leader("t", 0, 3)
    producer.produce("t", b"two", partition=0)
    assert producer.flush(10) == 0
    assert [b.leader_epoch for b in cluster.log("t").batches] == [0, 1]
    assert read_rdkafka(cluster) == [b"one", b"two"]


def test_librdkafka_transactions(cluster):
    producer = rdkafka(cluster, transactional_id="rd")
    producer.init_transactions(10)
    for number in range(4):
        producer.begin_transaction()
        producer.produce("t", b"%d" % number, partition=0)
        producer.flush(10)
        if number % 2:
            producer.abort_transaction(10)
        else:
            producer.commit_transaction(10)
    log = cluster.log("t")
    assert [m[3] for m in log.markers()] == [True, False, True, False]
    assert log.values(committed=True) == [b"0", b"2"]
    assert read_rdkafka(cluster, isolation="read_committed") == [b"0", b"2"]
    assert len(read_rdkafka(cluster)) == 4


def in_group(cluster, group, **options):
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **{key.replace("_", "."): value for key, value in options.items()},
        }
    )
    consumer.subscribe(["t"])
    return consumer


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_group(cluster, protocol):
    for partition in range(3):
        cluster.append("t", partition, batch(b"%d" % partition))
    consumer = in_group(cluster, "g", group_protocol=protocol)
    found = {consumer.poll(10).value() for _ in range(3)}
    assert found == {b"0", b"1", b"2"}
    consumer.commit(asynchronous=False)
    assert cluster.committed_offsets("g") == {TopicPartition("t", p): 1 for p in range(3)}
    assert cluster.group_state("g") == "Stable"
    (member,) = cluster.group_members("g").values()
    assert (member.client_id, len(member.partitions)) == ("rdkafka", 3)
    consumer.close()
    assert cluster.group_state("g") == "Empty"


def test_librdkafka_commits_offsets_in_a_transaction(cluster):
    cluster.append("t", 0, batch(b"in"))
    consumer = in_group(cluster, "g")
    assert consumer.poll(10).value() == b"in"
    producer = rdkafka(cluster, transactional_id="rd")
    producer.init_transactions(10)
    for commit, offset in ((False, 5), (True, 1)):
        producer.begin_transaction()
        producer.produce("t", b"out", partition=1)
        position = confluent_kafka.TopicPartition("t", 0, offset)
        producer.send_offsets_to_transaction([position], consumer.consumer_group_metadata(), 10)
        assert cluster.committed_offsets("g") == {}
        (producer.commit_transaction if commit else producer.abort_transaction)(10)
    assert cluster.committed_offsets("g") == {TopicPartition("t", 0): 1}
    assert cluster.log("t", 1).values(committed=True) == [b"out"]
    consumer.close()


def test_the_coordinator_of_a_group_moves_with_its_state(cluster):
    consumer = in_group(cluster, "g", session_timeout_ms=6000, heartbeat_interval_ms=100)
    cluster.append("t", 0, batch(b"one"))
    assert consumer.poll(10).value() == b"one"
    old = cluster.coordinator("group", "g")
    cluster.move_coordinator("group", "g", old % 3 + 1)
    consumer.commit(asynchronous=False)
    assert cluster.committed_offsets("g") == {TopicPartition("t", 0): 1}
    assert cluster.group_generation("g") == 1
    consumer.close()


def test_librdkafka_is_fenced(cluster):
    first, second = rdkafka(cluster, transactional_id="one"), rdkafka(cluster, transactional_id="one")
    first.init_transactions(10)
    first.begin_transaction()
    first.produce("t", b"zombie", partition=0)
    first.flush(10)
    second.init_transactions(10)
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        first.commit_transaction(10)
    assert raised.value.args[0].code() == confluent_kafka.KafkaError._FENCED
    assert cluster.log("t").values(committed=True) == []


def test_librdkafka_admin(cluster):
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic("made", 4, 2)])["made"].result(120)
    assert len(cluster.transactions) == 0
    assert len(admin.list_topics("made", 10).topics["made"].partitions) == 4
    admin.delete_topics(["made"])["made"].result(120)
    assert "made" not in admin.list_topics(timeout=10).topics


def test_kafka_python(cluster):
    import kafka  # takes half a second, in each process that only reads this file

    producer = kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap, compression_type="gzip")
    sent = [producer.send("t", value, partition=0) for value in VALUES]
    producer.flush(10)
    assert [future.get(1).offset for future in sent] == list(range(len(VALUES)))
    producer.close()
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=5000
    )
    consumer.assign([kafka.TopicPartition("t", 0)])
    read = [next(consumer).value for _ in VALUES]
    consumer.close()
    assert read == VALUES


def test_kafka_python_group(cluster):
    import kafka  # takes half a second, in each process that only reads this file

    cluster.append("t", 0, batch(b"one"))
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=cluster.bootstrap, group_id="g", auto_offset_reset="earliest"
    )
    consumer.partitions_for_topic("t")  # before it leads: it may keep an empty assignment otherwise (3.0.12)
    consumer.subscribe(["t"])
    assert next(consumer).value == b"one"
    consumer.commit()
    consumer.close()
    assert cluster.committed_offsets("g")[TopicPartition("t", 0)] == 1


def kcli_values(cluster, partition=0, **options):
    with Consumer(bootstrap_servers=cluster.bootstrap, **options) as consumer:
        tp = TopicPartition("t", partition)
        end = cluster.log("t", partition).end_offset
        consumer.assign({tp: Span(0, end)})
        found = []
        while not consumer.done:
            found += [r.value for r in consumer.records(5)]
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_kcli(cluster, codec):
    with Producer(bootstrap_servers=cluster.bootstrap, compression_type=codec) as producer:
        futures = [producer.send(ProducerRecord("t", value, partition=0)) for value in VALUES]
        assert [f.result(120).offset for f in futures] == list(range(len(VALUES)))
    assert {s.version for s in cluster.seen(ProduceRequest)} == {13}
    assert kcli_values(cluster) == VALUES


def test_kcli_retries_under_the_same_sequence(cluster):
    cluster.fail(ProduceRequest, Code.NOT_LEADER_OR_FOLLOWER)
    cluster.swallow(ProduceRequest, "reset", nth=2)
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        producer.send(ProducerRecord("t", b"x", partition=0)).result(120)
    assert cluster.log("t").values() == [b"x"]
    sent = [b for s in cluster.seen(ProduceRequest) for b in s.batches()]
    assert len(sent) == 3
    assert {(b.producer_id, b.producer_epoch, b.base_sequence) for b in sent} == {(sent[0].producer_id, 0, 0)}


def test_kcli_reads_committed_only(cluster):
    producer = rdkafka(cluster, transactional_id="rd")
    producer.init_transactions(10)
    for number in range(2):
        producer.begin_transaction()
        producer.produce("t", b"%d" % number, partition=0)
        producer.flush(10)
        (producer.abort_transaction, producer.commit_transaction)[number](10)
    assert kcli_values(cluster, isolation_level="read_committed") == [b"1"]


def test_kcli_reads_with_sessions_and_cut_batches():
    with FakeCluster(2, topics={"t": 1}, fetch_sessions=True) as cluster:
        for number in range(50):
            cluster.append("t", 0, batch(b"%d" % number * 500))
        assert len(kcli_values(cluster, max_partition_fetch_bytes=2000)) == 50
        assert len(cluster.seen(FetchRequest)) > 5


def test_kcli_admin(cluster):
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.create_topics([TopicSpec("made", partitions=2, configs={"retention.ms": "5"})])
        assert {t.name for t in admin.list_topics()} == {"t", "made"}
        configs = admin.describe_topic_configs(["made"])["made"]
        assert {c.name: c.value for c in configs}["retention.ms"] == "5"
        admin.delete_topics(["made"])
    assert cluster.wait_until(lambda: True)
