"""Schemas of AWS Glue's registry, by ``botocore``: credentials, profile and region are of AWS's usual chain (``AWS_*``,
``~/.aws``, roles of the machine).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kcli.core.errors import ConfigError
from kcli.core.extras import library
from kcli.serde.errors import RegistryAuthError, RegistryError, RegistryUnreachableError, SchemaNotFoundError
from kcli.serde.foreign.serde import Fetched, SchemaSource
from kcli.serde.foreign.wire import Located, split_glue
from kcli.serde.registry.client import Schema
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.serde import SerdeContext

if TYPE_CHECKING:
    from kcli.serde.protobuf.descriptors import ProtoFile

_MISSING = ("EntityNotFoundException",)
_DENIED = (
    "AccessDeniedException",
    "ExpiredTokenException",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "UnrecognizedClientException",
)
_BUSY = ("ThrottlingException", "InternalServiceException", "ServiceUnavailable")
_NO_CREDENTIALS = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "TokenRetrievalError",
)
_AWAY = (
    "ConnectionError",
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "HTTPClientError",
)
_WHERE = "the Glue Schema Registry"


class GlueSource(SchemaSource):
    """``arguments``: those of ``-s``. ConfigError without the library; the client is made with the first record."""

    title = "AWS Glue"

    def __init__(self, arguments: Mapping[str, str], options: RegistryOptions) -> None:
        self._session = library("botocore.session", extra="glue", wanted_by="the serde glue")
        self._config = library("botocore.config", extra="glue", wanted_by="the serde glue")
        self._arguments, self._options = arguments, options
        self._client: Any = None

    def split(self, data: bytes, context: SerdeContext) -> Located:
        return split_glue(data, context)

    def fetch(self, located: Located) -> Fetched:
        try:
            self._client = self._client or self._made()
            answer = self._client.get_schema_version(SchemaVersionId=str(located.schema_id))
        except Exception as error:
            raise _meant(error, f"schema version {located.schema_id}") from error
        kind, text = str(answer.get("DataFormat")), str(answer.get("SchemaDefinition"))
        return Schema(-1, kind, text, version=int(answer.get("VersionNumber") or 0)), []

    def message(self, located: Located, file: ProtoFile) -> tuple[bytes, tuple[int, ...]]:
        """In front is the number of the message among all of the schema, by their full names."""
        from kcli.serde.protobuf.descriptors import path_of  # needs the library of an extra

        number, start = _varint(located.payload)
        messages = sorted(
            _messages(file.file.message_types_by_name.values()), key=lambda one: str(one.full_name)
        )
        if number >= len(messages):
            raise ValueError(f"it is of message {number}, and the schema has {len(messages)}")
        return located.payload[start:], path_of(messages[number])

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _made(self) -> Any:
        seconds = self._options.schema_registry_request_timeout_ms / 1000
        return self._session.get_session().create_client(
            "glue",
            # AWS_REGION is read by all but botocore, which has AWS_DEFAULT_REGION
            region_name=self._arguments.get("region") or os.environ.get("AWS_REGION"),
            endpoint_url=self._arguments.get("endpoint"),
            config=self._config.Config(
                connect_timeout=seconds,
                read_timeout=seconds,
                retries={
                    "mode": "standard",
                    "total_max_attempts": 1 + self._options.schema_registry_max_retries,
                },
                user_agent_extra="kcli",
            ),
        )


def _messages(types: Any) -> Iterator[Any]:
    for one in types:
        yield one
        yield from _messages(one.nested_types)


def _varint(data: bytes) -> tuple[int, int]:
    value = 0
    for at, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return value, at + 1
    raise ValueError("it does not say which Protobuf message it is")


def _meant(error: Exception, what: str) -> Exception:
    """Errors of botocore are known by the names of their classes, and by the codes of AWS."""
    names = {kind.__name__ for kind in type(error).__mro__}
    found = getattr(error, "response", None) or {}
    code = str(found.get("Error", {}).get("Code", ""))
    text = str(found.get("Error", {}).get("Message") or error)
    why = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]
    if code in _MISSING:
        return SchemaNotFoundError(f"{_WHERE} does not have {what}", why=why)
    if code in _DENIED or names & set(_NO_CREDENTIALS):
        return RegistryAuthError(
            f"{_WHERE} does not give {what}",
            why=why,
            do="check the credentials (AWS_PROFILE, aws sts get-caller-identity), and that they allow "
            "glue:GetSchemaVersion",
        )
    if code in _BUSY or names & set(_AWAY):
        return RegistryUnreachableError(
            f"{_WHERE} does not answer", why=why, do="check the region (glue:region=REGION), and the network"
        )
    if "NoRegionError" in names:
        do = "-s value=glue:region=REGION, or AWS_REGION"
        return ConfigError("no region of AWS is named", why=f"{_WHERE} is one of a region", do=do)
    if "ClientError" in names:
        return RegistryError(f"{_WHERE} refuses {what}", why=why)
    if "BotoCoreError" in names or isinstance(error, ValueError):
        return ConfigError(f"{_WHERE} cannot be used", why=why, do="check the configuration of AWS")
    return error
