"""AWS_MSK_IAM: Amazon's brokers check a request that is signed with an AWS access key (aws-msk-iam-auth).

The access key comes from where AWS's own tools look for it: environment, profile, container, instance. That may use the
network, so it happens in the worker thread, before each authentication: what is temporary is renewed by ``botocore``.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from kcli.core import clock
from kcli.core.connection.handshake import Compute
from kcli.core.connection.sasl.aws_signature import AwsCredentials, region_of, signed_payload
from kcli.core.connection.sasl.exchange import LARGEST_MESSAGE, Credentials, Exchange, ExchangeError
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
