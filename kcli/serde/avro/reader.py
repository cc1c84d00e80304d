"""Avro's binary form to JSON values: one function per type, created once per schema. Pure; the data are untrusted.

fastavro's reader is not used: it crashes the process by a stack overflow on 5 kB of a recursive schema, creates as many
nulls as an array claims to have, and accepts a negative union index. Here every length is checked against the remaining
bytes before anything is created; all errors are ValueError.
"""

import struct
from collections.abc import Callable
from typing import Any

from kcli.serde.avro.logical import logical_of
from kcli.serde.avro.per_type import PerType
from kcli.serde.avro.schema import AvroSchema, Node, branch_name, least_size
from kcli.serde.json_text import check_depth
from kcli.serde.numbers import json_float, json_float32

Reader = Callable[[bytes, int], tuple[Any, int]]
"""From the data and a position to the value there and the position after it."""

_EMPTY_ITEMS = 10_000
"""How many array items of zero bytes (nulls) one record may have."""

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


class AvroReader(PerType[Reader]):
    """Reads data of one schema. ``tagged``: unions and logical types as in the JSON of Avro's specification."""

    def __init__(self, schema: AvroSchema, *, tagged: bool = False) -> None:
        super().__init__(schema, _PRIMITIVE, tagged=tagged)
        self._empty_items = 0

    def read(self, data: bytes) -> Any:
        """The value; ValueError when ``data`` is not exactly one value of the schema."""
        self._empty_items = 0
        try:
            value, end = self._root(data, 0)
        except (IndexError, struct.error):
            raise ValueError("it ends too early") from None
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if end != len(data):
            raise ValueError(f"{len(data) - end} bytes are left behind the end")
        if self._recursive:
            check_depth(value)
        return value

    def _record(self, node: Node) -> Reader:
        fields = self._fields(node)

        def read(data: bytes, pos: int) -> tuple[Any, int]:
            value = {}
            for name, reader in fields:
                value[name], pos = reader(data, pos)
            return value, pos

        return read

    def _union(self, branches: list[Node]) -> Reader:
        readers = [self._of(branch) for branch in branches]
        names = [branch_name(branch) for branch in branches]
        bare = not self._tagged and sum(name != "null" for name in names) <= 1
        count = len(readers)

        def read(data: bytes, pos: int) -> tuple[Any, int]:
            index, pos = _long(data, pos)
            if not 0 <= index < count:
                raise ValueError(f"branch {index} of a union of {count}")
            value, pos = readers[index](data, pos)
            return (value if bare or names[index] == "null" else {names[index]: value}), pos

        return read

    def _array(self, items: Node) -> Reader:
        reader = self._of(items)
        least = least_size(items, self._named)

        def read(data: bytes, pos: int) -> tuple[Any, int]:
            values: list[Any] = []
            while True:
                count, pos = _block(data, pos)
                if not count:
                    return values, pos
                self._check_count(count, least, len(data) - pos)
                for _ in range(count):
                    value, pos = reader(data, pos)
                    values.append(value)

        return read

    def _map(self, values: Node) -> Reader:
        reader = self._of(values)

        def read(data: bytes, pos: int) -> tuple[Any, int]:
            found: dict[str, Any] = {}
            while True:
                count, pos = _block(data, pos)
                if not count:
                    return found, pos
                self._check_count(count, 1, len(data) - pos)
                for _ in range(count):
                    key, pos = _string(data, pos)
                    if key in found:
                        raise ValueError(f"the key {key!r} of a map occurs twice")
                    found[key], pos = reader(data, pos)

        return read

    def _check_count(self, count: int, least: int, left: int) -> None:
        """Rejects an array that cannot fit in the remaining bytes."""
        if least:
            if count * least > left:
                raise ValueError(f"an array of {count} items in {left} bytes")
            return
        self._empty_items += count
        if self._empty_items > _EMPTY_ITEMS:
            raise ValueError(f"more than {_EMPTY_ITEMS} array items without content")

    def _enum(self, symbols: list[str]) -> Reader:
        def read(data: bytes, pos: int) -> tuple[str, int]:
            index, pos = _long(data, pos)
            if not 0 <= index < len(symbols):
                raise ValueError(f"symbol {index} of an enum of {len(symbols)}")
            return symbols[index], pos

        return read

    def _fixed(self, node: Node) -> Reader:
        size = int(node["size"])

        def read(data: bytes, pos: int) -> tuple[bytes, int]:
            end = pos + size
            if end > len(data):
                raise IndexError
            return data[pos:end], end

        return self._shown(node, read) or _as_text(read)

    def _logical(self, node: Node) -> Reader:
        kind = node["type"]
        plain = _bytes if kind == "bytes" else _PRIMITIVE[kind]
        return self._shown(node, plain) or _PRIMITIVE[kind]

    def _shown(self, node: Node, plain: Reader) -> Reader | None:
        """The reader that shows the logical type, if there is one."""
        logical = None if self._tagged else logical_of(node)
        if logical is None:
            return None
        show = logical.show

        def read(data: bytes, pos: int) -> tuple[Any, int]:
            value, pos = plain(data, pos)
            return show(value), pos

        return read


def _as_text(plain: Reader) -> Reader:
    """Bytes in Avro's JSON encoding: one character (U+0000 to U+00FF) per byte."""

    def read(data: bytes, pos: int) -> tuple[str, int]:
        value, pos = plain(data, pos)
        return value.decode("latin-1"), pos

    return read


def _null(_data: bytes, pos: int) -> tuple[None, int]:
    return None, pos


def _boolean(data: bytes, pos: int) -> tuple[bool, int]:
    byte = data[pos]
    if byte > 1:
        raise ValueError(f"a boolean of 0x{byte:02x}")
    return byte == 1, pos + 1


def _long(data: bytes, pos: int) -> tuple[int, int]:
    byte = data[pos]
    pos += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos
    value, shift = byte & 0x7F, 7
    while shift < 70:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return (value >> 1) ^ -(value & 1), pos
        shift += 7
    raise ValueError("a number of more than 64 bits")


def _int(data: bytes, pos: int) -> tuple[int, int]:
    value, pos = _long(data, pos)
    if not -0x8000_0000 <= value <= 0x7FFF_FFFF:
        raise ValueError("an int of more than 32 bits")
    return value, pos


def _float(data: bytes, pos: int) -> tuple[float | str, int]:
    return json_float32(_FLOAT.unpack_from(data, pos)[0]), pos + 4


def _double(data: bytes, pos: int) -> tuple[float | str, int]:
    return json_float(_DOUBLE.unpack_from(data, pos)[0]), pos + 8


def _bytes(data: bytes, pos: int) -> tuple[bytes, int]:
    size, pos = _long(data, pos)
    end = pos + size
    if size < 0 or end > len(data):
        raise ValueError(f"{size} bytes where {len(data) - pos} are left")
    return data[pos:end], end


def without_length(data: bytes) -> bytes:
    """The content of a value of type bytes."""
    return _bytes(data, 0)[0]


def _string(data: bytes, pos: int) -> tuple[str, int]:
    value, pos = _bytes(data, pos)
    try:
        return value.decode(), pos
    except UnicodeDecodeError as error:
        raise ValueError(f"a string that is not UTF-8: {error.reason}") from None


def _block(data: bytes, pos: int) -> tuple[int, int]:
    """How many items follow; 0 ends an array. A negative count is followed by the block's size in bytes."""
    count, pos = _long(data, pos)
    if count < 0:
        _size, pos = _long(data, pos)
        return -count, pos
    return count, pos


_PRIMITIVE: dict[str, Reader] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _as_text(_bytes),
    "string": _string,
}
