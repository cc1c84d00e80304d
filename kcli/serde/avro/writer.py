"""JSON values to Avro's binary form: the inverse of ``reader``, one function per type, created once per schema. Pure.

A value that does not match the schema is a ``Mismatch`` that says where: ``items[2].price: it is not a whole number``.
Unions accept the output of ``reader``, and Avro's own JSON (``{"string": "x"}``) as well; a value without a tag is
written as the first branch that it matches. Missing fields get their default.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from kcli.core.near_names import near_names
from kcli.serde.avro.logical import logical_of
from kcli.serde.avro.per_type import PerType
from kcli.serde.avro.schema import AvroSchema, Node, branch_name
from kcli.serde.numbers import NOT_FINITE, integer_of, pack_float

Writer = Callable[[Any, bytearray], None]

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


class Mismatch(ValueError):  # noqa: N818 - it is a finding: which part does not fit
    """A value that its schema does not allow; ``path`` leads to it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.path: list[str] = []

    def inside(self, step: str) -> Mismatch:
        """The same, seen from one level further out."""
        self.path.insert(0, step)
        return self

    def __str__(self) -> str:
        path = "".join(self.path).removeprefix(".")
        return f"{path}: {self.why}" if path else self.why


class AvroWriter(PerType["Writer"]):
    """Writes values of one schema. ``tagged``: they are in the JSON of Avro's specification."""

    def __init__(self, schema: AvroSchema, *, tagged: bool = False) -> None:
        super().__init__(schema, _PRIMITIVE, tagged=tagged)

    def write(self, value: Any) -> bytes:
        """The bytes; raises Mismatch."""
        out = bytearray()
        try:
            self._root(value, out)
        except RecursionError:
            raise Mismatch("it is nested too deeply") from None
        return bytes(out)

    def _record(self, node: Node) -> Writer:
        rows = self._fields(node)
        defaults = {row["name"]: self._default(row) for row in node["fields"] if "default" in row}
        known = {name for name, _writer in rows}

        def write(value: Any, out: bytearray) -> None:
            if not isinstance(value, dict):
                raise Mismatch(f"it is no object with the fields of {node['name']}")
            if not value.keys() <= known:
                raise _unknown_field(node["name"], value, known)
            for name, writer in rows:
                try:
                    if name in value:
                        writer(value[name], out)
                    elif name in defaults:
                        out += defaults[name]()
                    else:
                        raise Mismatch("it is missing, and has no default")
                except Mismatch as error:
                    raise error.inside(f".{name}") from None

        return write

    def _default(self, row: dict[str, Any]) -> Callable[[], bytes]:
        """The bytes of a field's default, which is in the JSON of the specification; created when needed."""
        schema = AvroSchema(row["type"], self._named)
        return functools.cache(lambda: AvroWriter(schema, tagged=True).write(row["default"]))

    def _array(self, items: Node) -> Writer:
        writer = self._of(items)

        def write(value: Any, out: bytearray) -> None:
            if not isinstance(value, list):
                raise Mismatch("it is no array")
            if value:
                _write_long(len(value), out)
                for index, item in enumerate(value):
                    try:
                        writer(item, out)
                    except Mismatch as error:
                        raise error.inside(f"[{index}]") from None
            out.append(0)

        return write

    def _map(self, values: Node) -> Writer:
        writer = self._of(values)

        def write(value: Any, out: bytearray) -> None:
            if not isinstance(value, dict):
                raise Mismatch("it is no object")
            if value:
                _write_long(len(value), out)
                for key, item in value.items():
                    _string(key, out)
                    try:
                        writer(item, out)
                    except Mismatch as error:
                        raise error.inside(f"[{key!r}]") from None
            out.append(0)

        return write

    def _enum(self, symbols: list[str]) -> Writer:
        index_of = {symbol: index for index, symbol in enumerate(symbols)}

        def write(value: Any, out: bytearray) -> None:
            index = index_of.get(value) if isinstance(value, str) else None
            if index is None:
                raise Mismatch(f"it is none of {', '.join(index_of)}")
            _write_long(index, out)

        return write

    def _fixed(self, node: Node) -> Writer:
        return self._parsed(node, _fixed(int(node["size"])))

    def _logical(self, node: Node) -> Writer:
        return self._parsed(node, _PRIMITIVE[node["type"]])

    def _parsed(self, node: Node, plain: Writer) -> Writer:
        """The writer that accepts the reader's form of the logical type, if there is one."""
        logical = None if self._tagged else logical_of(node)
        if logical is None:
            return plain
        read = logical.read

        def write(value: Any, out: bytearray) -> None:
            try:
                value = read(value)
            except ValueError as error:
                raise Mismatch(str(error)) from None
            plain(value, out)

        return write

    def _union(self, branches: list[Node]) -> Writer:
        names = [branch_name(branch) for branch in branches]
        writers = [self._of(branch) for branch in branches]
        table = {
            name: (index, writer) for index, (name, writer) in enumerate(zip(names, writers, strict=True))
        }
        some = [branch for name, branch in table.items() if name != "null"]
        bare_first = (
            len(some) == 1 and not self._tagged
        )  # as returned by the reader: {"map": …} may itself be a map

        def write(value: Any, out: bytearray) -> None:
            if value is None and "null" in table:
                _write_long(table["null"][0], out)
                return
            tag = _tag(value, table)
            if tag is None:
                _write_first(names, some, value, out)
                return
            if bare_first and _fits(some[0], value, out):
                return
            try:
                _write_branch(table[tag], value[tag], out)
            except Mismatch as error:
                raise error.inside(f"[{tag!r}]") from None

        return write


