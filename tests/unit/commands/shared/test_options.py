"""Parsing: values that attach by ``=`` only, global options anywhere, nothing swallowed."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from kcli.cli import cli
from kcli.commands.shared.command import Group, command
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.options import (
    DEBUG_AREAS,
    DURATION,
    LIKE_A_DURATION,
    AttachedOption,
    CountType,
    Option,
    global_options,
)
from kcli.commands.shared.usage import Refused
from tests.cli.test_read_only import COMMANDS
from tests.each import each

ALL = frozenset(DEBUG_AREAS)


def options_below(command: click.Command) -> Iterator[click.Option]:
    """The options of a command and of those below it."""
    yield from (param for param in command.params if isinstance(param, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from options_below(found)


def test_help_of_options_has_no_indentation_that_click_would_take_away() -> None:
    found = list(options_below(cli))
    assert len(found) > 400
    assert [option.opts for option in found if not isinstance(option, Option)] == []
    helps = [option.help for option in found if option.help is not None]
    assert helps == [inspect.cleandoc(text) for text in helps]


@click.group("root", cls=Group)
def root() -> None:
    """Root."""


@root.command("run", outputs=("value", "json"))
@click.argument("words", nargs=-1)
@click.option("-w", "--hold", cls=AttachedOption, bare="60s", type=DURATION)
@click.option("-k", "--key")
@click.pass_context
def run(ctx: click.Context, words: tuple[str, ...], hold: float | None, key: str | None) -> int:
    """Run."""
    seen.append((words, hold, key, ctx.ensure_object(GlobalValues)))
    return 0


seen: list[tuple[tuple[str, ...], float | None, str | None, GlobalValues]] = []


def parsed(*arguments: str) -> tuple[tuple[str, ...], float | None, str | None, GlobalValues]:
    seen.clear()
    done = CliRunner().invoke(root, arguments, obj=GlobalValues(), standalone_mode=False)
    assert done.exception is None, done.exception
    return seen[0]


def single_options() -> list[tuple[str, click.Option]]:
    """Each option of each command whose value can be given once, and the global ones."""
    found = [
        (path, option)
        for path, one in COMMANDS.items()
        for option in one.params
        if isinstance(option, click.Option) and not (option.multiple or option.count or option.is_flag)
    ]
    given = [one for one in global_options() if not (one.multiple or one.count or one.is_flag)]
    return [*found, *(("topics list", option) for option in given)]


def refused(*line: str, command: click.Command = root) -> Any:
    with pytest.raises(click.UsageError) as caught:
        command.main(line, "kcli", standalone_mode=False, obj=GlobalValues())
    return caught.value


@each("path, option", single_options())
def test_no_option_drops_an_earlier_value(path: str, option: click.Option) -> None:
    for name in option.opts:
        if not name.startswith("--") and isinstance(option, AttachedOption):
            continue
        sign = "=" if name.startswith("--") else ""
        words = [f"{name}{sign}{value}" for value in ("one", "two")]
        assert "is given twice: one and two" in refused(*path.split(), *words, command=cli).message


VALUES = {
    "output": ("json", "yaml"),
    "debug": ("proto", "auth"),
    "color": ("always", "never"),
    "progress": ("bar", "none"),
    "timeout": ("1s", "2s"),
}


@pytest.mark.parametrize(
    "option",
    [one for one in global_options() if not (one.multiple or one.is_flag or one.count)],
    ids=lambda one: one.name,
)
def test_no_global_option_drops_a_value_before_the_subcommand(option: click.Option) -> None:
    first, second = VALUES.get(str(option.name), ("one", "two"))
    said = f"is given twice: {first} and {second}"
    for name in option.opts:
        sign = "=" if name.startswith("--") or isinstance(option, AttachedOption) else ""
        before, after = f"{name}{sign}{first}", f"{name}{sign}{second}"
        for line in (
            [before, "topics", "list", after],
            [before, "topics", after, "list"],
            ["topics", before, "list", after],
        ):
            assert said in refused(*line, command=cli).message


@pytest.mark.parametrize(
    ("first", "second", "remedy"),
    [
        ("a", "b", "give one of them"),
        ("a", "h:1", "give one of them"),
        ("h:1", "i:1", "give one of them, or both as a list: --from h:1,i:1"),
    ],
)
def test_only_addresses_are_listed(first: str, second: str, remedy: str) -> None:
    error = refused("mirror", "--from", first, "--from", second, command=cli)
    assert error.do == remedy


def test_a_flag_and_its_opposite_exclude_each_other() -> None:
    for words in (["--commit", "--no-commit"], ["--no-commit", "--commit"]):
        found = refused("consume", "t", *words, command=cli)
        assert found.message == "consume: --commit and --no-commit are both given"
    assert (
        "--no-idempotent" in refused("produce", "t", "--idempotent", "--no-idempotent", command=cli).message
    )


def test_a_value_may_be_repeated_on_both_sides_of_the_subcommand() -> None:
    values = parsed("--profile", "a", "-q", "run", "--profile", "a", "-q")[3]
    assert (values.profile, values.quiet) == ("a", True)


@pytest.mark.parametrize("path", COMMANDS)
def test_execute_is_yes_everywhere(path: str) -> None:
    command = COMMANDS[path]
    parser = command.make_parser(click.Context(command, obj=GlobalValues()))
    found = parser._long_opt["--execute"].dest
    assert found == ("execute" if path == "groups rewind" else "yes")


def test_execute_before_and_after_the_command() -> None:
    assert [parsed(*line)[3].yes for line in (["run", "--execute"], ["--execute", "run"], ["run"])] == [
        True,
        True,
        False,
    ]


def test_values_that_are_given_once_or_twice_alike() -> None:
    assert parsed("run", "-k", "a", "--key", "a")[2] == "a"
    assert "--hold is given twice: 60s and 5s" in refused("run", "-w", "--hold=5s").message
    assert (
        "a list: --bootstrap-server h:1,h:2" in refused("run", "-b", "h:1", "--bootstrap-servers", "h:2").do
    )
    assert parsed("run", "-X", "a=1", "-X", "a=2")[3].command_property == ("a=1", "a=2")


@pytest.mark.parametrize(
    ("arguments", "words", "hold"),
    [
        (["run", "--hold", "10s"], ("10s",), 60.0),
        (["run", "--hold=10s", "a"], ("a",), 10.0),
        (["run", "a", "--hold"], ("a",), 60.0),
        (["run", "--", "--hold"], ("--hold",), None),
        (["run", "-k", "--hold"], (), None),
        (["run"], (), None),
        (["run", "-w", "10s"], ("10s",), 60.0),
        (["run", "-w=10s", "a"], ("a",), 10.0),
        (["run", "-qw", "a"], ("a",), 60.0),
    ],
)
def test_attached_values(arguments: list[str], words: tuple[str, ...], hold: float | None) -> None:
    assert parsed(*arguments)[:2] == (words, hold)


def test_a_value_attached_to_a_short_option_gets_a_hint() -> None:
    done = CliRunner().invoke(root, ["run", "-w10s"], obj=GlobalValues(), standalone_mode=False)
    assert isinstance(done.exception, Refused)
    assert (done.exception.message, done.exception.do) == (
        "run: there is no option -w10s",
        "did you mean -w=10s?",
    )


@pytest.mark.parametrize(
    ("arguments", "areas"),
    [
        (["--debug", "run", "proto"], ALL),
        (["-d", "run", "proto"], ALL),
        (["run", "-d", "proto"], ALL),
        (["run", "-dq", "proto"], ALL),
        (["run", "--debug=proto", "proto"], {"proto"}),
        (["--debug=proto,conf", "run", "--debug=proto,conf", "proto"], {"proto", "conf"}),
    ],
)
def test_debug_never_swallows(arguments: list[str], areas: set[str]) -> None:
    words, _hold, _key, values = parsed(*arguments)
    assert words == ("proto",)
    assert values.debug == areas


def test_x_and_v_add_up() -> None:
    values = parsed("-b", "a:1", "-X", "x=1", "-v", "run", "-X", "y=2", "-vv", "--yes")[3]
    assert values.bootstrap_server == "a:1"
    assert values.command_property == ("x=1", "y=2")
    assert values.verbose == 3
    assert values.yes is True


def test_an_earlier_value_stays_where_the_later_context_says_nothing() -> None:
    values = parsed("--timeout", "5s", "--dry-run", "run")[3]
    assert (values.timeout, values.dry_run, values.quiet) == (5.0, True, False)


def test_outputs_are_the_commands_own() -> None:
    assert parsed("run", "-o", "value")[3].output == "value"
    done = CliRunner().invoke(root, ["run", "-o", "table"], obj=GlobalValues(), standalone_mode=False)
    assert isinstance(done.exception, click.UsageError)
    assert "there is no output format 'table'" in str(done.exception)


def test_an_own_option_wins_over_a_quiet_name() -> None:
    @command("up")
    @click.option("--brokers", type=int)
    @click.pass_context
    def up(ctx: click.Context, brokers: int) -> int:
        """Up."""
        assert ctx.ensure_object(GlobalValues).bootstrap_server == "a:1"
        return brokers

    arguments = ["--brokers", "3", "--bootstrap-servers", "a:1"]
    assert CliRunner().invoke(up, arguments, obj=GlobalValues(), standalone_mode=False).return_value == 3


OF_THE_CONTRACT = {
    ("kcli", "quotas", "list"): {"--client-id"},
    ("kcli", "quotas", "alter"): {"--client-id"},
    ("kcli", "exporter"): {"--profile"},  # of several clusters
}
"""Options whose name the command's own meaning takes; the global one is given before the command."""


