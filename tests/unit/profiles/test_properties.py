"""Files of options: Java's rules, as ``java.util.Properties`` documents them, and librdkafka's plain lines."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.profiles.properties import parse_properties, split_pair

pytestmark = pytest.mark.case("S10")


def pairs(text: str) -> list[tuple[str, str]]:
    return [(key, value) for key, value, _origin in parse_properties(text, "f")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", [("a", "b")]),
        ("a = b ", [("a", "b")]),
        ("a:b", [("a", "b")]),
        ("a b", [("a", "b")]),
        ("a\tb=c", [("a", "b=c")]),
        ("a=b=c", [("a", "b=c")]),
        ("a = : b", [("a", ": b")]),
        ("a", [("a", "")]),
        ("a=", [("a", "")]),
        ("# c\n! d\n  # e\na=1 # not a comment", [("a", "1 # not a comment")]),
        ("a=1\\\n   2\\\n   3\nb=4", [("a", "123"), ("b", "4")]),
        ("a=1\\\\\nb=2", [("a", "1\\"), ("b", "2")]),
        ("a=1\\\n# still a value\nb=2", [("a", "1# still a value"), ("b", "2")]),
        (r"a\=b=c", [("a=b", "c")]),
        (r"a\ b=c", [("a b", "c")]),
        (r"a=\t\n\u0041\q", [("a", "\t\nAq")]),
        ("a=1\r\nb=2\rc=3", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("\ufeffa=1", [("a", "1")]),
        ("\n\n", []),
        ("a=${HOME}", [("a", "${HOME}")]),
        ("metadata.broker.list=h:1,h:2", [("metadata.broker.list", "h:1,h:2")]),
        ("a=1\\", [("a", "1")]),
    ],
)
def test_forms(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == [(key, value.rstrip()) for key, value in expected]


def test_origins_name_the_line_where_a_value_begins() -> None:
    assert [origin for *_kv, origin in parse_properties("\na=1\\\n2\n\nb=3", "my.properties")] == [
        "my.properties:2",
        "my.properties:5",
    ]


@pytest.mark.parametrize("text", ["=b", ": b", r"a=\u12", r"a=\uzzzz"])
def test_a_refusal_names_the_line(text: str) -> None:
    with pytest.raises(ConfigError, match="f:2"):
        parse_properties("x=1\n" + text, "f")


@given(st.text(max_size=200))
def test_any_text_parses_or_is_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        parse_properties(text, "f")


def test_x() -> None:
    assert split_pair(" a = b=c ", "-X") == ("a", "b=c", "-X")
    assert split_pair("a=", "-X") == ("a", "", "-X")
    for text in ("a", "=b", ""):
        with pytest.raises(ConfigError, match="is not KEY=VALUE"):
            split_pair(text, "-X")
