"""What goes through a mirror: any batch that a source can have arrives with the same records, and only those."""

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import Codec, ProducerRecord, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fault.fetching import answer_with
from tests.fault.mirror_command import arguments, mirrored, stored, values
from tests.fault.mirror_records import BASE, Content, compacted, message
from tests.fault.producing import PATIENCE, quick
from tests.run import kcli_as_set_up as command

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CODECS = tuple(Codec)
ODD: list[Content] = [
    (b"k", b"v", (), 0),
    (None, b"no key", (), 3),
    (b"", b"", (("", b""), ("h", None), ("h", b"again")), 2),
    (b"tombstone", None, (("ü", b"\xff\x00"),), 1),
    (b"\x00", b"x" * 300, (), 0),
]


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 2}) as made:
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={}, cluster_id="there") as made:
        made.next_producer_id(7_000)
        yield made


def holes(cluster: FakeCluster, partition: int = 0) -> int:
    """Compacted batches of every codec, and one that compaction has emptied; how many records there are."""
    for codec in CODECS:
        kept = {delta: ODD[delta % len(ODD)] for delta in (1, 2, 5, 6)}
        cluster.append("t", partition, compacted(kept, 9, codec))
        cluster.append("t", partition, compacted({}, 4, codec))
    return 4 * len(CODECS)


def transactions(cluster: FakeCluster, count: int = 12) -> None:
    """``count`` transactions over both partitions, every third one aborted."""
    with quick(cluster, transactional_id="writer", batch_size=2_000) as producer:
        producer.init_transactions(PATIENCE)
        for number in range(count):
            producer.begin_transaction()
            for partition in (0, 1):
                for index in range(3):
                    producer.send(
                        ProducerRecord("t", b"%d.%d" % (number, index), key=b"k", partition=partition)
                    )
            producer.flush(PATIENCE)
            (producer.abort_transaction if number % 3 == 2 else producer.commit_transaction)(PATIENCE)


def batches(cluster: FakeCluster, *topics: str) -> list[Any]:
    """All batches of these topics but markers, each with a right checksum."""
    found = [b for topic in topics for number in (0, 1) for b in cluster.log(topic, number).batches]
    for one in found:
        one.verify_crc()
    return [one for one in found if not one.is_control]


