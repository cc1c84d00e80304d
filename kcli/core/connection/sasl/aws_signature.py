"""The signed payload of AWS_MSK_IAM: a presigned request, as JSON. Pure.

Sources: Amazon's "Signature Version 4" for query parameters, and the payload version 2020_10_22 of aws-msk-iam-auth.
"""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from kcli.core.errors import ConfigError
from kcli.core.secret import Secret

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
