"""The registry and the command tree: each row is a command of its name, and each command is declared in a row."""

import re
from pathlib import Path

import click

import kcli.commands
from kcli.cli import cli
from kcli.commands.registry import ALIASES, NOUN, ROWS
from kcli.commands.shared.command import Command, Group
from kcli.docgen.describe import walk


def found(path: str) -> click.Command:
    command: click.Command = cli
    for word in path.split():
        assert isinstance(command, Group)
        child = command.get_command(click.Context(command), word)
        assert child is not None
        command = child
    return command


def test_each_row_is_a_command_of_its_name() -> None:
    for path, (_place, effect, _summary) in ROWS.items():
        command = found(path)
        assert command.name == path.split()[-1]
        assert isinstance(command, Group if effect == NOUN else Command), path


def test_the_tree_is_the_table() -> None:
    assert ["", *ROWS] == [" ".join(doc.path[1:]) for doc in walk(cli, "kcli")]
    assert set(ALIASES.values()) <= {path for path in ROWS if " " not in path}


def test_each_declared_command_has_a_row() -> None:
    folder = Path(kcli.commands.__file__).parent
    declared = {
        f"{'.'.join(path.relative_to(folder).with_suffix('').parts).removesuffix('.__init__')}:{name}"
        for path in folder.rglob("*.py")
        for name in re.findall(
            r"^@(?:command|click\.command|click\.group)\((?:.*\n)*?def (\w+)",
            path.read_text(encoding="utf-8"),
            re.M,
        )
    }
    assert declared == {place for place, _effect, _summary in ROWS.values()}
