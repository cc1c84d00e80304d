"""The errors of records that were not confirmed: of batches that brokers rejected, and of those past their time.

A rejection is explained with figures, the topic's limits, the in-sync replicas: brokers send only the error code.
A topic's configuration is fetched at the first rejection it explains. Without permission for that, the error has only
the text of its code. Runs in the sender's thread.
"""

from typing import Any

from kcli.core.cluster.brokers import PRODUCE
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import may_be_elected, no_leader, topic_error
from kcli.core.cluster.retry import classify_error
from kcli.core.error_codes import (
    CORRUPT_MESSAGE,
    INVALID_RECORD,
    MESSAGE_TOO_LARGE,
    NONE,
    NOT_ENOUGH_REPLICAS,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    REMEDIES,
    error_code,
)
from kcli.core.errors import (
    BatchRefusedError,
    BrokerError,
    KcliError,
    OutcomeUnknownError,
    RecordRefusedError,
    RefusedError,
    TimedOutError,
)
from kcli.core.future import Future
from kcli.core.permissions import on_topic
from kcli.core.producer.batch import ProducerBatch
from kcli.core.producer.splitting import code_of_record
from kcli.core.types import TopicPartition

TOO_FEW_REPLICAS = frozenset({NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND})

_TOPIC = 2
_LARGEST, _IN_SYNC = "max.message.bytes", "min.insync.replicas"

Limits = dict[str, str]


class Refusals:
    """``error`` builds the error of a rejected batch; ``limits_known`` says whether all relevant limits are known."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._limits: dict[str, Limits] = {}
        self._requested: set[str] = set()

    def error(self, batch: ProducerBatch, code: int, message: str | None) -> BrokerError:
        """The error with the broker's message, or the known cause."""
        tp = batch.tp
        if code in TOO_FEW_REPLICAS:
            self.limits_known(tp.topic)
            message = message or f"{error_code(code).text} ({self._in_sync(tp)})"
        elif code == MESSAGE_TOO_LARGE and batch.count == 1:
            limit = self._limits.get(tp.topic, {}).get(_LARGEST)
            size = f"a batch of {batch.builder.wire_size:,} bytes"
            return BrokerError(
                code,
                f"record {batch.first + 1:,} for {tp} is too large",
                message=f"it makes {size}, the topic accepts {_LARGEST}={limit}" if limit else message or "",
                do=f"send less in one record, or raise {_LARGEST} of the topic",
            )
        return BrokerError(
            code, f"produce to {tp}", message=message or "", needs=[on_topic("WRITE", tp.topic)]
        )

    def of_record(self, tp: TopicPartition, code: int, reason: str) -> RecordRefusedError:
        """The error of records that the broker named, with its reason (KIP-467)."""
        return RecordRefusedError(code_of_record(code, reason), f"produce to {tp}", message=reason)

    def of_batch(self, batch: ProducerBatch, code: int, message: str | None) -> RefusedError:
        """The error of a batch with a record that the broker refused without naming it."""
        do = ""
        if code == CORRUPT_MESSAGE:
            message = "the broker refused the record; before Kafka 2.4 it gives no other reason"
            do = REMEDIES[INVALID_RECORD]
        if batch.count == 1:
            return RecordRefusedError(code, f"produce to {batch.tp}", message=message or "", do=do)
        reason = message or error_code(code).text
        message = f"{reason} (at least one of {batch.count:,} records, the broker does not say which)"
        return RefusedError(code, f"produce to {batch.tp}", message=message, do=do)

    def of_companion(self, tp: TopicPartition, code: int, reason: str) -> BatchRefusedError:
        """The error of records whose batch was refused for another one."""
        refused = self.of_record(tp, code, reason)
        return BatchRefusedError(
            f"{tp}: the broker refused another record of the same batch", why=refused.why, do=refused.do
        )

    def limits_known(self, topic: str) -> bool:
        """Whether the topic's limits are known, or never will be; fetches them if not."""
        if topic not in self._limits and topic not in self._requested:
            from kcli.core.protocol.messages import describe_configs as wire  # few runs need it

            self._requested.add(topic)
            resource = wire.DescribeConfigsResource(
                resource_type=_TOPIC, resource_name=topic, configuration_keys=[_LARGEST, _IN_SYNC]
            )
            asked = self._cluster.send(wire.DescribeConfigsRequest(resources=[resource]))
            asked.on_done(lambda future: self._answered(topic, future))
        return topic in self._limits

    def _answered(self, topic: str, future: Future[Any]) -> None:
        self._requested.discard(topic)
        error = future.error
        if error is None:
            results = future.value.results
            code = next((r.error_code for r in results), NONE)
            if code == NONE:
                self._limits[topic] = {c.name: c.value for r in results for c in r.configs}
                return
            error = BrokerError(code, f"configuration of topic {topic}")
        if not classify_error(error).retriable:
            self._limits[topic] = {}

    def _in_sync(self, tp: TopicPartition) -> str:
        topic = self._cluster.view.topics.get(tp.topic)
        partition = topic.partition(tp.partition) if topic else None
        least = self._limits.get(tp.topic, {}).get(_IN_SYNC)
        figures = f"{_IN_SYNC}={least}, " if least else ""
        if partition is None:
            return figures.rstrip(", ") or "the number of in-sync replicas is not known"
        return f"{figures}{len(partition.isr)} of {len(partition.replicas)} in sync"


def timed_out(batch: ProducerBatch, cluster: Cluster, delivery_timeout_ms: int) -> KcliError:
    """The error of a batch past its delivery timeout; OutcomeUnknownError if it may have been stored."""
    error = batch.last_error or _obstacle(batch, cluster)
    why = str(error) if batch.last_error else f"it could not be sent: {error}"
    what = f"{batch.tp}: not confirmed within {delivery_timeout_ms / 1000:g} s (delivery.timeout.ms)"
    if batch.outcome_unknown:
        return OutcomeUnknownError(
            what, why=why + "; the broker may have stored it nevertheless", do=error.do
        )
    return TimedOutError(what, why=why, do=error.do)


def parked_too_long(topic: str, cluster: Cluster, delivery_timeout_ms: int) -> KcliError:
    """The error of records whose partitions stayed unknown, with what the brokers reported about the topic."""
    view = cluster.view.topics.get(topic)
    reason = topic_error(view) if view is not None and view.error else cluster.last_error
    return TimedOutError(
        f"partitions of topic {topic} were not known within {delivery_timeout_ms / 1000:g} s (delivery.timeout.ms)",
        why=str(reason or "no broker has reported them"),
        do=reason.do if reason is not None else "",
    )


def _obstacle(batch: ProducerBatch, cluster: Cluster) -> KcliError:
    leader = cluster.view.leader(batch.tp)
    if leader is None:
        topic = cluster.view.topics.get(batch.tp.topic)
        part = topic.partition(batch.tp.partition) if topic else None
        if part is None or part.leader >= 0:
            return KcliError("the leader of the partition is not known")
        return no_leader(batch.tp, () if may_be_elected(part) else part.offline)
    return cluster.brokers.failure(leader, PRODUCE) or KcliError(f"{leader} did not accept it")
