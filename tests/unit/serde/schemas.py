"""Serdes over schemas without a registry on the network: a transport that answers from a FakeRegistry. Not a test."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kcli.serde.errors import RegistryError, SchemaNotFoundError
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.client import Registry
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.registry.transport import Transport
from kcli.serde.serde import Serde, SerdeContext
from tests.registry.fake import FakeRegistry, RefusedError

OPTIONS = RegistryOptions(schema_registry_url="http://registry.invalid:8081")
PLACE = SerdeContext("topic")


class DirectTransport(Transport):
    """Hands questions to a FakeRegistry, without HTTP."""

    def __init__(self, content: FakeRegistry) -> None:
        super().__init__((), OPTIONS)
        self._content = content

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        self._content.asked.append(f"{method} {path}")
        parts = urlsplit(path)
        try:
            return self._content.answer(method, parts.path, parse_qs(parts.query), body)
        except RefusedError as error:
            kind = SchemaNotFoundError if error.status == 404 else RegistryError
            raise kind(path, why=error.message, status=error.status, code=error.code) from None


def registry(content: FakeRegistry, **options: Any) -> Registry:
    return Registry(OPTIONS, transport=DirectTransport(content), **options)


def serde(text: str, content: FakeRegistry | None = None, *, writing: bool = True) -> Serde:
    """The serde ``text``, with ``content`` as its registry."""
    given = registry(content) if content is not None else None
    found = open_serdes(parse_serdes([text]), OPTIONS, writing=writing, registry=given).value
    assert found is not None
    return found


def with_schema(schema: Any, arguments: str = "") -> Serde:
    """An avro serde that reads and writes one schema, of the subject ``topic-value``."""
    content = FakeRegistry()
    content.register("topic-value", {"schema": json.dumps(schema)})
    return serde(f"avro{arguments}", content)