def test_no_own_option_hides_a_global_one_that_is_shown() -> None:
    from kcli.cli import cli

    def check(found: click.Command, path: tuple[str, ...]) -> None:
        ctx = click.Context(found, info_name=path[-1])
        own = {name for param in found.params for name in (*param.opts, *param.secondary_opts)}
        shown = {
            name for option in global_options() for name in option.opts if name not in option.quiet_names
        }
        assert own & shown == OF_THE_CONTRACT.get(path, set()), path
        if isinstance(found, Group):
            for name in found.list_commands(ctx):
                child = found.get_command(ctx, name)
                assert child is not None
                check(child, (*path, name))

    check(cli, ("kcli",))


def test_a_commands_result_is_the_exit_code() -> None:
    @command("seven")
    def seven() -> int:
        """Seven."""
        return 7

    assert CliRunner().invoke(seven, [], obj=GlobalValues(), standalone_mode=False).return_value == 7


@pytest.mark.parametrize(
    ("text", "number"),
    [("100", 100), ("10k", 10_000), ("1M", 1_000_000), ("1_000", 1_000), ("2G", 2 * 10**9)],
)
def test_counts_have_suffixes(text: str, number: int) -> None:
    assert CountType(1).convert(text, None, None) == number


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "must be at least 1, got 0"),
        ("11k", "must be at most 10,000, got 11k"),
        ("many", "'many' is not a whole number such as 100, 10k or 1M"),
        ("k", "'k' is not a whole number"),
        ("1.5k", "'1.5k' is not a whole number"),
    ],
)
def test_a_count_out_of_range_says_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(click.BadParameter, match=said):
        CountType(1, 10_000).convert(text, None, None)


