"""The exchange on a new connection before the first real request, as a generator of steps.

It yields ``Send(request, version)``, receives the response, and returns what the broker offers. With SASL it continues
with the authentication, which may also yield ``Compute``. Source: KIP-35, KIP-511 (software name), KIP-584 (features).

ApiVersions is requested in v3 first, not in the newest version: v4 costs brokers before 3.9 a second round trip,
and no field that is read here differs.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from kcli.core.classes import NamedTuple
from kcli.core.connection.steps import Ahead, Await, Compute, Send
from kcli.core.error_codes import NONE, UNSUPPORTED_VERSION
from kcli.core.errors import BrokerError, UnsupportedError
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcli.core.types import Node
from kcli.core.version import __version__

if TYPE_CHECKING:
    from kcli.core.connection.sasl.login import Login


class BrokerApiVersions(NamedTuple):
    """What a broker offers: versions by API key, and the cluster's finalized features (name → level)."""

    apis: Mapping[int, tuple[int, int]]
    features: Mapping[str, int]

    @property
    def honours_validate_only(self) -> bool:
        """Whether the cluster is known to change nothing where a request says ``validateOnly``.

        KRaft controllers of 3.0 and 3.1 create topics and partitions all the same, and nothing is known of brokers that
        are not Apache Kafka's. It is known with ZooKeeper, whose brokers offer what its controller sends them, and with
        KRaft once metadata.version is finalized at a level that only controllers of 3.3 and later support (KIP-778):
        those of 3.2 report nothing that tells them from older ones during an upgrade.
        """
        return self.apis.keys() >= _OF_ZOOKEEPER or self.features.get("metadata.version", 0) >= _FIRST_OF_3_3


class Established(NamedTuple):
    """The end of a handshake. ``lifetime``: seconds until the client must authenticate again (KIP-368)."""

    offer: BrokerApiVersions
    lifetime: float


NO_LIMIT = float("inf")

Handshake = Generator[Send | Ahead | Await | Compute, Any, Established]
"""Is sent responses and results; an error of a ``Compute`` is thrown in."""


class TooFarAheadError(Exception):
    """What went ahead does not suit the broker: a new connection has to be made, on which it is asked first."""


# Every broker since 2.4 supports v3; v4 would cost a second round trip with brokers before 3.9.
_FIRST_VERSION = 3

_OF_ZOOKEEPER = {4, 5, 6, 7}  # LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown
_FIRST_OF_3_3 = 4


def handshake(node: Node, login: Login | None = None, *, ahead: bool = False) -> Handshake:
    """ApiVersions, then authentication if there is a ``login``. ``ahead``: authentication begins before ApiVersions is
    answered; TooFarAheadError where that was wrong. Not with TLS: a broker that authenticates a client looks for what TLS
    has decrypted already once in 300 ms (seen on 4.4.0), which takes longer than most round trips.
    """
    if login is not None and ahead and not login.encrypted:
        return (yield from _all_at_once(node, login))
    offer = yield from _api_versions(node, last=login is None)
    lifetime = NO_LIMIT if login is None else (yield from _authenticate(node, login, offer, again=False))
    return Established(offer, lifetime)


def _all_at_once(node: Node, login: Login) -> Handshake:
    from kcli.core.connection.sasl.authentication import authenticate, open_ahead  # only with SASL

    yield Ahead(_ask(), _FIRST_VERSION)
    opening = yield from open_ahead(node, login)
    response: Any = yield Await()
    if response.error_code == UNSUPPORTED_VERSION:
        raise TooFarAheadError
    offer = _accepted(node, response)
    return Established(offer, (yield from authenticate(node, login, offer.apis, opening=opening)))


def reauthentication(node: Node, login: Login, offer: BrokerApiVersions) -> Handshake:
    """Authentication again on an established connection (KIP-368)."""
    return Established(offer, (yield from _authenticate(node, login, offer, again=True)))


def _authenticate(
    node: Node, login: Login, offer: BrokerApiVersions, *, again: bool
) -> Generator[Send | Await | Compute, Any, float]:
    from kcli.core.connection.sasl.authentication import authenticate  # only with SASL

    return authenticate(node, login, offer.apis, again=again)


def _api_versions(node: Node, *, last: bool) -> Generator[Send, Any, BrokerApiVersions]:
    """Sends ApiVersions, and again in a version that the broker supports when it refuses the first one."""
    response: Any = yield Send(_ask(), _FIRST_VERSION, last)
    if response.error_code == UNSUPPORTED_VERSION:
        highest = next(
            (a.max_version for a in response.api_keys if a.api_key == ApiVersionsRequest.api_key), 0
        )
        version = min(highest, _FIRST_VERSION)
        response = yield Send(_ask(), version)
        if response.error_code == UNSUPPORTED_VERSION:
            raise UnsupportedError(
                f"{node} and kcli share no version of ApiVersions",
                why=f"the broker refuses version {_FIRST_VERSION}, and then version {version}",
                do="check that this is a Kafka broker, and which version it is",
            )
    return _accepted(node, response)


def _accepted(node: Node, response: ApiVersionsResponse) -> BrokerApiVersions:
    if response.error_code != NONE:
        raise BrokerError(response.error_code, f"{node} refused ApiVersions")
    return offer_of(response)


def offer_of(response: ApiVersionsResponse) -> BrokerApiVersions:
    """The tables of the response; an API whose lowest version is above its highest is not offered."""
    apis = {a.api_key: (a.min_version, a.max_version) for a in response.api_keys}
    features = {f.name: f.max_version_level for f in response.finalized_features}
    return BrokerApiVersions(apis, features)


def _ask() -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name="kcli", client_software_version=__version__)
