"""Compiled encoders and decoders: every message in every version, round trips, malformed bytes, an oracle."""

import importlib
import pkgutil
import random
import struct
import tracemalloc
from functools import cache
from typing import Any

import pytest

from kcli.core.errors import ProtocolError
from kcli.core.protocol import codec, compiler
from kcli.core.protocol.schema import (
    BOOL,
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID,
    Array,
    Struct,
    field,
)
from tests.each import each
from tests.protocol.tables import every_version
from tests.protocol.values import fill, plain


@pytest.fixture(autouse=True, params=["compiled", "by steps"])
def _both_ways(request, monkeypatch):
    """Everything is read and written by compiled functions, and by those that go through the tables."""
    monkeypatch.setattr(compiler, "_ENOUGH", -1 if request.param == "compiled" else 1 << 60)
    monkeypatch.setattr(compiler, "_MANY", -1 if request.param == "compiled" else 1 << 60)
    monkeypatch.setattr(compiler, "_encoders", {})
    monkeypatch.setattr(compiler, "_decoders", {})


def test_a_first_message_of_many_elements_is_compiled(monkeypatch):
    class Inner(Struct):
        numbers: list[int] = field(Array(INT32))

    class Outer(Struct):
        inner: list[Inner] = field(Array(Inner))

    monkeypatch.setattr(compiler, "_ENOUGH", 1 << 60)
    monkeypatch.setattr(compiler, "_MANY", 100)
    few, many = (Outer(inner=[Inner(numbers=list(range(10)))] * count) for count in (9, 10))
    expected = encoded(few, 0, flexible=True)
    assert not compiler._encoders
    data = encoded(many, 0, flexible=True)
    assert list(compiler._encoders) == [(Outer, 0, True)]
    assert encoded(few, 0, flexible=True) == expected
    assert plain(decoded(Outer, data, 0, flexible=True)) == plain(many)


CASES = every_version()
ROUNDS = 4


def encoded(value: Struct, version: int, *, flexible: bool) -> bytes:
    out, splices = compiler.encode(value, version, flexible=flexible)
    return b"".join(codec.join_splices(out, splices))


def decoded(cls: type[Struct], data: bytes, version: int, *, flexible: bool) -> Any:
    value, end = compiler.decode(cls, memoryview(data), 0, version, flexible=flexible)
    assert end == len(data)
    return value


@pytest.mark.case("S0-2")
@each("cls, version, flexible", CASES)
def test_round_trip(cls: type[Struct], version: int, *, flexible: bool) -> None:
    rng = random.Random(f"{cls.__name__}{version}")
    for _ in range(ROUNDS):
        value = fill(cls, version, rng)
        back = decoded(cls, encoded(value, version, flexible=flexible), version, flexible=flexible)
        assert plain(back) == plain(value)


@each("cls, version, flexible", CASES)
def test_every_truncation_is_a_protocol_error(cls: type[Struct], version: int, *, flexible: bool) -> None:
    data = encoded(fill(cls, version, random.Random(version)), version, flexible=flexible)[:400]
    for end in range(len(data) - 1, -1, -7 if len(data) > 100 else -1):
        with pytest.raises(ProtocolError):
            decoded(cls, data[:end], version, flexible=flexible)


@pytest.mark.case("R12", "X4")
@each("cls, version, flexible", CASES)
def test_garbled_bytes_give_a_value_or_a_protocol_error(
    cls: type[Struct], version: int, *, flexible: bool
) -> None:
    rng = random.Random(f"garbled {cls.__name__}{version}")
    good = encoded(fill(cls, version, rng), version, flexible=flexible)
    for _ in range(25):
        data = bytearray(good or b"\0")
        for _ in range(rng.choice((1, 3))):
            data[rng.randrange(len(data))] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        try:
            compiler.decode(cls, memoryview(data), 0, version, flexible=flexible)
        except ProtocolError as error:
            assert "malformed" in error.what  # noqa: PT017 - either outcome is right


# --- an independent oracle: kafka-python ----------------------------------------------------------------


@cache
def kafka_python() -> dict[str, Any]:
    import kafka.protocol as package

    found = {}
    for group in ("admin", "consumer", "metadata", "producer"):
        folder = importlib.import_module(f"{package.__name__}.{group}")
        for module in pkgutil.iter_modules(folder.__path__):
            loaded = importlib.import_module(f"{folder.__name__}.{module.name}")
            found.update({n: v for n, v in vars(loaded).items() if n.endswith(("Request", "Response"))})
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@each("cls, version, flexible", CASES)
def test_kafka_python_reads_what_we_write_and_writes_the_same(
    cls: type[Struct], version: int, *, flexible: bool
) -> None:
    oracle = kafka_python().get(cls.__name__)
    if oracle is None or version > oracle.max_version:
        return  # it is behind: the tables are compared with Kafka's definitions anyway
    rng = random.Random(f"oracle {cls.__name__}{version}")
    for _ in range(ROUNDS):
        value = fill(cls, version, rng)
        if cls.__name__ == "ApiVersionsResponse":
            value.error_code = 0  # with an error it reads version 0, whatever was asked
        data = encoded(value, version, flexible=flexible)
        theirs = oracle.decode(data, version=version)
        assert differing(value, theirs, version) == []
        theirs._header = None  # its own decode leaves that out
        assert bytes(theirs.encode(version=version)) == data


