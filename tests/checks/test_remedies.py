"""Command lines in messages exist: what an error or a note tells people to type is accepted by the command tree."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.command_lines import in_text, problem

ROOT = Path(__file__).parents[2]
INSERTED = "X"
"""What an f-string inserts; a placeholder for ``problem``."""


def texts(source: str) -> Iterator[str]:
    """The strings of a module that are not docstrings."""
    tree = ast.parse(source)
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(one.value) if isinstance(one, ast.Constant) else INSERTED for one in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts | alone:
            yield node.value


def command_lines(source: str) -> Iterator[list[str]]:
    """The commands in its strings, but those with an insertion that is a part of a word."""
    for text in texts(source):
        for words in in_text(text):
            if not any(re.fullmatch(rf"[a-z]+{INSERTED}|{INSERTED}[a-z]+", word) for word in words):
                yield words


def test_the_command_tree_accepts_what_messages_tell_people_to_type() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "kcli").rglob("*.py"))
    lines = {tuple(words) for source in sources if "`kcli " in source for words in command_lines(source)}
    assert len(lines) > 100
    wrong = {" ".join(words): problem(list(words), complete=False) for words in lines}
    assert {line: why for line, why in wrong.items() if why} == {}


def test_a_remedy_in_an_f_string_is_found() -> None:
    found = list(
        command_lines("def f():\n 'see `kcli x`'\n return f'see `kcli topics lst {name}`, `kcli man{of}`'")
    )
    assert found == [["topics", "lst", INSERTED]]
    assert problem(found[0], complete=False)
