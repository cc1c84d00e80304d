"""Delegation tokens: creates, describes, renews and expires them (KIP-48, owners KIP-373).

Whoever has the HMAC of a token authenticates as its owner, by SCRAM. Every response with tokens has their HMACs, so
nothing is asked over a connection that is not encrypted unless that is allowed.
"""

import base64
from collections.abc import Callable, Collection, Iterator

from kcli.core.admin.plaintext import refuse_plaintext
from kcli.core.classes import dataclass, field
from kcli.core.cluster.cluster import CONTROLLER, Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.cluster.routes import ToController
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, KcliError, OutcomeUnknownError, UnsupportedError
from kcli.core.future import Future
from kcli.core.options import ClientOptions
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kcli.core.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kcli.core.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kcli.core.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from kcli.core.secret import Secret

SERVER_DEFAULT = -1
"""For a duration: that of the brokers; for an expiry: at once."""


def period_ms(seconds: float | None) -> int:
    """A duration as requests have it, at least a millisecond; None is SERVER_DEFAULT."""
    return SERVER_DEFAULT if seconds is None else max(1, round(seconds * 1000))


SEE = "`kcli tokens list` shows the tokens"
"""The remedy where it is not known which there are."""
AUTH_DISABLED, NOT_FOUND, OWNER_MISMATCH, NOT_ALLOWED, DENIED, EXPIRED = range(61, 67)
"""The codes of delegation tokens."""

_REMEDIES = {
    AUTH_DISABLED: "set delegation.token.secret.key in server.properties of all brokers and controllers, the same in "
    "each, and restart them",
    NOT_FOUND: SEE,
    OWNER_MISMATCH: "authenticate as its owner or as one of its renewers",
    NOT_ALLOWED: "authenticate by SASL or with a certificate, and not with a token",
    EXPIRED: SEE,
}
_TEXTS = {
    AUTH_DISABLED: "the brokers have no delegation.token.secret.key, so delegation tokens are off",
    NOT_FOUND: "there is no such token: it has expired, or was removed",
    OWNER_MISMATCH: "this client is neither the owner of the token nor one of its renewers",
    NOT_ALLOWED: "brokers give tokens only to clients that authenticate, and not with a token themselves",
    DENIED: "tokens of others need CREATE_TOKENS or DESCRIBE_TOKENS on their owner",
    EXPIRED: "the token has expired",
}


@dataclass(frozen=True, slots=True, order=True)
class Principal:
    """As in ACLs: ``User:alice``."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token. Times are in ms since the epoch: ``expires_at`` may be moved, up to ``max_at``. ``requester`` created it,
    None where brokers do not say so (before Kafka 3.3). ``hmac`` is in base64: with ``id`` as the user, it is the
    password.
    """

    id: str
    owner: Principal
    requester: Principal | None
    issued_at: int
    expires_at: int
    max_at: int
    renewers: tuple[Principal, ...] = ()
    hmac: Secret = field(default=Secret(""), repr=False)


def check_encrypted(options: ClientOptions) -> None:
    """ConfigError unless what a client with ``options`` receives is encrypted, or need not be."""
    refuse_plaintext(
        options,
        "delegation tokens over {protocol} are refused",
        why="their HMACs would be sent without encryption, and are sufficient to authenticate as their owners",
    )


def create_token(
    cluster: Cluster,
    deadline: float,
    *,
    owner: Principal | None,
    renewers: Collection[Principal],
    max_lifetime_ms: int,
) -> DelegationToken:
    """Creates a token for ``owner`` (None: for this client). OutcomeUnknownError where the response was lost.

    A request that may have been carried out is not repeated: each makes another token.
    """
    check_encrypted(cluster.options)
    what = f"creating a delegation token{f' for {owner}' if owner else ''}"
    request = CreateDelegationTokenRequest(
        owner_principal_type=owner.type if owner else None,
        owner_principal_name=owner.name if owner else None,
        renewers=[CreatableRenewers(principal_type=one.type, principal_name=one.name) for one in renewers],
        max_lifetime_ms=max_lifetime_ms,
    )
    if owner is not None:
        request.require_version(3)
    last: Future[CreateDelegationTokenResponse] | None = None

    def attempt() -> Future[CreateDelegationTokenResponse]:
        nonlocal last
        if last is not None and isinstance(last.error, OutcomeUnknownError):
            raise last.error
        last = cluster.send(request, CONTROLLER)
        return last

    def check(response: CreateDelegationTokenResponse) -> DelegationToken:
        _raise(response.error_code, what)
        requester = Principal(
            response.token_requester_principal_type, response.token_requester_principal_name
        )
        return DelegationToken(
            id=response.token_id,
            owner=Principal(response.principal_type, response.principal_name),
            requester=requester if requester.name else None,
            issued_at=response.issue_timestamp_ms,
            expires_at=response.expiry_timestamp_ms,
            max_at=response.max_timestamp_ms,
            renewers=tuple(renewers),
            hmac=_in_base64(response.hmac),
        )

    try:
        return cluster.call(attempt, check, deadline, what)
    except UnsupportedError as error:
        raise _too_old(error) from error


