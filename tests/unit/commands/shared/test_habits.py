"""Flags of other tools: what to write here instead."""

import click
import pytest

from kcli.cli import cli
from kcli.commands.shared import habits
from kcli.commands.shared.habits import as_client_option, instead_of


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
def test_a_group_without_commits_has_no_rate(path: str, option: str) -> None:
    assert instead_of(path, option) is None


@pytest.mark.parametrize(
    ("option", "said"),
    [("--linger", "-X linger.ms=VALUE"), ("--batch-size", "-X batch.size=VALUE"), ("--frob", None)],
)
def test_what_is_an_option_of_clients(option: str, said: str | None) -> None:
    assert as_client_option(option) == (said and f"that is an option of the client: {said}")


def test_proposed_completions_exist() -> None:
    import re

    import click

    text = " ".join(
        [
            *habits._GROUP_VERBS.values(),
            *habits._TOPIC_VERBS.values(),
            *habits._EVERYWHERE.values(),
            *habits._CONSUME.values(),
            *(
                text.replace("{path}", path)
                for path, words in habits._OTHER_TOOLS.items()
                for text in words.values()
            ),
            *(text for words in habits._FUTURE.values() for text in words.values()),
        ]
    )
    named = re.findall(r"`kcli ([a-z]+)(?: ([a-z0-9-]+))?", text)
    assert named
    for noun, verb in named:
        with click.Context(cli) as ctx:
            command = cli.get_command(ctx, noun)
            assert command is not None, noun
            if isinstance(command, click.Group):
                assert command.get_command(ctx, verb) is not None, (noun, verb)


@pytest.mark.parametrize("group", [*habits._OTHER_TOOLS, *habits._FUTURE])
def test_words_of_other_tools_are_no_commands_of_ours(group: str) -> None:
    with click.Context(cli) as ctx:
        noun = group.removeprefix("kcli").strip()
        found = cli.get_command(ctx, noun) if noun else cli
        assert isinstance(found, click.Group)
        for word in {*habits._OTHER_TOOLS.get(group, {}), *habits._FUTURE.get(group, {})}:
            assert found.get_command(ctx, word) is None, word
            said = habits.instead_of_command(group, word)
            assert said is not None
            assert all(said)
