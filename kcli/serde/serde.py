"""A serde: converts bytes of a key or value to JSON-compatible values and back. Pure interface; implementations are
beside it.

Null keys and values are not passed to serdes: there are no bytes to decode. ``None`` as a *value* is a null inside the
format (JSON's ``null``), which is not a null key or value.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from kcli.core.classes import dataclass
from kcli.core.types import Header
from kcli.serde.errors import EncodeError
from kcli.serde.json_text import NotJsonError, dump_json, parse_json

if TYPE_CHECKING:
    from uuid import UUID

JsonValue = Any
"""dict, list, str, int, float (finite), Decimal (a number that no float is), bool or None: ``dump_json`` writes it
without loss.
"""


@dataclass(frozen=True, slots=True)
class SerdeContext:
    """The context of the bytes that a serde may need.

    ``part`` is ``key`` or ``value``. ``key`` are the key's bytes, for values whose meaning depends on it
    (``__consumer_offsets``).
    """

    topic: str
    part: str = "value"
    headers: tuple[Header, ...] = ()
    key: bytes | None = None


class Serde(ABC):
    """One format. ``name`` is its name for ``-s`` and in ``value_encoding``. Not thread-safe."""

    name: str
    can_encode = True
    names_schemas = False
    """Whether its bytes name a schema: see ``schema_id``."""

    @abstractmethod
    def decode(self, data: bytes, context: SerdeContext) -> JsonValue:
        """The value; DecodeError when ``data`` is invalid."""

    def decode_json(self, data: bytes, context: SerdeContext) -> str:
        """The value as compact JSON on one line; what is JSON itself keeps its digits, escapes and repeated members."""
        return dump_json(self.decode(data, context))

    def decode_text(self, data: bytes, context: SerdeContext) -> str:
        """The text for ``-o value``: compact JSON, but plain text for strings and numbers."""
        return self.decode_json(data, context)

    def schema_id(self, data: bytes, context: SerdeContext) -> "int | UUID | None":  # noqa: ARG002 - most have none
        """The schema named by the bytes or headers, whether or not they can be decoded."""
        return None

    @abstractmethod
    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:
        """The bytes of a value as returned by ``decode``; EncodeError says what is wrong with it and where."""

    def encode_json(self, data: bytes, context: SerdeContext) -> bytes:
        """The bytes of a value as returned by ``decode_json``."""
        return self.encode(json_of_line(data, context), context)

    def encode_text(self, data: bytes, context: SerdeContext) -> bytes:
        """The bytes of a value as returned by ``decode_text``: an input line of produce."""
        return self.encode_json(data, context)

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Closes what it has opened by itself; most have nothing."""

    def prepare(self, topic: str, part: str) -> object:  # noqa: ARG002 - most need nothing
        """Looks up what is needed to write ``part`` of ``topic``, before there is any input."""
        return None

    def unapplied(self, topic: str, part: str) -> str:  # noqa: ARG002 - most have nothing
        """What other producers do with what they write, and this does not; empty for nothing. After ``prepare``."""
        return ""


def json_of_line(data: bytes, context: SerdeContext) -> JsonValue:
    """Parses an input line as JSON; raises EncodeError."""
    try:
        return parse_json(data)
    except NotJsonError as error:
        raise EncodeError(f"the {context.part} {error.verdict}", why=str(error)) from None


def text_of_line(data: bytes, context: SerdeContext) -> str:
    """Decodes an input line as UTF-8; raises EncodeError."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise EncodeError(f"the {context.part} is not UTF-8", why=str(error)) from None
