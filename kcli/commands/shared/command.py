"""kcli's click classes: global options everywhere, suggestions, commands that are imported when they run.

A command's docstring is its help, whose first paragraph is the summary. Imported at every start.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcli.commands.registry import BY_FLAGS, CHANGES, LOCAL, below
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.options import (
    OUTPUT_KINDS,
    attach_values,
    global_options,
    refuse_repeats,
    show_help,
)
from kcli.commands.shared.usage import WORDS, unknown_command, usage, where

if TYPE_CHECKING:
    from kcli.commands.shared.configuration import Changes

F = TypeVar("F", bound=Callable[..., Any])
Examples = Sequence[tuple[str, str]]


class WithGlobals(click.Command):
    """The global options, and kcli's own help."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Own options, then the global ones but those that an own one overrides (``quotas list --client-id``)."""
        own = super().get_params(ctx)
        taken = {name for param in own for name in param.opts}
        return [*own, *(option for option in global_options() if not taken.issuperset(option.shown))]

    def make_parser(self, ctx: click.Context) -> Any:
        """Click's parser, with values that attach by ``=`` only, and single values that are given once.

        Own options are registered last, so they override hidden names of global options (``sandbox up
        --brokers 3`` is a number; elsewhere ``--brokers`` is a hidden ``-b``).
        """
        parser = super().make_parser(ctx)
        for param in self.params:
            if isinstance(param, click.Option):
                param.add_to_parser(parser, ctx)
        return refuse_repeats(attach_values(parser))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Adds the command's context to errors of click's parser, which has none.

        A line for kcat may begin with any of its options: what helps is its mode, wherever it is.
        """
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            ctx.meta[WORDS] = words
            if isinstance(error, click.NoSuchOption) and ctx.parent is None:
                from kcli.commands.shared.habits import instead_of_kcat, kcat_mode  # a table for errors only

                if mode := kcat_mode(words):
                    why, do = instead_of_kcat(mode, words)
                    raise usage(f"there is no option {mode}", why=why, do=do, ctx=ctx) from None
            raise


class Command(WithGlobals):
    """``outputs`` are the values that its ``-o`` accepts; the callback returns the exit code (None is 0).

    ``changes``: whether it changes anything on the cluster, as the registry says, or a function of its flags that tells;
    a read-only profile refuses it then. One that is not in the registry is refused too.

    For the help and the manual: ``exits`` are exit codes that mean something particular here, ``reads`` are variables of
    ``kcli/docgen/environment.py`` besides those of all commands.
    """

    def __init__(
        self,
        *args: Any,
        examples: Examples = (),
        outputs: Sequence[str] = OUTPUT_KINDS,
        changes: Callable[[Mapping[str, Any]], bool] | None = None,
        exits: Mapping[int, str] | None = None,
        reads: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        settings["add_help_option"] = False
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.outputs = tuple(outputs)
        self.changes: Changes | None = changes
        self.exits = exits or {}
        self.reads = tuple(reads)
        self.local = False

    def set_effect(self, effect: str) -> None:
        """What the registry says about it."""
        if effect != BY_FLAGS:
            self.changes = effect == CHANGES
        self.local = effect == LOCAL

    def invoke(self, ctx: click.Context) -> Any:
        """Checks ``-o`` against what this command can print, then runs it."""
        chosen = ctx.ensure_object(GlobalValues).output
        if chosen is not None and not self.outputs:
            raise usage(
                f"{where(ctx)}there is no output format {chosen!r}",
                why="this command prints no list",
                do="leave out -o",
                ctx=ctx,
            )
        if chosen is not None and chosen not in self.outputs:
            raise usage(
                f"{where(ctx)}there is no output format {chosen!r}",
                why=f"this command prints {', '.join(self.outputs)}",
                do=f"choose one of them, for example -o {self.outputs[0]}",
                ctx=ctx,
            )
        values = ctx.ensure_object(GlobalValues)
        try:
            code = super().invoke(ctx)
        finally:
            if values.invocation is not None:
                values.invocation.out.release()
        if values.invocation is not None and values.invocation.refusal is not None and not code:
            raise values.invocation.refusal  # the plan of a dry run was shown
        return code


class Group(WithGlobals, click.Group):
    """A noun, whose verbs are the registry's rows: a verb's module is imported when it is called. Without a verb it shows
    its help. ``noun`` is its path in the registry, empty for the root. ``default`` is the verb of a line that begins with
    options of it: ``kcli mirror --from A`` is ``kcli mirror run --from A``.
    """

    command_class = Command

    def __init__(
        self,
        *args: Any,
        noun: str | None = None,
        examples: Examples = (),
        aliases: dict[str, str] | None = None,
        default: str = "",
        **settings: Any,
    ) -> None:
        settings["add_help_option"] = False
        settings["invoke_without_command"] = True
        settings.setdefault("subcommand_metavar", "COMMAND")
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.aliases = aliases or {}
        self.default = default
        self.rows = below(self.name or "" if noun is None else noun)
        self.summaries = {name: summary for name, (_place, _effect, summary) in self.rows.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Inserts the default verb before a line whose options are not those of all commands."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            if not self.default:
                raise
            return super().parse_args(ctx, [self.default, *words])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """In the order of the registry."""
        return [*self.rows, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name or hidden alias; imports its module."""
        name = self.aliases.get(cmd_name, cmd_name)
        if name not in self.rows:
            return super().get_command(ctx, name)
        place, effect, _summary = self.rows[name]
        module, _, attribute = place.partition(":")
        found = getattr(importlib.import_module(f"kcli.commands.{module}"), attribute)
        assert isinstance(found, click.Command)
        if isinstance(found, Command):
            found.set_effect(effect)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command to run; the error for an unknown name suggests the most similar one."""
        name = self.aliases.get(args[0], args[0])
        found = self.get_command(ctx, name)
        if found is not None or ctx.resilient_parsing:
            return name, found, args[1:]
        raise unknown_command(ctx, args, self.list_commands(ctx))

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the subcommand, or shows the help where none is named."""
        named = getattr(ctx, "_protected_args", None)  # before click 8.2 without the underscore
        if not (ctx.args or (ctx.protected_args if named is None else named)):
            show_help(ctx)
            return 0
        return super().invoke(ctx)


def command(
    name: str | None = None,
    *,
    examples: Examples = (),
    outputs: Sequence[str] = OUTPUT_KINDS,
    changes: Callable[[Mapping[str, Any]], bool] | None = None,
    hidden: bool = False,
    **settings: Any,
) -> Callable[[Callable[..., Any]], Command]:
    """Declares a command; it needs a row in the registry."""
    return click.command(
        name, cls=Command, examples=examples, outputs=outputs, changes=changes, hidden=hidden, **settings
    )


def options(heading: str, *declared: Callable[[Any], Any]) -> Callable[[F], F]:
    """Declares options, in this order, below a heading of the help and the manual.

    Options that are declared without one are below "Options". An inner heading is kept.
    """

    def decorate(function: F) -> F:
        before = len(_declared(function))
        for option in reversed(declared):
            function = option(function)
        for param in _declared(function)[before:]:
            vars(param).setdefault("heading", heading)
        return function

    return decorate


def _declared(function: Callable[..., Any]) -> list[click.Parameter]:
    """The parameters that click's decorators have collected, the last one first."""
    return getattr(function, "__click_params__", [])
