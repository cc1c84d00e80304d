"""The options that every command accepts, each declared once, with the types of their values, and of names.

They work before and after the subcommand. What the values mean is in ``context.py``. Imported at every start, so it
imports only click and small modules.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from kcli.commands.shared.global_values import NAMES, QUIET_NAMES, GlobalValues
from kcli.commands.shared.usage import usage, where
from kcli.core.version import __version__

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # generic since click 8.2 only

F = TypeVar("F", bound=Callable[..., Any])

DEBUG_AREAS = ("proto", "auth", "fetch", "group", "conf")
OUTPUT_WORDS = ("table", "plain", "wide", "tsv", "csv", "json", "ndjson", "yaml", "name")


class DurationType(ParamType):
    """``1h30m``, ``90s``, ``2d``, ``500ms``, ``PT1H30M``; a bare number is seconds. Yields seconds. ``positive``: 0 is an
    error.
    """

    name = "duration"
    concept = "times"

    def __init__(self, *, positive: bool = False) -> None:
        self._positive = positive

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Seconds as float."""
        if not isinstance(value, str):
            return value
        from kcli.core.positions import parse_duration_ms  # this module is imported at every start

        try:
            seconds = parse_duration_ms(value) / 1000
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if self._positive and seconds <= 0:
            self.fail(f"must be more than 0, got {value}", param, ctx)
        return seconds


class CountType(ParamType):
    """A whole number from ``low`` to ``high``: ``100``, ``1_000``, ``10k``, ``1M``, ``2G`` (powers of ten)."""

    name = "integer"

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low = low
        self.high = high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        if not isinstance(value, str):
            return value
        text = value.strip()
        factor = _FACTORS.get(text[-1:], 1)
        digits = text if factor == 1 else text[:-1]
        try:
            number = int(digits) * factor
        except ValueError:
            self.fail(f"{value!r} is not a whole number such as 100, 10k or 1M", param, ctx)
        if self.low is not None and number < self.low:
            self.fail(f"must be at least {self.low:,}, got {value}", param, ctx)
        if self.high is not None and number > self.high:
            self.fail(f"must be at most {self.high:,}, got {value}", param, ctx)
        return number


