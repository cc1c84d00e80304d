"""Reads a stored record: the bytes of a key or value as one of the tables beside this. Pure."""

from typing import TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.errors import ProtocolError
from kcli.core.protocol import compiler
from kcli.core.protocol.codec import Buffer, read_uvarint
from kcli.core.protocol.schema import Struct

S = TypeVar("S", bound=Struct)

NEVER = 0x7FFF
"""For ``flexible``: no version has tagged fields, as in keys."""


class MetadataHead(NamedTuple):
    """How a record of the metadata log begins (KIP-631): three varints, and where the fields begin."""

    frame: int
    number: int
    version: int
    start: int


def metadata_head(data: Buffer) -> MetadataHead:
    """ProtocolError if the bytes end before."""
    view = memoryview(data)
    try:
        frame, pos = read_uvarint(view, 0)
        number, pos = read_uvarint(view, pos)
        version, pos = read_uvarint(view, pos)
    except (IndexError, ProtocolError):
        raise ProtocolError(
            "the value is no metadata record", why="it ends before its fields begin"
        ) from None
    return MetadataHead(frame, number, version, pos)


def type_number(data: Buffer) -> int:
    """The type of a coordinator's record by its key, or the version of a value: its first two bytes."""
    if len(data) < 2:
        raise ProtocolError(
            "no record of a coordinator", why=f"it has {len(data)} bytes, less than a version"
        )
    return int.from_bytes(data[:2], "big", signed=True)


def struct_of(cls: type[S], data: Buffer, start: int, version: int, flexible: int) -> S:
    """What stands from ``start`` to the end of ``data``; ProtocolError if it is something else."""
    found, end = compiler.decode(cls, memoryview(data), start, version, flexible=version >= flexible)
    if end != len(data):
        raise ProtocolError(f"no {cls.__name__}", why=f"{len(data) - end} bytes are left behind the end")
    return found
