"""Requests that every broker serves for itself: sent to all in parallel, with a result or an error for each.

Runs in the loop's thread and blocks only in its poll.

What a broker has for its own partitions only, as its groups, nobody has while such a partition has no leader: then no
response contains it, and only metadata shows that (``Responses.offline``).

When a broker leaves while all of them are asked, all are asked again: its groups may be at a broker that has
already answered. A broker that stays and does not respond makes the listing partial, and is named in it
(``tests/fault/test_admin.py``, B15).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Generic, TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.cluster.metadata import (
    ELECTION_PATIENCE,
    TopicView,
    apply_metadata,
    may_be_elected,
    no_coordinator,
)
from kcli.core.cluster.routes import ToBroker
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, KcliError, NoLeaderError, NotFoundError
from kcli.core.permissions import on_cluster
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

A = TypeVar("A")

_AGAIN = 0.1  # seconds, while a leader is being elected


class Unlisted(NamedTuple):
    """Why nothing is known of what belongs to a partition of the coordinators' topic, by its number.

    ``partitions`` is how many the topic has; 0 where it is not known which of them an error concerns.
    """

    errors: Mapping[int, KcliError]
    partitions: int


ALL_LISTED = Unlisted({}, 0)


class Responses(NamedTuple, Generic[A]):
    """``found``: node id → result or error. ``offline``: why what belongs to some partitions is in no response.

    ``unsure``: whether there are such partitions is not known, since this client may not describe their topic.
    ``nobody``: no partition has a leader. ``unlisted``: see ``Unlisted``.
    """

    found: Mapping[int, A | KcliError]
    offline: NoLeaderError | None
    unsure: bool
    nobody: bool
    unlisted: Unlisted


def ask_every_broker(
    cluster: Cluster,
    ask: Callable[[Broker], Request],
    read: Callable[[Any], tuple[int | KcliError, A]],
    deadline: float,
    what: str,
    *,
    topic: str | None = None,
) -> dict[int, A | KcliError]:
    """Node id → result or error, of the current brokers. ``read`` returns the code and the value of a response.

    When a broker leaves before it has responded, all are asked again: its responsibilities have moved to the others.
    ``topic``: described together with the brokers.
    """
    while True:
        found = ask_brokers(cluster, _present(cluster, deadline, topic), ask, read, deadline, what)
        left = any(isinstance(response, NotFoundError) for response in found.values())
        if not left or cluster.loop.now() >= deadline:
            return found


def ask_coordinators(
    cluster: Cluster,
    ask: Callable[[Broker], Request],
    read: Callable[[Any], tuple[int | KcliError, A]],
    deadline: float,
    what: str,
    *,
    topic: str,
    of_what: str,
) -> Responses[A]:
    """The same where each broker responds for its partitions of ``topic``, which is requested with the brokers; an
    election delays it by at most ELECTION_PATIENCE. ``of_what`` names what the responses have, for the error.
    """
    patience = min(deadline, cluster.loop.now() + ELECTION_PATIENCE)
    while True:
        found = ask_every_broker(cluster, ask, read, deadline, what, topic=topic)
        view = cluster.view.topics.get(topic, TopicView(topic))
        offline = [part for part in view.partitions if part.leader < 0]
        if not any(map(may_be_elected, offline)) or cluster.loop.now() >= patience:
            break
        cluster.sleep(_AGAIN)
    error = no_coordinator(of_what, topic, offline, len(view.partitions)) if offline else None
    nobody = bool(offline) and len(offline) == len(view.partitions)
    unsure = view.error == TOPIC_AUTHORIZATION_FAILED
    return Responses(found, error, unsure, nobody, _unlisted(found, view, error))


def _unlisted(found: Mapping[int, Any], view: TopicView, offline: NoLeaderError | None) -> Unlisted:
    """An error of a broker that leads nothing concerns all partitions: they may have moved since it was asked."""
    failed = {number: error for number, error in found.items() if isinstance(error, KcliError)}
    leaders = {part.leader for part in view.partitions}
    errors = {part.partition: failed[part.leader] for part in view.partitions if part.leader in failed}
    if offline is not None:
        errors |= {part.partition: offline for part in view.partitions if part.leader < 0}
    return Unlisted(errors, len(view.partitions) if failed.keys() <= leaders else 0)


def ask_brokers(
    cluster: Cluster,
    numbers: Collection[int],
    ask: Callable[[Broker], Request],
    read: Callable[[Any], tuple[int | KcliError, A]],
    deadline: float,
    what: str,
) -> dict[int, A | KcliError]:
    """The same for some brokers; NotFoundError for an id that the cluster does not have."""

    def ask_one(broker: Broker, items: Items[int, None]) -> list[Part[int]]:
        return [Part(ask(broker), [number for number, _ in items])]

    def read_one(response: Any, part: Part[int]) -> Iterator[tuple[int, int | KcliError, A]]:
        for number in part.keys:
            yield number, *read(response)

    route = ToBroker[int](cluster, lambda number: number)
    needs = [on_cluster("DESCRIBE")]  # lists of groups and transactions, log directories
    items = dict.fromkeys(numbers)
    found = fan_out(cluster, items, route, ask_one, read_one, deadline, what, needs=lambda _broker: needs)
    things = what.partition(" ")[2]  # of "listing the groups of broker"
    for number, response in found.items():
        if isinstance(response, KcliError):
            response.part, response.place = f"{things} {number}", f"broker {number}"
    return found


def _present(cluster: Cluster, deadline: float, topic: str | None) -> list[int]:
    """The brokers that metadata lists at this moment; controllers where one was contacted."""
    asked = [] if topic is None else [topic]
    if cluster.of_controllers and not asked:
        cluster.wait_refreshed(deadline)
        return sorted(cluster.view.nodes)
    request = _brokers_request(asked)

    def check(response: MetadataResponse) -> list[int]:
        if response.error_code:
            raise BrokerError(response.error_code, "listing brokers")
        cluster.view = apply_metadata(cluster.view, response, asked)
        return sorted(cluster.view.nodes)

    return cluster.call(
        lambda: cluster.foreseen(("brokers", *asked), request), check, deadline, "listing brokers"
    )


def foresee_brokers(cluster: Cluster, *topics: str) -> None:
    """All brokers will be asked, as the coordinators that a topic has where one is given: see ``Cluster.foresee``."""
    cluster.foresee(("brokers", *topics), _brokers_request(topics))


def _brokers_request(topics: Collection[str]) -> MetadataRequest:
    named = [MetadataRequestTopic(name=name) for name in topics]
    return MetadataRequest(topics=named, allow_auto_topic_creation=not topics)
