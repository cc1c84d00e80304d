"""Metadata v1 as bytes."""

import struct

import pytest

from kcli.sandbox.ready import ClusterAnswer, parse_metadata_v1


def broker(node_id: int, rack: bytes | None) -> bytes:
    host = b"127.0.0.1"
    tail = struct.pack(">h", -1) if rack is None else struct.pack(">h", len(rack)) + rack
    return struct.pack(">ih", node_id, len(host)) + host + struct.pack(">i", 9092) + tail


def test_brokers_and_controller() -> None:
    body = struct.pack(">i", 2) + broker(1, None) + broker(7, b"r1") + struct.pack(">ii", 7, 0)
    assert parse_metadata_v1(body) == ClusterAnswer(frozenset({1, 7}), 7)


def test_a_cut_answer_is_an_error() -> None:
    body = struct.pack(">i", 2) + broker(1, None)
    with pytest.raises(struct.error):
        parse_metadata_v1(body)
