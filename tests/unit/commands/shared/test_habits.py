"""Flags of other tools: what to write here instead."""

import functools
import re
from collections.abc import Iterator

import click
import pytest

from kcli.cli import cli
from kcli.commands.shared import habits
from kcli.commands.shared.habits import as_client_option, instead_of
from kcli.commands.shared.usage_errors import describe_usage
from kcli.docgen.describe import describe, walk
from kcli.docgen.topics import CONCEPTS
from tests.command_lines import in_text, problem
from tests.each import each


@pytest.mark.parametrize(
    ("path", "option", "said"),
    [
        ("kcli groups lag", "--group", "`kcli groups lag GROUP`"),
        ("kcli groups", "--group", "`kcli groups describe GROUP`"),
        ("kcli groups", "--describe", "`kcli groups describe GROUP`"),
        ("kcli groups lag", "--reset-offsets", "`kcli groups rewind GROUP --to SPEC`"),
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


def scopes() -> Iterator[tuple[str, str, str]]:
    """Each option of other tools, with the command (or group of commands) for which it is known, and what is said."""
    yield from (("", option, text) for option, text in habits._EVERYWHERE.items())
    for scope, table in habits._OPTIONS.items():
        yield from ((scope, option, text) for option, text in table.items())


COMMANDS = [" ".join(doc.path[1:]) for doc in walk(cli, "kcli")]


@functools.cache
def names(path: str) -> frozenset[str]:
    """All that the parser of a command accepts, shown or hidden."""
    command = find(path)
    ctx = click.Context(command, info_name=path)
    return frozenset(
        name
        for param in command.get_params(ctx)
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    )


def find(path: str) -> click.Command:
    """The command at a path such as ``groups lag``."""
    found: click.Command = cli
    for word in path.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, path
        found = inner
    return found


FOREIGN = re.compile(r"kcat's -\w")
BARE = re.compile(r"(?<![\w'-])--?[a-zA-Z][\w-]*")
QUOTED = re.compile(r"`[^`]*`")


@each("scope, option, text", scopes())
def test_each_option_of_another_tool_leads_to_what_exists(scope: str, option: str, text: str) -> None:
    """At each command where it is said: the command lines in it are accepted, and its other options are options of that
    command, or of one that it names.
    """
    unknown_at = [
        path for path in COMMANDS if f"{path} ".startswith(f"{scope} ".lstrip()) and option not in names(path)
    ]
    assert unknown_at, "an option of every command there: nobody sees this text"
    for path in unknown_at:
        said = instead_of(f"kcli {path}".strip(), option)
        assert said is not None
        if said != text.format(path=f"kcli {path}" if " " in path else f"kcli {path} describe"):
            continue  # of a narrower scope, or of --group
        lines = lines_in(said)
        assert problems_of(said) == []
        known = set(names(path)).union(*(names(command_of(words)) for words in lines))
        bare = set(BARE.findall(QUOTED.sub("", FOREIGN.sub("", said))))
        assert bare <= known, path


@functools.cache  # most texts are said at many commands
def lines_in(said: str) -> list[list[str]]:
    return list(in_text(said))


@functools.cache
def problems_of(said: str) -> list[str]:
    """What the command tree has against the command lines in a text."""
    return list(filter(None, (problem(words, complete=False) for words in lines_in(said))))


def command_of(words: list[str]) -> str:
    """The path at which a command line begins."""
    return next(path for n in (2, 1) if (path := " ".join(words[:n])) in COMMANDS)


@pytest.mark.parametrize("group", habits._OTHER_TOOLS)
def test_each_command_of_another_tool_leads_to_what_exists(group: str) -> None:
    for text in habits._OTHER_TOOLS[group].values():
        lines = list(in_text(text.format(path=group)))
        assert lines or "-b HOST:PORT" in text or text.startswith("kcli has no")
        assert problems_of(text.format(path=group)) == []


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


def suggested(path: str, typed: str) -> str:
    """The remedy for an option that a command does not have."""
    ctx = click.Context(find(path), info_name=f"kcli {path}".strip())
    return describe_usage(click.NoSuchOption(typed, ctx=ctx))[2]


@pytest.mark.parametrize("typed", ["--contexts", "--clustr", "--bootstrap-servers-x", "--reset-offset"])
def test_hidden_options_are_not_suggested(typed: str) -> None:
    hidden = {"--context", "--cluster", "--bootstrap-servers", "--reset-offsets"}
    assert hidden <= names("groups rewind")
    assert not hidden.intersection(BARE.findall(suggested("groups rewind", typed)))


@pytest.mark.parametrize("path", COMMANDS)
def test_each_shown_option_with_a_doubled_letter_is_suggested(path: str) -> None:
    for option in describe(find(path), ("kcli", *path.split())).options:
        for name in (one for one in (*option.names, *option.off_names) if one.startswith("--")):
            assert f"did you mean {name}?" in suggested(path, name + name[-1]) or name + name[-1] in names(
                path
            )


@pytest.mark.parametrize("path", COMMANDS)
def test_the_concept_that_a_wrong_value_refers_to_is_explained(path: str) -> None:
    command = find(path)
    ctx = click.Context(command, info_name=f"kcli {path}".strip())
    for param in command.get_params(ctx):
        concept = getattr(param.type, "concept", "")
        _what, _why, do = describe_usage(click.BadParameter("no", ctx=ctx, param=param))
        assert (f"`kcli help {concept}`" in do) is bool(concept)
        assert not concept or concept in CONCEPTS
