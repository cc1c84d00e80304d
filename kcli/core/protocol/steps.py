"""Encoders and decoders that go through the field tables step by step.

They do what the compiled ones of ``compiler.py`` do, slower for each message and sooner ready: for a message that a
process sends or receives a few times, generating and compiling a function took ten times as long as using it.
"""

import struct
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from kcli.core.errors import ProtocolError
from kcli.core.protocol import codec
from kcli.core.protocol.codec import Splice
from kcli.core.protocol.schema import FIXED, RECORDS, STRING, UUID, Array, Field, Struct

Encoder = Callable[[Any, bytearray, list[Splice]], None]
Decoder = Callable[[memoryview, int], tuple[Any, int]]
_Write = Callable[[Any, bytearray, list[Splice]], None]
_Step = Callable[[dict[str, Any], memoryview, int], int]


# --- what both ways need ---------------------------------------------------------------------------------


def rows(cls: type[Struct], version: int) -> tuple[list[Field], list[Field]]:
    """The plain and the tagged fields of ``version``."""
    present = [row for row in cls.fields if row.present(version)]
    return [r for r in present if r.tag is None], [r for r in present if r.tag is not None]


def runs(of: list[Field]) -> list[list[Field]]:
    """Groups of adjacent fixed-size fields; any other field is a group of its own."""
    found: list[list[Field]] = []
    for row in of:
        if row.type in FIXED and found and found[-1][0].type in FIXED:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def is_fixed(type_: Any) -> bool:
    """Whether all values have the same size."""
    return isinstance(type_, str) and type_ in FIXED


def minimum(type_: Any, version: int, flexible: bool, *, nullable: bool = False) -> int:
    """The minimum size of a value of this type, against which an array's length is checked."""
    if is_fixed(type_):
        return struct.calcsize(">" + type_)
    if isinstance(type_, type):
        if nullable:
            return 1
        plain, _ = rows(type_, version)
        inner = sum(minimum(r.type, version, flexible, nullable=r.may_be_null(version)) for r in plain)
        return max(1, inner + (1 if flexible else 0))
    if flexible:
        return 1
    return 2 if type_ == STRING else 4


def compact(flexible: bool) -> str:
    """How the functions of ``codec`` for flexible versions begin."""
    return "compact_" if flexible else ""


def reader(type_: str, nullable: bool, flexible: bool) -> Decoder:
    """The function of ``codec`` for a type without parts."""
    kind = "bytes" if type_ == RECORDS else type_
    found: Decoder = getattr(codec, f"read_{compact(flexible)}{'nullable_' if nullable else ''}{kind}")
    return found


NULL = {True: b"\0", False: b"\xff"}
"""By whether the field is tagged, what stands for a struct that is null in Kafka's generated classes: in a tagged field
an unsigned varint precedes the struct, else a signed byte. Both are 1 before a struct."""


def null_array(name: str, pos: int) -> ProtocolError:
    """The error for an array that must not be null."""
    return ProtocolError(f"malformed response: null for {name} at byte {pos}", why="it must not be null here")


def wrong_size(name: str, size: int, pos: int) -> ProtocolError:
    """The error for a tagged field that is longer or shorter than it says."""
    return ProtocolError(
        f"malformed response: the tagged field {name} ends at byte {pos}", why=f"its declared size is {size}"
    )


# --- reading ---------------------------------------------------------------------------------------------


def decoder(cls: Any, version: int, flexible: bool) -> Decoder:
    """Reads a ``cls``, and returns the position after it."""
    plain, tagged = rows(cls, version)
    absent = [row for row in cls.fields if row not in plain]
    shared = {row.name: row.default_value() for row in absent if row.shares_default}
    own = [(row.name, row.make) for row in absent if not row.shares_default]
    steps = [_step(run, version, flexible) for run in runs(plain)]
    tags = {row.tag: (row.name, _read_row(row, version, True)) for row in tagged}
    new = cls.__new__

    def decode(buf: memoryview, pos: int) -> tuple[Any, int]:
        item = new(cls)
        values = item.__dict__
        values.update(shared)
        for name, make in own:
            values[name] = make()
        for step in steps:
            pos = step(values, buf, pos)
        if flexible:
            pos = _read_tags(values, tags, buf, pos) if tags else codec.skip_tagged(buf, pos)
        return item, pos

    return decode


