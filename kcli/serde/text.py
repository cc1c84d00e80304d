"""Text, and bytes shown as text: ``str``, ``hex``, ``base64``. Pure."""

import base64
import binascii
from decimal import Decimal

from kcli.serde.errors import DecodeError, EncodeError
from kcli.serde.json_text import NotJsonError, compact_json, dump_json, parse_json
from kcli.serde.serde import JsonValue, Serde, SerdeContext, text_of_line


class TextSerde(Serde):
    """The base of serdes whose values are strings."""

    def decode(self, data: bytes, context: SerdeContext) -> str:
        raise NotImplementedError

    def decode_text(self, data: bytes, context: SerdeContext) -> str:
        return self.decode(data, context)

    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:
        if not isinstance(value, str):
            why = f"it is of JSON's type {json_type(value)}, not a string"
            raise EncodeError(f"the {context.part} cannot be written as {self.name}", why=why)
        return self._bytes_of(value, context)

    def encode_text(self, data: bytes, context: SerdeContext) -> bytes:
        return self._bytes_of(text_of_line(data, context), context)

    def _bytes_of(self, text: str, context: SerdeContext) -> bytes:
        raise NotImplementedError


class StringSerde(TextSerde):
    """UTF-8."""

    name = "str"

    def decode(self, data: bytes, context: SerdeContext) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise DecodeError(f"the {context.part} is not text", why=f"it is not UTF-8: {error}") from None

    def _bytes_of(self, text: str, context: SerdeContext) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError:
            why = "half of a surrogate pair stands alone"
            raise EncodeError(f"the {context.part} has no UTF-8 form", why=why) from None


class HexSerde(TextSerde):
    """Two lower-case digits per byte; blanks and capitals are accepted as input."""

    name = "hex"

    def decode(self, data: bytes, context: SerdeContext) -> str:  # noqa: ARG002 - it reads anything
        return data.hex()

    def _bytes_of(self, text: str, context: SerdeContext) -> bytes:
        try:
            return bytes.fromhex(text)
        except ValueError as error:
            raise EncodeError(f"the {context.part} is not hexadecimal", why=str(error)) from None


class Base64Serde(TextSerde):
    """RFC 4648, with padding."""

    name = "base64"

    def decode(self, data: bytes, context: SerdeContext) -> str:  # noqa: ARG002 - it reads anything
        return base64.b64encode(data).decode()

    def _bytes_of(self, text: str, context: SerdeContext) -> bytes:
        try:
            return base64.b64decode(text.strip(), validate=True)
        except (binascii.Error, ValueError) as error:
            raise EncodeError(f"the {context.part} is not base64", why=str(error)) from None


class JsonSerde(Serde):
    """Any JSON, which passes as the text that it is. As text the bytes are unchanged."""

    name = "json"

    def decode(self, data: bytes, context: SerdeContext) -> JsonValue:
        try:
            return parse_json(data)
        except NotJsonError as error:
            raise DecodeError(f"the {context.part} {error.verdict}", why=str(error)) from None

    def decode_json(self, data: bytes, context: SerdeContext) -> str:
        try:
            return compact_json(data)
        except NotJsonError as error:
            raise DecodeError(f"the {context.part} {error.verdict}", why=str(error)) from None

    def decode_text(self, data: bytes, context: SerdeContext) -> str:
        self.decode_json(data, context)
        return data.decode()

    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:
        try:
            return dump_json(value).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise EncodeError(f"the {context.part} has no JSON form", why=str(error)) from None

    def encode_json(self, data: bytes, context: SerdeContext) -> bytes:
        try:
            return compact_json(data).encode()
        except NotJsonError as error:
            raise EncodeError(f"the {context.part} {error.verdict}", why=str(error)) from None

    def encode_text(self, data: bytes, context: SerdeContext) -> bytes:
        self.encode_json(data, context)
        return data


def json_type(value: JsonValue) -> str:
    """The JSON type name of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"
