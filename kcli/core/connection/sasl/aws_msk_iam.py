"""AWS_MSK_IAM: Amazon's brokers check a request that is signed with an AWS access key (aws-msk-iam-auth).

The access key comes from where AWS's own tools look for it: environment, profile, container, instance. That may use the
network, so it happens in the worker thread, before each authentication: what is temporary is renewed by ``botocore``, and
``botocore`` signs.

What is sent is a presigned request, as JSON: the payload version 2020_10_22 of aws-msk-iam-auth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

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
        return self._last.access_key if self._last is not None else ""

    def secrets(self) -> tuple[Secret, ...]:
        """What no message may contain."""
        last = self._last
        return () if last is None else tuple(Secret(text) for text in (last.secret_key, last.token) if text)


def aws_msk_iam(keys: AccessKeys, host: str, region: str) -> Exchange:
    """One message: the signed request. The broker answers with JSON that has the id of the request."""
    region = region_of(host, region)
    payload: bytes = yield Compute(lambda: signed_payload(keys.fetch(), host, region, f"kcli/{__version__}"))
    answer = yield payload
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
    errors = _botocore("exceptions")
    session = _botocore("session").Session(profile=profile or None)

    def source() -> AwsCredentials | None:
        try:
            found = session.get_credentials()
            return found.get_frozen_credentials() if found is not None else None
        except errors.BotoCoreError as error:
            raise ExchangeError(f"AWS's configuration gives no credentials: {error}", _REMEDY) from None

    return source


def _botocore(name: str) -> Any:
    return library(f"botocore.{name}", extra="msk-iam", wanted_by="sasl.mechanism=AWS_MSK_IAM")


ACTION = "kafka-cluster:Connect"
EXPIRES = 900
"""Seconds for which a broker accepts the payload."""

_SERVICE = "kafka-cluster"
_HOST_REGION = re.compile(
    r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?\.?\Z", re.IGNORECASE
)


class AwsCredentials(Protocol):
    """An access key, as botocore freezes it; ``token`` is None for long-lived ones."""

    @property
    def access_key(self) -> str: ...

    @property
    def secret_key(self) -> str: ...

    @property
    def token(self) -> str | None: ...


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


def signed_payload(credentials: AwsCredentials, host: str, region: str, user_agent: str) -> bytes:
    """What the client sends to the broker ``host``."""
    request = _botocore("awsrequest").AWSRequest("GET", f"https://{host}/", params={"Action": ACTION})
    _botocore("auth").SigV4QueryAuth(credentials, _SERVICE, region, expires=EXPIRES).add_auth(request)
    signed = {name.lower(): value for name, value in parse_qsl(urlsplit(request.url).query)}
    payload = {"version": "2020_10_22", "host": host, "user-agent": user_agent, **signed}
    return json.dumps(payload, separators=(",", ":")).encode()