def attached(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, AttachedOption]]:
    """Every option of a command and those below it whose value is optional."""
    for param in command.params:
        if isinstance(param, AttachedOption):
            yield " ".join((*path, param.opts[-1])), param
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            child = command.get_command(ctx, name)
            assert child is not None
            yield from attached(child, (*path, name))


def test_every_option_with_an_optional_value_knows_what_one_looks_like() -> None:
    """Else a value behind a blank would be a name."""
    from kcli.cli import cli

    found = dict(attached(cli))
    assert {"groups lag --watch", "groups rewind --wait"} <= set(found)
    assert [name for name, option in found.items() if not option.looks] == []


@pytest.mark.parametrize("arguments", [["run", "--debug", "proto,auth"], ["--debug", "proto,auth", "run"]])
def test_areas_after_a_blank_are_no_word(arguments: list[str]) -> None:
    done = CliRunner().invoke(root, arguments, obj=GlobalValues(), standalone_mode=False)
    assert "did you mean --debug=proto,auth?" in str(getattr(done.exception, "do", ""))


@pytest.mark.parametrize(
    ("word", "like"),
    [
        ("3s", True), ("1h30m", True), ("1.5h", True), ("500ms", True), ("PT1H30M", True), ("2d", True), ("P1D", True),
        ("billing", False), ("s", False), ("30", False), ("PT", False), ("g3s", False), ("3s-group", False), ("", False),
    ],
)  # fmt: skip
def test_what_looks_like_a_duration(word: str, like: bool) -> None:
    assert bool(re.fullmatch(LIKE_A_DURATION, word)) is like
