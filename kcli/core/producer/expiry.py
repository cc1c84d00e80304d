"""Errors for records that were not confirmed in time. Pure."""

from kcli.core.cluster.brokers import PRODUCE
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import topic_error
from kcli.core.errors import KcliError, OutcomeUnknownError, TimedOutError
from kcli.core.producer.batch import ProducerBatch


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
        return KcliError("the leader of the partition is not known")
    return cluster.brokers.failure(leader, PRODUCE) or KcliError(f"{leader} did not accept it")
