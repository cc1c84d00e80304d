"""Describes click's usage errors: what, why, what to do; with suggestions for options of other tools."""

import re

import click

from kcli.commands.shared.filled_line import filled
from kcli.commands.shared.habits import as_client_option, instead_of
from kcli.commands.shared.usage import WORDS, Refused, nearest, where
from kcli.core.options import nearest_choice
from kcli.docgen.describe import describe


def describe_usage(error: click.ClickException) -> tuple[str, str, str]:
    """What, why, and what to do."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "kcli"
    command = where(ctx)
    see = f"see `{path} --help`"
    if isinstance(error, Refused):
        return error.message, error.why, error.do
    if isinstance(error, click.NoSuchOption):
        name = error.option_name
        near = _near_option(name, ctx) if ctx is not None else None
        hint = f"did you mean {near}? " if near else ""
        instead = instead_of(path, name)
        if instead is not None and ctx is not None:
            instead = filled(instead, path, ctx.meta.get(WORDS, ()))
        do = instead or as_client_option(name) or hint + see
        return f"{command}there is no option {name}", "nothing was run", do
    if isinstance(error, click.MissingParameter):
        return f"{command}{_missing(error)}", "it is required", see
    if isinstance(error, click.BadParameter) and error.param is not None:
        if one := re.match(r"'(\d+)=(\S+)' is not an offset", error.message):
            return (
                f"{command}--offset is not valid",
                _sentence(error.message),
                f"-p {one[1]} --offset {one[2]}",
            )
        name = _shown(error.param)
        name = name.strip("[…]") if name.startswith("[") else name.rstrip("…")
        return (
            f"{command}{name} is not valid",
            _sentence(error.message),
            _nearest_choice(error) + _concept(error.param) + see,
        )
    return f"{command}{_sentence(error.format_message())}", "nothing was run", see


def _near_option(name: str, ctx: click.Context) -> str | None:
    """The most similar option that the command's help shows; click would also suggest hidden ones."""
    shown = describe(ctx.command, tuple(ctx.command_path.split()), ctx).options
    long = [one[2:] for option in shown for one in (*option.names, *option.off_names) if one.startswith("--")]
    near = nearest(name[2:], long) if name.startswith("--") else None
    return near and f"--{near}"


def _nearest_choice(error: click.BadParameter) -> str:
    given = re.match(r"'(.+)' is not one of", error.message)
    choices = error.param.type.choices if error.param and isinstance(error.param.type, click.Choice) else ()
    near = nearest_choice(given[1], tuple(map(str, choices))) if given else ""
    return f"did you mean {near}? " if near else ""


def _concept(param: click.Parameter) -> str:
    word = getattr(param.type, "concept", "")
    return f"`kcli help {word}` lists what is valid; " if word else ""


def _missing(error: click.MissingParameter) -> str:
    param = error.param
    if isinstance(param, click.Option):
        return f"missing option {_shown(param)}"
    return f"missing argument {_shown(param).rstrip('…')}" if param else "missing argument"


def _shown(param: click.Parameter) -> str:
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.metavar or (param.name or "").upper()


def _sentence(text: str) -> str:
    text = text.strip().rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
