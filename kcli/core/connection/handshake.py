"""The exchange on a new connection before the first real request, as a generator of steps.

It yields ``Send(request, version)``, receives the response, and returns what the broker offers. The caller owns the
socket and the clock. Source: KIP-35, KIP-511 (software name), KIP-584 (features).

ApiVersions is requested in v3 first, not in the newest version: v4 costs brokers before 3.9 a second round trip,
and no field that is read here differs.
"""

from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

from kcli import __version__
from kcli.core.error_codes import NONE, UNSUPPORTED_VERSION
from kcli.core.errors import BrokerError, UnsupportedError
from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


class Send(NamedTuple):
    """Send ``request`` in exactly this version and resume with its response."""

    request: Request
    version: int


class BrokerApiVersions(NamedTuple):
    """What a broker offers: versions by API key, and the cluster's finalized features (name → level)."""

    apis: Mapping[int, tuple[int, int]]
    features: Mapping[str, int]


Handshake = Generator[Send, Response, BrokerApiVersions]

# Every broker since 2.4 supports v3; v4 would cost a second round trip with brokers before 3.9.
_FIRST_VERSION = 3


def handshake(peer: str) -> Handshake:
    """Sends ApiVersions, and again in a version that the broker supports when it refuses the first one."""
    response: Any = yield Send(_ask(), _FIRST_VERSION)
    if response.error_code == UNSUPPORTED_VERSION:
        highest = next(
            (a.max_version for a in response.api_keys if a.api_key == ApiVersionsRequest.api_key), 0
        )
        version = min(highest, _FIRST_VERSION)
        response = yield Send(_ask(), version)
        if response.error_code == UNSUPPORTED_VERSION:
            raise UnsupportedError(
                f"{peer} and kcli share no version of ApiVersions",
                why=f"the broker refuses version {_FIRST_VERSION}, and then version {version}",
                do="check that this is a Kafka broker, and which version it is",
            )
    if response.error_code != NONE:
        raise BrokerError(response.error_code, f"{peer} refused ApiVersions")
    return offer_of(response)


def offer_of(response: ApiVersionsResponse) -> BrokerApiVersions:
    """The tables of the response; an API whose lowest version is above its highest is not offered."""
    apis = {a.api_key: (a.min_version, a.max_version) for a in response.api_keys}
    features = {f.name: f.max_version_level for f in response.finalized_features}
    return BrokerApiVersions(apis, features)


def _ask() -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name="kcli", client_software_version=__version__)
