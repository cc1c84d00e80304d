"""Schemas of Apicurio Registry by its own REST API, version 3 or 2, with the options of the registry client."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kcli.core.net.http_messages import Answer
from kcli.serde.errors import RegistryError, SchemaNotFoundError
from kcli.serde.foreign.serde import Fetched, SchemaSource
from kcli.serde.foreign.wire import CONTENT, GLOBAL, Located, named_message, split_apicurio
from kcli.serde.registry.addresses import addresses
from kcli.serde.registry.client import Reference, Schema, referenced, unusable
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.registry.transport import Transport
from kcli.serde.serde import SerdeContext

if TYPE_CHECKING:
    from kcli.serde.protobuf.descriptors import ProtoFile

_API = re.compile(r"/apis/(?:(registry/v[23])|ccompat/v\d+)$")
_NEWEST, _OLDER = "registry/v3", "registry/v2"
_IDS = {"global": GLOBAL, "content": CONTENT}
_AVRO = (
    "record",
    "enum",
    "fixed",
    "array",
    "map",
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
)


class ApicurioSource(SchemaSource):
    """``arguments``: those of ``-s``. ConfigError for an invalid address. Nothing is asked yet."""

    title = "Apicurio Registry"

    def __init__(
        self,
        arguments: Mapping[str, str],
        options: RegistryOptions,
        *,
        allow_plaintext_secrets: bool = False,
    ) -> None:
        found = addresses(options, allow_plaintext_secrets=allow_plaintext_secrets)
        named = {match[1] for one in found if (match := _API.search(one.path)) and match[1]}
        self._api = named.pop() if len(named) == 1 else ""
        bare = [one._replace(path=_API.sub("", one.path)) for one in found]
        self._transport = Transport(bare, options, accept="*/*")
        self._ids = _IDS.get(arguments.get("ids", ""), "")

    def split(self, data: bytes, context: SerdeContext) -> Located:
        return split_apicurio(data, context, self._ids)

    def fetch(self, located: Located) -> Fetched:
        path = f"/ids/{located.space}/{located.schema_id}"
        answer = self._get(f"{path}?returnArtifactType=true")
        schema = Schema(-1, _kind_of(answer), _text(answer, path), self._references(path))
        return schema, referenced(schema, self._load)

    def message(self, located: Located, file: ProtoFile) -> tuple[bytes, tuple[int, ...]]:
        names = list(file.file.message_types_by_name)
        found = named_message(located, names)
        if found.message and found.message not in names:
            raise ValueError(f"there is no message {found.message}; there are {', '.join(names) or 'none'}")
        return found.payload, (names.index(found.message) if found.message else 0,)

    def close(self) -> None:
        self._transport.close()

    def _load(self, reference: Reference) -> Schema:
        """A reference's ``subject`` is the path of the version that it names."""
        path = reference.subject
        answer = self._get(f"{path}/content" if self._version == _NEWEST else path)
        return Schema(-1, _kind_of(answer), _text(answer, path), self._references(path))

    def _references(self, path: str) -> tuple[Reference, ...]:
        answer = self._get(f"{path}/references")
        try:
            return tuple(
                Reference(str(row["name"]), _version_path(row), 0) for row in json.loads(answer.body) or []
            )
        except (TypeError, KeyError, ValueError, RecursionError):
            raise unusable(path, "its references cannot be read") from None

    def _get(self, path: str) -> Answer:
        path = f"/apis/{self._version}{path}"
        try:
            return self._transport.answer("GET", path)
        except RegistryError as error:
            if error.status != 404 or isinstance(error, SchemaNotFoundError):
                raise
            raise SchemaNotFoundError(error.what, why=error.why, status=404, code=error.code) from None

    @property
    def _version(self) -> str:
        """The version of the API: the one of the address, else the newest that the registry has."""
        if not self._api:
            try:
                self._transport.answer("GET", f"/apis/{_NEWEST}/system/info")
                self._api = _NEWEST
            except RegistryError as error:
                if error.status != 404:
                    raise
                self._api = _OLDER
        return self._api


def _version_path(row: Mapping[str, Any]) -> str:
    group = quote(str(row.get("groupId") or "default"), safe="")
    artifact, version = (quote(str(row[name]), safe="") for name in ("artifactId", "version"))
    return f"/groups/{group}/artifacts/{artifact}/versions/{version}"


def _text(answer: Answer, path: str) -> str:
    try:
        return answer.body.decode()
    except UnicodeDecodeError:
        raise unusable(path, "it is not UTF-8") from None


def _kind_of(answer: Answer) -> str:
    """As version 3 says it; version 2 only says whether it is Protobuf."""
    said = answer.headers.get("x-registry-artifacttype", "").upper()
    if said:
        return said
    try:
        schema = json.loads(answer.body)
    except (ValueError, RecursionError):
        return "PROTOBUF"
    kind = schema.get("type") if isinstance(schema, dict) else schema
    is_avro = "$schema" not in schema and (kind in _AVRO or isinstance(kind, list) or schema == "string")
    return "AVRO" if is_avro else "JSON"
