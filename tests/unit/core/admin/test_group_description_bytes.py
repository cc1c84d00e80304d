"""Members' bytes are decoded once while they stay the same."""

from unittest.mock import patch

import pytest

from kcli.core.admin import group_description
from kcli.core.admin.group_description import MemberBytes
from kcli.core.errors import ProtocolError
from kcli.core.group.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from kcli.core.types import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_bytes_that_stay_the_same_are_decoded_once_and_give_the_same_object() -> None:
    with patch.object(group_description, "decode_assignment", side_effect=decode_assignment) as decode:
        known = MemberBytes()
        data = encode_assignment(Assignment((P0,)))
        found = []
        for member in ("a", "b", "a"):
            known.begin_call()
            found.append(known.assignment(memoryview(data), member))
        assert decode.call_count == 1
    assert found == [Assignment((P0,))] * 3
    assert found[0] is found[2]


def test_other_bytes_have_another_meaning_also_in_the_same_buffer() -> None:
    known = MemberBytes()
    buffer = bytearray(encode_assignment(Assignment((P0,))))
    assert known.assignment(memoryview(buffer), "a").partitions == (P0,)
    buffer[:] = encode_assignment(Assignment((P1,)))
    assert known.assignment(memoryview(buffer), "a").partitions == (P1,)


def test_an_assignment_and_a_subscription_of_the_same_bytes_are_not_confused() -> None:
    known = MemberBytes()
    data = encode_subscription(Subscription(("t",)))
    assert known.subscription(data, "a").topics == ("t",)
    with pytest.raises(ProtocolError):
        known.assignment(data[:1], "a")
    assert known.assignment(b"", "a") == Assignment()


def test_what_a_call_did_not_have_is_forgotten_with_the_next() -> None:
    with patch.object(group_description, "decode_assignment", side_effect=decode_assignment) as decode:
        known = MemberBytes()
        data = encode_assignment(Assignment((P0,)))
        known.assignment(data, "a")
        known.begin_call()
        known.begin_call()
        known.assignment(data, "a")
        assert decode.call_count == 2


def test_each_member_with_bytes_that_cannot_be_read_has_an_error_that_names_it() -> None:
    known = MemberBytes()
    for member in ("a", "b"):
        with pytest.raises(ProtocolError, match=member):
            known.assignment(b"\x00", member)
