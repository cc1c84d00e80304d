"""Subscriptions and assignments as bytes: the Java client's, other versions, and what members must not send."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment as TheirAssignment,
)
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolSubscription as TheirSubscription,
)

from kcli.core.errors import ProtocolError
from kcli.core.group.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kcli.core.types import TopicPartition

OWNED = (TopicPartition("audit", 0), TopicPartition("orders", 0), TopicPartition("orders", 2))
SUBSCRIPTION = Subscription(("audit", "orders"), OWNED, generation=7, rack="r1", user_data=b"\1\2")

# what ConsumerProtocol of kafka-clients 4.3.1 writes for it
TOPICS = "000000020005617564697400066f7264657273000000020102"
CLAIM = "0000000200056175646974000000010000000000066f7264657273000000020000000000000002"
JAVA = {
    0: "0000" + TOPICS,
    1: "0001" + TOPICS + CLAIM,
    2: "0002" + TOPICS + CLAIM + "00000007",
    3: "0003" + TOPICS + CLAIM + "00000007" + "00027231",
}
JAVA_ASSIGNMENT = "0003" + CLAIM + "ffffffff"


@pytest.mark.parametrize("version", JAVA)
def test_the_bytes_are_those_of_the_java_client(version: int) -> None:
    assert encode_subscription(SUBSCRIPTION, version).hex() == JAVA[version]


def test_the_newest_version_is_written() -> None:
    assert encode_subscription(SUBSCRIPTION).hex() == JAVA[3]
    assert encode_subscription(Subscription(("orders",))).hex() == (
        "00030000000100066f7264657273ffffffff00000000ffffffffffff"
    )
    assert encode_assignment(Assignment(OWNED)).hex() == JAVA_ASSIGNMENT


def test_order_does_not_show_in_the_bytes() -> None:
    mixed = Subscription(("orders", "audit"), OWNED[::-1], 7, "r1", b"\1\2")
    assert encode_subscription(mixed).hex() == JAVA[3]
    assert encode_assignment(Assignment(OWNED[::-1])).hex() == JAVA_ASSIGNMENT


@pytest.mark.parametrize(
    ("version", "read"),
    [
        (0, Subscription(("audit", "orders"), user_data=b"\1\2")),
        (1, Subscription(("audit", "orders"), OWNED, user_data=b"\1\2")),
        (2, Subscription(("audit", "orders"), OWNED, 7, user_data=b"\1\2")),
        (3, SUBSCRIPTION),
    ],
)
def test_a_version_is_read_with_the_fields_it_has(version: int, read: Subscription) -> None:
    assert decode_subscription(bytes.fromhex(JAVA[version]), "m") == read


@pytest.mark.parametrize("version", [4, 5, 0x7FFF])
def test_a_version_from_the_future_is_read_as_the_newest_known_one(version: int) -> None:
    data = version.to_bytes(2, "big") + bytes.fromhex(JAVA[3])[2:] + b"a field of tomorrow"
    assert decode_subscription(data, "m") == SUBSCRIPTION
    data = version.to_bytes(2, "big") + bytes.fromhex(JAVA_ASSIGNMENT)[2:] + b"a field of tomorrow"
    assert decode_assignment(data, "m") == Assignment(OWNED)


def test_returned_records_do_not_point_into_the_receive_buffer() -> None:
    frame = bytearray.fromhex(JAVA[3])
    read = decode_subscription(memoryview(frame), "m")
    frame[:] = bytes(len(frame))
    assert read == SUBSCRIPTION


def test_no_bytes_are_no_partitions() -> None:
    assert decode_assignment(b"", "m") == Assignment()


def test_a_topic_or_partition_returned_twice_counts_once() -> None:
    told = Subscription(("t", "t"), (TopicPartition("t", 1), TopicPartition("t", 1)))
    assert decode_subscription(encode_subscription(told), "m") == Subscription(
        ("t",), (TopicPartition("t", 1),)
    )


def test_an_empty_rack_is_no_rack() -> None:
    assert decode_subscription(encode_subscription(Subscription(("t",), rack="")), "m").rack is None


# --- malformed bytes ------------------------------------------------------------------------------------


@pytest.mark.case("G7")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "less than a version"),
        (b"\0", "less than a version"),
        (b"\xff\xff", "version -1"),
        (b"\0\1", "too early"),
        (b"\0\0\x7f\xff\xff\xff", "only 0 bytes are left"),
        (b"\0\0\xff\xff\xff\xff\xff\xff\xff\xff", "null for topics"),
        (b"\0\0\0\0\0\1\0\2\xff\xfe\xff\xff\xff\xff", "utf-8"),
    ],
)
def test_malformed_bytes_name_the_member(data: bytes, why: str) -> None:
    """The error says whose subscription it is, and what is wrong with it."""
    with pytest.raises(ProtocolError) as caught:
        decode_subscription(data, "reader-1-4711")
    assert "subscription of member 'reader-1-4711'" in caught.value.what
    assert why in caught.value.why


ENDS = {version: len(JAVA[version]) // 2 for version in JAVA}
"""Where the fields of each version end in JAVA."""


@pytest.mark.case("G7")
@pytest.mark.parametrize("version", [*JAVA, 4, 0x7FFF])
def test_every_truncation_is_an_earlier_version_or_a_protocol_error(version: int) -> None:
    """What ends where an earlier version does is of that version; a field that was cut is never half believed."""
    whole = version.to_bytes(2, "big") + bytes.fromhex(JAVA[min(version, 3)])[2:]
    fits = {end: older for older, end in ENDS.items() if older < version}
    for end in range(len(whole)):
        if end in fits:
            older = bytes.fromhex(JAVA[fits[end]])
            assert decode_subscription(whole[:end], "m") == decode_subscription(older, "m")
        else:
            with pytest.raises(ProtocolError):
                decode_subscription(whole[:end], "m")


@pytest.mark.case("G7")
def test_every_truncation_of_an_assignment_is_a_protocol_error() -> None:
    """No version of it lacks a field of another."""
    for end in range(1, len(JAVA_ASSIGNMENT) // 2):
        with pytest.raises(ProtocolError):
            decode_assignment(bytes.fromhex(JAVA_ASSIGNMENT)[:end], "m")


OF_OTHER_CLIENTS = {
    "kafka-go": "0001000000010005636c69636bffffffff",
    "kafka-go, rack affinity": "0001000000010005636c69636b0000000472312d61",
    "@platformatic/kafka": "0001000000010005636c69636b00000000",
}
"""Subscriptions to ``click`` that say version 1 and end before its last field."""


@pytest.mark.case("G7")
@pytest.mark.parametrize("client", OF_OTHER_CLIENTS)
def test_a_version_that_promises_more_than_the_bytes_hold_is_read_as_the_one_that_fits(client: str) -> None:
    read = decode_subscription(bytes.fromhex(OF_OTHER_CLIENTS[client]), "m")
    assert (read.topics, read.owned_partitions) == (("click",), ())


@pytest.mark.case("G7")
def test_bytes_behind_an_earlier_version_do_not_fit_it() -> None:
    """An owned partition cut short: the member's claim is unknown, and is not taken for none."""
    with pytest.raises(ProtocolError, match="version 1"):
        decode_subscription(bytes.fromhex(JAVA[1])[:-2], "m")


