"""What ``consume`` writes, ``produce`` reads back as it was, or refuses: numbers of any length, members that are there
twice, records without a timestamp, in every pair of formats that promises it.

Each example is ten documents: 500 here, 10,000 with ``make fuzz``.
"""

import json
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.types import Record
from kcli.flows.inputs.input_format import Encoding, HeaderBlocks, InputFormat
from kcli.flows.inputs.item import BadInput, InputPosition, InputRow, RowChunk
from kcli.flows.inputs.lines import LineFormat
from kcli.flows.inputs.parsers import parser_of
from kcli.flows.produce.failed_file import FailedFile
from kcli.output.decoding import Decoders
from kcli.output.record_data import CsvFormatter, KcatFormatter, NdjsonFormatter
from kcli.output.records import Formatter, TemplateFormatter
from kcli.output.template import Template
from kcli.serde.errors import EncodeError
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.serde import Serde, SerdeContext
from tests.batches import fetched_of

PLACE = SerdeContext("t")
DOCUMENTS = 10
SEEDS = st.integers(0, 2**32 - 1)
PATTERN = r"%T %K %V %k%v\n"

# --- documents ---------------------------------------------------------------------------------------


def digits(dice: random.Random) -> str:
    size = dice.choice([1, 2, 5, 15, 16, 17, 18, 25, 40, 4_400 if dice.random() < 0.1 else 60])
    return str(dice.randint(1, 9)) + "".join(dice.choices("0123456789", k=size - 1))


def number(dice: random.Random) -> str:
    whole = dice.choice(["0", digits(dice), digits(dice)])
    fraction = dice.choice(["", "", "." + digits(dice), ".10", ".0"])
    exponent = dice.choice(["", "", "", "e5", "E+05", "e-7", "e400", "e-400", "e999999999"])
    return dice.choice(["", "-"]) + whole + fraction + exponent


def text(dice: random.Random) -> str:
    return (
        '"'
        + "".join(dice.choices(["a", "b", "ä", r"\u00e4", r"\/", r"\"", '\\":', ",", "∑", r"\n", " "], k=3))
        + '"'
    )


def document(dice: random.Random, depth: int = 3) -> str:
    """JSON as somebody may write it."""
    blank = dice.choice(["", "", " ", "\n\t"])
    kind = dice.random()
    if depth == 0 or kind < 0.3:
        scalar = dice.choice([number, number, number, text, lambda _: "null", lambda _: "true"])
        return str(scalar(dice))
    size = dice.randint(0, 4)
    if kind < 0.45:
        return "[" + f",{blank}".join(document(dice, depth - 1) for _ in range(size)) + f"{blank}]"
    members = [f'"{dice.choice("abcdefghijk")}":{blank}{document(dice, depth - 1)}' for _ in range(size)]
    return "{" + blank + f"{blank},".join(members) + "}"


def exactly(data: bytes | str) -> Any:
    """The JSON with its literals and all its members, independent of how it is spelled otherwise."""
    return json.loads(
        data,
        parse_int=lambda literal: ("number", literal),
        parse_float=lambda literal: ("number", literal),
        object_pairs_hook=lambda pairs: ("object", *pairs),
    )


def by_value(data: bytes | str) -> Any:
    """The JSON with the values of its numbers."""
    return json.loads(data, parse_int=Decimal, parse_float=Decimal)


def records(seed: int) -> list[Record]:
    dice = random.Random(seed)
    return [
        Record(
            "t", 0, offset, dice.choice([-1, -1, 0, 1_732_180_000_000]), 0,
            dice.choice([None, b"", b"k", document(dice).encode()]),
            None if dice.random() < 0.05 else document(dice).encode(),
            (("h", b"1"),) if dice.random() < 0.3 else (),
        )
        for offset in range(DOCUMENTS)
    ]  # fmt: skip


# --- pairs of formats --------------------------------------------------------------------------------