def _step(run: list[Field], version: int, flexible: bool) -> _Step:
    if not is_fixed(run[0].type):
        name, read = run[0].name, _read_row(run[0], version, flexible)

        def one(values: dict[str, Any], buf: memoryview, pos: int) -> int:
            values[name], pos = read(buf, pos)
            return pos

        return one
    names = [row.name for row in run]
    shape = struct.Struct(">" + "".join([row.type for row in run]))
    unpack, size = shape.unpack_from, shape.size

    def some(values: dict[str, Any], buf: memoryview, pos: int) -> int:
        values.update(zip(names, unpack(buf, pos), strict=True))
        return pos + size

    return some


def _read_row(row: Field, version: int, flexible: bool) -> Decoder:
    if isinstance(row.type, Array):
        return _read_array(row, version, flexible)
    nullable = row.may_be_null(version)
    if not (nullable and isinstance(row.type, type)):
        return _read_one(row.type, version, flexible, nullable=nullable)
    read, tagged = decoder(row.type, version, flexible), row.tag is not None

    def maybe(buf: memoryview, pos: int) -> tuple[Any, int]:
        there = buf[pos] != 0 if tagged else buf[pos] < 128
        return read(buf, pos + 1) if there else (None, pos + 1)

    return maybe


def _read_one(type_: Any, version: int, flexible: bool, *, nullable: bool = False) -> Decoder:
    if isinstance(type_, type):
        return decoder(type_, version, flexible)
    if not is_fixed(type_):
        return reader(type_, nullable, flexible)
    shape = struct.Struct(">" + type_)

    def fixed(buf: memoryview, pos: int) -> tuple[Any, int]:
        return shape.unpack_from(buf, pos)[0], pos + shape.size

    return fixed


def _read_array(row: Field, version: int, flexible: bool) -> Decoder:
    element, name, nullable = row.type.element, row.name, row.may_be_null(version)
    least = minimum(element, version, flexible)
    count = codec.read_compact_count if flexible else codec.read_count
    read_all = (
        _read_fixed(element, least)
        if is_fixed(element)
        else _read_items(_read_one(element, version, flexible))
    )
    # A few elements, the usual case; where bytes are missing, the elements' own fields are.
    short = flexible and isinstance(element, type)

    def array(buf: memoryview, pos: int) -> tuple[Any, int]:
        if short and 0 < buf[pos] < 9:
            n, pos = buf[pos] - 1, pos + 1
        else:
            n, pos = count(buf, pos, least)
        if n >= 0:
            return read_all(buf, pos, n)
        if nullable:
            return None, pos
        raise null_array(name, pos)

    return array


def _read_items(read: Decoder) -> Callable[[memoryview, int, int], tuple[Any, int]]:
    def items(buf: memoryview, pos: int, n: int) -> tuple[Any, int]:
        found = []
        for _ in range(n):
            item, pos = read(buf, pos)
            found.append(item)
        return found, pos

    return items


def _read_fixed(element: str, size: int) -> Callable[[memoryview, int, int], tuple[Any, int]]:
    def items(buf: memoryview, pos: int, n: int) -> tuple[Any, int]:
        end = pos + n * size
        if element == UUID:
            return [bytes(buf[at : at + 16]) for at in range(pos, end, 16)], end
        return list(struct.unpack_from(f">{n}{element}", buf, pos)), end

    return items