@pytest.mark.case("G7")
@given(st.binary(max_size=60), st.sampled_from([b"", b"\0\0", b"\0\1", b"\0\3", b"\0\0\0\0\0\1"]))
def test_any_bytes_give_a_value_or_a_protocol_error(data: bytes, head: bytes) -> None:
    """No other error, whatever a member sends."""
    for decode in (decode_subscription, decode_assignment):
        try:
            decode(head + data, "m")
        except ProtocolError as error:
            assert "member 'm'" in error.what  # noqa: PT017 - either outcome is right


# --- round trips and an oracle --------------------------------------------------------------------------

NAMES = st.text("abcü.-_", min_size=1, max_size=5)
PLACES = st.builds(TopicPartition, NAMES, st.integers(-(2**31), 2**31 - 1))
DATA = st.none() | st.binary(max_size=8)


@given(
    st.builds(
        Subscription,
        st.lists(NAMES, unique=True).map(lambda names: tuple(sorted(names))),
        st.lists(PLACES, unique=True).map(lambda partitions: tuple(sorted(partitions))),
        st.integers(-(2**31), 2**31 - 1),
        st.none() | NAMES,
        DATA,
    )
)
def test_a_subscription_survives_the_round_trip(subscription: Subscription) -> None:
    assert decode_subscription(encode_subscription(subscription), "m") == subscription


@given(
    st.builds(
        Assignment,
        st.lists(PLACES, unique=True).map(lambda partitions: tuple(sorted(partitions))),
        st.none() | DATA,
    )
)
def test_an_assignment_survives_the_round_trip(assignment: Assignment) -> None:
    assert decode_assignment(encode_assignment(assignment), "m") == assignment


def test_kafka_python_reads_what_we_write() -> None:
    rng = random.Random(1)
    for _ in range(50):
        owned = tuple(TopicPartition(rng.choice("abc"), rng.randrange(9)) for _ in range(rng.randrange(5)))
        ours = Subscription(("x", "y"), owned, rng.randrange(-1, 9), rng.choice((None, "r")), b"u")
        for version in range(4):
            theirs = TheirSubscription.decode(encode_subscription(ours, version))
            assert (theirs.topics, bytes(theirs.user_data)) == (["x", "y"], b"u")
            if version:
                flat = {(one.topic, number) for one in theirs.owned_partitions for number in one.partitions}
                assert flat == set(owned)
        assigned = TheirAssignment.decode(encode_assignment(Assignment(owned)))
        flat = {(one.topic, number) for one in assigned.assigned_partitions for number in one.partitions}
        assert flat == set(owned)