def differing(ours: Struct, theirs: Any, version: int) -> list[str]:
    """Plain fields that the oracle has read differently."""
    names = {field.name: field.name for field in theirs._struct._fields}
    found = []
    for row in ours.fields:
        if not row.present(version) or row.tag is not None or row.name not in names:
            continue
        mine, other = getattr(ours, row.name), getattr(theirs, row.name)
        if row.type in (UUID, "records") or row.name.endswith("authorized_operations"):
            continue  # it has types of its own for these
        if isinstance(mine, list) and isinstance(row.type.element, type):
            for one, another in zip(mine, other, strict=True):
                found += differing(one, another, version)
        elif isinstance(mine, Struct):
            found += differing(mine, other, version)
        elif plain(mine) != plain(other):
            found.append(f"{type(ours).__name__}.{row.name}: {mine!r}, {other!r}")
    return found


def test_the_oracle_has_newer_versions_of_the_important_apis() -> None:
    known = kafka_python()
    assert known["FetchRequest"].max_version >= 12
    assert known["MetadataResponse"].max_version >= 12


# --- arrays of fixed shape ------------------------------------------------------------------------------


class Fixed(Struct):
    number: int = field(INT32)
    flag: bool = field(BOOL, "1+", default=True)
    late: int = field(INT64, "2+", default=-1)
    tagged: int = field(INT16, "1+", default=7, tag=3)


class Holder(Struct):
    before: int = field(INT8)
    rows: list[Fixed] = field(Array(Fixed))
    after: int = field(INT8)


def one_by_one(data: bytes, version: int, *, flexible: bool) -> list[Any]:
    """The array of a Holder, read element by element with the struct's own decoder."""
    buf = memoryview(data)
    read_count = codec.read_compact_count if flexible else codec.read_count
    count, pos = read_count(buf, 1, 1)
    items = []
    for _ in range(count):
        item, pos = compiler.decode(Fixed, buf, pos, version, flexible=flexible)
        items.append(item)
    return items


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("tagged_at", [None, 0, 1, 2])
@pytest.mark.parametrize(("version", "flexible"), [(0, False), (1, False), (1, True), (2, True)])
def test_the_fast_path_reads_what_the_slow_one_reads(
    version: int, count: int, tagged_at: int | None, *, flexible: bool
) -> None:
    rows = [
        Fixed(number=n, flag=version == 0 or n % 2 == 0, late=-1 if version < 2 else n) for n in range(count)
    ]
    if flexible and tagged_at is not None and tagged_at < count:
        rows[tagged_at].tagged = 9
    data = encoded(Holder(before=1, rows=rows, after=2), version, flexible=flexible)
    back = decoded(Holder, data, version, flexible=flexible)
    assert plain(back.rows) == plain(one_by_one(data, version, flexible=flexible)) == plain(rows)
    assert (back.before, back.after) == (1, 2)


def test_an_element_with_an_unknown_tag_is_read_and_the_tag_stepped_over() -> None:
    element = struct.pack(">i?", 5, True) + bytes.fromhex("01 09 02 aabb")
    plain_element = struct.pack(">i?", 6, False) + b"\0"
    data = b"\x01\x03" + element + plain_element + b"\x02\x00"
    rows = decoded(Holder, data, 1, flexible=True).rows
    assert [(row.number, row.flag, row.tagged) for row in rows] == [(5, True, 7), (6, False, 7)]


class Noted(Struct):
    number: int = field(INT64)
    note: str | None = field(STRING, nullable="0+")
    code: int = field(INT16)
    name: str = field(STRING, "1+", default="")


class Notes(Struct):
    rows: list[Noted] = field(Array(Noted))
    after: int = field(INT8)


@pytest.mark.parametrize("note", ["", None, "x", "é" * 200])
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize(("version", "flexible"), [(0, False), (1, False), (0, True), (1, True)])
def test_strings_are_empty_as_a_rule_and_read_as_they_are_all_the_same(
    version: int, at: int, note: str | None, *, flexible: bool
) -> None:
    rows = [Noted(number=n, note="", code=-n) for n in range(3)]
    rows[at].note = note
    if version and note:
        rows[at].name = note
    data = encoded(Notes(rows=rows, after=7), version, flexible=flexible)
    back = decoded(Notes, data, version, flexible=flexible)
    assert plain(back) == plain(Notes(rows=rows, after=7))


def test_elements_of_the_fast_path_do_not_share_mutable_defaults() -> None:
    class Row(Struct):
        number: int = field(INT32)
        absent: list[int] = field(Array(INT32), "5+", default_factory=list)

    class Rows(Struct):
        rows: list[Row] = field(Array(Row))

    data = encoded(Rows(rows=[Row(number=1), Row(number=2)]), 0, flexible=False)
    rows = decoded(Rows, data, 0, flexible=False).rows
    rows[0].absent.append(1)
    assert rows[1].absent == []


