"""What help, manual and pages say can be copied, and says each thing once."""

import re

import click
import pytest

from kcli.cli import cli
from kcli.docgen.concepts import concept
from kcli.docgen.describe import CommandDoc, describe, walk
from kcli.docgen.environment import ENVIRONMENT
from kcli.docgen.option_pages import options_text
from kcli.docgen.topics import CONCEPTS

COMMANDS = list(walk(cli, "kcli"))
TYPOGRAPHIC_NUMBER = re.compile(r"[\N{MINUS SIGN}\N{EN DASH}]\d")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.path))
def test_numbers_and_options_of_a_command_can_be_copied(command: CommandDoc) -> None:
    assert not TYPOGRAPHIC_NUMBER.search(repr(command))


def test_numbers_of_options_and_concepts_can_be_copied() -> None:
    assert not TYPOGRAPHIC_NUMBER.search(options_text())
    for word in CONCEPTS:
        assert not TYPOGRAPHIC_NUMBER.search(repr(concept(word))), word


@pytest.mark.parametrize("rows", [ENVIRONMENT, *(command.environment for command in COMMANDS)])
def test_each_variable_is_explained_once(rows: tuple[tuple[str, str], ...]) -> None:
    names = [name for row, _ in rows for name in row.split(", ")]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("metavar", "nargs", "required", "shown"),
    [("[status]", -1, False, "[status]"), ("TOPIC", -1, True, "TOPIC…"), ("TOPIC", -1, False, "[TOPIC…]"),
     ("FILE", 1, False, "[FILE]"), ("NAME…", -1, True, "NAME…")],
)  # fmt: skip
def test_how_an_argument_is_shown(metavar: str, nargs: int, *, required: bool, shown: str) -> None:
    argument = click.Argument(["words"], metavar=metavar, nargs=nargs, required=required)
    (found,) = describe(click.Command("c", params=[argument]), ("kcli", "c")).arguments
    assert found.shown == shown


def test_an_optional_word_is_not_shown_as_repeated() -> None:
    shown = [argument.shown for command in COMMANDS for argument in command.arguments]
    assert [text for text in shown if re.search(r"\](…|\.{3})", text)] == []
