"""Texts and JSON values of the input become bytes by the serdes of ``-s``, or by those that the input names."""

import struct
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.core.types import Record
from kcli.flows.inputs.input_format import Encoding, HeaderBlocks, InputFormat
from kcli.flows.inputs.item import BadInput, BadLine
from kcli.flows.inputs.lines import LineFormat
from kcli.flows.inputs.parsers import parser_of
from kcli.output.decoding import Decoders
from kcli.output.records import CsvFormatter, NdjsonFormatter
from kcli.serde.names import NAMES, PLAIN, parse_serdes
from kcli.serde.opening import open_serdes
from tests.batches import fetched_of


def encoding(*texts: str) -> Encoding:
    return Encoding(open_serdes(parse_serdes(texts, writing=True), writing=True), "t")


def read(kind: str, data: bytes, *texts: str, pattern: str = "", **how: Any) -> list[Any]:
    form = InputFormat(kind, LineFormat(**how), HeaderBlocks(), pattern, encoding=encoding(*texts))
    parser = parser_of(form)
    items = [*parser.feed(data), *parser.finish()]
    return [item.reason if isinstance(item, BadInput) else (item.key, item.value) for item in items]


def test_only_the_part_that_is_requested_is_encoded() -> None:
    assert read("lines", b"1:x\n2\n", "key=short", key_delimiter=b":") == [(b"\0\1", b"x"), (None, b"2")]
    assert read("lines", b"x:1\n", "value=short", key_delimiter=b":") == [(b"x", b"\0\1")]
    assert not Encoding()
    assert encoding("value=str").asked("value")
    assert not encoding("value=str").asked("key")


def test_nulls_stay_nulls_and_the_key_of_all_is_left_alone() -> None:
    how = {"key_delimiter": b":", "null_marker": b"N"}
    assert read("lines", b"N:1\n1:N\n", "int", **how) == [(None, b"\0\0\0\1"), (b"\0\0\0\1", None)]
    assert read("lines", b"1\n", "int", key=b"done") == [(b"done", b"\0\0\0\1")]


def test_what_does_not_fit_is_bad_input_with_its_line() -> None:
    form = InputFormat("lines", LineFormat(), HeaderBlocks(), encoding=encoding("value=int"))
    items = parser_of(form).feed(b"1\nx\n2\n")
    bad = items[1]
    assert isinstance(bad, BadInput)
    assert (bad.line, bad.raw) == (2, b"x")
    assert "is not an int" in bad.reason


def test_values_of_json() -> None:
    lines = b"""{"value": 7}
{"value": "8", "key": null}
{"value": null}
{"value": null, "value_encoding": "json"}
{"value": "eHg=", "value_encoding": "base64"}
{"value": "00ff", "value_encoding": "hex"}
{"value": "as it is", "value_encoding": "str"}
{"value": 9, "value_encoding": "long"}
{"value": {"a": 1}}
{"value": 5, "value_encoding": "str"}
"""
    found = read("ndjson", lines, "value=int")
    assert found[:3] == [(None, b"\0\0\0\7"), (None, b"\0\0\0\x08"), (None, None)]
    assert "None is not an int" in found[3]
    assert found[4:8] == [(None, b"xx"), (None, b"\0\xff"), (None, b"as it is"), (None, b"\0\0\0\x09")]
    assert "is not an int" in found[8]
    assert "not a string" in found[9]


def test_numbers_of_json_lose_nothing() -> None:
    value = b'[123456789012345678901234567890, 1.0, 1e3, "\\u00e4", 1e999, -0, 12345678901234567.89, %b]' % (
        b"7" * 4400
    )
    for kind, line in (("ndjson", b'{"value": %b}'), ("kcat", b'{"payload": %b}')):
        assert read(kind, line % value, "value=json") == [(None, value.replace(b", ", b","))]


@pytest.mark.parametrize(("kind", "line"), [("ndjson", b'{"value":%b}'), ("kcat", b'{"payload":%b}')])
def test_repeated_members_pass_as_json_and_are_refused_where_they_have_to_be_read(
    kind: str, line: bytes
) -> None:
    value = b'{"a":1,"a":2}'
    assert read(kind, line % value, "value=json") == [(None, value)]
    assert read(kind, line % value, "value=double") == [
        "the value is ambiguous JSON: the object has the member 'a' a second time at character 8"
    ]


