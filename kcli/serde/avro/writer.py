"""JSON values → Avro's binary form: the inverse of ``reader``, one function per type, made once per schema. Pure.

What does not fit the schema is a ``Mismatch`` that says where: ``items[2].price: it is no whole number``. Unions take
what ``reader`` gives, and Avro's own JSON (``{"string": "x"}``) as well; a value without a tag goes to the first
branch it fits. Fields that are not given take their default.
"""

from __future__ import annotations

import difflib
import functools
import struct
from typing import TYPE_CHECKING, Any

from kcli.serde.avro.logical import logical_of
from kcli.serde.avro.schema import PRIMITIVES, AvroSchema, Node, branch_name, unwrapped
from kcli.serde.numbers import NOT_FINITE

if TYPE_CHECKING:
    from collections.abc import Callable

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
        place = "".join(self.path).removeprefix(".")
        return f"{place}: {self.why}" if place else self.why


class AvroWriter:
    """Writes values of one schema. ``tagged``: they are in the JSON of Avro's specification."""

    def __init__(self, schema: AvroSchema, *, tagged: bool = False) -> None:
        self._named = schema.named
        self._tagged = tagged
        self._writers: dict[str, Writer] = {}
        self._unfinished: set[str] = set()
        self._write = self._writer(schema.root)

    def write(self, value: Any) -> bytes:
        """The bytes; Mismatch."""
        out = bytearray()
        try:
            self._write(value, out)
        except RecursionError:
            raise Mismatch("it is nested too deeply") from None
        return bytes(out)

    def _writer(self, node: Node) -> Writer:
        node = unwrapped(node)
        if isinstance(node, list):
            return self._union(node)
        if isinstance(node, str):
            return _PRIMITIVE[node] if node in PRIMITIVES else self._named_type(node)
        kind = node["type"]
        if kind in ("record", "error"):
            return self._record(node)
        if kind == "array":
            return self._array(node["items"])
        if kind == "map":
            return self._map(node["values"])
        if kind == "enum":
            return self._keep(node, _enum(node))
        if kind == "fixed":
            return self._keep(node, self._logical(node, _fixed(int(node["size"]))))
        if kind in PRIMITIVES:
            return self._logical(node, _PRIMITIVE[kind])
        return self._named_type(kind)

    def _named_type(self, name: str) -> Writer:
        if name in self._unfinished:
            writers = self._writers
            return lambda value, out: writers[name](value, out)  # noqa: PLW0108 - it is not there yet
        found = self._writers.get(name)
        return found if found is not None else self._writer(self._named[name])

    def _keep(self, node: Node, writer: Writer) -> Writer:
        self._writers[node["name"]] = writer
        return writer

    def _record(self, node: Node) -> Writer:
        self._unfinished.add(node["name"])
        rows = [(row["name"], self._writer(row["type"])) for row in node["fields"]]
        self._unfinished.discard(node["name"])
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

        return self._keep(node, write)

    def _default(self, row: dict[str, Any]) -> Callable[[], bytes]:
        """The bytes of a field's default, which schemas have in the JSON of the specification; made when needed."""
        schema = AvroSchema(row["type"], self._named)
        return functools.cache(lambda: AvroWriter(schema, tagged=True).write(row["default"]))

    def _array(self, items: Node) -> Writer:
        writer = self._writer(items)

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
        writer = self._writer(values)

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

    def _logical(self, node: Node, plain: Writer) -> Writer:
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
        writers = [self._writer(branch) for branch in branches]
        table = {
            name: (index, writer) for index, (name, writer) in enumerate(zip(names, writers, strict=True))
        }
        some = [branch for name, branch in table.items() if name != "null"]
        bare_first = (
            len(some) == 1 and not self._tagged
        )  # as the reader gives it: {"map": …} may be a map itself

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
    """Writes the value if it is of this branch."""
    try:
        _write_branch(branch, value, out)
    except Mismatch:
        return False
    return True


def _write_first(names: list[str], branches: list[tuple[int, Writer]], value: Any, out: bytearray) -> None:
    """Writes the value as the first branch that it fits; the only one there is tells what is wrong."""
    if len(branches) == 1:
        _write_branch(branches[0], value, out)
    elif not any(_fits(branch, value, out) for branch in branches):
        raise Mismatch(
            f"it fits none of {', '.join(names)}; an object with one of these as its only field says which"
        )


def _unknown_field(record: str, value: dict[str, Any], known: set[str]) -> Mismatch:
    name = next(name for name in value if name not in known)
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return Mismatch(f"{record} has no field {name!r}{hint}")


def _enum(node: Node) -> Writer:
    index_of = {symbol: index for index, symbol in enumerate(node["symbols"])}

    def write(value: Any, out: bytearray) -> None:
        index = index_of.get(value) if isinstance(value, str) else None
        if index is None:
            raise Mismatch(f"it is none of {', '.join(index_of)}")
        _write_long(index, out)

    return write


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
        if isinstance(value, bool) or not isinstance(value, int):
            if not isinstance(value, float) or not value.is_integer():
                raise Mismatch("it is no whole number")
            value = int(value)
        if not -last - 1 <= value <= last:
            raise Mismatch(f"it does not fit {bits} bits")
        _write_long(value, out)

    return write


def _floating(codec: struct.Struct) -> Writer:
    def write(value: Any, out: bytearray) -> None:
        if isinstance(value, str) and value in NOT_FINITE:
            value = NOT_FINITE[value]
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise Mismatch("it is no number")
        try:
            out += codec.pack(value)
        except OverflowError:
            raise Mismatch("it is too large") from None

    return write


def _latin(value: Any) -> bytes:
    if not isinstance(value, str):
        raise Mismatch("it is no string; bytes are a string with one character a byte")
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        raise Mismatch("a character above U+00FF is no byte; bytes are one character each") from None


def _bytes(value: Any, out: bytearray) -> None:
    data = value if isinstance(value, bytes) else _latin(value)
    _write_long(len(data), out)
    out += data


def with_length(data: bytes) -> bytes:
    """A value of type bytes, as Avro writes it."""
    out = bytearray()
    _bytes(data, out)
    return bytes(out)


def _string(value: Any, out: bytearray) -> None:
    if not isinstance(value, str):
        raise Mismatch("it is no string")
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