Written = Callable[[Decoders], Formatter]
FORMATS: dict[str, Written] = {
    "ndjson": NdjsonFormatter,
    "csv": lambda decoders: CsvFormatter(b"", headers=True, decoders=decoders),
    "kcat": lambda decoders: KcatFormatter(lambda _tp: 1, decoders),
    "pattern": lambda decoders: TemplateFormatter(Template(PATTERN), decoders),
}


@pytest.fixture(scope="module")
def any_schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schemas") / "any.json"
    path.write_text("{}")
    return path


def rows_of(kind: str, data: bytes, serdes: list[str]) -> list[InputRow | BadInput]:
    encoding = Encoding(open_serdes(parse_serdes(serdes, writing=True), writing=True), "t")
    pattern = PATTERN if kind == "pattern" else ""
    parser = parser_of(InputFormat(kind, LineFormat(), HeaderBlocks(), pattern, encoding=encoding))
    return [*parser.feed(data), *parser.finish()]


def there_and_back(kind: str, record: Record, reading: list[str], writing: list[str]) -> InputRow | BadInput:
    serdes = open_serdes(parse_serdes(reading))
    formatter = FORMATS[kind](Decoders(serdes.key, serdes.value))
    data = formatter.begin() + formatter.batch(fetched_of([record]), None, b"").data
    (row,) = rows_of(kind, data, writing)
    return row


@pytest.mark.parametrize(
    ("kind", "reading", "writing"),
    [
        *((kind, [], []) for kind in FORMATS),
        *((kind, ["value=json"], ["value=json"]) for kind in ("ndjson", "csv", "kcat")),
        *((kind, ["json"], []) for kind in ("ndjson", "csv")),
        *((kind, ["value=json"], ["value=jsonschema"]) for kind in ("ndjson", "csv", "kcat")),
    ],
)
@given(seed=SEEDS)
def test_what_consume_wrote_comes_back(
    kind: str, reading: list[str], writing: list[str], seed: int, any_schema: Path
) -> None:
    writing = [f"{one}:file={any_schema},framing=none" if "schema" in one else one for one in writing]
    for record in records(seed):
        if kind == "kcat" and reading and record.value == b"null":
            continue  # as a payload, that is a null record
        row = there_and_back(kind, record, reading, writing)
        if isinstance(row, BadInput):
            assert "ambiguous" in row.reason, row
            assert "jsonschema" in str(writing)  # values are made of the text, to be validated
            continue
        assert row.timestamp == record.timestamp
        if not reading:
            assert (row.key, row.value) == (record.key, record.value)
        for before, after in ((record.key, row.key), (record.value, row.value)):
            if before is None or before in (b"", b"k"):
                assert before == after
            else:
                assert after is not None
                assert exactly(before) == exactly(after)


