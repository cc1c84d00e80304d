"""Conversion between record bytes and values: ``-s [key=|value=]SERDE``, schemas from files and registries, internal
topics.

``parse_serdes`` parses the options, ``open_serdes`` creates the serdes, a ``Serde`` decodes and encodes. Names are
loaded on use (PEP 562), libraries only when a serde that needs them is opened.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.serde.errors import (
        DecodeError,
        EncodeError,
        RegistryAuthError,
        RegistryError,
        RegistryUnreachableError,
        SchemaNotFoundError,
    )
    from kcli.serde.framing import schema_id_of
    from kcli.serde.names import NAMES, SerdeSpec, SerdeSpecs, parse_serde, parse_serdes
    from kcli.serde.opening import Serdes, open_serdes
    from kcli.serde.registry.client import Registry
    from kcli.serde.registry.keys import is_registry_key
    from kcli.serde.registry.options import RegistryOptions, parse_registry_pairs
    from kcli.serde.serde import Place, Serde

_HOMES = {
    "kcli.serde.errors": (
        "DecodeError",
        "EncodeError",
        "RegistryAuthError",
        "RegistryError",
        "RegistryUnreachableError",
        "SchemaNotFoundError",
    ),
    "kcli.serde.framing": ("schema_id_of",),
    "kcli.serde.names": ("NAMES", "SerdeSpec", "SerdeSpecs", "parse_serde", "parse_serdes"),
    "kcli.serde.opening": ("Serdes", "open_serdes"),
    "kcli.serde.registry.client": ("Registry",),
    "kcli.serde.registry.keys": ("is_registry_key",),
    "kcli.serde.registry.options": ("RegistryOptions", "parse_registry_pairs"),
    "kcli.serde.serde": ("Place", "Serde"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "NAMES",
    "DecodeError",
    "EncodeError",
    "Place",
    "Registry",
    "RegistryAuthError",
    "RegistryError",
    "RegistryOptions",
    "RegistryUnreachableError",
    "SchemaNotFoundError",
    "Serde",
    "SerdeSpec",
    "SerdeSpecs",
    "Serdes",
    "is_registry_key",
    "open_serdes",
    "parse_registry_pairs",
    "parse_serde",
    "parse_serdes",
    "schema_id_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
