"""Creates and deletes topics and adds partitions, many at once, at the controller; a result or an error for each name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcli.core.admin.topics import id_text
from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import CONTROLLER, Cluster
from kcli.core.cluster.fanout import portions
from kcli.core.cluster.metadata import (
    CHECK_NAME,
)
from kcli.core.cluster.retry import classify_error, given_up, outcome_is_ambiguous
from kcli.core.error_codes import (
    INVALID_PARTITIONS,
    NONE,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import BrokerError, KcliError, NotFoundError, NotValidatedError, UnsupportedError
from kcli.core.future import Future
from kcli.core.permissions import on_cluster, on_topic
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kcli.core.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kcli.core.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import TopicSpec

_SET_ON_TOPIC = 1  # DYNAMIC_TOPIC_CONFIG
_MOST_NAMED = 10
_FIRST_WITH_DEFAULTS = 4  # CreateTopics of Kafka 2.4 (KIP-464)

Codes = dict[str, tuple[int, str]]
"""Name → the broker's code and message."""

Outcome = dict[str, KcliError | None]
"""Name → None where it was done, else why not."""


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """What a broker reports of a new topic. ``topic_id`` is empty after validation, and before v7 (KIP-516).

    The counts and the configuration set on the topic itself are None before v5 (KIP-525), or without permission.
    """

    name: str
    topic_id: str
    partitions: int | None
    replication_factor: int | None
    configs: dict[str, str | None] | None


def create_topics(
    cluster: Cluster,
    specs: Sequence[TopicSpec],
    deadline: float,
    *,
    validate_only: bool,
    made: dict[str, CreatedTopic] | None = None,
) -> Outcome:
    """Creates topics, or with ``validate_only`` only validates.

    ``made`` collects what the broker reports of the created topics, except those whose first response was lost.
    """

    defaults = [
        spec.name for spec in specs if spec.partitions < 0 or spec.replication_factor < 0
    ]  # none if assigned

    def request(left: Sequence[str], timeout_ms: int) -> CreateTopicsRequest:
        names = set(left)
        topics = [_creatable(spec) for spec in specs if spec.name in names]
        found = CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=validate_only)
        if defaults:
            found.require_version(_FIRST_WITH_DEFAULTS)
        return found

    def codes(response: CreateTopicsResponse) -> Codes:
        if made is not None:
            made.update({t.name: _created(t) for t in response.topics if t.error_code == NONE})
        return {t.name: (t.error_code, t.error_message or "") for t in response.topics}

    names = {spec.name: max(spec.partitions, len(spec.assignment), 1) + len(spec.configs) for spec in specs}
    already = NONE if validate_only else TOPIC_ALREADY_EXISTS  # validation creates nothing
    try:
        return order_of_controller(
            cluster, names, request, codes, "could not create topic", already, deadline, operation="CREATE"
        )
    except NotValidatedError:
        raise
    except UnsupportedError as error:
        if not defaults or CreateTopicsRequest.api_name not in error.what:
            raise
        raise UnsupportedError(
            f"{_named('could not create topic', defaults)}: brokers before 2.4 have no default number of partitions and "
            "no default replication factor",
            why=str(error),
            do="give both, as with --partitions 1 --replication-factor 1",
        ) from error


def _creatable(spec: TopicSpec) -> CreatableTopic:
    return CreatableTopic(
        name=spec.name,
        num_partitions=-1 if spec.assignment else spec.partitions,
        replication_factor=-1 if spec.assignment else spec.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=list(replicas))
            for number, replicas in enumerate(spec.assignment)
        ],
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in spec.configs.items()],
    )


def _created(row: CreatableTopicResult) -> CreatedTopic:
    known = row.configs is not None and row.topic_config_error_code == NONE and row.num_partitions >= 0
    own = {c.name: c.value for c in row.configs or () if c.config_source == _SET_ON_TOPIC}
    return CreatedTopic(
        row.name,
        id_text(row.topic_id),
        row.num_partitions if row.num_partitions >= 0 else None,
        row.replication_factor if row.replication_factor >= 0 else None,
        own if known else None,
    )


def delete_topics(cluster: Cluster, names: Sequence[str], deadline: float) -> Outcome:
    """Deletes topics."""

    def request(left: Sequence[str], timeout_ms: int) -> DeleteTopicsRequest:
        return DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name, topic_id=NO_UUID) for name in left],
            topic_names=list(left),
            timeout_ms=timeout_ms,
        )

    def codes(response: DeleteTopicsResponse) -> Codes:
        return {t.name or "": (t.error_code, t.error_message or "") for t in response.responses}

    return order_of_controller(
        cluster,
        dict.fromkeys(names, 1),
        request,
        codes,
        "could not delete topic",
        UNKNOWN_TOPIC_OR_PARTITION,
        deadline,
        operation="DELETE",
    )


