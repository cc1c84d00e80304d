"""The value types of the global options, and of names. Imported at every start, unlike ``params.py``."""

from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # generic since click 8.2 only

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
    if word in ("beginning", "earliest", "start"):
        return "--from-beginning or --offset beginning"
    return f"--offset {word}" if word in ("end", "latest") or word[:1] in "+-@0123456789" else ""


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
