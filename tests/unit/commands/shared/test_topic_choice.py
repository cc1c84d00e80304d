"""Shell patterns as names of topics."""

import re
from fnmatch import fnmatchcase
from itertools import product

import pytest

from kcli.commands.shared.topic_choice import Topics, glob_regex

NAMES = ["".join(letters) for length in range(4) for letters in product("ab.-", repeat=length)]


@pytest.mark.parametrize(
    ("glob", "regex"),
    [
        ("orders-*", "^orders-.*$"),
        ("a?.b", "^a.\\.b$"),
        ("[!ab]*", "^[^ab].*$"),
        ("t_[0-9]", "^t_[0-9]$"),
        ("a[", "^a\\[$"),
    ],
)
def test_a_glob_is_a_regular_expression(glob: str, regex: str) -> None:
    """Brokers match that of a group's subscription themselves, with RE2."""
    assert glob_regex(glob) == regex


def test_globs_match_what_a_shell_matches() -> None:
    for letters in product("ab*?.-", repeat=3):
        glob = "".join(letters)
        pattern = re.compile(glob_regex(glob))
        assert [name for name in NAMES if pattern.match(name)] == [n for n in NAMES if fnmatchcase(n, glob)]
    for glob in ("[ab]*", "[!a]?", "*[b.]", "[a-b]-*", "[[]*"):
        pattern = re.compile(glob_regex(glob))
        assert [name for name in NAMES if pattern.match(name)] == [n for n in NAMES if fnmatchcase(n, glob)]


def test_only_words_with_wildcards_are_globs() -> None:
    topics = Topics(["a", "b-*", "^c.*", "^d[0-9]"], "consume")
    assert topics.names == ["a"]
    assert [pattern.pattern for pattern in topics.patterns] == ["^b-.*$", "^c.*", "^d[0-9]"]
    assert topics.several
