"""A click command as plain data: for help, man pages and completions.

Pure. Extras of kcli's own classes (examples, quiet names, attached values) are read by attribute, so any
click tree can be described. Named tuples and no dataclasses: ``--help`` loads this, and each dataclass costs it 2 ms.
"""

import inspect
from collections.abc import Iterable, Iterator

import click

from kcli.core.classes import NamedTuple
from kcli.docgen.environment import COMMON, variables
from kcli.docgen.exit_codes import EXIT_CODES, exit_codes
from kcli.docgen.topics import CONCEPTS

TAKES_NOTHING, TAKES_VALUE, TAKES_ATTACHED = "nothing", "value", "attached"


class Example(NamedTuple):
    """A line to type, and what it is for."""

    line: str
    says: str = ""


class OptionDoc(NamedTuple):
    """One option. ``names`` are the ones to show, ``off_names`` the ``--no-…`` half of a switch.

    ``completes`` is what `kcli __complete` is asked for the value: ``groups``, ``topics``, ``fields``. A choice that ends
    with ``=`` is followed by a value. ``heading`` is that of its group of options, empty for the rest.
    """

    names: tuple[str, ...]
    off_names: tuple[str, ...]
    metavar: str
    takes: str
    help: str
    choices: tuple[str, ...]
    repeatable: bool
    is_file: bool
    completes: str
    is_global: bool
    heading: str = ""

    @property
    def shown(self) -> str:
        """``-o, --output KIND`` as help shows it."""
        text = ", ".join(self.names)
        if self.off_names:
            text += " / " + ", ".join(self.off_names)
        if self.takes == TAKES_NOTHING:
            return text
        return text + self.metavar if self.takes == TAKES_ATTACHED else f"{text} {self.metavar}"


class ArgumentDoc(NamedTuple):
    """One argument; ``shown`` with brackets and dots, as in a usage line. ``completes`` as of an option."""

    shown: str
    choices: tuple[str, ...]
    is_file: bool
    completes: str

    @property
    def repeats(self) -> bool:
        """Whether it accepts all remaining words."""
        return "…" in self.shown


class CommandDoc(NamedTuple):
    """One command. ``children`` are (name, summary) of visible subcommands, ``aliases`` (other word, name) for them.

    ``default``: the one that runs where none of them is named. ``environment`` and ``exit_codes`` are (name, meaning) of
    what it reads and returns, ``concepts`` the words of ``kcli help`` that explain its options.
    """

    path: tuple[str, ...]
    summary: str
    paragraphs: tuple[str, ...]
    arguments: tuple[ArgumentDoc, ...]
    options: tuple[OptionDoc, ...]
    examples: tuple[Example, ...]
    children: tuple[tuple[str, str], ...]
    is_group: bool
    aliases: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    exit_codes: tuple[tuple[str, str], ...] = ()
    concepts: tuple[str, ...] = ()
    default: str = ""

    @property
    def own_options(self) -> tuple[OptionDoc, ...]:
        """Options of this command alone."""
        return tuple(option for option in self.options if not option.is_global)

    @property
    def global_options(self) -> tuple[OptionDoc, ...]:
        """Options that every command has."""
        return tuple(option for option in self.options if option.is_global)

    @property
    def own_groups(self) -> tuple[tuple[str, tuple[OptionDoc, ...]], ...]:
        """Options of this command alone by heading, in order; those without a heading are first."""
        return _by_heading(self.own_options)

    @property
    def global_groups(self) -> tuple[tuple[str, tuple[OptionDoc, ...]], ...]:
        """Options that every command has by heading, in order."""
        return _by_heading(self.global_options)

    @property
    def particular_environment(self) -> tuple[tuple[str, str], ...]:
        """What it reads besides the variables of all commands: `kcli help environment` has those."""
        return tuple(row for row in self.environment if row not in COMMON)

    @property
    def particular_exit_codes(self) -> tuple[tuple[str, str], ...]:
        """The codes that mean something particular here: `kcli help exit-codes` has the others."""
        return tuple(row for row in self.exit_codes if row not in EXIT_CODES)

    @property
    def usage(self) -> str:
        """``kcli topics create [options] TOPIC…``"""
        word = "[COMMAND]" if self.default else "COMMAND"
        parts = [*self.path, *([word] if self.is_group else []), "[options]"]
        return " ".join((*parts, *(argument.shown for argument in self.arguments)))


def describe(command: click.Command, path: tuple[str, ...], ctx: click.Context | None = None) -> CommandDoc:
    """The command that ``path`` calls."""
    ctx = ctx or click.Context(command, info_name=path[-1])
    params = command.get_params(ctx)
    summary, paragraphs = _text(command)
    options = [param for param in params if isinstance(param, click.Option) and _is_shown(param, command)]
    cluster = not getattr(command, "local", False)
    return CommandDoc(
        path=path,
        summary=summary,
        paragraphs=paragraphs,
        arguments=tuple(_argument(param) for param in params if isinstance(param, click.Argument)),
        options=tuple(_option(option, command) for option in options),
        examples=tuple(Example(*example) for example in getattr(command, "examples", ())),
        children=tuple(_children(command, ctx)),
        is_group=isinstance(command, click.Group),
        aliases=tuple(getattr(command, "aliases", {}).items()),
        environment=variables(getattr(command, "reads", ()), cluster=cluster),
        exit_codes=exit_codes(getattr(command, "exits", {}), cluster=cluster),
        concepts=_concepts(command, params, path, cluster=cluster),
        default=getattr(command, "default", ""),
    )


