"""Lists and describes topics, many at once, with a result or an error for each name."""

import base64
from collections.abc import Collection, Iterable, Sequence

from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import (
    ClusterView,
    PartitionView,
    TopicView,
    topic_error,
    topic_refused,
    unknown_topic,
)
from kcli.core.error_codes import (
    INVALID_TOPIC_EXCEPTION,
    NONE,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import KcliError
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import TopicPartition

_NO_OPERATIONS = -(1 << 31)
_UNKNOWN = UNKNOWN_TOPIC_OR_PARTITION
_UNLISTED = (_UNKNOWN, TOPIC_AUTHORIZATION_FAILED, INVALID_TOPIC_EXCEPTION)
"""What brokers respond about topics that they leave out of the list of all."""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic as described by metadata. ``topic_id`` is in Kafka's text form, empty if there is none.

    ``error`` says why the rest may be incomplete.
    """

    name: str
    topic_id: str
    internal: bool
    partitions: tuple[PartitionView, ...]
    error: KcliError | None = None

    @property
    def replication_factor(self) -> int | None:
        """The largest number of replicas of a partition; they differ only while replicas are moved."""
        return max((len(part.replicas) for part in self.partitions), default=None)


def id_text(topic_id: bytes) -> str:
    """A topic or directory id as Kafka prints it: URL-safe base64 without padding."""
    if topic_id == NO_UUID:
        return ""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def id_bytes(text: str) -> bytes:
    """The topic or directory id that Kafka prints as ``text``."""
    return base64.urlsafe_b64decode(text + "==") if text else NO_UUID


def topic_info(view: TopicView) -> TopicInfo:
    """The public form of a topic's view."""
    error = topic_error(view) if view.error != NONE else None
    return TopicInfo(view.name, id_text(view.id), view.internal, view.partitions, error)


def describe_topics(
    cluster: Cluster,
    names: Sequence[str],
    deadline: float,
    partitions: Collection[TopicPartition] = (),
    *,
    similar: bool = True,
) -> dict[str, TopicInfo | KcliError]:
    """Each name's topic, or why it cannot be described: NotFoundError with similar names, or no permission.

    These topics are asked for, and all of them only where that was foreseen, or for the names that are ``similar``.
    ``partitions``: that were heard of before; metadata that was foreseen may be older, and is then asked for again.
    """
    if not names:
        return {}
    known: Collection[str] = ()
    if cluster.topics_foreseen:
        view = cluster.all_topics(deadline)
        known = view.topics
        if all(_listed(view, name) for name in names) and _has(view, partitions):
            return {name: _described(view, name, NONE, known) for name in names}
    view = cluster.named_topics(names, deadline)
    codes = {name: view.topics[name].error if name in view.topics else _UNKNOWN for name in names}
    if similar and not known and not all(_listed(view, name) for name in names):
        view = cluster.all_topics(deadline)
        known = view.topics
    return {name: _described(view, name, codes[name], known) for name in names}


def _listed(view: ClusterView, name: str) -> TopicView | None:
    topic = view.topics.get(name)
    return None if topic is None or topic.error in _UNLISTED else topic


def _has(view: ClusterView, partitions: Iterable[TopicPartition]) -> bool:
    return all((topic := view.topics.get(tp.topic)) and topic.partition(tp.partition) for tp in partitions)


def _described(view: ClusterView, name: str, code: int, known: Collection[str]) -> TopicInfo | KcliError:
    """``code``: what brokers respond about this topic; a list of all leaves out what this client may not describe."""
    topic = _listed(view, name)
    if topic is None:
        if code == TOPIC_AUTHORIZATION_FAILED:
            return topic_refused(name, code, known)
        return unknown_topic(name, known)
    if topic.error != NONE and not topic.partitions:
        return topic_error(topic)
    return topic_info(topic)


def topic_operations(
    cluster: Cluster, names: Sequence[str], deadline: float, *, missing_too: bool = False
) -> dict[str, int | KcliError | None]:
    """The bits of the operations that this client may do with each topic (KIP-430), None before Metadata v8.

    An error for a topic that this client may not see, or that does not exist; with ``missing_too`` the operations with a
    topic of that name.
    """
    accepted = (NONE, UNKNOWN_TOPIC_OR_PARTITION) if missing_too else (NONE,)

    def check(response: MetadataResponse) -> dict[str, int | KcliError | None]:
        found: dict[str, int | KcliError | None] = {}
        for row in response.topics:
            if row.error_code not in accepted:
                found[row.name or ""] = topic_refused(row.name or "", row.error_code)
            else:
                bits = row.topic_authorized_operations
                found[row.name or ""] = None if bits == _NO_OPERATIONS else bits
        return found

    what, request = "asking for the permissions on topics", _operations_request(names)
    return cluster.call(lambda: cluster.foreseen(*request), check, deadline, what) if names else {}


def foresee_operations(cluster: Cluster, names: Sequence[str]) -> None:
    """The operations with topics will be asked for: see ``Cluster.foresee``."""
    cluster.foresee(*_operations_request(names))


def _operations_request(names: Sequence[str]) -> tuple[object, MetadataRequest]:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    return ("operations", *names), request
