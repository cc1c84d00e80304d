"""The topic that a performance test loads: it must exist, for a made one would have the brokers' defaults."""

from __future__ import annotations

from typing import NamedTuple

from kcli.commands.shared.context import Invocation
from kcli.core.cluster.cluster import TOPIC_PATIENCE
from kcli.core.cluster.metadata import unknown_topic
from kcli.core.errors import NotFoundError
from kcli.core.options import ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.output.progress import counted


class LoadTarget(NamedTuple):
    """``partitions``: how many it has."""

    topic: str
    partitions: int
    cluster_id: str | None


def find_topic(inv: Invocation, topic: str, options: ProducerOptions) -> LoadTarget:
    """First contact; for an unknown topic an error with the nearest ones, and how to create it."""
    with Producer(options, hooks=inv.hooks) as producer:
        with inv.first_contact(options.bootstrap_servers):
            producer.connect([], inv.timeout)
        try:
            producer.connect([topic], inv.timeout, TOPIC_PATIENCE)
        except NotFoundError:
            found = unknown_topic(topic, producer.known_topics(inv.timeout))
            create = f"`kcli topics create {topic} --partitions N` creates it"
            found.do = f"{found.do} {create}" if found.do.endswith("?") else create
            raise found from None
        return LoadTarget(topic, producer.partitions_of(topic), producer.cluster_id)


def size_range_text(low: int, high: int) -> str:
    """``1,024 bytes``, ``100 to 2,000 bytes``."""
    return counted(low, "byte") if low == high else f"{low:,} to {high:,} bytes"


def kept_text(options: ProducerOptions) -> str:
    """How the cluster keeps the records: ``acks=all, idempotent, compression none``."""
    numbered = options.enable_idempotence and options.acks in ("all", "-1")
    return f"acks={options.acks}{', idempotent' if numbered else ''}, compression {options.compression_type}"