def walk(command: click.Command, name: str) -> Iterator[CommandDoc]:
    """The command and everything visible below it, depth first, in the order of its help."""
    yield from _walk(command, (name,), None)


def _walk(
    command: click.Command, path: tuple[str, ...], parent: click.Context | None
) -> Iterator[CommandDoc]:
    ctx = click.Context(command, info_name=path[-1], parent=parent)
    yield describe(command, path, ctx)
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            child = command.get_command(ctx, name)
            if child is not None and not child.hidden:
                yield from _walk(child, (*path, name), ctx)


def _children(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, str]]:
    if not isinstance(command, click.Group):
        return
    summaries = getattr(command, "summaries", {})
    for name in command.list_commands(ctx):
        if name in summaries:
            yield name, summaries[name]
        elif (child := command.get_command(ctx, name)) is not None and not child.hidden:
            yield name, _text(child)[0]


def _text(command: click.Command) -> tuple[str, tuple[str, ...]]:
    """The first paragraph of the docstring on one line, and the other paragraphs."""
    paragraphs = [part.strip("\n") for part in inspect.cleandoc(command.help or "").split("\n\n")]
    summary = " ".join(paragraphs[0].split()).rstrip(".")
    return summary, tuple(part for part in paragraphs[1:] if part)


def _is_shown(option: click.Option, command: click.Command) -> bool:
    """Whether help shows the option: no hidden ones, and no -o where there is nothing to choose."""
    return not option.hidden and not (option.name == "output" and getattr(command, "outputs", None) == ())


def _by_heading(options: Iterable[OptionDoc]) -> tuple[tuple[str, tuple[OptionDoc, ...]], ...]:
    groups: dict[str, list[OptionDoc]] = {}
    for option in options:
        groups.setdefault(option.heading, []).append(option)
    return tuple((heading, tuple(groups[heading])) for heading in sorted(groups, key=bool))


def _concepts(
    command: click.Command, params: Iterable[click.Parameter], path: tuple[str, ...], *, cluster: bool
) -> tuple[str, ...]:
    """The concepts of its options' types, of its output and its noun, and of every command that contacts a cluster."""
    wanted = {getattr(param.type, "concept", "") for param in params if not hasattr(param, "quiet_names")}
    wanted |= set(path[1:2])
    wanted |= {"output"} if getattr(command, "outputs", ()) else set()
    wanted |= {"config", "security"} if cluster else set()
    return tuple(name for name in CONCEPTS if name in wanted | {"exit-codes", "environment"})


def _option(option: click.Option, command: click.Command) -> OptionDoc:
    quiet = getattr(option, "quiet_names", ())
    choices, text = _choices(option.type), " ".join((option.help or "").split())
    outputs = tuple(getattr(command, "outputs", ()))
    if option.name == "output" and outputs and outputs != choices:
        choices, text = outputs, f"what to print: {', '.join(outputs)}"
    takes = TAKES_VALUE
    if option.is_flag or option.count:
        takes = TAKES_NOTHING
    elif hasattr(option, "bare"):
        takes = TAKES_ATTACHED
    return OptionDoc(
        names=tuple(name for name in option.opts if name not in quiet),
        off_names=tuple(option.secondary_opts),
        metavar=option.metavar or "|".join(choices) or (option.name or "").upper(),
        takes=takes,
        help=text,
        choices=choices,
        repeatable=option.multiple or option.count,
        is_file=_is_file(option.type, option.metavar),
        completes=getattr(option.type, "completes", ""),
        is_global=hasattr(option, "quiet_names"),
        heading=getattr(option, "heading", ""),
    )


def _argument(argument: click.Argument) -> ArgumentDoc:
    name = argument.metavar or (argument.name or "").upper()
    if argument.nargs == -1 and "…" not in name and not name.startswith("["):
        name += "…"
    return ArgumentDoc(
        shown=name if argument.required or name.startswith("[") else f"[{name}]",
        choices=_choices(argument.type),
        is_file=_is_file(argument.type, argument.metavar or name),
        completes=getattr(argument.type, "completes", ""),
    )


def _choices(kind: object) -> tuple[str, ...]:
    """What completions offer: all there is (click's Choice), or the words among other values."""
    if isinstance(kind, click.Choice):
        return tuple(str(choice) for choice in kind.choices)
    return tuple(getattr(kind, "words", ()))


def _is_file(kind: object, metavar: str | None) -> bool:
    words = (metavar or "").strip("[]…").split("|")
    return isinstance(kind, click.Path | click.File) or not {"FILE", "DIR", "PATH"}.isdisjoint(words)


def is_list(what: OptionDoc | ArgumentDoc) -> bool:
    """Whether its value is several of the choices, with commas between them."""
    return isinstance(what, OptionDoc) and what.metavar.endswith("[,…]")


def is_keys(choices: tuple[str, ...]) -> bool:
    """Whether they are the first halves of ``key=value``: a value follows, and no blank."""
    return bool(choices) and all(choice.endswith("=") for choice in choices)


def keys_in(docs: Iterable[CommandDoc]) -> tuple[str, ...]:
    """The keys that an option of these commands accepts; they are the same everywhere."""
    return next((option.choices for doc in docs for option in doc.options if is_keys(option.choices)), ())


def sentence(text: str) -> str:
    """A phrase with a capital and a full stop, as in pages; help and completions show phrases as they are."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", ":")) else ".")
