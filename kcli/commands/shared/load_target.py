"""What the commands that load a topic share: finding it, checking what is sent, and the plan.

The topic must exist: one that the brokers make has their defaults, which nobody wants to measure.
"""

from __future__ import annotations

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import Rate
from kcli.commands.shared.usage import usage
from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import TOPIC_PATIENCE
from kcli.core.cluster.metadata import unknown_topic
from kcli.core.errors import NotFoundError
from kcli.core.options import ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.output.progress import counted, size_text

_ROOM = 100  # bytes of a record besides its value, at most
UNUSED_BY_LOADS = dict.fromkeys(
    ("transactional_id", "transaction_timeout_ms"),
    ("the records are not sent in transactions", "leave it out"),
)
"""Options of a producer that have no effect on a load, with why and what to do."""


class LoadTarget(NamedTuple):
    """``partitions``: how many it has."""

    topic: str
    partitions: int
    cluster_id: str | None


def find_topic(inv: Invocation, topic: str, options: ProducerOptions) -> LoadTarget:
    """First contact; for an unknown topic an error with the nearest ones, and how to create it."""
    inv.configuration.check_no_registry()
    with Producer(options, hooks=inv.hooks) as producer:
        with inv.first_contact(options.servers):
            producer.connect([], inv.timeout)
        try:
            producer.connect([topic], inv.timeout, TOPIC_PATIENCE)
        except NotFoundError:
            found = unknown_topic(topic, producer.known_topics(inv.timeout))
            create = f"`kcli topics create {topic} --partitions N` creates it"
            found.do = f"{found.do} {create}" if found.do.endswith("?") else create
            raise found from None
        return LoadTarget(topic, producer.partitions_of(topic), producer.cluster_id)


def check_fits(largest: int, options: ProducerOptions, command: str) -> None:
    """A usage error of ``command`` if the largest value, of so many bytes, is more than a record may have."""
    if largest + _ROOM > options.max_request_size:
        raise usage(
            f"kcli {command}: a value of {largest:,} bytes is more than a producer sends",
            why=f"max.request.size is {options.max_request_size:,}",
            do=f"-X max.request.size={largest + _ROOM}; the topic's max.message.bytes must allow it, too",
        )


def records_per_second(throughput: Rate, mean_size: float) -> float | None:
    """None for no limit; a limit in bytes is one in records of the mean size."""
    if throughput.bytes is not None:
        return throughput.bytes / max(1.0, mean_size)
    return throughput.records


def plan_text(
    target: LoadTarget,
    options: ProducerOptions,
    *,
    records: int | None,
    duration: float | None,
    throughput: Rate,
    values: str,
    by: str,
) -> str:
    """What will be sent. ``values``: ``of 100 bytes`` or ``from FILE``; ``by``: who sends them, empty for this process
    alone.
    """
    amount = "records" if records is None else counted(records, "record")
    lasting = "" if duration is None else f" for {'at most ' if records else ''}{duration:g} s"
    numbered = options.enable_idempotence and options.acks in ("all", "-1")
    kept = f"acks={options.acks}{', idempotent' if numbered else ''}, compression {options.compression_type}"
    return (
        f"Load {target.topic} ({counted(target.partitions, 'partition')}){f' by {by}' if by else ''}\n"
        f"  {amount} {values}{lasting}, {_rate_text(throughput)}; {kept}\n"
        "  the records stay in the topic"
    )


def size_range_text(low: int, high: int) -> str:
    """``1,024 bytes``, ``100 to 2,000 bytes``."""
    return counted(low, "byte") if low == high else f"{low:,} to {high:,} bytes"


def _rate_text(limit: Rate) -> str:
    if limit.records:
        return f"at most {limit.records:,.10g} per second"
    return f"at most {size_text(limit.bytes)}/s" if limit.bytes else "as fast as possible"