def _tag(value: Any, table: dict[str, Any]) -> str | None:
    if isinstance(value, dict) and len(value) == 1:
        (name,) = value
        return name if name in table and name != "null" else None
    return None


def _write_branch(branch: tuple[int, Writer], value: Any, out: bytearray) -> None:
    index, writer = branch
    start = len(out)
    _write_long(index, out)
    try:
        writer(value, out)
    except Mismatch:
        del out[start:]
        raise


def _fits(branch: tuple[int, Writer], value: Any, out: bytearray) -> bool:
    """Writes the value if it matches this branch."""
    try:
        _write_branch(branch, value, out)
    except Mismatch:
        return False
    return True


def _write_first(names: list[str], branches: list[tuple[int, Writer]], value: Any, out: bytearray) -> None:
    """Writes the value as the first branch that it matches; a single branch raises its own error."""
    if len(branches) == 1:
        _write_branch(branches[0], value, out)
    elif not any(_fits(branch, value, out) for branch in branches):
        raise Mismatch(
            f"it fits none of {', '.join(names)}; an object with one of these as its only field says which"
        )


def _unknown_field(record: str, value: dict[str, Any], known: set[str]) -> Mismatch:
    name = next(name for name in value if name not in known)
    near = near_names(name, known)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return Mismatch(f"{record} has no field {name!r}{hint}")


def _fixed(size: int) -> Writer:
    def write(value: Any, out: bytearray) -> None:
        data = value if isinstance(value, bytes) else _latin(value)
        if len(data) != size:
            raise Mismatch(f"it has {len(data)} bytes, not {size}")
        out += data

    return write


def _null(value: Any, out: bytearray) -> None:  # noqa: ARG001 - null takes no bytes
    if value is not None:
        raise Mismatch("it is not null")


def _boolean(value: Any, out: bytearray) -> None:
    if not isinstance(value, bool):
        raise Mismatch("it is neither true nor false")
    out.append(value)


def _write_long(value: int, out: bytearray) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _integer(bits: int) -> Writer:
    last = (1 << (bits - 1)) - 1

    def write(value: Any, out: bytearray) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise Mismatch("it is not a whole number")
        if not -last - 1 <= value <= last:  # before it becomes an int: 1e999999999 has as many digits
            raise Mismatch(f"it does not fit {bits} bits")
        number = value if isinstance(value, int) else integer_of(value)
        if number is None:
            raise Mismatch("it is not a whole number")
        _write_long(number, out)

    return write


def _floating(codec: struct.Struct) -> Writer:
    def write(value: Any, out: bytearray) -> None:
        if isinstance(value, str) and value in NOT_FINITE:
            value = NOT_FINITE[value]
        elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise Mismatch("it is no number")
        try:
            out += pack_float(value, codec)
        except ValueError as error:
            raise Mismatch(str(error)) from None

    return write


def _latin(value: Any) -> bytes:
    if not isinstance(value, str):
        raise Mismatch("it is not a string; bytes are a string with one character a byte")
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        raise Mismatch("a character above U+00FF is no byte; bytes are one character each") from None


def _bytes(value: Any, out: bytearray) -> None:
    data = value if isinstance(value, bytes) else _latin(value)
    _write_long(len(data), out)
    out += data


def with_length(data: bytes) -> bytes:
    """A value of type bytes, in Avro's encoding."""
    out = bytearray()
    _bytes(data, out)
    return bytes(out)


def _string(value: Any, out: bytearray) -> None:
    if not isinstance(value, str):
        raise Mismatch("it is not a string")
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise Mismatch("half of a surrogate pair stands alone") from None
    _write_long(len(data), out)
    out += data


_PRIMITIVE: dict[str, Writer] = {
    "null": _null,
    "boolean": _boolean,
    "int": _integer(32),
    "long": _integer(64),
    "float": _floating(_FLOAT),
    "double": _floating(_DOUBLE),
    "bytes": _bytes,
    "string": _string,
}
