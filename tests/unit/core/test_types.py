"""How places and nodes are spelled, and that values cannot be changed."""

from typing import Any

import pytest

from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.types import Node, ProducerRecord, Record, RecordMetadata, TopicPartition, TopicSpec


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Node(-10, "broker", 9092), "broker:9092"),
        (Node(1, "broker", 9092), "broker:9092 (node 1)"),
        (Node(-1, "::1", 9092), "[::1]:9092"),
        (Node(0, "fe80::1", 9093, "rack"), "[fe80::1]:9093 (node 0)"),
    ],
)
def test_a_node_is_spelled_with_its_address(node: Node, text: str) -> None:
    assert str(node) == text


def test_a_partition_is_spelled_like_kafka_does() -> None:
    assert str(TopicPartition("orders", 3)) == "orders-3"


@pytest.mark.parametrize(
    "value",
    [
        Node(1, "h", 1),
        Record("t", 0, 0, 0, 0, None, None),
        ProducerRecord("t", b"v"),
        RecordMetadata("t", 0, 0, 0),
        TopicSpec("t"),
    ],
)
def test_values_are_frozen(value: Any) -> None:
    with pytest.raises(AttributeError):
        setattr(value, value._fields[0], "other")


def test_hooks_do_nothing_without_a_listener() -> None:
    NO_HOOKS.log("debug", "proto", "nobody hears this")
    assert NO_HOOKS.wire is None
    seen: list[object] = []
    Hooks(log=lambda *what: seen.append(what)).log("warning", "auth", "text")
    assert seen == [("warning", "auth", "text")]
