"""Encodes single fields of the input with serdes. Loaded only where there are any."""

from collections.abc import Callable
from typing import Any

from kcli.flows.inputs.item import BadLine
from kcli.serde.errors import EncodeError
from kcli.serde.names import NAMES, PLAIN, SerdeSpec, SerdeSpecs
from kcli.serde.opening import open_serdes
from kcli.serde.serde import Serde, SerdeContext


def encoded(encode: Callable[..., bytes], value: Any, topic: str, part: str) -> bytes:
    """The bytes that ``encode`` of a serde makes of ``value``; raises BadLine."""
    try:
        return encode(value, SerdeContext(topic, part))
    except EncodeError as error:
        raise BadLine(str(error)) from None


def plain_serde(part: str, encoding: str) -> Serde:
    """The serde that an input names; raises BadLine if it needs ``-s``, or does not exist."""
    if encoding not in PLAIN:
        hint = f"give -s {part}={encoding}" if encoding in NAMES else "no serde has this name"
        raise BadLine(f"the {part} is encoded as {encoding!r}: {hint}")
    serde = open_serdes(SerdeSpecs(value=SerdeSpec(encoding)), writing=True).value
    assert serde is not None
    return serde
