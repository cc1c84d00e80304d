"""AWS_MSK_IAM: Amazon's brokers check a request that is signed with an AWS access key (aws-msk-iam-auth).

The access key comes from where AWS's own tools look for it: environment, profile, container, instance. That may use the
network, so it happens in the worker thread, before each authentication: what is temporary is renewed by ``botocore``.

What is signed is a presigned request, as JSON. Sources: Amazon's "Signature Version 4" for query parameters, and the
payload version 2020_10_22 of aws-msk-iam-auth.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from kcli.core import clock
from kcli.core.classes import dataclass
from kcli.core.connection.sasl.exchange import LARGEST_MESSAGE, Credentials, Exchange, ExchangeError
from kcli.core.connection.steps import Compute
from kcli.core.errors import ConfigError
from kcli.core.extras import library
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret
from kcli.core.version import __version__

_REMEDY = "check the AWS credentials (aws sts get-caller-identity), and that their policy allows kafka-cluster:Connect"


def prepare(options: ClientOptions) -> Credentials:
    """The credentials of AWS's default chain, or of ``sasl.aws.profile``; ConfigError without ``botocore``."""
    keys = AccessKeys(_source(options.sasl_aws_profile))
    region = options.sasl_aws_region
    return Credentials(keys.user, lambda host: aws_msk_iam(keys, host, region), keys.secrets, _REMEDY)


class AccessKeys:
    """``fetch`` runs in the worker thread, the rest in the loop's; it only replaces a field."""

    def __init__(self, source: Callable[[], AwsCredentials | None]) -> None:
        self._source = source
        self._last: AwsCredentials | None = None

    def fetch(self) -> AwsCredentials:
        """The access key that is valid now; ExchangeError if AWS's configuration has none."""
        found = self._source()
        if found is None:
            raise ExchangeError(
                "no AWS credentials were found",
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile with sasl.aws.profile",
            )
        self._last = found
        return found

    def user(self) -> str:
        """The id of the access key, which is no secret."""
        return self._last.access_key_id if self._last is not None else ""

    def secrets(self) -> tuple[Secret, ...]:
        """What no message may contain."""
        last = self._last
        return () if last is None else tuple(filter(None, (last.secret_access_key, last.session_token)))


def aws_msk_iam(keys: AccessKeys, host: str, region: str) -> Exchange:
    """One message: the signed request. The broker answers with JSON that has the id of the request."""
    region = region_of(host, region)
    credentials: AwsCredentials = yield Compute(keys.fetch)
    now = datetime.fromtimestamp(clock.wall(), UTC)
    answer = yield signed_payload(credentials, host, region, now, f"kcli/{__version__}")
    if not _accepted(bytes(answer)):
        raise ExchangeError(
            "the broker's response is not that of AWS_MSK_IAM", "check that this is a broker of MSK"
        )


def _accepted(answer: bytes) -> bool:
    if len(answer) > LARGEST_MESSAGE:
        return False
    try:
        found: Any = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("request-id"), str)


def _source(profile: str) -> Callable[[], AwsCredentials | None]:
    errors, sessions = (
        library(f"botocore.{name}", extra="msk-iam", wanted_by="sasl.mechanism=AWS_MSK_IAM")
        for name in ("exceptions", "session")
    )
    session = sessions.Session(profile=profile or None)

    def source() -> AwsCredentials | None:
        try:
            found = session.get_credentials()
            frozen = found.get_frozen_credentials() if found is not None else None
        except errors.BotoCoreError as error:
            raise ExchangeError(f"AWS's configuration gives no credentials: {error}", _REMEDY) from None
        if frozen is None:
            return None
        return AwsCredentials(frozen.access_key, Secret(frozen.secret_key), Secret(frozen.token or ""))

    return source


ACTION = "kafka-cluster:Connect"
EXPIRES = 900
"""Seconds for which a broker accepts the payload."""

_ALGORITHM = "AWS4-HMAC-SHA256"
_SERVICE = "kafka-cluster"
_EMPTY_HASH = hashlib.sha256(b"").hexdigest()
_HOST_REGION = re.compile(
    r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?\.?\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """An access key; ``session_token`` is empty for long-lived ones."""

    access_key_id: str
    secret_access_key: Secret
    session_token: Secret


def region_of(host: str, given: str) -> str:
    """``given``, else the region in the name of an MSK broker; ConfigError if there is none."""
    found = _HOST_REGION.search(host)
    if given or found:
        return given or found[1].lower()  # type: ignore[index]
    raise ConfigError(
        f"no AWS region for {host}",
        why="the host is not named like a broker of MSK, which has the region in its name",
        do="give sasl.aws.region, for example eu-central-1",
    )


def signed_payload(
    credentials: AwsCredentials, host: str, region: str, now: datetime, user_agent: str
) -> bytes:
    """What the client sends to the broker ``host``; ``now`` is aware."""
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/{_SERVICE}/aws4_request"
    query = {
        "Action": ACTION,
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key_id}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(EXPIRES),
        "X-Amz-SignedHeaders": "host",
    }
    if credentials.session_token:
        query["X-Amz-Security-Token"] = credentials.session_token.reveal()
    payload = {
        "version": "2020_10_22",
        "host": host,
        "user-agent": user_agent,
        **{key.lower(): value for key, value in query.items()},
        "x-amz-signature": _signature(credentials.secret_access_key, scope, stamp, _canonical(host, query)),
    }
    return json.dumps(payload, separators=(",", ":")).encode()


def _canonical(host: str, query: dict[str, str]) -> str:
    encoded = sorted((quote(key, safe="-_.~"), quote(value, safe="-_.~")) for key, value in query.items())
    parameters = "&".join(f"{key}={value}" for key, value in encoded)
    return f"GET\n/\n{parameters}\nhost:{host}\n\nhost\n{_EMPTY_HASH}"


def _signature(secret: Secret, scope: str, stamp: str, canonical: str) -> str:
    to_sign = f"{_ALGORITHM}\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = b"AWS4" + secret.reveal().encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()
