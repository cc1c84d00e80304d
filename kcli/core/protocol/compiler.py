"""Encoders and decoders, compiled from the field tables, one per (struct, version), once it is worth it.

Until a few kilobytes went through it, a message is read and written by ``steps.py``: most commands send each of their
messages once or twice, and compiling a function took longer than all that they compute besides.

The compiler generates Python source (runs of fixed-size fields become one ``struct`` call, arrays of fixed-shape
elements one ``iter_unpack``) and executes it. The tables are our own: no external input reaches the source.
"""

import functools
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from kcli.core.errors import ProtocolError
from kcli.core.protocol import codec, steps
from kcli.core.protocol.codec import Splice
from kcli.core.protocol.schema import RECORDS, STRING, UUID, Array, Field, Struct
from kcli.core.protocol.steps import (
    NULL,
    Decoder,
    Encoder,
    compact,
    is_fixed,
    minimum,
    null_array,
    reader,
    rows,
    runs,
    wrong_size,
)
from kcli.core.protocol.table import Table

S = TypeVar("S", bound=Struct)
F = TypeVar("F", bound=Callable[..., Any])


def _memoised(function: F) -> F:
    """``functools.cache`` with the types of ``function`` (mypy considers a class unhashable)."""
    return cast(F, functools.cache(function))


def encode(
    value: Struct, version: int, *, flexible: bool, head: bytearray | None = None
) -> tuple[bytearray, list[Splice]]:
    """``value`` encoded in ``version``, behind ``head``, and the record buffers to be spliced in."""
    out = bytearray() if head is None else head
    splices: list[Splice] = []
    key = (type(value), version, flexible)
    write = _encoders.get(key)
    if write is not None:
        write(value, out, splices)
        return out, splices
    before = len(out)
    if _elements(value) > _MANY:
        _encoders[key] = _encoder(*key)
        _encoders[key](value, out, splices)
        return out, splices
    _rare_encoder(*key)(value, out, splices)
    if _is_worth_it(_written, key, len(out) - before):
        _encoders[key] = _encoder(*key)
    return out, splices


def decode(cls: type[S], buf: memoryview, pos: int, version: int, *, flexible: bool) -> tuple[S, int]:
    """The ``cls`` that starts at ``pos`` and the position after it; ProtocolError if it is malformed."""
    key = (cls, version, flexible)
    read = _decoders.get(key)
    if read is None:
        if _is_worth_it(_read, key, 0 if _holds_records(cls) else len(buf) - pos):
            read = _decoders[key] = _decoder(*key)
        else:
            read = _rare_decoder(*key)
    try:
        return read(buf, pos)
    except ProtocolError as error:
        raise ProtocolError(error.what, why=error.why or f"while reading {cls.__name__} v{version}") from None
    except (struct.error, IndexError, UnicodeDecodeError, MemoryError, OverflowError) as error:
        raise ProtocolError(
            f"malformed response: {cls.__name__} v{version} cannot be read",
            why=str(error) if isinstance(error, UnicodeDecodeError) else "it ends too early",
        ) from None


_Key = tuple[type[Any], int, bool]
"""The class, the version, and whether that is flexible."""
_encoders: dict[_Key, Encoder] = {}
_decoders: dict[_Key, Decoder] = {}
_written: dict[_Key, int] = {}
_read: dict[_Key, int] = {}
_rare_encoder, _rare_decoder = _memoised(steps.encoder), _memoised(steps.decoder)

_ENOUGH = 8_192
"""Bytes of one message in one version; then a compiled function makes up for the time it took to make."""
_EACH = 1_500
"""What a message counts beside its bytes: at the latest the sixth of a kind is compiled."""
_MANY = 100
"""Elements of a message to be written, whose size is not known yet."""


def _elements(value: Struct) -> int:
    """About how many elements its arrays have: those inside of elements as often as in the first one."""
    arrays = [part for part in vars(value).values() if isinstance(part, list) and part]
    return sum(
        [len(part) * (1 + (_elements(part[0]) if isinstance(part[0], Struct) else 0)) for part in arrays]
    )


def _is_worth_it(so_far: dict[_Key, int], key: _Key, size: int) -> bool:
    so_far[key] = so_far.get(key, 0) + _EACH + size
    return so_far[key] > _ENOUGH


@_memoised
def _holds_records(cls: Any) -> bool:
    """Whether most of its bytes are records, which nothing here reads."""
    types = [row.type.element if isinstance(row.type, Array) else row.type for row in cls.fields]
    return any(_holds_records(type_) if isinstance(type_, type) else type_ == RECORDS for type_ in types)