def describe_tokens(
    cluster: Cluster, owners: Collection[Principal] | None, deadline: float
) -> list[DelegationToken]:
    """The tokens of these owners (None: of all), as far as this client may see them, by their ids.

    A client sees those that it owns or may renew, and others by DESCRIBE on the token or DESCRIBE_TOKENS on the owner.
    Brokers also return those that an owner may renew, or has created for somebody else.
    """
    check_encrypted(cluster.options)
    what = "listing the delegation tokens"
    rows = None
    if owners is not None:
        rows = [
            DescribeDelegationTokenOwner(principal_type=one.type, principal_name=one.name) for one in owners
        ]
    request = DescribeDelegationTokenRequest(owners=rows)

    def check(response: DescribeDelegationTokenResponse) -> list[DelegationToken]:
        _raise(response.error_code, what)
        tokens = [token for token in map(_token, response.tokens) if owners is None or token.owner in owners]
        return sorted(tokens, key=lambda token: token.id)

    try:
        return cluster.call(lambda: cluster.send(request, CONTROLLER), check, deadline, what)
    except UnsupportedError as error:
        raise _too_old(error) from error


def renew_tokens(
    cluster: Cluster, tokens: Collection[DelegationToken], period_ms: int, deadline: float
) -> dict[str, int | KcliError]:
    """Moves the expiry of each to ``period_ms`` from now, or by the brokers' own period, but not beyond ``max_at``: when
    it is, by the token's id.
    """

    def request(token: DelegationToken) -> Request:
        return RenewDelegationTokenRequest(hmac=_bytes(token.hmac), renew_period_ms=period_ms)

    return _new_expiries(cluster, tokens, request, "renewing token", deadline)


def expire_tokens(
    cluster: Cluster, tokens: Collection[DelegationToken], period_ms: int, deadline: float
) -> dict[str, int | KcliError]:
    """Has tokens expire ``period_ms`` from now; SERVER_DEFAULT removes them at once. The times, by the tokens' ids."""

    def request(token: DelegationToken) -> Request:
        return ExpireDelegationTokenRequest(hmac=_bytes(token.hmac), expiry_time_period_ms=period_ms)

    return _new_expiries(cluster, tokens, request, "expiring token", deadline)


def _new_expiries(
    cluster: Cluster,
    tokens: Collection[DelegationToken],
    request: Callable[[DelegationToken], Request],
    what: str,
    deadline: float,
) -> dict[str, int | KcliError]:
    """A request has one token: all of them are on their way at the same time."""
    check_encrypted(cluster.options)

    def ask(_broker: Broker, items: Items[str, DelegationToken]) -> list[Part[str]]:
        return [Part(request(token), [key]) for key, token in items]

    def read(
        response: RenewDelegationTokenResponse | ExpireDelegationTokenResponse, part: Part[str]
    ) -> Iterator[tuple[str, int | KcliError, int]]:
        code = response.error_code
        for key in part.keys:
            yield key, refusal(code, f"{what} {key}") if code != NONE else NONE, response.expiry_timestamp_ms

    items = {token.id: token for token in tokens}
    return fan_out(cluster, items, ToController(cluster), ask, read, deadline, what)


def _token(row: DescribedDelegationToken) -> DelegationToken:
    requester = Principal(row.token_requester_principal_type, row.token_requester_principal_name)
    return DelegationToken(
        id=row.token_id,
        owner=Principal(row.principal_type, row.principal_name),
        requester=requester if requester.name else None,
        issued_at=row.issue_timestamp,
        expires_at=row.expiry_timestamp,
        max_at=row.max_timestamp,
        renewers=tuple(Principal(one.principal_type, one.principal_name) for one in row.renewers),
        hmac=_in_base64(row.hmac),
    )


def _in_base64(hmac: bytes) -> Secret:
    return Secret(base64.b64encode(hmac).decode())


def _bytes(hmac: Secret) -> bytes:
    return base64.b64decode(hmac.reveal())


def login_principal(options: ClientOptions) -> Principal | None:
    """Who a client with ``options`` is, as brokers have it unless they are told otherwise: with PLAIN and SCRAM the user.
    None where that is not known, as of a certificate.
    """
    named = options.sasl_mechanism == "PLAIN" or options.sasl_mechanism.startswith("SCRAM-")
    is_used = named and options.security_protocol.startswith("SASL_") and not options.sasl_tokenauth
    return Principal("User", options.sasl_username) if is_used and options.sasl_username else None


def _raise(code: int, what: str) -> None:
    if code != NONE:
        raise refusal(code, what)


def refusal(code: int, what: str) -> BrokerError:
    """The error for a code of a broker."""
    return BrokerError(code, what, message=_TEXTS.get(code, ""), do=_REMEDIES.get(code, ""), needs=())


def _too_old(error: UnsupportedError) -> KcliError:
    return UnsupportedError(
        error.what,
        why="brokers have delegation tokens since Kafka 1.1, those of KRaft clusters since 3.6; tokens of other owners "
        "since 3.3",
        do="use newer brokers",
    )
