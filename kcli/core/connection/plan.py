"""Requests that are made once the broker's versions are known: one request for all keys where supported, else several.

A plan is queued like a request and written when the handshake is over, in the same turn: what was decided from the
versions is sent on the connection that reported them. No socket, no clock.
"""

from collections.abc import Callable, Sequence
from typing import Any, final

from kcli.core.classes import NamedTuple
from kcli.core.connection.handshake import BrokerApiVersions
from kcli.core.future import Future
from kcli.core.protocol.api import Request, choose_version

Responses = list[Future[Any]]
"""One future for each request of a plan, in its order."""


class Broker(NamedTuple):
    """The broker that a plan is made for. ``name`` is for messages: ``host:port (node 1)``.

    ``round_trip``: seconds, the shortest from a request on this connection to its response.
    """

    name: str
    offer: BrokerApiVersions
    round_trip: float = 0.0

    def version(self, api: type[Request]) -> int:
        """The newest version of ``api`` that both sides support; UnsupportedError if there is none."""
        return choose_version(api, self.offer.apis, self.name)

    def offers(self, api: type[Request]) -> bool:
        """Whether the broker supports ``api`` at all."""
        return api.api_key in self.offer.apis


@final
class Plan:
    """``write(broker)`` makes the requests, which are pipelined in this order; a KcliError it raises fails the plan.

    ``responses`` is empty until they are written. The plan's own future completes when all of them have.
    ``any_version``: what it makes for a version says the same in newer ones. A plan may be written twice, where
    requests that went ahead of a broker's versions do not suit it; what came first is then void.
    """

    __slots__ = ("any_version", "responses", "write")

    def __init__(self, write: Callable[[Broker], Sequence[Request]], *, any_version: bool = False) -> None:
        self.write = write
        self.any_version = any_version
        self.responses: Responses = []

    def begin(self, broker: Broker, done: Future[Responses]) -> list[tuple[Request, Future[Any]]]:
        """The requests to write now, with their futures; ``done`` completes with ``responses`` after the last."""
        requests = self.write(broker)
        self.responses = [Future() for _ in requests]
        left = len(requests)

        def one_less(_response: Future[Any]) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                done.set_result(self.responses)

        for response in self.responses:
            response.on_done(one_less)
        return list(zip(requests, self.responses, strict=True))