def order_of_controller(
    cluster: Cluster,
    names: Mapping[str, int],
    request: Callable[[Sequence[str], int], Request],
    codes: Callable[[Any], Codes],
    doing: str,
    already: int,
    deadline: float,
    *,
    operation: str,
) -> Outcome:
    """Sends requests to the controller, one after the other. Retries only names with retriable errors: the controller may
    move. ``names``: with the most records that each makes.

    ``already`` is the code for what was done before, possibly by an earlier attempt whose response was lost; NONE where
    the request changes nothing. ``operation`` is the one on the topic that must be permitted.
    """
    outcome: Outcome = {}
    for some in portions(list(names.items()), int):
        order = [name for name, _ in some]
        try:
            outcome |= _ordered(cluster, order, request, codes, doing, already, deadline, operation=operation)
        except KcliError as error:
            if not outcome:
                raise
            outcome |= dict.fromkeys((name for name in names if name not in outcome), error)
            break
    return outcome


def _ordered(
    cluster: Cluster,
    names: Sequence[str],
    request: Callable[[Sequence[str], int], Request],
    codes: Callable[[Any], Codes],
    doing: str,
    already: int,
    deadline: float,
    *,
    operation: str,
) -> Outcome:
    order = _Order(names, doing, already, operation)
    started = cluster.loop.now()

    def attempt() -> Future[Any]:
        seconds = max(0.001, deadline - cluster.loop.now())
        order.tries.append(
            cluster.send(request(order.left, max(1, int(seconds * 1000))), CONTROLLER, timeout=seconds)
        )
        return order.tries[-1]

    try:
        return cluster.call(
            attempt, lambda response: order.record_results(codes(response)), deadline, _named(doing, names)
        )
    except KcliError as error:
        if order.may_be_done:
            error.why += "; the controller may have done it nevertheless"
        if not order.outcome:
            raise
        seconds = cluster.loop.now() - started
        left = {name: _of_one(f"{doing} {name}", error, seconds) for name in order.left}
        return {name: left[name] if name in left else order.outcome[name] for name in names}


def _named(doing: str, names: Sequence[str]) -> str:
    """``could not create topic a``, ``could not create topics a, b``, of many only the first ones."""
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f"{doing}{'' if len(names) == 1 else 's'} {', '.join(names[:_MOST_NAMED])}{more}"


def _of_one(what: str, error: KcliError, seconds: float) -> KcliError:
    """The error of one name when others succeeded: ``error`` is about all names of the request."""
    cause = error.__cause__
    if not isinstance(cause, KcliError):
        return error
    late = given_up(what, cause, seconds)
    late.why = error.why
    return late


class _Order:
    """The result of each name so far. ``left``: the names still to be done."""

    def __init__(self, names: Sequence[str], doing: str, already: int, operation: str) -> None:
        self.left = list(names)
        self.outcome: Outcome = {}
        self.tries: list[Future[Any]] = []
        self._names, self._doing, self._already = names, doing, already
        self._operation = operation
        self._unsure: set[str] = set()

    @property
    def may_be_done(self) -> bool:
        """Whether what is left may have been done without a response that says so."""
        return self._already != NONE and (bool(self._unsure) or self._is_lost(self.tries))

    @staticmethod
    def _is_lost(tries: Sequence[Future[Any]]) -> bool:
        return any(one.error is not None and outcome_is_ambiguous(one.error) for one in tries)

    def record_results(self, codes: Codes) -> Outcome:
        """The results of all names; raises a retriable error if names are left."""
        again: BrokerError | None = None
        if self._is_lost(self.tries[:-1]):
            self._unsure.update(self.left)
        for name in list(self.left):
            code, message = codes.get(name, (UNKNOWN_SERVER_ERROR, "the response does not contain it"))
            error = self._error(name, code, message)
            if isinstance(error, BrokerError) and classify_error(error).retriable:
                again = again or error
                if outcome_is_ambiguous(error):
                    self._unsure.add(name)
                continue
            self.outcome[name] = error
            self.left.remove(name)
        if again is not None:
            raise again
        return {name: self.outcome[name] for name in self._names}

    def _error(self, name: str, code: int, message: str) -> KcliError | None:
        if code == NONE or (code == self._already and name in self._unsure):
            return None
        if code == UNKNOWN_TOPIC_OR_PARTITION:
            return NotFoundError(f"{self._doing} {name}", why="it does not exist", do=CHECK_NAME)
        return BrokerError(
            code,
            f"{self._doing} {name}",
            message=message,
            needs=[on_topic(self._operation, name), on_cluster(self._operation)],
        )


def create_partitions(
    cluster: Cluster, counts: Mapping[str, int], deadline: float, *, validate_only: bool
) -> Outcome:
    """Sets each topic's total number of partitions, or only validates.

    INVALID_PARTITIONS if a topic has as many already, or more. After a lost response it may also mean that the
    partitions were created; then it counts as success.
    """

    def request(left: Sequence[str], timeout_ms: int) -> CreatePartitionsRequest:
        topics = [CreatePartitionsTopic(name=name, count=counts[name], assignments=None) for name in left]
        return CreatePartitionsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=validate_only)

    def codes(response: CreatePartitionsResponse) -> Codes:
        return {row.name: (row.error_code, row.error_message or "") for row in response.results}

    already = 0 if validate_only else INVALID_PARTITIONS
    return order_of_controller(
        cluster,
        counts,
        request,
        codes,
        "could not add partitions to topic",
        already,
        deadline,
        operation="ALTER",
    )
