# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeUserScramCredentials (API 50): the SCRAM mechanisms and iterations of users (KIP-554). Never a password."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT8, INT16, INT32, STRING, Array, Struct, field


class CredentialInfo(Struct):
    mechanism: int = field(INT8)
    iterations: int = field(INT32)


class DescribeUserScramCredentialsResult(Struct):
    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    credential_infos: list[CredentialInfo] = field(Array(CredentialInfo))


class DescribeUserScramCredentialsResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = field(Array(DescribeUserScramCredentialsResult))


class UserName(Struct):
    name: str = field(STRING)


class DescribeUserScramCredentialsRequest(
    Request, key=50, versions=(0, 0), flexible=0, response=DescribeUserScramCredentialsResponse
):
    users: list[UserName] | None = field(Array(UserName), nullable="0+")
