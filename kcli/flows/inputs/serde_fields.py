"""Encodes single fields of the input with serdes. Loaded only where there are any."""

from collections.abc import Callable

from kcli.flows.inputs.item import BadLine
from kcli.serde.errors import EncodeError
from kcli.serde.json_text import NotJsonError, parse_json
from kcli.serde.names import NAMES, ONLY_READ, PLAIN, SerdeSpec, SerdeSpecs
from kcli.serde.opening import open_serdes
from kcli.serde.serde import Serde, SerdeContext


def encoded(encode: Callable[..., bytes], data: bytes, topic: str, part: str) -> bytes:
    """The bytes that ``encode`` of a serde makes of ``data``; raises BadLine."""
    try:
        return encode(data, SerdeContext(topic, part))
    except EncodeError as error:
        raise BadLine(str(error)) from None


def string_of(data: bytes, part: str) -> str:
    """The text in a string of JSON; raises BadLine."""
    try:
        return str(parse_json(data))
    except NotJsonError as error:
        raise BadLine(f"the {part} is not JSON: {error}") from None


def plain_serde(part: str, encoding: str) -> Serde:
    """The serde that an input names; raises BadLine if it needs ``-s``, or does not exist."""
    if encoding not in PLAIN:
        hint = f"give -s {part}={encoding}" if encoding in NAMES else "no serde has this name"
        if encoding in ONLY_READ:
            hint = f"give -s {part}=SERDE, as {encoding} is only read"
        raise BadLine(f"the {part} is encoded as {encoding!r}: {hint}")
    serde = open_serdes(SerdeSpecs(value=SerdeSpec(encoding)), writing=True).value
    assert serde is not None
    return serde
