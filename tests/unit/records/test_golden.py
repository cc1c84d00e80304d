"""Batches that Kafka's Java code and kafka-python wrote are read exactly, and kafka-python reads ours."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.memory_records import MemoryRecords

from kcli.core.records.batch import RecordBatch, split_batches
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.legacy import LegacyBatch
from kcli.core.types import Header
from tests.unit.records.samples import JAVA, Sample, kafka_python_batch

HEADERS: tuple[Header, ...] = (("h1", b"1"), ("é", None), ("h1", b""))
CONTENT = [
    (1000, None, b"value-0", ()),
    (990, b"key", None, ()),
    (1_700_000_000_000, b"", b"", HEADERS),
    (1000, b"k" * 100, b"x" * 700, ()),
]


@pytest.mark.case("S0-70")
@pytest.mark.parametrize("name", [name for name in JAVA if name.startswith("magic")])
def test_java_batches(name: str) -> None:
    """Every magic and codec that Java writes, create time and append time."""
    magic = int(name[5])
    splitter = split_batches(JAVA[name])
    batches = list(splitter)
    for batch in batches:
        batch.verify_crc()
    records = [record for batch in batches for record in batch.records("t", 3)]

    assert splitter.needed == 0
    assert [(record.key, record.value) for record in records] == [row[1:3] for row in CONTENT]
    assert [record.offset for record in records] == [77, 78, 79, 80]
    assert [batch.next_offset for batch in batches][-1] == 81
    assert [record.headers for record in records] == [row[3] if magic == 2 else () for row in CONTENT]
    if magic == 0:
        assert {(record.timestamp, record.timestamp_type) for record in records} == {(-1, -1)}
    elif name.endswith("appendtime"):
        assert {(record.timestamp, record.timestamp_type) for record in records} == {(555_000, 1)}
    else:
        assert [record.timestamp for record in records] == [row[0] for row in CONTENT]
        assert {record.timestamp_type for record in records} == {0}


@pytest.mark.parametrize("name", ["magic2-none", "magic2-gzip", "magic1-gzip", "magic0-lz4"])
def test_values_of_a_range_of_offsets(name: str) -> None:
    pieces = [batch.values(78, 79, b"|", b"NULL") for batch in split_batches(JAVA[name])]

    assert pieces == [(b"NULL||", 2)]


@pytest.mark.case("F8")
@pytest.mark.parametrize("name", ["gaps", "gaps-magic1-gzip"])
def test_gaps_that_compaction_left_are_kept(name: str) -> None:
    [batch] = split_batches(JAVA[name])

    assert [record.offset for record in batch.records()] == [77, 82, 87, 92]
    assert batch.values(83, 92, b"|", b"")[1] == 2
    assert (batch.base_offset, batch.last_offset, batch.next_offset, batch.count) == (77, 92, 93, 4)


def test_fields_of_a_transactional_batch() -> None:
    [batch] = split_batches(JAVA["transactional"])

    assert isinstance(batch, RecordBatch)
    assert (batch.is_transactional, batch.is_control) == (True, False)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9000, 4, 11)
    assert (batch.leader_epoch, batch.max_timestamp) == (3, 1_700_000_000_000)


def test_a_control_batch_is_recognised_by_its_attributes() -> None:
    [batch] = split_batches(JAVA["commit-marker"])
    batch.verify_crc()

    assert (batch.is_control, batch.is_transactional, batch.count) == (True, True, 1)
    [marker] = batch.records()
    assert marker.key == b"\0\0\0\1"  # version 0, commit


@pytest.mark.case("F8")
def test_an_empty_batch_is_passed_over() -> None:
    """Compaction keeps the header of a producer's last batch for its sequence number."""
    [batch] = split_batches(JAVA["empty"])
    batch.verify_crc()

    assert list(batch.records()) == []
    assert batch.values(0, 1 << 60, b"\n", b"") == (b"", 0)
    assert (batch.base_offset, batch.next_offset) == (100, 110)


FIELDS = st.none() | st.binary(max_size=200)
SAMPLES = st.lists(
    st.tuples(
        st.integers(0, 1 << 50),
        FIELDS,
        FIELDS,
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 1), (1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (2, 3)])
@settings(deadline=None, max_examples=25)
@given(SAMPLES)
def test_kafka_python_batches(magic: int, codec: int, samples: list[Sample]) -> None:
    batches = list(split_batches(kafka_python_batch(samples, codec, magic)))
    for batch in batches:
        batch.verify_crc()
        assert isinstance(batch, RecordBatch if magic == 2 else LegacyBatch)
    records = [record for batch in batches for record in batch.records()]

    assert [(record.key, record.value) for record in records] == [row[1:3] for row in samples]
    assert [record.offset for record in records] == list(range(len(samples)))
    if magic == 2:
        assert [record.headers for record in records] == [row[3] for row in samples]
    assert [record.timestamp for record in records] == [row[0] if magic else -1 for row in samples]


@pytest.mark.parametrize("codec", [0, 1, 3])
@settings(deadline=None, max_examples=25)
@given(SAMPLES)
def test_kafka_python_reads_ours(codec: int, samples: list[Sample]) -> None:
    builder = BatchBuilder(room=1 << 30, codec=codec)
    for timestamp, key, value, headers in samples:
        assert builder.append(key, value, headers, timestamp)
    [batch] = _kafka_python_batches(b"".join(builder.wire(7, 2, 5)))

    assert batch.validate_crc()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 2, 5)
    assert (batch.base_offset, batch.leader_epoch, batch.last_offset_delta) == (0, -1, len(samples) - 1)
    assert batch.max_timestamp == max(row[0] for row in samples)
    assert [(one.timestamp, one.key, one.value, tuple(one.headers)) for one in batch] == samples


def _kafka_python_batches(data: bytes) -> list[DefaultRecordBatch]:
    records = MemoryRecords(data)
    batches = []
    while records.has_next():
        batches.append(records.next_batch())
    return batches
