"""Golden input of every format, fed whole and byte by byte; what is no record says where and why."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.core.kernels.active import decode_headers
from kcli.core.types import Record
from kcli.flows.inputs.input_format import HeaderBlocks, InputFormat
from kcli.flows.inputs.item import BadInput, InputError, InputRow, Item
from kcli.flows.inputs.lines import LineFormat
from kcli.flows.inputs.parsers import parser_of
from kcli.flows.inputs.pattern import Pattern, PatternError
from kcli.output.record_data import NdjsonFormatter
from tests.batches import fetched_of

pytestmark = pytest.mark.case("C8")

Seen = tuple[Any, ...]


def form(kind: str, pattern: str = "", *, longest: int = 1000, **how: Any) -> InputFormat:
    return InputFormat(kind, LineFormat(**how), HeaderBlocks(), pattern, longest=longest)


def items_of(form: InputFormat, data: bytes, step: int | None = None) -> list[Item]:
    parser, items = parser_of(form), []
    for at in range(0, len(data), step or max(1, len(data))):
        items += parser.feed(data[at : at + (step or len(data))])
    return items + parser.finish()


def seen(item: Item) -> Seen:
    if isinstance(item, BadInput):
        return ("bad", item.line, item.column, item.reason)
    headers = decode_headers(item.headers, 0, len(item.headers))
    return (item.line, item.key, item.value, headers, item.timestamp, item.partition)


def read(form: InputFormat, data: bytes) -> list[Seen]:
    """The items, which are the same however the input is cut."""
    whole = items_of(form, data)
    for step in (1, 2, 7):
        assert items_of(form, data, step) == whole
    return [seen(item) for item in whole]


def row(
    line: int, key: Any, value: Any, headers: Any = (), timestamp: Any = None, partition: Any = None
) -> Seen:
    return (line, key, value, tuple(headers), timestamp, partition)


def test_lines() -> None:
    how = {"key_delimiter": b"::", "null_marker": b"NULL", "delimiter": b"|"}
    assert read(form("lines", **how), b"a::b|c|::NULL|NULL::x::y|last") == [
        row(1, b"a", b"b"), row(2, None, b"c"), row(3, b"", None), row(4, None, b"x::y"), row(5, None, b"last"),
    ]  # fmt: skip
    assert read(form("lines", empty_is_null=True, key=b"k"), b"\na\n") == [
        row(1, b"k", None),
        row(2, b"k", b"a"),
    ]
    assert read(form("lines", longest=3), b"abc\nabcd\n") == [
        row(1, None, b"abc"),
        ("bad", 2, 0, "it has more than 3 bytes"),
    ]


def test_ndjson() -> None:
    data = (
        b'{"value":"v","key":"k","timestamp":5,"partition":2,"offset":9,"topic":"t","headers":[["a","1"],["a",null]]}\n'
        b"\n"
        b'{"value":"//8=","value_encoding":"base64","key":null,"headers":[["n","//8=","base64"],["//8=",null,null,"base64"]]}\r\n'
        b'{"value":null,"timestamp":null}\n{"value":""}'
    )
    assert read(form("ndjson"), data) == [
        row(1, b"k", b"v", [("a", b"1"), ("a", None)], 5, 2),
        row(3, None, b"\xff\xff", [("n", b"\xff\xff"), (b"\xff\xff", None)]),
        row(4, None, None, (), -1),
        row(5, None, b""),
    ]
    assert read(form("ndjson"), b'\xef\xbb\xbf{"value":"a","timestamp":-1}\n') == [row(1, None, b"a", (), -1)]


@pytest.mark.parametrize(
    ("kind", "without", "none"),
    [
        ("ndjson", b'{"value":"a"}', [b'{"value":"a","timestamp":null}', b'{"value":"a","timestamp":-1}']),
        ("kcat", b'{"payload":"a"}', [b'{"payload":"a","ts":null}', b'{"payload":"a","ts":-1}']),
        ("csv", b"value\na", [b"value,timestamp\na,", b"value,timestamp\na,-1"]),
        ("pattern", b";a\n", [b"-1;a\n"]),
    ],
)
def test_a_missing_timestamp_is_now_and_minus_one_or_null_is_none(
    kind: str, without: bytes, none: list[bytes]
) -> None:
    def stamps(data: bytes) -> list[Any]:
        return [
            item.timestamp for item in items_of(form(kind, r"%T;%v\n"), data) if isinstance(item, InputRow)
        ]

    assert stamps(without) == [None]
    assert [stamps(data) for data in none] == [[-1]] * len(none)


@pytest.mark.parametrize(
    ("kind", "line", "name"),
    [
        ("ndjson", b'{"key":"k","value":"a","key":"l"}', "key"),
        ("ndjson", b'{"value":"a" , "value" : "a"}', "value"),
        ("ndjson", b'{"timestamp":1,"value":"a","timestamp":2}', "timestamp"),
        ("ndjson", b'{"headers":[],"value":"a","headers":null}', "headers"),
        ("ndjson", b'{"value":"a","partition":1,"partition":2}', "partition"),
        ("ndjson", b'{"value":"YQ==","value_encoding":"base64","value_encoding":"str"}', "value_encoding"),
        ("ndjson", b'{"value":"a","\\u006bey":"k","key":"l"}', "key"),
        ("ndjson", b'\xef\xbb\xbf{"value":"a","value":"b"}', "value"),
        ("kcat", b'{"payload":"a","payload":"b"}', "payload"),
        ("kcat", b'{"ts":1,"payload":"a","ts":2}', "ts"),
        ("kcat", b'{"payload":"\xff","key":"a","key":"b"}', "key"),
        ("failed", b'{"input":"a","format":"lines","input":"b"}', "input"),
    ],
)
def test_a_member_that_a_line_has_twice_is_bad_input(kind: str, line: bytes, name: str) -> None:
    good = {
        "ndjson": b'{"value":"{\\"key\\":1,\\"key\\":2}"}\n',
        "kcat": b'{"payload":"a"}\n',
        "failed": b'{"input":"a"}\n',
    }
    found = read(form(kind), good[kind] + line + b"\n" + good[kind])
    assert [one[0] for one in found] == [1, "bad", 3]
    assert found[1] == ("bad", 2, 0, f"it has the member `{name}` 2 times")


def test_members_of_one_name_in_different_objects_are_no_repetition() -> None:
    line = b'{"value":"a","key":"k","other":{"key":1,"value":2},"more":[{"key":1},{"key":2}]}'
    assert read(form("ndjson"), line) == [row(1, b"k", b"a")]


@pytest.mark.case("C8")
@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (b"{bad", 2, "JSON is malformed: object keys must be strings"),
        (b'{"value":"a"} x', 15, "JSON is malformed: trailing characters"),
        (b'{"value":"a"', 13, "the JSON is cut off"),
        (b"[1]", 0, "expected `object`, got `array`"),
        (b'{"value":1}', 0, "the value is not a string: give -s value=json, or another serde that writes it"),
        (b'{"value":"a","headers":1}', 0, "expected `array | null`, got `int` - at `$.headers`"),
        (b'{"key":"a"}', 0, "it has no `value`: is it a line of kcli consume -o ndjson?"),
        (b'{"value":null,"control":"COMMIT"}', 0, "it is a transaction's marker (COMMIT), not a record: read without --print-control"),  # noqa: E501
        (b'{"value":"ab","value_encoding":"base64"}', 0, "the value is not base64: incorrect padding"),
        (b'{"value":"a","value_encoding":"avro"}', 0, "the value is encoded as 'avro': give -s value=avro"),
        (b'{"value":"a","value_encoding":"utf7"}', 0, "the value is encoded as 'utf7': no serde has this name"),
        (b'{"value":"a","headers":[["a"]]}', 0, "a header of 1 elements is not [name, value], optionally with encodings"),
        (b'{"value":"a","headers":[[null,""]]}', 0, "a header has null for its name"),
        (b'{"value":"\\ud800"}', 11, "JSON is malformed: half of a UTF-16 surrogate pair"),
        (b'{"value":"x\\uDBFFx"}', 12, "JSON is malformed: half of a UTF-16 surrogate pair"),
        (b'{"value":"\\\\ud800', 18, "the JSON is cut off"),
        (b'{"value":"a","partition":-1}', 0, "there is no partition -1"),
        (b'{"value":"a","timestamp":9223372036854775808}', 0, "the timestamp 9223372036854775808 is not an int64 in ms since 1970"),  # noqa: E501
        (b'{"value":"a","timestamp":-2}', 0, "the timestamp -2 is not an int64 in ms since 1970"),
        (b"\xef\xbb\xbf" * 5 + b"{}", 1, "JSON is malformed: invalid character"),
    ],
)  # fmt: skip
def test_a_bad_line_of_ndjson_says_where_and_why(line: bytes, column: int, reason: str) -> None:
    good = b'{"value":"good"}\n'
    found = read(form("ndjson"), good + line + b"\n" + good)
    assert found == [row(1, None, b"good"), ("bad", 2, column, reason), row(3, None, b"good")]


def test_kcat() -> None:
    data = (
        b'{"topic":"t","partition":1,"offset":0,"tstype":"create","ts":7,"broker":1,'
        b'"headers":["a","1","a",null],"key":"k","payload":"v"}\n'
        b'{"key":null,"payload":null,"ts":-1}\n'
        b'{"key":"\xff","payload":"\x80\\u0000\xc3\xa4"}\n'
    )
    assert read(form("kcat"), data) == [
        row(1, b"k", b"v", [("a", b"1"), ("a", None)], 7, 1),
        row(2, None, None, (), -1),
        row(3, b"\xff", b"\x80\0\xc3\xa4"),
    ]
    for line, reason in [
        (b"[]", "it is no JSON object"),
        (b"{}", "it has no `payload`: is it a line of `kcat -J`?"),
        (b'{"payload":1}', "`payload` is neither a string nor null"),
        (b'{"payload":"a","headers":["x"]}', "`headers` is no flat list of names and values"),
        (b'{"payload":"a","ts":"now"}', '`ts` is "now", not a whole number'),
        (b'{"payload":"\xff', "the JSON is cut off"),
    ]:
        assert [found[3] for found in read(form("kcat"), line)] == [reason]


def test_raw() -> None:
    data = b"\0\0\0\3a\nb" + b"\xff\xff\xff\xff" + b"\0\0\0\0" + b"\0\0\0\1x"
    assert read(form("raw", key=b"k"), data) == [
        row(1, b"k", b"a\nb"), row(2, b"k", None), row(3, b"k", b""), row(4, b"k", b"x"),
    ]  # fmt: skip
    assert read(form("raw"), b"\0\0\0\5ab") == [("bad", 1, 7, "the input ends inside a record: 6 of 9 bytes")]
    assert read(form("raw", longest=4), b"\0\0\0\5abcde\0\0\0\1x") == [
        ("bad", 1, 0, "5 bytes are more than 4"),
        row(2, None, b"x"),
    ]
    with pytest.raises(InputError, match="record 2 of the input cannot be read"):
        items_of(form("raw"), b"\0\0\0\1a\xff\xff\xff\xfe")


@pytest.mark.parametrize(
    ("kind", "pattern", "data"),
    [("raw", "", b"\0\0\0\1a\xff\xff\xff\xfe"), ("pattern", r"%V %v\n", b"1 a\nx b\n1 c\n")],
)
def test_records_in_front_of_input_that_cannot_be_read_are_handed_out(
    kind: str, pattern: str, data: bytes
) -> None:
    parser = parser_of(form(kind, pattern))
    assert [item.line for item in parser.feed(data)] == [1]
    for more in (lambda: parser.feed(b"\0\0\0\1b"), parser.finish):
        with pytest.raises(InputError, match="record 2 of the input"):
            more()


def test_csv() -> None:
    data = (
        b"key,value,headers,timestamp,value_encoding,topic\n"
        b'k,"a ""quoted"", b\nin two lines","[[""h"",null]]",5,,t\r\n'
        b',"",,,,\n'
        b"\xff,//8=,,,base64,\n"
        b'"",,,,,\n'
    )
    assert read(form("csv"), data) == [
        row(2, b"k", b'a "quoted", b\nin two lines', [("h", None)], 5),
        row(4, None, b"", (), -1),
        row(5, b"\xff", b"\xff\xff", (), -1),
        row(6, b"", None, (), -1),
    ]
    assert read(form("csv", null_marker=b"N"), b"value,key\n,N\nN,\n") == [
        row(2, None, b""),
        row(3, b"", None),
    ]
    assert read(form("csv"), b'partition,value\n3,a\n\nx,b\n1\n"a"b,c\n1,"open') == [
        row(2, None, b"a", (), None, 3),
        ("bad", 4, 0, "the partition 'x' is not a whole number"),
        ("bad", 5, 0, "it has 1 fields, the header line names 2"),
        ("bad", 6, 4, "there is a quote within a field, or text after a closing quote"),
        ("bad", 7, 0, "a quote is opened and never closed"),
    ]
    assert read(form("csv"), b"timestamp,value\n-1,a\n-2,b\n") == [
        row(2, None, b"a", (), -1),
        ("bad", 3, 0, "the timestamp -2 is not an int64 in ms since 1970"),
    ]
    for header in (b"a,key\n", b"key,key\n", b"partition\n", b'"x"y\n'):
        with pytest.raises(InputError, match="header line"):
            items_of(form("csv"), header)


TABLE = (
    b'\xef\xbb\xbfid, Name,note\r\n007,"Hopper, Grace",\r\nu2,"say ""hi""\nand go",""\r\n\r\n'
    b'\xc3\xa9,\xff,x\n1,2\n,,"'
)


@pytest.mark.parametrize("kind", ["csv", "csv-objects"])
def test_the_rows_of_a_table_become_json_objects(kind: str) -> None:
    named: list[list[str]] = []
    table = form(kind)
    table.headed = lambda names: named.append(list(names))
    assert read(table, TABLE) == [
        row(2, None, b'{"id":"007","Name":"Hopper, Grace","note":null}'),
        row(3, None, b'{"id":"u2","Name":"say \\"hi\\"\\nand go","note":""}'),
        ("bad", 6, 0, "its column Name is not UTF-8"),
        ("bad", 7, 0, "it has 2 fields, the header line names 3"),
        ("bad", 8, 0, "a quote is opened and never closed"),
    ]
    assert named == [["id", "Name", "note"]] * 4
    assert read(form(kind, null_marker=b"NA"), b"a,b\n,NA\n") == [row(2, None, b'{"a":"","b":null}')]
    assert read(form(kind, empty_is_null=True), b'a,b\n"",x\n') == [row(2, None, b'{"a":null,"b":"x"}')]


def test_columns_of_records_make_records_unless_objects_are_asked_for() -> None:
    assert read(form("csv"), b"KEY,value\nk,v\n") == [row(2, b"k", b"v")]
    assert read(form("csv-objects"), b"KEY,value\nk,v\n") == [row(2, None, b'{"KEY":"k","value":"v"}')]
    for mixed in (b"id,value\n", b"time,id\n", b"time,offset\n"):
        with pytest.raises(InputError) as refused:
            items_of(form("csv"), mixed)
        assert "-i csv-objects" in refused.value.do


@pytest.mark.parametrize(
    ("header", "what"),
    [
        (b"id;name\n", "has semicolons and no comma"),
        (b"id\tname\n", "has tabs and no comma"),
        (b"id,name,id\n", "names the column 'id' twice"),
        (b"id,,name\n", "its column 2 is empty"),
        (b"u1,12.5\n", "its column 2 is the number 12.5"),
        (b"\n", "its column 1 is empty"),
        (b"id,n\xe4me\n", "is not UTF-8"),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "csv-objects"])
def test_a_first_line_that_names_no_members_is_refused(kind: str, header: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what):
        items_of(form(kind), header + b"a,b\n")


def test_file() -> None:
    assert read(form("file", key=b"k"), b"a\nb\n") == [row(1, b"k", b"a\nb\n")]
    assert read(form("file"), b"") == [row(1, None, b"")]
    assert read(form("file", longest=2), b"abc") == [("bad", 1, 0, "3 bytes are more than 2")]


def test_failed_feeds_each_input_to_its_own_format() -> None:
    lines = [
        {"line": 5, "input": "k:v:w", "format": "lines"},
        {"input": "a:b\nc"},
        {"input": "//8=", "input_encoding": "base64", "format": "file"},
        {"input": '{"value":"x","headers":[["a",null]]}', "format": "ndjson"},
        {"input": "AAAAAWE=", "input_encoding": "base64", "format": "raw"},
        {"input": "k,v", "format": "csv", "header": "key,value"},
        {"input": "1,2", "format": "csv", "header": "id,n"},
        {"input": "1,2", "format": "csv-objects", "header": "key,n"},
        {"input": None},
        {"input": "{}", "format": "ndjson"},
        {"input": "x", "format": "pattern"},
        {"input": "x", "format": "xml"},
        {"line": 5},
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert read(form("failed", key_delimiter=b":"), data) == [
        row(1, b"k", b"v:w"),
        row(2, b"a", b"b\nc"),
        row(3, None, b"\xff\xff"),
        row(4, None, b"x", [("a", None)]),
        row(5, None, b"a"),
        row(6, b"k", b"v"),
        row(7, None, b'{"id":"1","n":"2"}'),
        row(8, None, b'{"key":"1","n":"2"}'),
        ("bad", 9, 0, "its input was too long to be kept"),
        ("bad", 10, 0, "it has no `value`: is it a line of kcli consume -o ndjson?"),
        ("bad", 11, 0, "it was read by a pattern: give the same -f again"),
        ("bad", 12, 0, "its format 'xml' is unknown"),
        ("bad", 13, 0, "it has no `input`: is it a line of a --failed file?"),
    ]


@pytest.mark.parametrize(
    ("pattern", "data", "rows"),
    [
        (r"%k\t%v\n", b"a\tb\n\tc\td", [row(1, b"a", b"b"), row(2, b"", b"c\td")]),
        ("%k %v", b"a b\nc d e", [row(1, b"a", b"b"), row(2, b"c", b"d e")]),
        (r"%d,%p,%s\n", b"17,3,x\n,,y\n", [row(1, None, b"x", (), 17, 3), row(2, None, b"y")]),
        (r"%T;%s\n", b"-1;x\n;y\n", [row(1, None, b"x", (), -1), row(2, None, b"y")]),
        (r"%v|%h{%k=%v;}\n", b"x|a=1;b=;\ny|\n", [row(1, None, b"x", [("a", b"1"), ("b", b"")]), row(2, None, b"y")]),
        (r"%v %h\n", b"x a=1,b=NULL,c=\n", [row(1, None, b"x", [("a", b"1"), ("b", None), ("c", b"")])]),
        (r"%t:%o:%v\n", b"topic:17:x\n", [row(1, None, b"x")]),
        (r"%v{base64} %k{hex}\n", b"//8= 00ff\n", [row(1, b"\0\xff", b"\xff\xff")]),
        (r"%v{json}\n", b'"a\\nb"\n', [row(1, None, b"a\nb")]),
        (r"100%%: %v\n", b"100%: x\n", [row(1, None, b"x")]),
        (r"%k\n%v\n", b"a\nb\nc\nd\n", [row(1, b"a", b"b"), row(2, b"c", b"d")]),
        ("%R%s", b"\0\0\0\2a\n\xff\xff\xff\xff\0\0\0\0", [row(1, None, b"a\n"), row(2, None, None), row(3, None, b"")]),
        (r"%K %V %k%v\n", b"1 2 abc\n0 -1 \n", [row(1, b"a", b"bc"), row(2, b"", None)]),
        (r"%H %h{%k=%v;}%v\n", b"2 a=1;b=2;x=y;\n", [row(1, None, b"x=y;", [("a", b"1"), ("b", b"2")])]),
        (r"\x02%v\x03", b"\2a\3\2b\3", [row(1, None, b"a"), row(2, None, b"b")]),
        (r"%h{src} %v\n", b"a x\n y\n", [row(1, None, b"x", [("src", b"a")]), row(2, None, b"y", [("src", b"")])]),
        (r"%h{a},%h{\x62} %v\n", b"1,2 x\n", [row(1, None, b"x", [("a", b"1"), ("b", b"2")])]),
        (r"%t %o %t %e%% %o %v\n", b"t 1 t 0% 1 x\n", [row(1, None, b"x")]),
    ],
)  # fmt: skip
def test_patterns(pattern: str, data: bytes, rows: list[Seen]) -> None:
    assert read(form("pattern", pattern), data) == rows


@pytest.mark.case("C8")
@pytest.mark.parametrize(
    ("pattern", "data", "line", "column", "reason"),
    [
        (r"%k\t%v\n", b"a\tb\nno tab\nc\td\n", 2, 1, "'\\t' is missing"),
        (r"%d %v\n", b"1 a\nx b\n", 2, 1, "%d is 'x', not a whole number"),
        (r"%v{base64}\n", b"YQ==\n!\n", 2, 1, "%v is not valid in its encoding"),
        (r"(%v)\n", b"(a)\n(b\n", 2, 2, "')' is missing"),
        (r"<%v>x\n", b"<a>x\n<a>y\n", 2, 2, "'>x' is missing"),
    ],
)
def test_one_bad_record_of_a_pattern_spoils_no_other(
    pattern: str, data: bytes, line: int, column: int, reason: str
) -> None:
    bad = [item for item in read(form("pattern", pattern), data) if item[0] == "bad"]
    assert [(item[1], item[2]) for item in bad] == [(line, column)]
    assert bad[0][3].startswith(reason)


def test_records_with_sizes_cannot_be_found_again_after_a_bad_one() -> None:
    with pytest.raises(InputError, match="record 2 of the input does not fit"):
        items_of(form("pattern", r"%V %v\n"), b"1 a\nx b\n1 c\n")
    assert read(form("pattern", "%R%s"), b"\0\0\0\5abc")[0][0] == "bad"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"%k %v h=%v\n", "%v is there twice"),
        (r"%v %s\n", "%v and %s are the same"),
        (r"%v %v{hex}\n", "%v and %v{hex} are the same"),
        (r"%k|%k %v\n", "%k is there twice"),
        (r"%d %T %v\n", "%d and %T are the same"),
        (r"%p %p %v\n", "%p is there twice"),
        (r"%K %K %k", "%K is there twice"),
        (r"%V %S %v", "%V and %S are the same"),
        (r"%S %R%v", "%S and %R are the same"),
        (r"%H %H %h{%k=%v;}%v\n", "%H is there twice"),
        (r"%h %h %v\n", "%h is there twice"),
        (r"%h %h{%k=%v;} %v\n", "%h and %h{%k=%v;} are the same"),
        (r"%h{a} %h{a} %v\n", "%h{a} is there twice"),
        (r"%h{%k=%v=%v;} %v\n", "%v is there twice"),
        (r"%h{%V %V %k=%v;} %v\n", "%V is there twice"),
    ],
)
def test_a_field_that_a_pattern_reads_twice_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(PatternError, match=re.escape(said)):
        Pattern(pattern, b"\n")


@pytest.mark.parametrize(
    "pattern", ["", "x", "%", "%z", "%k%v", r"\q", "%v{rot13}", "%v{hex", "%h{%k", "%h{}", "%h{%t}", "%t %o"]
)
def test_patterns_that_cannot_be_read_by(pattern: str) -> None:
    with pytest.raises(PatternError):
        Pattern(pattern, b"\n")
    with pytest.raises(ConfigError):
        parser_of(form("pattern", pattern))


# --- the exact round trip -----------------------------------------------------------------------------------------------

DATA = (
    st.none()
    | st.binary(max_size=30)
    | st.text(max_size=10).map(lambda text: text.encode("utf-8", "replace"))
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.binary(max_size=8)
RECORDS = st.builds(
    Record,
    topic=st.just("t"),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.integers(-1, 2**63 - 1),
    timestamp_type=st.sampled_from([0, 1]),
    key=DATA,
    value=DATA,
    headers=st.lists(st.tuples(NAMES, DATA), max_size=5).map(tuple),
    leader_epoch=st.integers(-1, 5),
)


def same_bytes(headers: Any) -> list[tuple[bytes, bytes | None]]:
    return [(name.encode() if isinstance(name, str) else name, value) for name, value in headers]


@pytest.mark.case("C11")
@given(st.lists(RECORDS, max_size=8), st.integers(1, 200))
def test_ndjson_restores_exactly_what_consume_wrote(records: list[Record], step: int) -> None:
    """Any bytes, null and empty apart, order and repeats of headers, timestamps, partitions."""
    data = b"".join(NdjsonFormatter().batch(fetched_of([r]), None, b"").data for r in records)
    found = items_of(form("ndjson", longest=1 << 20), data, step)
    for record, item in zip(records, found, strict=True):
        assert isinstance(item, InputRow)
        assert (item.key, item.value) == (record.key, record.value)
        assert (item.timestamp, item.partition) == (record.timestamp, record.partition)
        assert same_bytes(decode_headers(item.headers, 0, len(item.headers))) == same_bytes(record.headers)


@given(
    st.binary(max_size=60),
    st.sampled_from(["ndjson", "kcat", "csv", "csv-objects", "failed", "lines", "file"]),
)
def test_no_bytes_break_a_parser(data: bytes, kind: str) -> None:
    parse: Callable[[bytes], list[Item]] = lambda d: items_of(form(kind), d)  # noqa: E731
    if kind == "csv":
        data = b"key,value,headers,timestamp\n" + data
    if kind == "csv-objects":
        data = b"id,name\n" + data
    if kind == "kcat":
        data = b'{"payload":"' + data + b'"}'
    for item in parse(data):
        assert isinstance(item, InputRow | BadInput)
