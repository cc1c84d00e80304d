"""A batch under construction: what fits, what is sent, what a retry and a split give."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.core.kernels.active import crc32c, encode_headers
from kcli.core.records.batch import HEADER_SIZE, split_batches
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import Codec, Header, Record
from tests.parity.arrow_layout import Layout

FIELDS = st.none() | st.binary(max_size=100)
ROWS = st.lists(st.tuples(FIELDS, FIELDS, st.just(b"\0"), st.integers(-1, 1 << 60)), max_size=40)


def read(builder: BatchBuilder) -> list[Record]:
    [batch] = split_batches(b"".join(builder.wire()))
    batch.verify_crc()
    return list(batch.records())


@pytest.mark.case("S0-12")
@pytest.mark.parametrize("codec", Codec)
def test_every_way_to_add_ends_in_one_batch(codec: int) -> None:
    headers: tuple[Header, ...] = (("h", b"1"), ("n", None))
    builder = BatchBuilder(room=100_000, codec=codec)
    assert builder.append(b"k", None, headers, 1000)
    assert builder.append_lines([b"x", b"a", b"b"], 1, 1010) == 2
    assert builder.append_lines([b"c"], 0, 1020, b"shared", encode_headers(headers)) == 1
    assert builder.append_keyed([None, b""], [b"d", None], 0, 990) == 2
    assert builder.append_rows([(b"r", b"", encode_headers(headers), 2000)]) == 1
    rows = [(None, b"not this", None, 0), (b"a", None, headers, None), (None, b"w", [], 1500)]
    assert builder.append_columns(Layout(1).records(rows), None, 1, 3, 990) == 2

    records = read(builder)
    assert [(record.timestamp, record.key, record.value) for record in records] == [
        (1000, b"k", None),
        (1010, None, b"a"),
        (1010, None, b"b"),
        (1020, b"shared", b"c"),
        (990, None, b"d"),
        (990, b"", None),
        (2000, b"r", b""),
        (990, b"a", None),
        (1500, None, b"w"),
    ]
    assert [record.headers for record in records] == [
        headers, (), (), headers, (), (), headers, headers, (),
    ]  # fmt: skip
    assert [record.offset for record in records] == list(range(9))
    assert (builder.count, builder.base_timestamp, builder.max_timestamp) == (9, 1000, 2000)


@settings(deadline=None)
@given(ROWS, st.integers(0, 400), st.sampled_from([0, 1, 2, 3, 4]))
def test_records_fill_batches_in_order_and_none_is_lost(
    rows: list[tuple[bytes | None, bytes | None, bytes, int]], room: int, codec: int
) -> None:
    done = 0
    found = []
    while done < len(rows):
        builder = BatchBuilder(room=room, codec=codec)
        taken = builder.append_rows(rows, done)
        assert taken == builder.count > 0
        assert builder.size <= room or taken == 1
        found += [(record.key, record.value, b"\0", record.timestamp) for record in read(builder)]
        done += taken
    assert found == rows


@pytest.mark.parametrize("way", ["append", "lines", "keyed", "rows", "columns"])
def test_a_first_record_fits_always_and_a_second_only_if_there_is_room(way: str) -> None:
    builder = BatchBuilder(room=70)
    big = [bytes(1000), bytes(1000)]
    columns = Layout(2).records([(None, value, None, None) for value in big])
    add = {
        "append": lambda: int(builder.append(None, big[0], (), 5)),
        "lines": lambda: builder.append_lines(big, 0, 5),
        "keyed": lambda: builder.append_keyed([None, None], big, 0, 5),
        "rows": lambda: builder.append_rows([(None, value, b"\0", 5) for value in big]),
        "columns": lambda: builder.append_columns(columns, None, 0, 2, 5),
    }[way]

    assert add() == 1
    assert add() == 0
    assert builder.count == 1
    assert read(builder)[0].value == big[0]


@pytest.mark.parametrize("spare", [-1, 0])
def test_room_counts_every_byte_of_the_batch(spare: int) -> None:
    size = HEADER_SIZE + 2 * (7 + 10)
    builder = BatchBuilder(room=size + spare)

    assert builder.append_lines([b"0123456789"] * 2, 0, 5) == 2 + spare
    assert builder.wire_size == builder.size == len(b"".join(builder.wire()))


def test_adding_nothing_changes_nothing() -> None:
    builder = BatchBuilder(room=1000)

    assert builder.append_lines([], 0, 5) == builder.append_lines([b"x"], 1, 5) == 0
    assert builder.append_rows([]) == builder.append_keyed([], [], 0, 5) == 0
    assert (builder.count, builder.size) == (0, HEADER_SIZE)


@pytest.mark.case("P8")
@pytest.mark.parametrize("codec", Codec)
def test_a_retry_has_the_same_bytes(codec: int) -> None:
    builder = BatchBuilder(room=1000, codec=codec)
    builder.append_lines([b"a", b"b"], 0, 5)
    first = b"".join(builder.wire(9, 1, 100))

    assert b"".join(builder.wire(9, 1, 100)) == first


@pytest.mark.parametrize("codec", [0, 4])
def test_new_producer_fields_change_the_header_and_its_checksum_only(codec: int) -> None:
    builder = BatchBuilder(room=1000, codec=codec)
    builder.append_lines([b"a", b"b"], 0, 5)
    before = b"".join(builder.wire(9, 1, 100))
    after = b"".join(builder.wire(10, 2, 0, transactional=True))
    [batch] = split_batches(after)
    batch.verify_crc()

    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (10, 2, 0)
    assert batch.is_transactional
    assert before[HEADER_SIZE:] == after[HEADER_SIZE:]
    assert before[:17] == after[:17]


def test_a_header_says_what_brokers_demand() -> None:
    builder = BatchBuilder(room=1000)
    builder.append_lines([b"a", b"b"], 0, 5)
    [batch] = split_batches(b"".join(builder.wire()))

    assert (batch.base_offset, batch.leader_epoch, batch.magic) == (0, -1, 2)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (-1, -1, -1)
    assert (batch.count, batch.last_offset_delta, batch.attributes) == (2, 1, 0)


LARGE, SMALL = b"x" * (1 << 14) + b"\n", b"y\n"


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize(
    "texts",
    [[LARGE] * 2, [SMALL, LARGE], [LARGE, SMALL, LARGE], [SMALL] * 2, [LARGE, *[SMALL] * 70]],
    ids=len,
)
def test_the_checksum_is_that_of_all_records_however_they_were_added(texts: list[bytes], codec: int) -> None:
    """Large additions are summed up at once, what follows when the batch is sent; a retry has another header."""
    builder = BatchBuilder(room=1 << 20, codec=codec)
    for text in texts:
        assert builder.append_text(text, 0, len(text), 1000, delimiter=b"\n", longest=1 << 20) == (
            1,
            len(text),
        )

    for producer in (-1, 7):
        [batch] = split_batches(b"".join(builder.wire(producer_id=producer, base_sequence=producer)))
        batch.verify_crc()
        assert [record.value for record in batch.records()] == [text[:-1] for text in texts]


def test_records_of_a_large_text_are_read_once_for_their_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again when the batch is sent, by another thread, nor when it is sent once more."""
    sizes: list[int] = []

    def counted(data: bytes, crc: int = 0) -> int:
        sizes.append(len(data))
        return crc32c(data, crc)

    monkeypatch.setattr("kcli.core.records.builder.crc32c", counted)
    builder = BatchBuilder(room=1 << 20)
    builder.append_text(LARGE * 20, 0, 20 * len(LARGE), 1000, delimiter=b"\n", longest=1 << 20)
    for producer in range(3):
        builder.wire(producer_id=producer)

    assert sizes == [builder.size - HEADER_SIZE]


