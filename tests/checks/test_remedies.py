"""Command lines in messages exist: what an error or a note tells people to type is accepted by the command tree.

And each is typed by a test, in a situation that prints it: by a row of the error tables, whose ``do`` is a part of the
message, or where a test calls ``type_remedy`` with such a part.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import click

from kcli.cli import cli
from tests.cli.test_doctor import ROWS
from tests.cli.test_error_table import TABLE
from tests.command_lines import in_text, problem

ROOT = Path(__file__).parents[2]
INSERTED = "X"
"""What an f-string inserts; a placeholder for ``problem``."""
HOLE = "\0"
"""The same, and what ``str.format`` inserts, where texts are compared."""
COMMAND = re.compile(r"`(kcli|\{path\}) ")
DESCRIBES = {"help", "examples", "why"}
"""Keywords whose texts describe, and tell nobody what to do."""


NOT_TYPED = {
    "`kcli segments list PATH` lists what is there": "folders of brokers: tests/cli/test_segments.py",
    "`kcli segments list PATH --by topic` lists those that are there": "the same",
    "`kcli segments list PATH` lists what they have; name those of the other brokers as well": "folders of brokers: "
    "tests/cli/test_from_dir.py",
    "`kcli segments verify` says whether one of them is damaged; otherwise the leader's log is the right one": "the same",
    "set its start offsets with `kcli groups rewind`": "a share group of a cluster that is gone",
    "`kcli doctor` finds out why": "read_topic on a broker that is silent for its timeout",
    "wait until it ends; `kcli txn list` shows it": "read_topic on a transaction that stays open for its timeout",
    "check its leader: `kcli topics describe TOPIC` shows it": "a task of Spark on a broker that is silent",
    "stop the broker, or restore from a snapshot of its disk; `kcli mirror` copies from running brokers": "a broker's "
    "lock: tests/cli/test_segments_restore.py",
    f"check its leader: `kcli topics describe {HOLE}` shows it": "a task of Spark on a broker that is silent",
    f"`kcli topics create {HOLE}`, or leave these records out: --where": "a job of Spark",
    "correct it; `kcli pipeline query --help` lists the columns": "a job of Spark",
    "check with `kcli pipeline doctor`, and read the logs of the executors": "executors of Spark that are lost",
    "`kcli pipeline verify --from HOST:PORT --to HOST:PORT -t TOPIC` compares both sides; to copy it all again, delete "
    "the topic on the target, which removes its positions too, and start again": "a job of Spark",
    f"`kcli sandbox logs {HOLE}` shows why it ended": "a sandbox that runs",
    f"leave the option out, or throw the data away: `kcli sandbox down {HOLE} --delete`": "a sandbox that runs",
    f"name another folder, or stop it: `kcli sandbox down {HOLE}`": "a sandbox that runs",
    f"`kcli sandbox down {HOLE}` stops it": "a sandbox that runs",
    f"start it: `kcli sandbox up {HOLE}`": "a sandbox that was stopped",
    f"run it again; `kcli topics describe {HOLE}` shows whether the topic exists": "brokers that disagree for a moment",
    f"stop it first (`kcli sandbox down {HOLE}`), or give this one another name": "a sandbox that runs",
    "throw the sandbox's data away (`kcli sandbox down NAME --delete`), or restore the folder": "a sandbox's data",
    "stop them, check the offsets with `kcli groups export --all --zookeeper HOST:PORT`, and import again": "ZooKeeper",
}
"""Texts whose situation needs what no test here has, and what that is. All others are typed."""


def texts(source: str, inserted: str = INSERTED) -> Iterator[str]:
    """The strings of a module that are not docstrings."""
    tree = ast.parse(source)
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    if inserted == HOLE:
        alone |= {part for node in ast.walk(tree) if _describes(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            if node not in alone:
                yield "".join(
                    str(one.value) if isinstance(one, ast.Constant) else inserted for one in node.values
                )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts | alone:
            yield node.value


def _describes(node: ast.AST) -> bool:
    """The descriptions of options, examples, causes."""
    if isinstance(node, ast.keyword):
        return node.arg in DESCRIBES
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "option"


def remedies() -> Iterator[str]:
    """The texts of messages that have a command line, with holes; what only describes commands is in ``docgen`` and in
    the modules of help.
    """
    for path in (ROOT / "kcli").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if (
            "docgen" not in path.parts
            and not path.stem.endswith("_help")
            and ("`kcli" in source or "`{path}" in source)
        ):
            for text in texts(source, HOLE):
                if COMMAND.search(text):
                    yield re.sub(r"\{path\}", HOLE, text)


@cache
def commands_of(text: str) -> re.Pattern[str]:
    """What matches the commands of ``text``, in backticks."""
    commands = re.findall("`[^`]*`", text)
    return re.compile("|".join("[^`]*".join(map(re.escape, one.split(HOLE))) for one in commands) or "(?!)")


def is_part(part: str, text: str) -> bool:
    """Whether ``part`` has a command, and can be a part of ``text`` with its holes filled; no hole has a backtick."""

    def past_holes(places: set[int]) -> set[int]:
        return places | {place + 1 for place in places if text[place : place + 1] == HOLE}

    command = re.search(r"`(kcli [^`]+)`", part)
    if command is None or not commands_of(text).search(f"`{command[1]}`"):
        return False
    reached = set(range(len(text)))
    for sign in part:
        if not reached:
            return False
        reached = past_holes(reached)
        reached = {
            place + (text[place] != HOLE)
            for place in reached
            if place < len(text) and (text[place] == sign or (text[place] == HOLE and sign != "`"))
        }
    return bool(reached)


def typed() -> Iterable[str]:
    """The parts of remedies that tests declare."""
    yield from (row.do for row in (*TABLE, *ROWS))
    for path in (ROOT / "tests").rglob("test_*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "type_remedy(" in source else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "type_remedy":
                yield from texts(f"print({ast.unparse(node.args[0])})")


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


def meant(part: str, printed: Iterable[str]) -> set[str]:
    """The texts that a part stands for: those that it is as a whole, else the nearest ones, since another message with
    the same command needs a part of its own.
    """
    fitting = {text: abs(len(part) - len(text.replace(HOLE, ""))) for text in printed if is_part(part, text)}
    whole = {text for text in fitting if re.fullmatch("[^`]*".join(map(re.escape, text.split(HOLE))), part)}
    return whole or {text for text, far in fitting.items() if far == min(fitting.values())}


def test_each_command_of_a_message_is_typed_where_it_is_printed() -> None:
    printed = set(remedies())
    assert printed.difference(*(meant(part, printed) for part in set(typed()))) == set(NOT_TYPED)


def test_a_command_in_a_remedy_stands_in_backticks() -> None:
    plain = re.compile(rf"\bkcli (?:{'|'.join(cli.list_commands(click.Context(cli)))})\b")
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "kcli").rglob("*.py"))
    found = {
        text
        for source in sources
        if "do=" in source and plain.search(source)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.keyword) and node.arg == "do"
        for text in texts(f"print({ast.unparse(node.value)})")
        if plain.search(re.sub("`[^`]*`", "", text))
    }
    assert found == set()


def test_a_part_of_a_text_with_holes() -> None:
    text = f"start it: `kcli sandbox up {HOLE}`"
    assert is_part("`kcli sandbox up a`", text)
    assert not is_part("`kcli sandbox down a`", text)
    assert not is_part("start it", text)


def test_a_remedy_in_an_f_string_is_found() -> None:
    found = list(
        command_lines("def f():\n 'see `kcli x`'\n return f'see `kcli topics lst {name}`, `kcli man{of}`'")
    )
    assert found == [["topics", "lst", INSERTED]]
    assert problem(found[0], complete=False)