# --- fields -----------------------------------------------------------------------------------------------


class Inner(Struct):
    number: int = field(INT32, default=-1)


class Tagged(Struct):
    name: str | None = field(STRING, default=None, nullable="0+", tag=0)
    inner: Inner = field(Inner, default_factory=Inner, tag=1)
    rows: list[int] = field(Array(INT32), default_factory=list, tag=2)
    data: bytes = field(BYTES, default=b"", tag=9)


def test_tagged_fields_with_their_defaults_are_not_written() -> None:
    assert encoded(Tagged(), 0, flexible=True) == b"\x00"
    assert encoded(Tagged(inner=Inner(number=-1)), 0, flexible=True) == b"\x00"


def test_tagged_fields_are_written_in_order_of_their_tags() -> None:
    data = encoded(Tagged(name="a", inner=Inner(number=1), rows=[1], data=b"d"), 0, flexible=True)
    assert data == bytes.fromhex("04 00 02 0261 01 05 0000000100 02 05 0200000001 09 02 0264")


@pytest.mark.parametrize(
    "value", [Tagged(name=""), Tagged(inner=Inner(number=0)), Tagged(rows=[0, 0]), Tagged(data=b"x")]
)
def test_tagged_fields_round_trip(value: Tagged) -> None:
    assert plain(decoded(Tagged, encoded(value, 0, flexible=True), 0, flexible=True)) == plain(value)


def test_an_unknown_tag_is_stepped_over() -> None:
    data = bytes.fromhex("02 07 03 616263 09 02 0264")
    assert bytes(decoded(Tagged, data, 0, flexible=True).data) == b"d"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("01 00 04 0261 0000", id="longer than its content"),
        pytest.param("01 00 01 0261", id="shorter than its content"),
    ],
)
def test_a_tagged_field_whose_size_is_wrong_is_refused(data: str) -> None:
    with pytest.raises(ProtocolError):
        decoded(Tagged, bytes.fromhex(data), 0, flexible=True)


class Nullable(Struct):
    part: Inner | None = field(Inner, default=None, nullable="0+")
    rows: list[Inner] | None = field(Array(Inner), default=None, nullable="1+")
    name: str | None = field(STRING, default=None, nullable="1+")


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize(
    "value",
    [
        Nullable(),
        Nullable(part=Inner(number=3), rows=[], name=""),
        Nullable(rows=[Inner(number=1)], name="x"),
    ],
)
def test_nullable_fields_round_trip(value: Nullable, *, flexible: bool) -> None:
    back = decoded(Nullable, encoded(value, 1, flexible=flexible), 1, flexible=flexible)
    assert plain(back) == plain(value)


@pytest.mark.case("X2")
@pytest.mark.parametrize("data", ["ff ffffffff 0000", "ff 00000000 ffff"])
def test_null_is_refused_in_a_version_where_it_is_not_allowed(data: str) -> None:
    with pytest.raises(ProtocolError, match="null"):
        decoded(Nullable, bytes.fromhex(data), 0, flexible=False)


class Scalars(Struct):
    numbers: list[int] = field(Array(INT64))
    ids: list[bytes] = field(Array(UUID))
    names: list[str] = field(Array(STRING))
    blobs: list[bytes] = field(Array(BYTES))


@pytest.mark.parametrize("flexible", [False, True])
def test_arrays_of_scalars_round_trip(*, flexible: bool) -> None:
    value = Scalars(
        numbers=[1, -1, 1 << 62], ids=[bytes(range(16)), bytes(16)], names=["a", "", "ü"], blobs=[b"", b"b"]
    )
    assert plain(decoded(Scalars, encoded(value, 0, flexible=flexible), 0, flexible=flexible)) == plain(value)


@pytest.mark.case("X2")
@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("cls", [Scalars, Holder])
def test_a_huge_count_allocates_nothing(cls: type[Struct], *, flexible: bool) -> None:
    head = b"\x01" if cls is Holder else b""
    count = b"\xff\xff\xff\xff\x07" if flexible else b"\x7f\xff\xff\xff"
    data = head + count + bytes(64)
    compiler.encode(cls(), 0, flexible=flexible)  # compiled before the measurement
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            decoded(cls, data, 0, flexible=flexible)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.case("X4")
def test_text_that_is_not_utf8_is_a_protocol_error() -> None:
    class Name(Struct):
        name: str = field(STRING)

    with pytest.raises(ProtocolError, match="Name v0"):
        decoded(Name, b"\x00\x01\xff", 0, flexible=False)


def test_an_error_names_the_message_and_the_version() -> None:
    with pytest.raises(ProtocolError, match="Holder v2"):
        decoded(Holder, b"", 2, flexible=True)


def test_absent_fields_get_their_defaults() -> None:
    back = decoded(Fixed, struct.pack(">i", 3), 0, flexible=False)
    assert (back.flag, back.late, back.tagged) == (True, -1, 7)


def test_an_unknown_field_is_refused_when_a_message_is_made() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        Fixed(number=1, nonsense=2)


def test_messages_show_their_fields() -> None:
    assert repr(Inner(number=4)) == "Inner(number=4)"
