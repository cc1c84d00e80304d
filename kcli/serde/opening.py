"""From the parsed options (``names``) to working serdes; reports errors before the first record where possible."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.core.extras import library
from kcli.serde import text
from kcli.serde.names import INTERNAL, ONLY_READ, OTHER_REGISTRIES, SerdeSpec, SerdeSpecs
from kcli.serde.numbers import FloatSerde, IntegerSerde
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.serde import Serde

if TYPE_CHECKING:
    from kcli.serde.registry.client import Registry
    from kcli.serde.schema_serde import SchemaSerde

_LIBRARY = {"avro": "fastavro", "protobuf": "google.protobuf"}
_TEXT: dict[str, Callable[[], Serde]] = {
    "str": text.StringSerde,
    "json": text.JsonSerde,
    "hex": text.HexSerde,
    "base64": text.Base64Serde,
}
_SIZES = {"short": 2, "int": 4, "long": 8, "float": 4, "double": 8}


@dataclass(slots=True)
class Serdes:
    """The serdes of a command; None leaves bytes unchanged. A context manager."""

    key: Serde | None = None
    value: Serde | None = None
    registry: Registry | None = None
    """The registry, if a serde uses it: for ``subject_of`` in messages."""

    def prepare(self, topic: str) -> None:
        """Looks up the schemas for ``topic``, so that errors are reported before any input is read."""
        for part, serde in (("key", self.key), ("value", self.value)):
            if serde is not None:
                serde.prepare(topic, part)

    def unapplied(self, topic: str) -> list[str]:
        """What other producers do with what they write to ``topic``, and these serdes do not. After ``prepare``."""
        both = (("key", self.key), ("value", self.value))
        return [text for part, serde in both if serde is not None and (text := serde.unapplied(topic, part))]

    def close(self) -> None:
        """Closes the clients of registries."""
        for serde in (self.key, self.value):
            if serde is not None:
                serde.close()
        if self.registry is not None:
            self.registry.close()

    def __enter__(self) -> Serdes:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


def open_serdes(
    specs: SerdeSpecs,
    options: RegistryOptions | None = None,
    *,
    writing: bool = False,
    allow_plaintext_secrets: bool = False,
    registry: Registry | None = None,
) -> Serdes:
    """The serdes of ``specs``; ConfigError for a missing library, file, or registry address. Does not use the network
    yet.

    ``writing``: they will encode. ``registry`` replaces the one of ``options``.
    """
    serdes = Serdes(registry=registry)

    def the_registry() -> Registry:
        if serdes.registry is None:
            from kcli.serde.registry.client import Registry  # HTTP is for serdes with a registry only

            serdes.registry = Registry(
                options or RegistryOptions(), allow_plaintext_secrets=allow_plaintext_secrets
            )
        return serdes.registry

    def opened(spec: SerdeSpec, part: str) -> Serde:
        if writing and spec.name in ONLY_READ:
            raise ConfigError(
                f"-s {part}={spec.name} is only read", why=ONLY_READ[spec.name], do="choose another serde"
            )
        if spec.name in OTHER_REGISTRIES:
            return _open_foreign(
                spec,
                options or RegistryOptions(),
                the_registry,
                allow_plaintext_secrets=allow_plaintext_secrets,
            )
        return _open(spec, the_registry, writing=writing)

    serdes.key = None if specs.key is None else opened(specs.key, "key")
    serdes.value = None if specs.value is None else opened(specs.value, "value")
    return serdes


def _open(spec: SerdeSpec, registry: Callable[[], Registry], *, writing: bool) -> Serde:
    name = spec.name
    if name in _SIZES:
        made = FloatSerde if name in ("float", "double") else IntegerSerde
        return made(name, _SIZES[name])
    if name in INTERNAL:
        return _open_internal(name)
    if name in ("avro", "protobuf", "jsonschema"):
        return _open_with_schema(spec, registry, writing=writing)
    return _TEXT[name]()


def _open_internal(name: str) -> Serde:
    if name == "cluster_metadata":
        from kcli.serde.internal.metadata_serde import MetadataSerde  # has large field tables

        return MetadataSerde()
    from kcli.serde.internal.serde import InternalTopicSerde  # has large field tables

    return InternalTopicSerde(name)


def _open_foreign(
    spec: SerdeSpec,
    options: RegistryOptions,
    registry: Callable[[], Registry],
    *,
    allow_plaintext_secrets: bool,
) -> Serde:
    from kcli.serde.foreign.serde import ForeignSerde, SchemaSource  # with HTTP, as its sources

    source: SchemaSource
    if spec.name == "glue":
        from kcli.serde.foreign.glue import GlueSource  # needs the library of an extra

        source = GlueSource(spec.arguments, options)
    else:
        from kcli.serde.foreign.apicurio import ApicurioSource  # HTTP

        source = ApicurioSource(spec.arguments, options, allow_plaintext_secrets=allow_plaintext_secrets)
    return ForeignSerde(spec, source, lambda inner: _schema_serde(inner, registry, writing=False))


def _open_with_schema(spec: SerdeSpec, registry: Callable[[], Registry], *, writing: bool) -> Serde:
    serde = _schema_serde(spec, registry, writing=writing)
    if serde.asks_registry(writing=writing):
        registry()
    return serde


def _schema_serde(spec: SerdeSpec, registry: Callable[[], Registry], *, writing: bool) -> SchemaSerde:
    needed = _LIBRARY.get(spec.name) or ("jsonschema" if writing else "")
    if needed:
        library(needed, extra=spec.name, wanted_by=f"the serde {spec.name}")
    return _serde_type(spec.name)(spec, registry)


def _serde_type(name: str) -> type[SchemaSerde]:
    if name == "avro":
        from kcli.serde.avro.serde import AvroSerde  # needs the library of an extra

        return AvroSerde
    if name == "protobuf":
        from kcli.serde.protobuf.serde import ProtobufSerde  # needs the library of an extra

        return ProtobufSerde
    from kcli.serde.json_schema import JsonSchemaSerde  # needs the library of an extra

    return JsonSchemaSerde
