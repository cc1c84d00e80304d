"""What is hidden from a reader: records beyond the pinned end offsets, by open transactions, and topics, by permissions.

Queried once, after everything else was read; if a broker does not respond, only the explanation is missing.
"""

from collections.abc import Mapping

from kcli.core.admin.brokers import describe_cluster
from kcli.core.admin.transactions import ProducerDescription, describe_producers
from kcli.core.classes import NamedTuple
from kcli.core.cluster.offsets import LATEST, OffsetInfo, list_offsets
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.permitted import may_be_more, may_see_all
from kcli.output.progress import counted
from kcli.output.tables import time_text

_PATIENCE = 1.0


def may_hide_topics(consumer: Consumer, timeout: float) -> str:
    """The warning that more topics may match a pattern; empty where all are listed, as far as brokers report that."""
    cluster = consumer.cluster
    deadline = cluster.deadline(timeout)
    whole = may_see_all(lambda: describe_cluster(cluster, deadline, include_operations=True))
    return "" if whole else may_be_more("topics")


class Hidden(NamedTuple):
    """Offsets from ``first`` up to the high watermark ``end``, and the producer of the first transaction there."""

    tp: TopicPartition
    first: int
    end: int
    producer: ProducerDescription | None

    def __str__(self) -> str:
        many = self.end - self.first
        records = counted(many, "record") if many == 1 else f"up to {counted(many, 'record')}"
        return (
            f"{self.tp}: an open transaction hides {records} from offset {self.first} to the high watermark {self.end}"
            f"{self._whose()}; --isolation-level read_uncommitted shows them"
        )

    def _whose(self) -> str:
        one = self.producer
        if one is None:
            return ""
        wrote = f", last write {time_text(one.last_timestamp)}" if one.last_timestamp >= 0 else ""
        return f" (producer {one.producer_id}, epoch {one.producer_epoch}, open since offset {one.open_since}{wrote})"


def hidden_at(consumer: Consumer, ends: Mapping[TopicPartition, int]) -> list[Hidden]:
    """For partitions whose pinned end is still the last stable offset, and below the high watermark (KIP-98)."""
    if not ends or consumer.options.isolation_level != "read_committed":
        return []
    cluster = consumer.cluster
    deadline = cluster.deadline(_PATIENCE)
    marks = list_offsets(cluster, dict.fromkeys(ends, LATEST), deadline, committed_only=False)
    beyond = {
        tp: mark.offset
        for tp, mark in marks.items()
        if isinstance(mark, OffsetInfo) and mark.offset > ends[tp]
    }
    if not beyond:
        return []
    stable = list_offsets(cluster, dict.fromkeys(beyond, LATEST), deadline)
    held = [tp for tp in beyond if _offset(stable[tp]) == ends[tp]]
    producers = describe_producers(cluster, held, deadline) if held else {}
    return [Hidden(tp, ends[tp], beyond[tp], _first(producers[tp])) for tp in sorted(held)]


def _offset(answer: OffsetInfo | KcliError) -> int | None:
    return answer.offset if isinstance(answer, OffsetInfo) else None


def _first(found: list[ProducerDescription] | KcliError) -> ProducerDescription | None:
    """The producer whose transaction began first; None where brokers are too old (KIP-664), or refuse the request."""
    known = [] if isinstance(found, KcliError) else [one for one in found if one.open_since >= 0]
    return min(known, key=lambda one: one.open_since, default=None)
