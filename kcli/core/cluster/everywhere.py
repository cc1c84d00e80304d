"""Requests that every broker serves for itself: sent to all in parallel, with a result or an error for each.

Runs in the loop's thread and blocks only in its poll.

When a broker leaves while all of them are asked, all are asked again: its groups may be at a broker that has
already answered. A broker that stays and does not respond makes the listing partial, and is named in it
(``tests/fault/test_admin.py``, B15).
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.cluster.metadata import apply_metadata
from kcli.core.cluster.routes import ToBroker
from kcli.core.connection.plan import Broker
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.permissions import on_cluster
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse

A = TypeVar("A")


def ask_every_broker(
    cluster: Cluster,
    ask: Callable[[Broker], Request],
    read: Callable[[Any], tuple[int | KcliError, A]],
    deadline: float,
    what: str,
) -> dict[int, A | KcliError]:
    """Node id → result or error, of the current brokers. ``read`` returns the code and the value of a response.

    When a broker leaves before it has responded, all are asked again: its responsibilities have moved to the others.
    """
    while True:
        found = ask_brokers(cluster, _present(cluster, deadline), ask, read, deadline, what)
        left = any(isinstance(response, NotFoundError) for response in found.values())
        if not left or cluster.loop.now() >= deadline:
            return found


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
    return fan_out(cluster, items, route, ask_one, read_one, deadline, what, needs=lambda _broker: needs)


def _present(cluster: Cluster, deadline: float) -> list[int]:
    """The brokers that metadata lists at this moment."""

    def check(response: MetadataResponse) -> list[int]:
        if response.error_code:
            raise BrokerError(response.error_code, "listing brokers")
        cluster.view = apply_metadata(cluster.view, response, [])
        return sorted(cluster.view.nodes)

    return cluster.call(lambda: cluster.send(MetadataRequest(topics=[])), check, deadline, "listing brokers")
