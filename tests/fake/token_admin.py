"""Delegation tokens as the controller of a KRaft cluster keeps them, and the requests that create, renew, expire and list
them. Logins with a token find it here.

Unlike a real broker, this cluster gives tokens to clients that do not authenticate, too: they are ``User:ANONYMOUS``.
"""

import base64
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kcli.core.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kcli.core.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
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
from tests.fake.codes import Code, RefusedError
from tests.fake.scram_store import DIGESTS, Credential

if TYPE_CHECKING:
    from tests.fake.state import Context

DAY = 86_400_000
"""delegation.token.expiry.time.ms; the longest life is seven of it."""


@dataclass(slots=True)
class Token:
    """What is kept of a token."""

    id: str
    owner: str
    requester: str
    hmac: bytes
    issued: int
    expiry: int
    latest: int
    renewers: list[str] = field(default_factory=list)


class Tokens(dict[str, Token]):
    """By their ids. ``enabled``: the brokers have a delegation.token.secret.key."""

    enabled = True

    def add(
        self, now: int, owner: str, *, requester: str = "", lifetime: int = -1, token_id: str = ""
    ) -> Token:
        """A new one, which ``owner`` owns."""
        found = token_id or secrets.token_urlsafe(16)
        code = hmac.new(b"of the brokers", found.encode(), hashlib.sha512).digest()
        latest = now + (7 * DAY if lifetime < 0 else min(lifetime, 7 * DAY))
        made = Token(found, owner, requester or owner, code, now, min(now + DAY, latest), latest)
        self[found] = made
        return made

    def find(self, token_id: str, mechanism: int) -> Credential | None:
        """As ``ScramStore.find``: the credential of a token that has not expired."""
        token = self.get(token_id)
        if token is None or token.expiry < time.time() * 1000:
            return None
        password = base64.b64encode(token.hmac).decode()
        return Credential.of_password(DIGESTS[mechanism], b"salt", 4096, password)

    def of_hmac(self, code: bytes, who: str, now: int) -> Token:
        """The token, which ``who`` may change."""
        token = next((one for one in self.values() if one.hmac == code), None)
        if token is None:
            raise RefusedError(Code.DELEGATION_TOKEN_NOT_FOUND)
        if who not in (token.owner, *token.renewers):
            raise RefusedError(Code.DELEGATION_TOKEN_OWNER_MISMATCH)
        if token.expiry < now:
            raise RefusedError(Code.DELEGATION_TOKEN_EXPIRED)
        return token


def _who(ctx: "Context") -> str:
    """The name of the client; RefusedError if it gets no tokens."""
    if not ctx.state.tokens.enabled:
        raise RefusedError(Code.DELEGATION_TOKEN_AUTH_DISABLED)
    if ctx.session.by_token:
        raise RefusedError(Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    return ctx.session.user or "ANONYMOUS"


async def create_delegation_token(
    ctx: "Context", request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    """For the client, or another owner."""
    try:
        who = _who(ctx)
    except RefusedError as refused:
        return CreateDelegationTokenResponse(error_code=refused.code)
    owner = request.owner_principal_name or who
    token = ctx.state.tokens.add(ctx.state.now_ms, owner, requester=who, lifetime=request.max_lifetime_ms)
    token.renewers = [one.principal_name for one in request.renewers]
    ctx.state.changed()
    return CreateDelegationTokenResponse(
        principal_type="User",
        principal_name=owner,
        token_requester_principal_type="User",
        token_requester_principal_name=who,
        issue_timestamp_ms=token.issued,
        expiry_timestamp_ms=token.expiry,
        max_timestamp_ms=token.latest,
        token_id=token.id,
        hmac=token.hmac,
    )


async def renew_delegation_token(
    ctx: "Context", request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    """For the broker's period at most, and not beyond its longest life."""
    now, period = ctx.state.now_ms, request.renew_period_ms
    try:
        token = ctx.state.tokens.of_hmac(bytes(request.hmac), _who(ctx), now)
    except RefusedError as refused:
        return RenewDelegationTokenResponse(error_code=refused.code)
    token.expiry = min(now + (DAY if period < 0 else min(period, DAY)), token.latest)
    ctx.state.changed()
    return RenewDelegationTokenResponse(expiry_timestamp_ms=token.expiry)


async def expire_delegation_token(
    ctx: "Context", request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    """A negative period removes it."""
    now, period = ctx.state.now_ms, request.expiry_time_period_ms
    try:
        token = ctx.state.tokens.of_hmac(bytes(request.hmac), _who(ctx), now)
    except RefusedError as refused:
        return ExpireDelegationTokenResponse(error_code=refused.code)
    token.expiry = now if period < 0 else min(now + period, token.latest)
    if period < 0:
        del ctx.state.tokens[token.id]
    ctx.state.changed()
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=token.expiry)


async def describe_delegation_token(
    ctx: "Context", request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """All, whoever asks."""
    try:
        _who(ctx)
    except RefusedError as refused:
        return DescribeDelegationTokenResponse(error_code=refused.code)
    owners = None if request.owners is None else {one.principal_name for one in request.owners}
    rows = [
        DescribedDelegationToken(
            principal_type="User",
            principal_name=token.owner,
            token_requester_principal_type="User",
            token_requester_principal_name=token.requester,
            issue_timestamp=token.issued,
            expiry_timestamp=token.expiry,
            max_timestamp=token.latest,
            token_id=token.id,
            hmac=token.hmac,
            renewers=[
                DescribedDelegationTokenRenewer(principal_type="User", principal_name=n)
                for n in token.renewers
            ],
        )
        for token in ctx.state.tokens.values()
        if owners is None or owners & {token.owner, token.requester, *token.renewers}
    ]
    return DescribeDelegationTokenResponse(tokens=rows)
