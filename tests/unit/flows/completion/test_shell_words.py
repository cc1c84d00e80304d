"""What a shell would make of the words of a line, as far as that is certain; the word under bash's cursor, and what
replaces it.
"""

import shlex

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kcli.flows.completion.shell_words import (
    BashWord,
    bash_word,
    insertion,
    last_field,
    literal,
    split_words,
    topics_among,
)

BREAKS = " \t\n\"'@><=;|&(:"
"""bash's own ``COMP_WORDBREAKS``."""


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


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ("", BashWord("", 0, "", "")),
        ("my", BashWord("my", 0, "", "")),
        ("ns:o", BashWord("ns:o", 3, "", "")),
        ("ns\\:o", BashWord("ns:o", 0, "", "")),
        ("user@h", BashWord("user@h", 4, "", "")),
        ("user@host:x", BashWord("user@host:x", 10, "", "")),
        ("@a", BashWord("@a", 0, "", "")),
        ("--to-group=@a", BashWord("@a", 0, "", "")),
        ("'user@h", BashWord("user@h", 0, "", "'")),
        ("a\\ b:c", BashWord("a b:c", 4, "", "")),
        ("'my gr", BashWord("my gr", 0, "", "'")),
        ('"ns:o', BashWord("ns:o", 0, "", '"')),
        ('ns:"o', BashWord("ns:o", 3, "", '"')),
        ("--topic=or", BashWord("or", 0, "", "")),
        ("--to-group=ns:o", BashWord("ns:o", 3, "", "")),
        ("--to-group='my", BashWord("my", 0, "", "'")),
    ],
)
def test_what_is_typed_so_far(raw: str, word: BashWord) -> None:
    assert bash_word(raw, BREAKS) == word


def test_without_the_equals_sign_among_the_breaks_the_option_is_inserted_again() -> None:
    word = bash_word("--topic=or", " \t\n")
    assert word == BashWord("or", 0, "--topic=", "")
    assert insertion("orders", word) == "--topic=orders"


@pytest.mark.parametrize("raw", ["'a'b", '"a"', "$(date)", '"`date`', "$HOME", '"a\\"b'])
def test_nothing_is_offered_where_it_is_not_certain(raw: str) -> None:
    assert bash_word(raw, BREAKS) is None


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30)


@example("@", 1, "")
@given(NAMES, st.integers(0, 30), st.sampled_from(["", "'", '"']))
def test_typed_and_inserted_text_form_one_word(name: str, cut: int, quote: str) -> None:
    typed = insertion(name[:cut], BashWord("", 0, "", quote))
    assume(typed is not None)
    assert typed is not None
    word = bash_word(quote + typed, BREAKS)
    assume(word is not None)  # a quote within quotes: given up
    assert word is not None
    rest = insertion(name, word)
    assume(rest is not None)
    assert rest is not None
    line = (quote or typed[: _replaced(typed)]) + rest + quote
    assert word.prefix == name[:cut]
    assert split_words(line) == [line]
    assert literal(line, {}) == name


def _replaced(raw: str) -> int:
    """Where readline's own rule puts the beginning of what it replaces: behind the last break without a backslash.

    An ``@`` is replaced, too.
    """
    at = found = 0
    while at < len(raw):
        at += 2 if raw[at] == "\\" else 1
        if raw[at - 1] in BREAKS and raw[at - 2 : at - 1] != "\\":
            found = at - (raw[at - 1] == "@")
    return found


@pytest.mark.parametrize(
    "name", ["$(boom)", "`boom`", "a;boom", "a&b", "a|b", "<a", "{a,b}", "*", "?", "[a]", "!x", "#x", "~x"]
)
def test_nothing_that_means_something_to_a_shell_goes_in_bare(name: str) -> None:
    text = insertion(name, BashWord("", 0, "", "")) or ""
    signs = [
        sign for at, sign in enumerate(text) if sign in "$`;&|<{}*?[]!#~()," and text[at - 1 : at] != "\\"
    ]
    assert set(signs) <= {","}


def test_history_cannot_be_kept_out_of_double_quotes() -> None:
    assert insertion("a!b", BashWord("", 0, "", '"')) is None
    assert insertion("a!b", BashWord("", 0, "", "'")) == "a!b"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", ""),
        ("va", "va"),
        ("key,value.a", "value.a"),
        ("key, value.a as b, value", "value"),
        ("value.a > 1 and value.b", "value.b"),
        ("length(value.items[0].s", "value.items[0].s"),
        ("value.a ==", ""),
        ('value."a b', 'value."a b'),
        ('value."a b".c', 'value."a b".c'),
        ("value.a == 'x' or ", ""),
        ("!value.é", "value.é"),
    ],
)
def test_the_field_at_the_end_of_an_expression(text: str, field: str) -> None:
    assert last_field(text) == field


@pytest.mark.parametrize(
    ("line", "topics"),
    [
        ("kcli consume orders --where", ("orders",)),
        ("kcli -v consume -e orders --where", ("orders",)),
        ("kcli -b consume:9092 consume orders --where", ("orders",)),
        ("kcli consume -g readers orders --select", ("orders",)),
        ("kcli consume -g readers -e orders --select", ("readers", "orders")),
        ("kcli consume -t orders -g readers x --select", ("orders",)),
        ("kcli consume --topic=orders -tother --by", ("orders", "other")),
        ("kcli consume --tail=5 orders --by", ("orders",)),
        ("kcli produce --key k -- -odd --key-from", ("-odd", "--key-from")),
        ("kcli consume --where", ()),
        ("kcli topics list orders", ()),
        ("consume", ()),
    ],
)
def test_the_topic_of_a_line_that_is_being_typed(line: str, topics: tuple[str, ...]) -> None:
    assert topics_among(line.split()) == topics


def test_what_only_the_shell_knows_names_no_topic() -> None:
    assert topics_among(["kcli", "consume", None, "-g", None, "orders"]) == ("orders",)