def _read_tags(
    values: dict[str, Any], tags: dict[int | None, tuple[str, Decoder]], buf: memoryview, pos: int
) -> int:
    count, pos = codec.read_uvarint(buf, pos)
    for _ in range(count):
        tag, pos = codec.read_uvarint(buf, pos)
        size, pos = codec.read_uvarint(buf, pos)
        end = pos + size
        if end > len(buf):
            raise codec.short_of("a tagged field", size, buf, pos)
        if tag in tags:
            name, read = tags[tag]
            values[name], pos = read(buf, pos)
            if pos != end:
                raise wrong_size(name, size, pos)
        pos = end
    return pos


# --- writing ---------------------------------------------------------------------------------------------


def encoder(cls: Any, version: int, flexible: bool) -> Encoder:
    """Writes a ``cls``."""
    plain, tagged = rows(cls, version)
    steps = [_write_run(run, version, flexible) for run in runs(plain)]
    tags = [
        (row.tag or 0, row.name, row.default_value(), _write_row(row, version, True))
        for row in sorted(tagged, key=lambda row: row.tag or 0)
    ]

    def encode(item: Any, out: bytearray, splices: list[Splice]) -> None:
        for step in steps:
            step(item, out, splices)
        if flexible:
            _write_tags(item, tags, out, splices)

    return encode


def _write_run(run: list[Field], version: int, flexible: bool) -> _Write:
    names = [row.name for row in run]
    get = attrgetter(*names)
    if not is_fixed(run[0].type):
        write = _write_row(run[0], version, flexible)

        def one(item: Any, out: bytearray, splices: list[Splice]) -> None:
            write(get(item), out, splices)

        return one
    pack, single = struct.Struct(">" + "".join([row.type for row in run])).pack, len(run) == 1

    def some(item: Any, out: bytearray, _splices: list[Splice]) -> None:
        out += pack(get(item)) if single else pack(*get(item))

    return some


def _write_row(row: Field, version: int, flexible: bool) -> _Write:
    type_, nullable = row.type, row.may_be_null(version)
    if isinstance(type_, Array):
        count = codec.write_compact_count if flexible else codec.write_count
        write = _write_one(type_.element, version, flexible)

        def array(value: Any, out: bytearray, splices: list[Splice]) -> None:
            if value is None and nullable:
                count(out, -1)
                return
            count(out, len(value))
            for item in value:
                write(item, out, splices)

        return array
    write_one = _write_one(type_, version, flexible)
    if not (nullable and isinstance(type_, type)):
        return write_one
    null = NULL[row.tag is not None]

    def maybe(value: Any, out: bytearray, splices: list[Splice]) -> None:
        out += null if value is None else b"\x01"
        if value is not None:
            write_one(value, out, splices)

    return maybe


def _write_one(type_: Any, version: int, flexible: bool) -> _Write:
    if isinstance(type_, type):
        return encoder(type_, version, flexible)
    if is_fixed(type_):
        pack = struct.Struct(">" + type_).pack

        def fixed(value: Any, out: bytearray, _splices: list[Splice]) -> None:
            out += pack(value)

        return fixed
    write = getattr(codec, f"write_{compact(flexible)}{type_}")
    if type_ == RECORDS:
        return lambda value, out, splices: write(out, splices, value)
    return lambda value, out, _splices: write(out, value)


def _write_tags(
    item: Any, tags: list[tuple[int, str, Any, _Write]], out: bytearray, splices: list[Splice]
) -> None:
    """Tagged fields are written only when they differ from their default, in order of their tags."""
    sections = []
    for tag, name, default, write in tags:
        value = getattr(item, name)
        if _differs(value, default):
            section = bytearray()
            write(value, section, splices)
            sections.append((tag, section))
    codec.write_uvarint(out, len(sections))
    for tag, section in sections:
        codec.write_uvarint(out, tag)
        codec.write_uvarint(out, len(section))
        out += section


def _differs(value: Any, default: Any) -> bool:
    """Whether a value differs from its default; of a struct each field is compared."""
    if not isinstance(default, Struct):
        return bool(value != default)
    return value is None or any(
        _differs(getattr(value, row.name), getattr(default, row.name)) for row in default.fields
    )
