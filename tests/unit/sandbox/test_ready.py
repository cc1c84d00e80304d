"""Metadata as bytes, and whose broker it is that answers."""

import struct

import pytest

from kcli.sandbox import ready
from kcli.sandbox.ready import ClusterAnswer, parse_metadata


def broker(node_id: int, rack: bytes | None) -> bytes:
    host = b"127.0.0.1"
    tail = struct.pack(">h", -1) if rack is None else struct.pack(">h", len(rack)) + rack
    return struct.pack(">ih", node_id, len(host)) + host + struct.pack(">i", 9092) + tail


def test_brokers_cluster_and_controller() -> None:
    brokers, end = struct.pack(">i", 2) + broker(1, None) + broker(7, b"r1"), struct.pack(">ii", 7, 0)
    assert parse_metadata(brokers + end, 1) == ClusterAnswer(frozenset({1, 7}), 7)
    assert parse_metadata(brokers + b"\x00\x02id" + end, 2) == ClusterAnswer(frozenset({1, 7}), 7, "id")
    assert parse_metadata(brokers + b"\xff\xff" + end, 2) == ClusterAnswer(frozenset({1, 7}), 7)


def test_a_cut_answer_is_an_error() -> None:
    body = struct.pack(">i", 2) + broker(1, None)
    with pytest.raises(struct.error):
        parse_metadata(body, 1)


@pytest.mark.parametrize(
    ("known", "said", "is_ready"), [("a", "a", True), ("a", "b", False), (None, "b", True), ("a", "", True)]
)
def test_a_broker_of_another_cluster_on_the_same_port_is_not_the_one_that_starts(
    known: str | None, said: str, is_ready: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready, "ask", lambda *_where, **_how: ClusterAnswer(frozenset({1}), 1, said))
    assert ready.cluster_is_ready([("127.0.0.1", 9092)], cluster=known) is is_ready
