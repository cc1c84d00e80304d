# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""AlterUserScramCredentials (API 51): SCRAM credentials to be set or removed (KIP-554)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BYTES, INT8, INT16, INT32, STRING, Array, Struct, field


class AlterUserScramCredentialsResult(Struct):
    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class AlterUserScramCredentialsResponse(Response):
    throttle_time_ms: int = field(INT32)
    results: list[AlterUserScramCredentialsResult] = field(Array(AlterUserScramCredentialsResult))


class ScramCredentialDeletion(Struct):
    name: str = field(STRING)
    mechanism: int = field(INT8)


class ScramCredentialUpsertion(Struct):
    name: str = field(STRING)
    mechanism: int = field(INT8)
    iterations: int = field(INT32)
    salt: bytes = field(BYTES)
    salted_password: bytes = field(BYTES, secret=True)


class AlterUserScramCredentialsRequest(
    Request, key=51, versions=(0, 0), flexible=0, response=AlterUserScramCredentialsResponse
):
    deletions: list[ScramCredentialDeletion] = field(Array(ScramCredentialDeletion))
    upsertions: list[ScramCredentialUpsertion] = field(Array(ScramCredentialUpsertion))
