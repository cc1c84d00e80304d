"""Topics: list, describe, create, delete. Plural everywhere, with an answer or an error for each name."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kcli.core.cluster.cluster import CONTROLLER, Cluster
from kcli.core.cluster.metadata import ClusterView, PartitionView, TopicView
from kcli.core.cluster.retry import judge_code
from kcli.core.error_codes import NONE, TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import BrokerError, KcliError, NotFoundError, OutcomeUnknownError
from kcli.core.future import Future
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
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

Codes = dict[str, tuple[int, str]]
"""Name → the broker's code and message."""

Outcome = dict[str, KcliError | None]
"""Name → None where it was done, else why not."""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic as metadata tells it. ``topic_id`` is Kafka's text form, empty where there is none."""

    name: str
    topic_id: str
    internal: bool
    partitions: tuple[PartitionView, ...]


def id_text(topic_id: bytes) -> str:
    """A topic id as Kafka prints it: URL-safe base64 without padding."""
    if topic_id == NO_UUID:
        return ""
    import base64

    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def topic_info(view: TopicView) -> TopicInfo:
    """The public form of a topic's view."""
    return TopicInfo(view.name, id_text(view.id), view.internal, view.partitions)


def describe_topics(
    cluster: Cluster, names: Sequence[str], deadline: float
) -> dict[str, TopicInfo | KcliError]:
    """Each name's topic, or NotFoundError with the nearest names there are."""
    view = cluster.all_topics(deadline)
    return {name: _described(view, name) for name in names}


def _described(view: ClusterView, name: str) -> TopicInfo | KcliError:
    topic = view.topics.get(name)
    if topic is None or topic.error == UNKNOWN_TOPIC_OR_PARTITION:
        return unknown_topic(name, view.topics)
    if topic.error != NONE and not topic.partitions:
        return BrokerError(topic.error, f"topic {name}")
    return topic_info(topic)


def unknown_topic(name: str, known: Iterable[str]) -> NotFoundError:
    """The error for a topic that does not exist, with the names that come nearest."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 3, 0.6)
    hint = f"did you mean {', '.join(near)}?" if near else "`kcli topics list` shows what there is"
    return NotFoundError(f"topic {name} does not exist", do=hint)


def create_topics(
    cluster: Cluster, specs: Sequence[TopicSpec], deadline: float, *, validate_only: bool
) -> Outcome:
    """Creates topics, or with ``validate_only`` has the broker check that it could."""

    def request(timeout_ms: int) -> CreateTopicsRequest:
        return CreateTopicsRequest(
            topics=[_creatable(spec) for spec in specs], timeout_ms=timeout_ms, validate_only=validate_only
        )

    def codes(answer: CreateTopicsResponse) -> Codes:
        return {t.name: (t.error_code, t.error_message or "") for t in answer.topics}

    names = [spec.name for spec in specs]
    return _order(cluster, names, request, codes, "create topic", TOPIC_ALREADY_EXISTS, deadline)


def _creatable(spec: TopicSpec) -> CreatableTopic:
    return CreatableTopic(
        name=spec.name,
        num_partitions=spec.partitions,
        replication_factor=spec.replication_factor,
        assignments=[],
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in spec.configs.items()],
    )


def delete_topics(cluster: Cluster, names: Sequence[str], deadline: float) -> Outcome:
    """Deletes topics."""

    def request(timeout_ms: int) -> DeleteTopicsRequest:
        return DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name, topic_id=NO_UUID) for name in names],
            topic_names=list(names),
            timeout_ms=timeout_ms,
        )

    def codes(answer: DeleteTopicsResponse) -> Codes:
        return {t.name or "": (t.error_code, t.error_message or "") for t in answer.responses}

    return _order(cluster, names, request, codes, "delete topic", UNKNOWN_TOPIC_OR_PARTITION, deadline)


def _order(
    cluster: Cluster,
    names: Sequence[str],
    request: Callable[[int], Request],
    codes: Callable[[Any], Codes],
    doing: str,
    already: int,
    deadline: float,
) -> Outcome:
    """Has the controller do it, with retries; ``already`` is its code for what an earlier try may have done."""
    tries: list[Future[Any]] = []

    def attempt() -> Future[Any]:
        left = max(0.001, deadline - cluster.loop.now())
        tries.append(cluster.send(request(max(1, int(left * 1000))), CONTROLLER, timeout=left))
        return tries[-1]

    def check(answer: Any) -> Outcome:
        done = {already} if _may_be_done(tries) else set()
        return _outcome(names, codes(answer), doing, done)

    return cluster.call(attempt, check, deadline, doing)


def _may_be_done(tries: list[Future[Any]]) -> bool:
    """Whether an earlier try may have taken effect: its answer was lost."""
    return any(isinstance(one.error, OutcomeUnknownError) for one in tries[:-1])


def _outcome(names: Sequence[str], codes: dict[str, tuple[int, str]], doing: str, done: set[int]) -> Outcome:
    """Per name what the broker said; raises when the whole request should be tried again."""
    outcome: Outcome = {}
    for name in names:
        code, message = codes.get(name, (-1, "the broker's answer left it out"))
        if code == NONE or code in done:
            outcome[name] = None
        elif code == UNKNOWN_TOPIC_OR_PARTITION:
            outcome[name] = NotFoundError(f"{doing} {name}", why="it does not exist")
        else:
            outcome[name] = BrokerError(code, f"{doing} {name}", message=message)
    errors = [e for e in outcome.values() if isinstance(e, BrokerError)]
    if len(errors) == len(names) and errors and all(judge_code(e.code).retriable for e in errors):
        raise errors[0]
    return outcome