class _Source:
    """Lines of a function being generated, and the objects its names refer to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def name(self, value: Any) -> str:
        """A name for ``value`` inside the source."""
        name = f"x{len(self.names)}"
        self.names[name] = value
        return name

    def compile(self, function: str) -> Any:
        # As a code object: after Ctrl-C inside exec() of a string, Python treats it as unhandled permanently
        # (exit by SIGINT).
        code = compile("\n".join(self.lines), "<field table>", "exec")
        exec(code, self.names)  # noqa: S102 - made from our own tables only
        return self.names[function]


@_memoised
def _encoder(cls: Any, version: int, flexible: bool) -> Encoder:
    source = _Source()
    source.add(0, "def encode(self, out, splices):")
    source.add(1, "pass")
    plain, tagged = rows(cls, version)
    for run in runs(plain):
        if is_fixed(run[0].type):
            pack = source.name(struct.Struct(">" + "".join(r.type for r in run)).pack)
            source.add(1, f"out += {pack}({', '.join('self.' + r.name for r in run)})")
        else:
            row = run[0]
            _emit_write(source, 1, row, f"self.{row.name}", version, flexible)
    if flexible:
        _emit_write_tags(source, tagged, version)
    encoder: Encoder = source.compile("encode")
    return encoder


def _emit_write(src: _Source, depth: int, row: Field, value: str, version: int, flexible: bool) -> None:
    type_, nullable = row.type, row.may_be_null(version)
    if isinstance(type_, Array):
        count = src.name(getattr(codec, f"write_{compact(flexible)}count"))
        if nullable:
            null = b"\0" if flexible else b"\xff\xff\xff\xff"
            src.add(depth, f"if {value} is None: out += {null!r}")
            src.add(depth, "else:")
            depth += 1
        if flexible:
            src.add(depth, f"n = len({value})")
            src.add(depth, f"if n < 127: out += {src.name(codec.ONE_BYTE)}[n + 1]")
            src.add(depth, f"else: {count}(out, n)")
        else:
            src.add(depth, f"{count}(out, len({value}))")
        src.add(depth, f"for item in {value}:")
        _emit_write_one(src, depth + 1, type_.element, "item", version, flexible)
    elif isinstance(type_, type) and nullable:
        src.add(depth, f"out += {NULL[row.tag is not None]!r} if {value} is None else b'\\x01'")
        src.add(depth, f"if {value} is not None:")
        _emit_write_one(src, depth + 1, type_, value, version, flexible)
    else:
        _emit_write_one(src, depth, type_, value, version, flexible)


def _emit_write_one(src: _Source, depth: int, type_: Any, value: str, version: int, flexible: bool) -> None:
    if isinstance(type_, type):
        src.add(depth, f"{src.name(_encoder(type_, version, flexible))}({value}, out, splices)")
    elif is_fixed(type_):
        src.add(depth, f"out += {src.name(struct.Struct('>' + type_).pack)}({value})")
    elif type_ == RECORDS:
        write = src.name(getattr(codec, f"write_{compact(flexible)}records"))
        src.add(depth, f"{write}(out, splices, {value})")
    else:
        if flexible:  # null and empty, the usual cases
            src.add(depth, f"if {value} is None: out += b'\\0'")
            src.add(depth, f"elif not {value}: out += b'\\x01'")
            src.add(depth, "else:")
            depth += 1
        write = src.name(getattr(codec, f"write_{compact(flexible)}{type_}"))
        src.add(depth, f"{write}(out, {value})")


def _emit_write_tags(src: _Source, tagged: list[Field], version: int) -> None:
    """Tagged fields are written only when they differ from their default, in order of their tags."""
    if not tagged:
        src.add(1, "out += b'\\0'")
        return
    uvarint = src.name(codec.write_uvarint)
    src.add(1, "outer, sections = out, []")
    for row in sorted(tagged, key=lambda r: r.tag or 0):
        src.add(1, f"if {_differs(src, f'self.{row.name}', row.default_value())}:")
        src.add(2, "out = bytearray()")
        _emit_write(src, 2, row, f"self.{row.name}", version, True)
        src.add(2, f"sections.append(({row.tag}, out))")
    src.add(1, "if not sections: out += b'\\0'")
    src.add(1, "else:")
    src.add(2, f"{uvarint}(outer, len(sections))")
    src.add(2, "for tag, section in sections:")
    src.add(3, f"{uvarint}(outer, tag)")
    src.add(3, f"{uvarint}(outer, len(section))")
    src.add(3, "outer += section")


def _differs(src: _Source, value: str, default: Any) -> str:
    """The expression for whether a value differs from its default; of a struct each field is compared."""
    if not isinstance(default, Struct):
        return f"{value} != {src.name(default)}"
    fields = [_differs(src, f"{value}.{row.name}", getattr(default, row.name)) for row in default.fields]
    return " or ".join([f"{value} is None", *fields])


@_memoised
def _decoder(cls: Any, version: int, flexible: bool) -> Decoder:
    source = _Source()
    source.names["new"] = cls.__new__
    source.names["cls"] = cls
    source.add(0, "def decode(buf, pos):")
    source.add(1, "self = new(cls)")
    plain, tagged = rows(cls, version)
    for row in cls.fields:
        if row not in plain:
            source.add(1, f"self.{row.name} = {_default(source, row)}")
    for run in runs(plain):
        if is_fixed(run[0].type):
            shape = struct.Struct(">" + "".join(r.type for r in run))
            targets = ", ".join(f"self.{r.name}" for r in run)
            source.add(1, f"{targets}, = {source.name(shape.unpack_from)}(buf, pos)")
            source.add(1, f"pos += {shape.size}")
        else:
            _emit_read(source, 1, run[0], version, flexible)
    if flexible:
        _emit_read_tags(source, tagged, version)
    source.add(1, "return self, pos")
    decoder: Decoder = source.compile("decode")
    return decoder


def _default(src: _Source, row: Field) -> str:
    """The expression for the default of a field that a version does not have."""
    return src.name(row.default_value()) if row.shares_default else f"{src.name(row.make)}()"


def _emit_read(src: _Source, depth: int, row: Field, version: int, flexible: bool) -> None:
    type_, nullable, target = row.type, row.may_be_null(version), f"self.{row.name}"
    if isinstance(type_, Array):
        _emit_read_array(src, depth, row, version, flexible)
    elif isinstance(type_, type):
        read = src.name(_decoder(type_, version, flexible))
        if nullable:
            src.add(depth, f"{target} = None; present = buf[pos]; pos += 1")
            src.add(depth, "if present:" if row.tag is not None else "if present < 128:")
            depth += 1
        src.add(depth, f"{target}, pos = {read}(buf, pos)")
    elif is_fixed(type_):
        shape = struct.Struct(">" + type_)
        src.add(depth, f"{target}, = {src.name(shape.unpack_from)}(buf, pos); pos += {shape.size}")
    else:
        if nullable and flexible:
            src.add(depth, f"if buf[pos] == 0: {target} = None; pos += 1")
            src.add(depth, "else:")
            depth += 1
        src.add(depth, f"{target}, pos = {src.name(reader(type_, nullable, flexible))}(buf, pos)")


def _emit_read_array(src: _Source, depth: int, row: Field, version: int, flexible: bool) -> None:
    element, target = row.type.element, f"self.{row.name}"
    count = src.name(getattr(codec, f"read_{compact(flexible)}count"))
    least = minimum(element, version, flexible)
    if flexible and isinstance(element, type):
        # A few elements, the usual case; where bytes are missing, the elements' own fields are.
        src.add(depth, "n = buf[pos]")
        src.add(depth, "if 0 < n < 9: n, pos = n - 1, pos + 1")
        src.add(depth, f"else: n, pos = {count}(buf, pos, {least})")
    else:
        src.add(depth, f"n, pos = {count}(buf, pos, {least})")
    src.add(depth, "if n < 0:")
    if row.may_be_null(version):
        src.add(depth + 1, f"{target} = None")
    else:
        src.add(depth + 1, f"raise {src.name(null_array)}({row.name!r}, pos)")
    if isinstance(element, type) and not row.type.columns:
        src.add(depth, f"elif n == 0: {target} = []")
    src.add(depth, "else:")
    depth += 1
    if is_fixed(element):
        unpack = src.name(struct.unpack_from)
        if element == UUID:
            src.add(depth, f"{target} = [bytes(buf[p:p + 16]) for p in range(pos, pos + 16 * n, 16)]")
        else:
            src.add(depth, f"{target} = list({unpack}(f'>{{n}}{element}', buf, pos))")
        src.add(depth, f"pos += n * {least}")
    elif isinstance(element, type):
        read = src.name(_decoder(element, version, flexible))
        if _may_have_one_shape(element, version):
            table = src.name(_table_reader(element, version, flexible, columns=row.type.columns))
            src.add(depth, f"{target}, pos = {table}(buf, pos, n)")
        elif flexible and row.type.columns:
            _emit_read_rows(src, depth, row.type, f"{read}(buf, pos)", target, version)
        else:
            _emit_read_items(src, depth, f"{read}(buf, pos)", target)
    else:
        read = src.name(reader(element, False, flexible))
        _emit_read_items(src, depth, f"{read}(buf, pos)", target)


def _emit_read_items(src: _Source, depth: int, read: str, target: str) -> None:
    src.add(depth, "items = []")
    src.add(depth, "for _ in range(n):")
    src.add(depth + 1, f"item, pos = {read}")
    src.add(depth + 1, "items += (item,)")  # unlike append not a call
    src.add(depth, f"{target} = items")


def _emit_read_rows(src: _Source, depth: int, array: Any, read: str, target: str, version: int) -> None:
    """All elements of a LongArray at once by the kernel; one by one if one is unusual."""
    shape = array.shape(version)
    if shape is None:
        _emit_read_items(src, depth, read, target)
        return
    src.add(depth, f"found = {src.name(array.read_rows)}(buf, pos, n, {shape.shape!r})")
    src.add(depth, "if found is None:")
    _emit_read_items(src, depth + 1, read, target)
    src.add(depth, f"else: {target}, pos = {src.name(shape.table)}(found[0]), found[1]")


_USUAL = {True: b"\x01", False: b"\0\0"}
"""An empty string as encoded in flexible and in older versions."""


def _may_have_one_shape(cls: type[Struct], version: int) -> bool:
    """Whether all elements have the same size if their strings are empty and no tagged field is set."""
    plain, _ = rows(cls, version)
    fixed = [row for row in plain if is_fixed(row.type)]
    return bool(fixed) and all(row in fixed or row.type == STRING for row in plain)


def _table_reader(
    cls: type[Struct], version: int, flexible: bool, *, columns: bool
) -> Callable[[memoryview, int, int], tuple[Sequence[Any], int]]:
    """Reads ``n`` elements at once; one by one if a string is not empty, or a tagged field is present.

    With ``columns``, elements read at once are returned as a Table.
    """
    plain, _ = rows(cls, version)
    one = _decoder(cls, version, flexible)
    layout, size = ">", 0
    names: list[str] = []
    probes: list[tuple[int, bytes]] = []
    for row in plain:
        if row.type == STRING:
            usual = _USUAL[flexible]
            probes += [(size + place, usual[place : place + 1]) for place in range(len(usual))]
            code = f"{len(usual)}x"
        else:
            code = row.type
            names.append(row.name)
        layout += code
        size += struct.calcsize(">" + code)
    if flexible:
        probes.append((size, b"\0"))
        layout += "x"
        size += 1

    def slowly(buf: memoryview, pos: int, n: int) -> tuple[list[Any], int]:
        items = []
        for _ in range(n):
            item, pos = one(buf, pos)
            items.append(item)
        return items, pos

    source = _Source()
    source.names |= {"new": cls.__new__, "cls": cls, "slowly": slowly, "table": partial(Table, names)}
    source.add(0, "def make(rows):")
    source.add(1, "items = []")
    source.add(1, f"for {', '.join('v_' + name for name in names)}, in rows:")
    source.add(2, "item = new(cls)")
    for row in plain:
        source.add(2, f"item.{row.name} = {'v_' + row.name if row.type != STRING else repr('')}")
    for row in cls.fields:
        if row not in plain:
            source.add(2, f"item.{row.name} = {_default(source, row)}")
    source.add(2, "items.append(item)")
    source.add(1, "return items")
    source.add(0, "def read(buf, pos, n):")
    source.add(1, f"end = pos + n * {size}")
    source.add(1, "if end > len(buf): return slowly(buf, pos, n)")
    for place, usual in probes:
        source.add(1, f"if bytes(buf[pos + {place}:end:{size}]) != {usual!r} * n: return slowly(buf, pos, n)")
    tuples = f"{source.name(struct.Struct(layout).iter_unpack)}(buf[pos:end])"
    source.add(1, f"return table(list({tuples}), make), end" if columns else f"return make({tuples}), end")
    read: Callable[[memoryview, int, int], tuple[Sequence[Any], int]] = source.compile("read")
    return read


def _emit_read_tags(src: _Source, tagged: list[Field], version: int) -> None:
    if not tagged:
        src.add(1, "if buf[pos]:")
        src.add(2, f"pos = {src.name(codec.skip_tagged)}(buf, pos)")
        src.add(1, "else: pos += 1")
        return
    uvarint, short = src.name(codec.read_uvarint), src.name(codec.short_of)
    src.add(1, "tags = buf[pos]")
    src.add(1, "if tags < 128: pos += 1")
    src.add(1, f"else: tags, pos = {uvarint}(buf, pos)")
    src.add(1, "for _ in range(tags):")
    src.add(2, f"tag, pos = {uvarint}(buf, pos)")
    src.add(2, f"size, pos = {uvarint}(buf, pos)")
    src.add(2, "end = pos + size")
    src.add(2, f"if end > len(buf): raise {short}('a tagged field', size, buf, pos)")
    keyword = "if"
    for row in tagged:
        src.add(2, f"{keyword} tag == {row.tag}:")
        _emit_read(src, 3, row, version, True)
        src.add(3, f"if pos != end: raise {src.name(wrong_size)}({row.name!r}, size, pos)")
        keyword = "elif"
    src.add(2, "pos = end")
