"""Blocks of ``consume -o pretty``: what is on a line, what is folded, that nothing unsafe gets through."""

import json

import pytest

from kcli.core.types import Record
from kcli.output.pretty import PrettyFormatter


def block(
    value: bytes | None, key: bytes | None = b"k", *, width: int = 60, colour: bool = False, **more: object
) -> str:
    headers = more.get("headers", ())
    record = Record("t", 3, 42, 1_700_000_000_000, 0, key, value, headers)  # type: ignore[arg-type]
    return PrettyFormatter(colour=colour, width=width).one(record, None).decode()


def test_a_block_has_place_time_key_headers_and_value() -> None:
    assert block(b"hello", headers=(("src", b"web"), (b"\xff", None))) == (
        "t-3@42  2023-11-14T22:13:20.000Z\n"
        "  key    k\n"
        "  header src = web\n"
        "  header \\xff = ∅\n"
        "  value  hello\n"
        "\n"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ["∅"]),
        (b"", ["(empty)"]),
        (b"two\nlines", ["two", "lines"]),
        (b'{"a":1.50,"b":[1,2]}', ['{"a": 1.50, "b": [1, 2]}']),
        (b'{"a":1,"a":2}', ['{"a": 1, "a": 2}']),
        (b"[]", ["[]"]),
        (b'"text"', ['"text"']),
        (b"{not json", ["{not json"]),
        (b'{"a":"\\u001b[31m"}', ['{"a": "\\u001b[31m"}']),
        (b"\x1b[31mred", ["\\x1b[31mred"]),
        ("\u202e".encode(), ["\\u202e"]),
        (b"\xff\x00", ["00000000  ff 00                                             |..|"]),
    ],
)
def test_values(value: bytes | None, shown: list[str]) -> None:
    lines = block(value, width=200).split("\n")[2:-2]
    assert [line[9:] for line in lines] == shown


def test_what_does_not_fit_is_folded_and_what_fits_is_not() -> None:
    value = {
        "id": 7,
        "who": {"id": 1, "name": "x, {y}"},
        "list": [{"sku": "a" * 20}, {"sku": 'b"' * 12}],
        "none": {},
    }
    text = block(json.dumps(value).encode(), width=50)
    folded = "\n".join(line[9:] for line in text.split("\n")[2:-2])
    assert folded == (
        "{\n"
        '  "id": 7,\n'
        '  "who": {"id": 1, "name": "x, {y}"},\n'
        '  "list": [\n'
        '    {"sku": "aaaaaaaaaaaaaaaaaaaa"},\n'
        "    {\n"
        '      "sku": "b\\"b\\"b\\"b\\"b\\"b\\"b\\"b\\"b\\"b\\"b\\"b\\""\n'
        "    }\n"
        "  ],\n"
        '  "none": {}\n'
        "}"
    )
    assert json.loads(folded) == value


def test_a_large_binary_value_says_how_large_it_is() -> None:
    assert "… 1,000 bytes in all; -o hex shows them" in block(b"\0" * 1000)


def test_colours_are_of_json_and_of_labels_only() -> None:
    text = block(b'{"a":"b","n":-1.5e3,"t":null}', colour=True)
    assert '{\x1b[36m"a"\x1b[0m: \x1b[32m"b"\x1b[0m, \x1b[36m"n"\x1b[0m: \x1b[33m-1.5e3\x1b[0m' in text
    assert "\x1b[35mnull\x1b[0m}" in text
    assert "\x1b" not in block(b"plain \x1b[0m", colour=False)


def test_deep_nesting_ends() -> None:
    assert block(b"[" * 150 + b"1" + b"]" * 150).endswith("\n\n")


def test_wide_characters_are_folded_by_what_a_terminal_shows() -> None:
    value = {"name": "注文" * 8, "id": 1}
    narrow = block(json.dumps(value, ensure_ascii=False).encode(), width=50)
    assert [line[9:] for line in narrow.split("\n")[2:-2]] == [
        "{",
        f'  "name": "{value["name"]}",',
        '  "id": 1',
        "}",
    ]
    assert len(block(json.dumps(value, ensure_ascii=False).encode(), width=70).split("\n")) == 5


@pytest.mark.parametrize("colour", [False, True])
def test_no_control_character_of_a_record_gets_through(colour: bool) -> None:
    every = "".join(map(chr, [*range(32), *range(127, 160), 0x200B, 0x202E, 0xFEFF])).replace("\0", "")
    texts = [f"{every}x".encode(), json.dumps({every: [every]}, ensure_ascii=False).encode(), b"\x80\x1b[31m"]
    for text in texts:
        shown = block(text, text, colour=colour, headers=((every, text),))
        for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[36m"):
            shown = shown.replace(style, "") if colour else shown
        assert not [sign for sign in shown if not (sign.isprintable() or sign in "\n\t")]
