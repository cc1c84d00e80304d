"""Lines that are read together give what each gives alone: NDJSON and CSV."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcli.flows.inputs.csv_rows import CsvParser
from kcli.flows.inputs.input_format import HeaderBlocks
from kcli.flows.inputs.item import InputRow, Item, Parser
from kcli.flows.inputs.lines import LineFormat
from kcli.flows.inputs.ndjson import ndjson_parser

USUAL = (
    b'{"value":"a"}', b'{"key":"k","value":"\xc3\xa4 \\n"}', b'{"value":null,"timestamp":5,"partition":2}',
    b'{"timestamp":null,"value":"","headers":[],"topic":"t","offset":7}',
)  # fmt: skip
ODD = (
    b"", b" ", b"{", b"}", b'{"value":', b'"x"}', b'{"value":"a"} {"value":"b"}', b'{"value":"a","value":"b"}',
    b'{"value":"a"}\r', b' {"value":"a"}', b'{"value":1}', b'{"key":"k"}', b'{"value":"a","control":"commit"}',
    b'{"value":"a","timestamp":-2}', b'{"value":"a","partition":-1}', b'{"value":"a","partition":2147483648}',
    b'{"value":"YQ==","value_encoding":"base64"}', b'{"value":"a","headers":[["h","v"]]}', b"\xff",
    b'{"value":"\\ud800"}', b'{"value":"a","\\u0076alue":"b"}', b'\xef\xbb\xbf{"value":"a"}',
    b'{"value":"' + b"x" * 90 + b'"}', b'{"control":{}', b',"value":"a"}',
)  # fmt: skip
ROWS = (b"k,v", b",v", b"k,", b",", b"\xff,\0", b"a b,c d")
ODD_ROWS = (b"", b" ", b"k", b"k,v,w", b'"k",v', b'k,"v', b'w"', b"k,v\r", b"k," + b"v" * 90, b'""')
LONGEST = 80


def lines_of(usual: Sequence[bytes], odd: Sequence[bytes]) -> st.SearchStrategy[list[bytes]]:
    """Mostly usual lines, with some odd ones."""
    return st.lists(st.sampled_from([*usual * 4, *odd]), max_size=30)


def read(parser: Parser, text: bytes, size: int) -> list[Item]:
    found = []
    for start in range(0, len(text), size):
        found += parser.feed(text[start : start + size])
    return [*found, *parser.finish()]


@settings(max_examples=300)
@given(lines_of(USUAL, ODD), st.sampled_from([7, 60, 1000]))
def test_json_lines(lines: list[bytes], size: int) -> None:
    together, alone = (ndjson_parser(HeaderBlocks(), longest=LONGEST) for _ in range(2))
    alone._read_all = None  # type: ignore[attr-defined]
    text = b"\n".join(lines)

    assert read(together, text, size) == read(alone, text, size)


@settings(max_examples=300)
@given(
    lines_of(ROWS, ODD_ROWS),
    st.sampled_from([7, 60, 1000]),
    st.sampled_from([b"key,value", b"value,key", b"value,offset", b"value"]),
    st.booleans(),
)
def test_rows_of_csv(lines: list[bytes], size: int, header: bytes, empty_is_null: bool) -> None:
    how = LineFormat(empty_is_null=empty_is_null)
    together = CsvParser(HeaderBlocks(), how, longest=LONGEST)
    found = read(together, b"\n".join([header, *lines]), size)

    class Alone(CsvParser):
        def _read_all(self, lines: Sequence[bytes | None]) -> None:
            return None

    assert found == read(Alone(HeaderBlocks(), how, longest=LONGEST), b"\n".join([header, *lines]), size)


@pytest.mark.parametrize(
    ("parser", "line"),
    [
        (ndjson_parser(HeaderBlocks(), longest=LONGEST), b'{"key":"k","value":"v"}\n'),
        (CsvParser(HeaderBlocks(), LineFormat(), longest=LONGEST), b"k,v\n"),
    ],
    ids=["ndjson", "csv"],
)
def test_usual_lines_are_read_together(parser: Parser, line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not only compared above with themselves."""
    for name in ("_parse", "_without_check", "_row"):
        monkeypatch.setattr(parser, name, None, raising=False)
    if isinstance(parser, CsvParser):
        parser.feed(b"key,value\n")

    items = parser.feed(line * 3)

    assert [item[1:3] for item in items] == [(b"k", b"v")] * 3
    assert all(type(item) is InputRow for item in items)
    first = items[0].line
    assert [item.line for item in items] == [first, first + 1, first + 2]
