"""Flags of other tools: what to write here instead."""

import pytest

from kcli.cli import cli
from kcli.commands import _habits
from kcli.commands._habits import as_client_option, instead_of


@pytest.mark.parametrize(
    ("path", "option", "said"),
    [
        ("kcli groups lag", "--group", "`kcli groups lag GROUP`"),
        ("kcli groups", "--group", "`kcli groups describe GROUP`"),
        ("kcli groups", "--describe", "`kcli groups describe GROUP`"),
        ("kcli groups lag", "--reset-offsets", "`kcli groups rewind GROUP`"),
        ("kcli topics describe", "--topic", "`kcli topics describe TOPIC`"),
        ("kcli topics", "--topic", "`kcli topics describe TOPIC`"),
        ("kcli", "-C", "`kcli consume TOPIC`"),
        ("kcli produce", "--broker-list", "-b HOST:PORT"),
    ],
)
def test_what_to_write_instead(path: str, option: str, said: str) -> None:
    assert said in (instead_of(path, option) or "")


@pytest.mark.parametrize(("path", "option"), [("kcli groups lag", "--frob"), ("kcli produce", "--describe")])
def test_nobody_is_used_to_others(path: str, option: str) -> None:
    assert instead_of(path, option) is None


@pytest.mark.parametrize(
    ("option", "said"),
    [("--linger", "-X linger.ms=VALUE"), ("--batch-size", "-X batch.size=VALUE"), ("--frob", None)],
)
def test_what_is_an_option_of_clients(option: str, said: str | None) -> None:
    assert as_client_option(option) == (said and f"that is an option of the client: {said}")


def test_what_is_proposed_exists() -> None:
    import re

    import click

    text = " ".join(
        [*_habits._GROUP_VERBS.values(), *_habits._TOPIC_VERBS.values(), *_habits._EVERYWHERE.values()]
    )
    named = re.findall(r"`kcli ([a-z]+)(?: ([a-z-]+))?", text)
    assert named
    for noun, verb in named:
        with click.Context(cli) as ctx:
            command = cli.get_command(ctx, noun)
            assert command is not None, noun
            if isinstance(command, click.Group):
                assert command.get_command(ctx, verb) is not None, (noun, verb)