def test_invalid_json_is_bad_input() -> None:
    assert read("lines", b"1e999999999999999999999", "value=double") == [
        "the value '1e999999999999999999999' is not a double: it is no number of that range; beside numbers there are "
        "NaN, Infinity and -Infinity"
    ]
    assert read("ndjson", b'{"value": {"a":"\xff"}}', "value=json")[0].startswith(
        "the value is not JSON: it is not UTF-8"
    )


@pytest.mark.parametrize("kind", ["ndjson", "kcat", "failed"])
@pytest.mark.parametrize("serdes", [(), ("value=json",)])
def test_json_that_is_nested_too_deeply_is_bad_input(kind: str, serdes: tuple[str, ...]) -> None:
    deep = b"[" * 5_000 + b"]" * 5_000
    for line in (b'{"value":%b,"payload":1}', b'{"payload":%b}', b'{"x":%b,"value":"a"}'):
        (found,) = read(kind, line % deep, *serdes)
        if sys.version_info < (3, 14):  # which reads it: what follows is judged as ever
            assert found == "the JSON is nested too deeply"


def test_kcat_and_csv() -> None:
    assert read("kcat", b'{"key":"k","payload":{"a":1}}\n{"payload":null}', "value=json") == [
        (b"k", b'{"a":1}'), (None, None),
    ]  # fmt: skip
    data = b'key,value,value_encoding\n1,2,\n1,"xx",str\n1,eHg=,base64\n,,\n1,x,\n1,3,long\n'
    assert read("csv", data, "int") == [
        (b"\0\0\0\1", b"\0\0\0\2"), (b"\0\0\0\1", b"xx"), (b"\0\0\0\1", b"xx"), (None, None),
        "the value 'x' is not an int: it is not a whole number", (b"\0\0\0\1", b"\0\0\0\3"),
    ]  # fmt: skip
    assert read("csv", b"value,value_encoding\n3,long\n", "key=str") == [(None, struct.pack(">q", 3))]
    assert read("csv", b"value,value_encoding\n\xff,str\n", "key=str") == ["the value is not UTF-8"]


def test_a_failed_line_goes_the_same_way() -> None:
    line = b'{"line":1,"reason":"","code":"BAD_INPUT","input":"7","format":"lines"}'
    assert read("failed", line, "value=short") == [(None, b"\0\7")]
    assert read("failed", line.replace(b"7", b"x"), "value=short") == [
        "the value 'x' is not a short: it is not a whole number"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_input_may_name_every_serde(name: str) -> None:
    """Those that need more than their name say which option is missing."""
    with pytest.raises(BadLine) as caught:
        Encoding().json("value", b'{"no": "serde takes this"}' if name != "json" else b"{1}", name)
    needs = name not in ("str", "hex", "base64") and "give -s value=" in caught.value.reason
    assert needs is (name not in PLAIN)


def test_the_encoding_of_a_form_may_be_replaced() -> None:
    form = InputFormat("raw", LineFormat(key=b"k"), HeaderBlocks())
    data = b"\0\0\0\x011"
    assert parser_of(form).feed(data)[0][2] == b"1"
    assert parser_of(replace(form, encoding=encoding("value=short"))).feed(data)[0][2] == b"\0\1"  # type: ignore[comparison-overlap]


def test_serdes_that_only_read_are_refused() -> None:
    with pytest.raises(ConfigError):
        encoding("value=consumer_offsets")


DATA = st.one_of(st.none(), st.binary(max_size=9), st.text(max_size=5).map(str.encode), st.just(b"\0\0\0\7"))


@given(st.sampled_from(["str", "short", "int", "long", "hex", "base64"]), DATA, DATA, st.booleans())
@example("int", b"\xff", b'"', True)
def test_what_consume_decoded_or_could_not_comes_back_as_it_was(
    name: str, key: bytes | None, value: bytes | None, csv: bool
) -> None:
    """By the same serde, and for these also by what the lines themselves say."""
    serdes = open_serdes(parse_serdes([name]))
    decoders = Decoders(serdes.key, serdes.value)
    formatter = CsvFormatter(b"", headers=True, decoders=decoders) if csv else NdjsonFormatter(decoders)
    fetched = fetched_of([Record("t", 0, 0, 0, 0, key, value)])
    data = formatter.begin() + formatter.batch(fetched, None, b"").data
    for texts in ([name], []):
        assert read("csv" if csv else "ndjson", data, *texts) == [(key, value)]