def test_many_small_additions_are_sent_as_few_pieces() -> None:
    builder = BatchBuilder(room=1 << 20)
    for index in range(1000):
        assert builder.append(None, b"%d" % index, (), index)

    assert len(builder.wire()) == 2
    assert [record.value for record in read(builder)] == [b"%d" % index for index in range(1000)]


def test_a_few_large_additions_are_sent_without_a_copy() -> None:
    builder = BatchBuilder(room=1 << 20)
    for _ in range(3):
        builder.append_lines([bytes(1000)] * 10, 0, 5)

    assert len(builder.wire()) == 4


def test_a_sealed_batch_accepts_no_more_records() -> None:
    builder = BatchBuilder(room=1000)
    builder.append(None, b"x", (), 5)
    builder.seal()

    with pytest.raises(AssertionError):
        builder.append(None, b"y", (), 5)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("sealed", [True, False])
def test_a_batch_that_was_too_large_is_split_into_smaller_ones(codec: int, sealed: bool) -> None:
    headers: tuple[Header, ...] = (("h", b"1"),)
    builder = BatchBuilder(room=200_000, codec=codec)
    for index in range(500):
        assert builder.append(
            b"k" if index % 2 else None, bytes(index), headers if index % 3 else (), 5000 - index
        )
    if sealed:
        builder.wire(9, 1, 100)
    parts = builder.split(30_000)
    records = [record for part in parts for record in read(part)]

    assert len(parts) > 1
    assert all(part.size <= 30_000 and part.codec == codec for part in parts)
    assert [record.value for record in records] == [bytes(index) for index in range(500)]
    assert [record.timestamp for record in records] == [5000 - index for index in range(500)]
    assert [record.key for record in records] == [b"k" if index % 2 else None for index in range(500)]
    assert [record.headers for record in records] == [headers if index % 3 else () for index in range(500)]


def test_a_batch_of_one_record_comes_back_alone() -> None:
    builder = BatchBuilder(room=100)
    builder.append(None, bytes(500), (), 5)

    assert [part.count for part in builder.split(50)] == [1]


@pytest.mark.case("F17")
def test_timestamps_too_far_apart_for_one_batch_go_to_two() -> None:
    """A delta is an int64."""
    builder = BatchBuilder(room=1000)
    builder.append(None, b"a", (), -1)

    assert not builder.append(None, b"b", (), (1 << 63) - 1)
    assert builder.append_lines([b"b"], 0, (1 << 63) - 1) == 0
    assert builder.append_rows([(None, b"b", b"\0", (1 << 63) - 1)]) == 0
    assert builder.append(None, b"b", (), (1 << 63) - 2)


@pytest.mark.parametrize("stamp", [1 << 63, -(1 << 63) - 1])
def test_a_timestamp_that_is_no_int64_is_refused_before_it_is_in_a_batch(stamp: int) -> None:
    builder = BatchBuilder(room=1000)

    with pytest.raises(ConfigError, match=str(stamp)):
        builder.append(None, b"a", (), stamp)
    with pytest.raises(ConfigError, match=str(stamp)):
        builder.append_rows([(None, b"a", b"\0", stamp)])
    assert builder.count == 0


def test_a_level_or_codec_that_cannot_be_is_refused_at_once() -> None:
    with pytest.raises(ConfigError):
        BatchBuilder(room=1000, codec=4, level=23)
    with pytest.raises(ConfigError):
        BatchBuilder(room=1000, codec=6)