@pytest.mark.case("M9", "M19")
def test_a_compacted_batch_is_written_anew(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    count = holes(source)
    source.append("t", 0, batch(*[b"dense"] * 4))
    done = mirrored(source, target, *delivery, "--verify")
    assert done.code == 0, done
    row = done.rows[T0]
    assert stored(target, "t") == stored(source, "t")
    assert (row["records"], row["to_offset"], row["lag_records"]) == (count + 4, 15 * len(CODECS) + 4, 0)
    assert row["reencoded_batches"] >= len(CODECS)
    assert all(one.count == one.last_offset_delta + 1 for one in batches(target, "t"))


@pytest.mark.case("M10", "M11", "M20")
def test_transactions_arrive_without_markers_flags_and_ids_of_the_source(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    transactions(source)
    done = mirrored(source, target, *delivery, "--verify")
    assert done.code == 0, done
    for tp in (T0, T1):
        row = done.rows[tp]
        assert values(target, *tp) == [b"%d.%d" % (n, i) for n in range(12) if n % 3 != 2 for i in range(3)]
        assert (row["records"], row["to_offset"], row["lag_records"]) == (24, 48, 0)
        assert row["dropped_control_batches"] == len(source.log(*tp).markers()) == 12
        assert b"2.0" not in target.log(*tp).values(), "an aborted record was sent"
    foreign = {one.producer_id for one in batches(source, "t")}
    for one in batches(target, "t"):
        assert one.producer_id >= 7_000
        assert one.producer_id not in foreign
        assert one.is_transactional == bool(delivery)
    status = command("mirror", "status", "--to", target.bootstrap, "-o", "json")
    assert [row["lag_records"] for row in status.rows.values()] == [0, 0]
    assert [row["position"] for row in status.rows.values()] == [48, 48]


@pytest.mark.case("M20")
def test_an_open_transaction_at_the_end_is_not_copied_and_not_the_end(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    transactions(source, 3)
    with quick(source, transactional_id="slow") as producer:
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"open", partition=0))
        producer.flush(PATIENCE)
        done = mirrored(source, target, *delivery, "--max-wait", "1s")
        assert done.code == 8, done
        assert b"open" not in target.log("t").values()
        assert (done.rows[T0]["to_offset"], done.rows[T0]["state"]) == (12, "ended")
        producer.commit_transaction(PATIENCE)
    done = mirrored(source, target, *delivery)
    assert [row["records"] for row in done.rows.values()] == [1, 0]
    assert values(target, "t")[-1] == b"open"
    status = command("mirror", "status", "--to", target.bootstrap, "-o", "json")
    assert [row["lag_records"] for row in status.rows.values()] == [0, 0]


@pytest.mark.case("M11")
def test_sources_with_the_same_producer_ids_do_not_collide(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    """Both begin with the same id, epoch and sequence number; a target that saw them would drop one as a duplicate."""
    with FakeCluster(2, topics={"t": 2}, cluster_id="other") as second:
        for cluster in (source, second):
            with quick(cluster) as producer:
                for number in range(20):
                    producer.send(ProducerRecord("t", b"%d" % number, partition=0))
                producer.flush(PATIENCE)
        assert batches(source, "t")[0].producer_id == batches(second, "t")[0].producer_id >= 0
        assert mirrored(source, target, *delivery).code == 0
        words = ["--job", "second", "--yes", *delivery]
        assert mirrored(second, target, *words).code == 0
    assert values(target, "t") == [b"%d" % number for number in range(20)] * 2
    assert all(one.producer_id >= 7_000 for one in batches(target, "t"))


@pytest.mark.case("M12")
@pytest.mark.parametrize("magic", [0, 1])
def test_records_of_old_formats_are_converted(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], magic: int
) -> None:
    content = [(b"k%d" % n, None if n == 3 else b"v%d" % n) for n in range(8)]
    source.append("t", 0, batch(*[b"."] * 8))

    def old(request: Any, row: Any) -> None:
        if row.partition_index == 0 and row.records[0]:
            row.records = [b"".join(message(n, *content[n], magic=magic) for n in range(8))]

    answer_with(source, old)
    done = mirrored(source, target, *delivery, "--verify")
    assert done.code == 0, done
    time = BASE if magic else -1
    assert stored(target, "t") == [(key, value, (), time) for key, value in content]
    assert (done.rows[T0]["records"], done.rows[T0]["to_offset"]) == (8, 8)
    assert all(one.magic == 2 for one in batches(target, "t"))


@pytest.mark.case("M12", "M17")
def test_a_codec_that_the_target_refuses_ends_its_partition_and_is_named(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    for number in range(4):
        source.append("t", 0, batch(b"a%d" % number, codec=Codec.GZIP))
        source.append("t", 1, batch(b"b%d" % number))
    source.append("t", 0, batch(b"refused", codec=Codec.ZSTD))
    source.append("t", 0, batch(b"later", codec=Codec.GZIP))
    target.create_topic("t", 2)

    def is_zstd(request: Any) -> bool:
        data = [part.records for topic in request.topic_data for part in topic.partition_data]
        return any(int.from_bytes(bytes(one)[21:23]) & 7 == Codec.ZSTD for one in data)

    target.fail(ProduceRequest, Code.UNSUPPORTED_COMPRESSION_TYPE, where=T0, when=is_zstd, times=1_000)
    done = mirrored(source, target, *delivery)
    assert done.code == 6, done
    assert "UNSUPPORTED_COMPRESSION_TYPE" in str(done.rows[T0]["error"])
    assert "t-0" in str(done.rows[T0]["error"])
    assert values(target, "t", 1) == [b"b0", b"b1", b"b2", b"b3"]
    assert b"refused" not in values(target, "t")
    assert done.rows[T0]["to_offset"] <= 4
    (error,) = done.errors
    assert "compression" in error["do"]


@pytest.mark.case("M19")
@pytest.mark.parametrize("codec", CODECS)
def test_times_headers_nulls_order_and_partitions_are_equal_in_every_codec(
    source: FakeCluster, target: FakeCluster, codec: int
) -> None:
    for number in range(6):
        rows = {index: (*row[:3], row[3] + number) for index, row in enumerate(ODD)}
        source.append("t", number % 2, compacted(rows, len(ODD) - 1, codec))
    done = mirrored(source, target, "--verify")
    assert done.code == 0, done
    for tp in (T0, T1):
        row = done.rows[tp]
        assert stored(target, *tp) == stored(source, *tp)
        assert row["digest_source"] == row["digest_target"] is not None
        assert row["records"] == len(target.log(*tp).records()) == 15
        assert row["passed_through_batches"] + row["reencoded_batches"] >= 1


@pytest.mark.case("M19")
def test_a_source_with_append_times_is_copied_with_the_times_its_readers_see(
    source: FakeCluster, target: FakeCluster
) -> None:
    source.configure("t", message_timestamp_type="LogAppendTime")
    with quick(source) as producer:
        producer.send(ProducerRecord("t", b"v", partition=0, timestamp=5))
        producer.flush(PATIENCE)
    (appended,) = {one.max_timestamp for one in batches(source, "t")}
    assert mirrored(source, target, "--verify").code == 0
    assert stored(target, "t") == [(None, b"v", (), appended)]


@pytest.mark.case("M19")
def test_with_partitions_by_key_records_are_where_a_producer_puts_them(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    target.create_topic("t", 3)
    target.create_topic("judge", 3)
    keys = [b"key %d" % number for number in range(60)]
    for number, key in enumerate(keys):
        source.append("t", number % 2, batch(b"v", key=key))
    with quick(target) as producer:
        for key in keys:
            producer.send(ProducerRecord("judge", b"v", key=key))
        producer.flush(PATIENCE)
    words = arguments(source, target, *delivery, "--partitions", "by-key", "--until-caught-up", "-o", "json")
    done = command(*words)
    assert done.code == 0, done
    assert [row["records"] for row in done.rows.values()] == [30, 30]
    for partition in range(3):
        one, two = (
            {r.key for r in target.log(topic, partition).records(committed=True)} for topic in ("t", "judge")
        )
        assert one == two
