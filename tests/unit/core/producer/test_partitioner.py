"""Which partition a key belongs to: the same as with Java, librdkafka and the first Kafka."""

import dataclasses
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import UnknownPartitionError
from kcli.core.names import java_hash
from kcli.core.options import ProducerOptions
from kcli.core.producer.partitioner import ANYWHERE, SPREADS_NULLS, partitioner

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # kafka-python reads its files the old way

JAVA_MURMUR2 = [  # Kafka's own UtilsTest.testMurmur2
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]
JAVA_HASH_CODE = [  # "…".hashCode() of the JDK
    (b"", 0),
    (b"a", 97),
    (b"abc", 96354),
    (b"hello", 99162322),
    (b"Hello World", -862545276),
    ("é".encode(), 233),
]


@pytest.mark.parametrize("partitions", [1, 3, 12, 100, 2**31 - 1])
@pytest.mark.parametrize(("key", "hashed"), JAVA_MURMUR2)
def test_murmur2_is_javas(key: bytes, hashed: int, partitions: int) -> None:
    assert partitioner("murmur2")([key], partitions) == [(hashed & 0x7FFFFFFF) % partitions]


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_murmur2_is_that_of_another_client(key: bytes, partitions: int) -> None:
    from kafka.partitioner.default import murmur2

    expected = (murmur2(key) & 0x7FFFFFFF) % partitions
    assert partitioner("murmur2")([key], partitions) == [expected]
    assert partitioner("murmur2")([None, key], partitions) == [ANYWHERE, expected]


@given(st.binary(min_size=1, max_size=40), st.integers(1, 1000))
def test_consistent_is_librdkafkas_crc32(key: bytes, partitions: int) -> None:
    assert partitioner("consistent")([key], partitions) == [zlib.crc32(key) % partitions]


def test_the_consistent_partitioner_puts_missing_and_empty_keys_anywhere() -> None:
    assert partitioner("consistent")([None, b"", b"123456789"], 10) == [ANYWHERE, ANYWHERE, 0xCBF43926 % 10]


@pytest.mark.case("S4-8")
@pytest.mark.parametrize(("key", "hashed"), JAVA_HASH_CODE)
def test_hashcode_is_that_of_javas_strings(key: bytes, hashed: int) -> None:
    assert java_hash(key) == abs(hashed)
    assert partitioner("hashcode")([key], 7) == [abs(hashed) % 7]


def java_reference(units: str) -> int:
    """The formula of the JDK's documentation, unit by unit, in 32 bits."""
    value = sum(ord(char) * 31 ** (len(units) - 1 - index) for index, char in enumerate(units))
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


@pytest.mark.case("S4-8")
@given(st.text(st.characters(max_codepoint=0xD7FF), max_size=20))
def test_hashcode_follows_the_documented_formula(text: str) -> None:
    reference = java_reference(text)
    assert java_hash(text.encode()) == (0 if reference == -(1 << 31) else abs(reference))


def test_hashcode_sees_a_character_beyond_16_bits_as_the_two_that_java_has() -> None:
    assert java_hash("\U0001f600".encode()) == abs(java_reference("\ud83d\ude00"))


def test_the_smallest_hash_has_no_absolute_value_and_is_zero() -> None:
    assert java_reference("polygenelubricants") == -(1 << 31)
    assert java_hash(b"polygenelubricants") == 0


@pytest.mark.parametrize("name", ["murmur2", "hashcode"])
def test_an_empty_key_is_a_key(name: str) -> None:
    assert partitioner(name)([b"", None], 5)[0] != ANYWHERE
    assert partitioner(name)([b"", None], 5)[1] == ANYWHERE


@pytest.mark.case("S4-9")
def test_random_stays_inside_and_spreads() -> None:
    found = partitioner("random")([b"same"] * 500, 5)
    assert set(found) == set(range(5))


def test_round_robin_continues_over_calls() -> None:
    turn = partitioner("roundrobin")
    assert turn([b"k"] * 4, 3) + turn([None] * 3, 3) == [0, 1, 2, 0, 1, 2, 0]


def test_two_round_robins_do_not_share_their_turn() -> None:
    assert partitioner("roundrobin")([None], 3) == partitioner("roundrobin")([None], 3) == [0]


def test_manual_refuses_what_names_no_partition() -> None:
    with pytest.raises(UnknownPartitionError, match="has no partition"):
        partitioner("manual")([b"k"], 3)


def test_every_choice_of_the_option_exists() -> None:
    [field] = [f for f in dataclasses.fields(ProducerOptions) if f.name == "partitioner"]
    assert [partitioner(name) for name in field.metadata["choices"]]
    assert set(field.metadata["choices"]) >= SPREADS_NULLS


@pytest.mark.case("S0-24")
@pytest.mark.parametrize("name", ["murmur2", "consistent", "hashcode"])
@given(keys=st.lists(st.one_of(st.none(), st.binary(max_size=10))), partitions=st.integers(1, 50))
def test_keys_stay_inside_and_in_order(name: str, keys: list[bytes | None], partitions: int) -> None:
    found = partitioner(name)(keys, partitions)
    assert len(found) == len(keys)
    assert all(p == ANYWHERE or 0 <= p < partitions for p in found)
    assert found == [partitioner(name)([key], partitions)[0] for key in keys]