_FACTORS = {"k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6, "g": 10**9, "G": 10**9}


class OutputType(ParamType):
    """A word; whether the command supports it is checked when it runs. For kcat's ``-o beginning`` the error names
    kcli's option.
    """

    name = "kind"
    words = OUTPUT_WORDS

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """The word, lower case."""
        word = str(value).lower()
        if option := option_of_kcat(word):
            raise usage(
                f"-o {value} is not an output format",
                why=f"in kcli, -o always chooses the output format; kcat's -o is {option.split()[0]}",
                do=f"use {option}",
                ctx=ctx,
            )
        return word


class OfferedType(ParamType):
    """Any text; completion offers ``words``, ``kcli help`` explains its ``concept``."""

    def __init__(self, name: str, words: tuple[str, ...], concept: str = "") -> None:
        self.name = name
        self.concept = concept
        self.words = words


class NameType(ParamType):
    """The name of a ``group``, ``topic`` or ``sandbox``; completion offers those that exist."""

    def __init__(self, name: str, plural: str = "") -> None:
        self.name = name
        self.completes = plural or name + "s"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Any name but the empty one, which is most often an unset variable."""
        if value == "":
            other = "; --empty-group names the group whose name is empty" if _names_empty_group(ctx) else ""
            self.fail(f"the {self.name} name is empty; perhaps a variable is not set{other}", param, ctx)
        return value


def _names_empty_group(ctx: click.Context | None) -> bool:
    return ctx is not None and any(param.name == "empty_group" for param in ctx.command.params)


class DebugType(ParamType):
    """A comma-separated list of areas."""

    name = "areas"
    words = DEBUG_AREAS

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A frozenset of known areas."""
        if not isinstance(value, str):
            return value
        areas = frozenset(word.strip() for word in value.split(",") if word.strip())
        unknown = sorted(areas.difference(DEBUG_AREAS))
        if unknown:
            self.fail(f"{unknown[0]!r} is not one of {', '.join(DEBUG_AREAS)}", param, ctx)
        return areas or frozenset(DEBUG_AREAS)


def option_of_kcat(word: str) -> str:
    """What kcli has for ``-o WORD`` where that is kcat's way to write an offset, else nothing. ``s@`` and ``e@`` are
    times to begin and to stop at, ``stored`` the offset that a group has committed.
    """
    if word[:2] in ("s@", "e@"):
        return f"{'--since' if word[0] == 's' else '--until'} {word[2:] or 'TIME'}"
    if word == "stored":
        return "-g GROUP, which begins at its committed offsets"
    if word in ("beginning", "earliest", "start", "oldest"):
        return "--from-beginning or --offset beginning"
    return f"--offset {word}" if word in ("end", "latest", "newest") or word[:1] in "+-@0123456789" else ""


DURATION = DurationType()
POSITIVE_DURATION = DurationType(positive=True)
OUTPUT = OutputType()
DEBUG = DebugType()
GROUP = NameType("group")
TOPIC = NameType("topic")
SANDBOX = NameType("sandbox", "sandboxes")
PROFILE = NameType("profile")
START = OfferedType("start", ("earliest", "latest"), "offsets")
TARGET = OfferedType("target", ("earliest", "latest", "current"), "offsets")


OUTPUT_KINDS = OUTPUT_WORDS
REPORT_KINDS = tuple(kind for kind in OUTPUT_KINDS if kind != "name")
"""Of what has no names to be passed on: reports, comparisons, measurements."""
RECORD_KINDS = ("value", "pretty", "table", "ndjson", "json", "csv", "raw", "hex", "kcat")


LIKE_A_DURATION = r"(?i)(\d+(\.\d+)?(ms|s|m|h|d|w))+|P(\d|T\d)[\dDTHMS.]*"


class Option(click.Option):
    """An option whose help is kept as it is written: it has no indentation that click would have to take away."""

    def __init__(self, *args: Any, help: str | None = None, **settings: Any) -> None:  # noqa: A002 - click's name
        super().__init__(*args, **settings)
        self.help = help


def option(*names: str, cls: type[click.Option] = Option, **settings: Any) -> Callable[[F], F]:
    """Declares an option of a command, as ``click.option`` does."""
    return click.option(*names, cls=cls, **settings)


class GlobalOption(Option):
    """An option that is kept in ``GlobalValues``; names in ``quiet_names`` work but are not shown. ``heading``
    is that of its group in the help.
    """

    def __init__(
        self, names: Sequence[str], *, heading: str, quiet_names: tuple[str, ...] = (), **settings: Any
    ) -> None:
        settings |= {"callback": _remember, "expose_value": False}
        super().__init__((*names, *quiet_names), **settings)
        self.heading = heading
        self.quiet_names = quiet_names
        self.shown = tuple(name for name in names if name.startswith("-"))

    def handle_parse_result(self, ctx: click.Context, opts: Any, args: list[str]) -> tuple[Any, list[str]]:
        """Does nothing for what is not given: there is no default, variable or question for click to look for."""
        return super().handle_parse_result(ctx, opts, args) if self.name in opts else (None, args)


class AttachedOption(Option):
    """An option whose value is optional and attaches with ``=`` only: the bare flag never consumes the next word.

    ``bare`` is the value of the flag without one. ``looks`` is a regular expression of values that are unlikely as
    names: such a word after the bare flag is an error, since it would be mistaken for the name of a group, and a flag
    such as --wait would wait indefinitely.
    """

    def __init__(self, names: Sequence[str], *, bare: str, looks: str = "", **settings: Any) -> None:
        super().__init__(names, **settings)
        self.bare = bare
        self.looks = looks

    def check_next(self, name: str, words: Sequence[str], ctx: click.Context | None) -> None:
        """Rejects a value after a blank; ``words`` follow the bare flag on the command line."""
        if self.looks and words and re.fullmatch(self.looks, words[0]):
            raise usage(
                f"{where(ctx)}{name} is followed by {words[0]}, which is not its value",
                why=f"the value of {name} attaches with =",
                do=f"did you mean {name}={words[0]}? If it is the name of a group, write it before {name}",
                ctx=ctx,
            )

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:  # noqa: ARG002 - click's signature
        """Registers long names with a value (see ``attach_values``), short names as flags and for ``-w=5s``."""
        long = [name for name in self.opts if name.startswith("--")]
        short = [name for name in self.opts if not name.startswith("--")]
        parser.add_option(obj=self, opts=long, dest=self.name, action="store", nargs=1)
        if short:
            parser.add_option(obj=self, opts=short, dest=self.name, action="store_const", const=self.bare)
            parser._long_opt |= dict.fromkeys(short, parser._long_opt[long[0]])


class GlobalAttachedOption(AttachedOption, GlobalOption):
    """``--debug[=AREAS]``."""


class VersionOption(GlobalOption):
    """``-V``: prints the version and exits; with ``-v`` also the versions of libraries."""

    def handle_parse_result(self, ctx: click.Context, opts: Any, args: list[str]) -> tuple[Any, list[str]]:
        """Reads the parser's whole result, because ``-v`` may follow ``-V``."""
        if opts.get(self.name) and not ctx.resilient_parsing:
            if _count(opts.get("verbose")) + ctx.ensure_object(GlobalValues).verbose:
                from kcli.commands.shared.version import version_details  # only with -v

                click.echo(version_details())
            else:
                click.echo(f"kcli {__version__}")
            ctx.exit()
        return super().handle_parse_result(ctx, opts, args)


class HelpOption(GlobalOption):
    """``-h``: the help of its command, in a pager when it is longer than the terminal."""

    def handle_parse_result(self, ctx: click.Context, opts: Any, args: list[str]) -> tuple[Any, list[str]]:
        """Shows the help; reads the parser's whole result, so that ``--no-pager`` and ``--color`` may follow ``-h``."""
        if opts.get(self.name) and not ctx.resilient_parsing:
            values = ctx.ensure_object(GlobalValues)
            values.no_pager = values.no_pager or bool(opts.get("no_pager"))
            values.color = _text(opts.get("color")) or values.color
            show_help(ctx)
            ctx.exit()
        return super().handle_parse_result(ctx, opts, args)


def attach_values(parser: Any) -> Any:
    """Makes click's parser accept an ``AttachedOption`` without ``=``; returns the parser."""
    match = parser._match_long_opt

    def match_long(name: str, value: str | None, state: Any) -> None:
        known = parser._long_opt.get(name)
        if value is None and known is not None and isinstance(known.obj, AttachedOption):
            known.obj.check_next(name, state.rargs, parser.ctx)
            value = known.obj.bare
        if known is None and not name.startswith("--"):
            # Click catches this and tries short options: without the message it computes no similar names.
            raise click.NoSuchOption(name, message="")
        match(name, value, state)

    match_shorts = parser._match_short_opt

    def match_short(text: str, state: Any) -> None:
        known = parser._short_opt.get(text[:2])
        if known is not None and isinstance(known.obj, AttachedOption) and text[2:3].isdigit():
            raise usage(
                f"{where(parser.ctx)}there is no option {text}",
                why=f"the value of {text[:2]} attaches with =, and nothing was run",
                do=f"did you mean {text[:2]}={text[2:]}?",
                ctx=parser.ctx,
            )
        if known is not None and isinstance(known.obj, AttachedOption) and len(text) == 2:
            known.obj.check_next(text, state.rargs, parser.ctx)
        match_shorts(text, state)

    parser._match_long_opt, parser._match_short_opt = match_long, match_short
    return parser


def refuse_repeats(parser: Any) -> Any:
    """Makes click's parser refuse a second, different value of an option that has one; returns the parser.

    Click drops the earlier value, also that of a global option before the subcommand.
    """
    for option in {*parser._short_opt.values(), *parser._long_opt.values()}:
        if option.action in ("store", "store_const"):
            option.process = functools.partial(_process_once, parser.ctx, option, option.process)
    return parser


_GIVEN = "kcli.given"
"""The key of a context's ``meta``: the words of global options, by name."""


def _process_once(
    ctx: click.Context | None, option: Any, process: Callable[[Any, Any], None], value: Any, state: Any
) -> None:
    before = state.opts.get(option.dest)
    process(value, state)
    now = state.opts[option.dest]
    if isinstance(option.obj, GlobalOption) and ctx is not None:
        earlier = ctx.meta.setdefault(_GIVEN, {})  # of all contexts of the command line
        before = earlier.setdefault(option.dest, now) if before is None else before
    if before not in (None, now):
        raise _repeated(ctx, option.obj, before, now)


def _repeated(ctx: click.Context | None, option: click.Option, first: Any, second: Any) -> click.UsageError:
    if option.secondary_opts:
        on, off = option.opts[0], option.secondary_opts[0]
        return usage(
            f"{where(ctx)}{on} and {off} are both given",
            why="each is the opposite of the other",
            do="give one of them",
            ctx=ctx,
        )
    names = getattr(option, "shown", option.opts)
    name = next((name for name in names if name.startswith("--")), names[0])
    lists = "," in (option.metavar or "") or option.metavar == "LIST"
    if option.type is PROFILE:  # of --from and --to, which take addresses too
        lists = ":" in first and ":" in second
    sign = "=" if isinstance(option, AttachedOption) else " "
    return usage(
        f"{where(ctx)}{name} is given twice: {first} and {second}",
        why="it has one value, and the first would have no effect",
        do="give one of them" + (f", or both as a list: {name}{sign}{first},{second}" if lists else ""),
        ctx=ctx,
    )


_CLUSTER, _OUTPUT, _QUESTIONS, _HELP = "Cluster", "Output", "Questions and time", "Help"


@functools.cache
def global_options() -> tuple[GlobalOption, ...]:
    """The table. Order is the order in help and man pages."""
    return (
        GlobalOption(
            (*NAMES["bootstrap_server"], "bootstrap_server"),
            heading=_CLUSTER,
            quiet_names=QUIET_NAMES["bootstrap_server"],
            metavar="HOST:PORT[,…]",
            help="brokers to start from",
        ),
        GlobalOption(
            (*NAMES["command_config"], "command_config"),
            heading=_CLUSTER,
            metavar="FILE",
            multiple=True,
            help="client options from a Java .properties file or librdkafka k=v lines",
        ),
        GlobalOption(
            (*NAMES["command_property"], "command_property"),
            heading=_CLUSTER,
            metavar="KEY=VALUE",
            multiple=True,
            help="one client option; `kcli help options` lists them",
        ),
        GlobalOption(
            (*NAMES["profile"], "profile"),
            heading=_CLUSTER,
            quiet_names=QUIET_NAMES["profile"],
            metavar="NAME",
            type=PROFILE,
            help="a cluster's options by name; `kcli profile list` shows them",
        ),
        GlobalOption(
            ("-o", "--output", "output"),
            heading=_OUTPUT,
            metavar="KIND",
            type=OUTPUT,
            help="table, plain, wide, tsv, csv, json, ndjson, yaml or name; table on a terminal, "
            "plain in a pipe",
        ),
        GlobalOption(
            ("--no-headers", "no_headers"),
            heading=_OUTPUT,
            is_flag=True,
            help="no header line in plain, tsv and csv",
        ),
        GlobalOption(
            (*NAMES["client_id"], "client_id"),
            heading=_CLUSTER,
            metavar="ID",
            help="the name under which brokers log this client",
        ),
        GlobalOption(
            (*NAMES["map_address"], "map_address"),
            heading=_CLUSTER,
            metavar="HOST:PORT=HOST:PORT",
            multiple=True,
            help="connect elsewhere than a broker advertises, as in b-1:9092=localhost:19092; repeatable",
        ),
        GlobalOption(
            (*NAMES["allow_plaintext_secrets"], "allow_plaintext_secrets"),
            heading=_CLUSTER,
            is_flag=True,
            help="send passwords and tokens to brokers, proxies and registries without TLS too",
        ),
        GlobalOption(
            ("-q", "--quiet", "quiet"),
            heading=_OUTPUT,
            is_flag=True,
            help="only warnings and errors on stderr",
        ),
        GlobalOption(
            ("-v", "--verbose", "verbose"), heading=_OUTPUT, count=True, help="more detail; -vv for even more"
        ),
        GlobalAttachedOption(
            ("-d", "--debug", "debug"),
            heading=_OUTPUT,
            bare=",".join(DEBUG_AREAS),
            looks=f"({'|'.join(DEBUG_AREAS)})(,({'|'.join(DEBUG_AREAS)}))+",
            type=DEBUG,
            metavar="[=AREA,…]",
            help="trace proto, auth, fetch, group, conf (all of them without a list); shows tracebacks",
        ),
        GlobalOption(
            ("--color", "color"),
            heading=_OUTPUT,
            type=click.Choice(("auto", "always", "never")),
            help="colour on a terminal only (auto), always or never",
        ),
        GlobalOption(
            ("--no-pager", "no_pager"), heading=_OUTPUT, is_flag=True, help="never page long output"
        ),
        GlobalOption(
            ("--progress", "progress"),
            heading=_OUTPUT,
            type=click.Choice(("auto", "none", "bar", "json")),
            help="how progress is shown on stderr; json: one object per line",
        ),
        GlobalOption(
            ("--timeout", "timeout"),
            heading=_QUESTIONS,
            metavar="DUR",
            type=POSITIVE_DURATION,
            help="limit for the first contact and for each request of an administrative command (default: 10s)",
        ),
        GlobalOption(
            ("--no-input", "no_input"),
            heading=_QUESTIONS,
            is_flag=True,
            help="never prompt; exit with 2 where an answer is required",
        ),
        GlobalOption(
            ("--yes", "yes"),
            heading=_QUESTIONS,
            quiet_names=("--execute",),
            is_flag=True,
            help="answer every confirmation with yes",
        ),
        GlobalOption(
            ("--confirm", "confirm"),
            heading=_QUESTIONS,
            metavar="NAME",
            multiple=True,
            help="confirm by giving the name that would otherwise have to be typed; repeatable",
        ),
        GlobalOption(
            ("--dry-run", "dry_run"),
            heading=_QUESTIONS,
            is_flag=True,
            help="check everything, change nothing",
        ),
        HelpOption(
            ("-h", "--help", "help"), heading=_HELP, is_flag=True, is_eager=True, help="show help and exit"
        ),
        VersionOption(
            ("-V", "--version", "version"),
            heading=_HELP,
            is_flag=True,
            is_eager=True,
            help="show the version and exit; with -v also what it is built on",
        ),
    )


def show_help(ctx: click.Context) -> None:
    """Prints the help of the context's command."""
    from kcli.commands.shared import help as layout  # this module is imported at every start

    layout.show_help(ctx)


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    name = param.name or ""
    if ctx.resilient_parsing or ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
        return
    values = ctx.ensure_object(GlobalValues)
    if hasattr(values, name):
        adds = isinstance(value, tuple) or name == "verbose"
        setattr(values, name, getattr(values, name) + value if adds else value)


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
