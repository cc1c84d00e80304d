"""Questions about many partitions: split by leader, asked in parallel, merged, errors per partition.

A partition whose leader has moved is asked again after a metadata refresh, alone; the others keep their
answers. Runs in the loop's thread and blocks only in its poll.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import topic_missing
from kcli.core.cluster.retry import Backoff, given_up, judge
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, KcliError, NotFoundError, TimedOutError
from kcli.core.future import Future
from kcli.core.protocol.api import Request
from kcli.core.types import TopicPartition

V = TypeVar("V")
A = TypeVar("A")

UNKNOWN_TOPIC_PATIENCE = 1.0
"""Seconds for which a topic that does not exist may be about to: creation takes a moment to get round."""

Ask = Callable[[list[tuple[TopicPartition, V]]], Request]
"""Makes one request for the partitions that one broker leads."""
Read = Callable[[Any], Iterable[tuple[TopicPartition, int, A]]]
"""Takes an answer apart: partition, error code, value."""


def by_leader(
    cluster: Cluster,
    items: Mapping[TopicPartition, V],
    ask: Ask[V],
    read: Read[A],
    deadline: float,
    what: str,
) -> dict[TopicPartition, A | KcliError]:
    """The answer or the error of every partition in ``items``. Never raises for a single partition."""
    results: dict[TopicPartition, A | KcliError] = {}
    open_items = dict(items)
    errors: dict[TopicPartition, KcliError] = {}
    backoff = Backoff.of_requests(cluster.options)
    cluster.ensure_topics({where.topic for where in items}, deadline)
    started = cluster.loop.now()
    patience = started + UNKNOWN_TOPIC_PATIENCE
    while open_items:
        _round(cluster, open_items, ask, read, deadline, what, results, errors)
        open_items = {where: value for where, value in open_items.items() if where not in results}
        now = cluster.loop.now()
        for where in list(open_items):
            error = errors.get(where)
            unknown = isinstance(error, NotFoundError)
            if now >= deadline or (unknown and now >= patience):
                results[where] = _last_word(f"{what} {where}", error, now - started)
                del open_items[where]
        if open_items:
            cluster.sleep(min(backoff.next(), max(0.0, deadline - now)))
            cluster.wait_refreshed(deadline)
    return results


def _round(
    cluster: Cluster,
    items: Mapping[TopicPartition, V],
    ask: Ask[V],
    read: Read[A],
    deadline: float,
    what: str,
    results: dict[TopicPartition, A | KcliError],
    errors: dict[TopicPartition, KcliError],
) -> None:
    by_node: dict[int, list[tuple[TopicPartition, V]]] = {}
    for where, value in items.items():
        leader = cluster.view.leader(where)
        if leader is None:
            errors[where] = _no_leader(cluster, where)
        else:
            by_node.setdefault(leader.id, []).append((where, value))
    requests: list[tuple[list[tuple[TopicPartition, V]], Future[Any]]] = [
        (group, cluster.send(ask(group), node_id)) for node_id, group in by_node.items()
    ]
    if requests:
        cluster.poll(max(0.0, deadline - cluster.loop.now()), *(future for _, future in requests))
    for group, future in requests:
        if not future.done:
            for where, _ in group:  # an earlier error tells more than the deadline
                errors.setdefault(where, TimedOutError(f"{what}: no answer in time"))
            continue
        if future.error is not None:
            for where, _ in group:
                _note(where, future.error, results, errors)
            continue
        for where, code, answer in read(future.value):
            if code == NONE:
                results[where] = answer
            else:
                _note(where, BrokerError(code, f"{what} {where}"), results, errors)


def _note(
    where: TopicPartition,
    error: BaseException,
    results: dict[TopicPartition, A | KcliError],
    errors: dict[TopicPartition, KcliError],
) -> None:
    """Keeps an error: for good when a retry cannot help."""
    if not isinstance(error, KcliError):
        raise error
    if judge(error).retriable:
        errors[where] = error
    else:
        results[where] = error


def _last_word(what: str, error: KcliError | None, seconds: float) -> KcliError:
    if error is None:
        return TimedOutError(f"{what}: no answer in {seconds:.1f} s")
    return error if isinstance(error, NotFoundError) else given_up(what, error, seconds)


def _no_leader(cluster: Cluster, where: TopicPartition) -> KcliError:
    topic = cluster.view.topics.get(where.topic)
    if topic_missing(topic):
        return NotFoundError(f"topic {where.topic} does not exist")
    if topic is not None and topic.error != NONE:
        return BrokerError(topic.error, f"topic {where.topic}")
    if topic is not None and topic.partitions and topic.partition(where.partition) is None:
        return NotFoundError(
            f"topic {where.topic} has no partition {where.partition}",
            why=f"it has {len(topic.partitions)}, numbered from 0",
        )
    return TimedOutError(f"{where} has no leader", why="an election is going on, or its replicas are down")
