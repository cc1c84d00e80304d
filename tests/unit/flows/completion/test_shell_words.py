"""What a shell would make of the words of a line, as far as that is certain."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.flows.completion.shell_words import literal, split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", [""]),
        ("kcli", ["kcli"]),
        ("kcli ", ["kcli", ""]),
        ("  kcli  topics\tlist", ["kcli", "topics", "list"]),
        ("kcli -F 'my file' 'my gr", ["kcli", "-F", "'my file'", "'my gr"]),
        ('kcli "a \\" b" c', ["kcli", '"a \\" b"', "c"]),
        ("kcli a\\ b 'c\\' d", ["kcli", "a\\ b", "'c\\'", "d"]),
        ("kcli x\\", ["kcli", "x\\"]),
    ],
)
def test_words_keep_their_quotes(line: str, words: list[str]) -> None:
    assert split_words(line) == words


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a\\ b", "a b"),
        ("'a b'", "a b"),
        ('"a b"c', "a bc"),
        ('"a\\"b\\x"', 'a"b\\x'),
        ("'a\\b", "a\\b"),
        ("\"it's", "it's"),
        ("$HOST:9092", "kafka:9092"),
        ('"${HOST}"', "kafka"),
        ("'$HOST'", "$HOST"),
        ("\\$HOST", "$HOST"),
        ("end\\", "end"),
        ("~/x", "~/x"),
    ],
)
def test_the_value_of_a_word(word: str, value: str) -> None:
    assert literal(word, {"HOST": "kafka"}) == value


@pytest.mark.parametrize(
    "word", ["$(date)", '"$(date)"', "`date`", '"`date`"', "$NOBODY", "$'a'", "${HOST:-x}", "a$", "$1", "$$"]
)
def test_shell_variables_have_no_value(word: str) -> None:
    assert literal(word, {"HOST": "kafka"}) is None


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)))
def test_quoted_words_come_back(words: list[str]) -> None:
    raw = split_words(shlex.join(words) + " ")[:-1]
    assert [literal(word, {}) for word in raw] == words
