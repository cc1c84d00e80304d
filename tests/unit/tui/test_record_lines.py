"""A record on the screen: text, JSON, hex, and what is not shown of it."""

import pytest

from kcli.core.types import Record
from kcli.flows.groups.record_pages import MOST_BYTES, shown_record
from kcli.tui.record_lines import HEX, JSON, TEXT, record_lines


def shown(
    value: bytes | None, view: str, key: bytes | None = b"k", headers: tuple[tuple[str, bytes], ...] = ()
) -> list[str]:
    record = shown_record(Record("t", 0, 7, 1_700_000_000_000, 0, key, value, headers))
    return ["".join(cell.text for cell in line).rstrip() for line in record_lines(record, view, 90)]


def test_text_has_the_value_in_lines() -> None:
    assert shown(b"one\ntwo", TEXT) == [
        "offset 7   2023-11-14T22:13:20.000Z", "key: 1 byte", "  k", "value: 7 bytes", "  one", "  two",
    ]  # fmt: skip


def test_null_and_empty_are_told_apart() -> None:
    assert shown(None, TEXT, b"")[1:] == ["key: empty", "value: null"]


def test_json_is_indented_and_what_is_none_says_so() -> None:
    assert shown(b'{"a":[1]}', JSON)[3:] == ["value: 9 bytes", "  {", '    "a": [', "      1", "    ]", "  }"]
    assert shown(b"{", JSON)[3:] == ["value: 1 byte, not shown as JSON", "  {"]
    assert shown(b"[" * 30_000, JSON)[3].endswith("not shown as JSON")


def test_json_keeps_its_digits_and_its_members() -> None:
    long = "7" * 40 + ".10"
    assert shown(f'{{"a":{long},"a":1e400}}'.encode(), JSON)[4:] == [
        "  {", f'    "a": {long},', '    "a": 1e400', "  }",
    ]  # fmt: skip
    assert not shown(b"9" * 5000, JSON)[3].endswith("not shown as JSON")


def test_a_frame_names_its_schema_and_json_behind_it_is_shown() -> None:
    assert shown(b"\0\0\0\0\x07[]", JSON)[3:] == ["value: 7 bytes, perhaps of schema 7 in a registry", "  []"]


def test_hex_has_sixteen_bytes_a_row() -> None:
    assert shown(bytes(range(18)), HEX)[4:] == [
        "  00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|",
        "  00000010  10 11                                             |..|",
    ]


@pytest.mark.case("T1", "T2")
@pytest.mark.parametrize("view", [TEXT, JSON, HEX])
def test_no_control_character_of_the_data_is_in_a_line(view: str) -> None:
    hostile = '"\x1b]52;c;AA\x07 \u202e \x9b31m [/red]"'.encode()
    lines = shown(hostile, view, hostile, ((hostile.decode(), hostile),))
    assert not [line for line in lines if any(not char.isprintable() for char in line)]


@pytest.mark.case("T7")
@pytest.mark.parametrize("view", [TEXT, JSON, HEX])
def test_a_huge_value_is_shown_in_part_and_says_how_much_is_not(view: str) -> None:
    lines = shown(b"7" * 50_000_000, view)
    assert lines[-1] == f"{50_000_000 - MOST_BYTES:,} of 50,000,000 bytes are not shown"
    assert len(lines) < 5_000


def test_surplus_headers_are_counted() -> None:
    lines = shown(b"v", TEXT, headers=tuple((f"h{n}", b"1") for n in range(60)))
    assert "10 more headers are not shown" in lines