@given(seed=SEEDS)
def test_what_failed_is_fed_again_as_it_was(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = [NdjsonFormatter().batch(fetched_of([one]), None, b"").data.rstrip() for one in records(seed)]
    path = tmp_path_factory.mktemp("failed") / "failed"
    file, chunk = FailedFile(str(path), "ndjson", several=False), RowChunk(InputPosition(), 1, "in")
    for line in lines:
        file.add_bad(chunk, 0, BadInput(1, 0, "it failed", line))
    file.close()
    again = rows_of("failed", path.read_bytes(), [])
    assert [row[1:6] for row in again] == [row[1:6] for row in rows_of("ndjson", b"\n".join(lines), [])]


# --- formats with types of their own: equal by value, or refused -----------------------------------------

FIELDS: dict[str, Any] = {
    "d": "double", "f": "float", "n": "long", "i": "int", "u": ["null", "float", "double", "string"],
    "e": {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 10},
    "a": {"type": "array", "items": "double"}, "m": {"type": "map", "values": "double"},
}  # fmt: skip
PROTO = """syntax = "proto3";
import "google/protobuf/struct.proto";
message Any { google.protobuf.Value v = 1; double d = 2; float f = 3; int64 n = 4; repeated double a_list = 5;
map<string, double> m = 6; enum K { A = 0; B = 1; } K k = 7; uint32 i = 8; }
"""


@pytest.fixture(scope="module")
def avro(tmp_path_factory: pytest.TempPathFactory) -> Serde:
    path = tmp_path_factory.mktemp("schemas") / "any.avsc"
    fields = [{"name": name, "type": kind} for name, kind in FIELDS.items()]
    path.write_text(json.dumps({"type": "record", "name": "Any", "fields": fields}))
    return opened(f"avro:file={path}")


@pytest.fixture(scope="module")
def protobuf(tmp_path_factory: pytest.TempPathFactory) -> Serde:
    path = tmp_path_factory.mktemp("schemas") / "any.proto"
    path.write_text(PROTO)
    return opened(f"protobuf:file={path}")


def opened(name: str) -> Serde:
    found = open_serdes(parse_serdes([f"value={name}"], writing=True), writing=True).value
    assert found is not None
    return found


def plain_number(dice: random.Random) -> str:
    """One that a float may hold, or not."""
    return dice.choice(
        [number, number, lambda _: dice.choice(["0", "-1", "1.5", "0.1", "7", "2.50", "1e3"])]
    )(dice)


def comes_back(serde: Serde, given: str) -> bool:
    """Whether it was written: what is read then has the same values."""
    try:
        data = serde.encode_json(given.encode(), PLACE)
    except EncodeError:
        return False
    found = serde.decode_json(data, PLACE)
    assert same_values(by_value(given), by_value(found)), (given, found)
    return True


def same_values(given: Any, found: Any) -> bool:
    if isinstance(given, dict):
        names = [name for name, one in given.items() if one is not None or name in found]
        return all(same_values(given[name], found[name if name in found else "aList"]) for name in names)
    if isinstance(given, list):
        return len(given) == len(found) and all(map(same_values, given, found))
    if isinstance(found, dict) and isinstance(given, Decimal):
        (found,) = found.values()  # the branch of a union
    if isinstance(given, Decimal) and isinstance(found, str):
        return "AB".index(found) == given if found in ("A", "B") else Decimal(found) == given
    return bool(found == given)


@given(seed=SEEDS)
def test_numbers_come_back_from_avro_or_are_refused(seed: int, avro: Serde) -> None:
    dice = random.Random(seed)
    for _ in range(DOCUMENTS):
        given = {"d": "1", "f": "1", "n": "1", "i": "1", "u": "null", "e": "1", "a": "[]", "m": "{}"}
        assert comes_back(avro, as_object(given))
        for name in given:
            one = plain_number(dice)
            value = {"a": f"[{one}]", "m": f'{{"x":{one}}}'}.get(name, one)
            comes_back(avro, as_object(given | {name: value}))


@given(seed=SEEDS)
def test_numbers_come_back_from_protobuf_or_are_refused(seed: int, protobuf: Serde) -> None:
    dice = random.Random(seed)
    for _ in range(DOCUMENTS):
        comes_back(protobuf, as_object({"v": document(dice)}))
        for name in ("d", "f", "n", "a_list", "m", "k", "i"):
            one = plain_number(dice)
            comes_back(
                protobuf, as_object({name: {"a_list": f"[{one}]", "m": f'{{"x":{one}}}'}.get(name, one)})
            )


def as_object(members: dict[str, str]) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"


@pytest.mark.parametrize("name", ["short", "int", "long", "float", "double"])
@given(seed=SEEDS)
def test_numbers_come_back_from_javas_serializers_or_are_refused(name: str, seed: int) -> None:
    serde, dice = opened(name), random.Random(seed)
    for _ in range(DOCUMENTS):
        one = plain_number(dice)
        comes_back(serde, one)
        try:
            data = serde.encode_text(one.encode(), PLACE)
        except EncodeError:
            continue
        assert Decimal(serde.decode_text(data, PLACE)) == Decimal(one)
