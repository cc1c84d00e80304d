"""The parts of a recorded line that single screens show: the quorum, transactions, mirror jobs, what is set on topics.

Lines of older versions have none of them. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from kcli.core.types import TopicPartition
from kcli.flows.lag.recording import error_line, error_of
from kcli.flows.mirror.job.job_line import JobLine, JobPartition
from kcli.flows.monitor.cluster_reading import Part, Parts, SetValue
from kcli.flows.transactions.listed import OpenTransaction

if TYPE_CHECKING:
    from kcli.core.admin.quorum import QuorumDescription

T = TypeVar("T")
Document = dict[str, Any]


def parts_part(parts: Parts) -> Document:
    """Those that were read; see ``parts_of``."""
    found = {
        "quorum": _part(parts.quorum, _quorum),
        "transactions": _part(parts.transactions, lambda rows: [_transaction(one) for one in rows]),
        "mirrors": _part(parts.mirrors, lambda jobs: [_job(one) for one in jobs]),
        "configs": _part(
            parts.configs, lambda topics: {name: list(values) for name, values in topics.items() if values}
        ),
    }
    return {name: one for name, one in found.items() if one is not None}


def parts_of(document: Mapping[str, Any]) -> Parts:
    """From ``parts_part``."""
    return Parts(
        quorum=_part_of(document.get("quorum"), _quorum_of),
        transactions=_part_of(
            document.get("transactions"), lambda rows: [_transaction_of(one) for one in rows]
        ),
        mirrors=_part_of(document.get("mirrors"), lambda jobs: [_job_of(one) for one in jobs]),
        configs=_part_of(
            document.get("configs"),
            lambda topics: {name: [SetValue(*one) for one in values] for name, values in topics.items()},
        ),
    )


def _part(part: Part[T] | None, value_of: Callable[[T], Any]) -> Document | None:
    if part is None:
        return None
    return {
        "at_ms": part.at_ms,
        "errors": [error_line(error) for error in part.errors],
        "absent": part.absent,
        "value": None if part.value is None else value_of(part.value),
    }


def _part_of(document: Document | None, value_of: Callable[[Any], T]) -> Part[T] | None:
    if document is None:
        return None
    value = document["value"]
    return Part(
        None if value is None else value_of(value),
        document["at_ms"],
        [error_of(line) for line in document["errors"]],
        document["absent"],
    )


def _quorum(quorum: QuorumDescription) -> Document:
    return {
        "leader": quorum.leader,
        "epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "replicas": [
            [one.node, one.is_voter, one.log_end, one.caught_up_ms, one.fetched_ms] for one in quorum.replicas
        ],
        "endpoints": {str(node): endpoint for node, endpoint in quorum.endpoints.items()},
    }


def _quorum_of(document: Document) -> QuorumDescription:
    # With its messages: only where there is one.
    from kcli.core.admin.quorum import QuorumDescription, QuorumReplica

    replicas = tuple(QuorumReplica(*one) for one in document["replicas"])
    return QuorumDescription(
        document["leader"],
        document["epoch"],
        tuple(sorted(one.node for one in replicas if one.is_voter)),
        document["high_watermark"],
        replicas,
        {int(node): endpoint for node, endpoint in document["endpoints"].items()},
    )


def _transaction(one: OpenTransaction) -> Document:
    return {**one._asdict(), "partitions": _by_topic(one.partitions)}


def _transaction_of(document: Document) -> OpenTransaction:
    places = (
        TopicPartition(topic, number) for topic, some in document["partitions"].items() for number in some
    )
    kept = {name: document[name] for name in OpenTransaction._fields}
    return OpenTransaction(**{**kept, "partitions": tuple(places)})


def _by_topic(places: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for tp in places:
        found.setdefault(tp.topic, []).append(tp.partition)
    return found


def _job(one: JobLine) -> Document:
    return {**one._asdict(), "worst": list(one.worst)}


def _job_of(document: Document) -> JobLine:
    kept = {name: document[name] for name in JobLine._fields}
    return JobLine(**{**kept, "worst": [JobPartition(*one) for one in document["worst"]]})
