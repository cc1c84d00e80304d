"""``kcli help``: the help of a command, the table of client options, the table of exit codes."""

import click

from kcli.commands.shared.command import Group, command
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.help import show_help
from kcli.commands.shared.types import OfferedType
from kcli.commands.shared.usage import unknown_command
from kcli.docgen.exit_codes import EXIT_CODES

TOPICS = ("options", "exit-codes")


@command(
    "help",
    examples=(
        ("kcli help topics create", "the same as `kcli topics create --help`"),
        ("kcli help options", "all client options, for -X and -F"),
        ("kcli help exit-codes", "what the exit codes mean"),
    ),
)
@click.argument("words", nargs=-1, type=OfferedType("command", TOPICS), metavar="[COMMAND…]")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Help on a command, on client options, on exit codes.

    Without a COMMAND: the same as `kcli --help`.
    """
    if words == ("options",):
        _page(ctx, options_text())
    elif words == ("exit-codes",):
        _page(ctx, exit_codes_text())
    else:
        show_help(_context_of(ctx, words))


def options_text() -> str:
    """Every client option: key, default, what it is, and librdkafka's spelling."""
    import dataclasses

    from kcli.core.options import ALL_OPTIONS, key_of
    from kcli.serde.registry.options import RegistryOptions

    lines = ["Client options, for -X KEY=VALUE, -F FILE and KCLI_X_KEY (dots as underscores)."]
    seen: set[str] = set()
    for options in (*ALL_OPTIONS, RegistryOptions):
        lines += ["", _TITLES[options.__name__]]
        for field in dataclasses.fields(options):
            if field.name in seen:
                continue
            seen.add(field.name)
            lines += _option_lines(key_of(field.name), field)
    return "\n".join(lines)


_TITLES = {
    "ClientOptions": "Every client",
    "ProducerOptions": "Producer",
    "ConsumerOptions": "Consumer",
    "RegistryOptions": "Schema registry, for -s",
}


def _option_lines(key: str, field: object) -> list[str]:
    import dataclasses
    import textwrap

    assert isinstance(field, dataclasses.Field)
    default = "unset" if field.default in (None, "") else str(field.default)
    if isinstance(field.default, bool):
        default = default.lower()
    details = [field.metadata["doc"]]
    if field.metadata["choices"]:
        details.append("one of " + ", ".join(filter(None, field.metadata["choices"])))
    if aliases := [alias for alias in field.metadata["aliases"] if alias != key]:
        details.append("also " + ", ".join(aliases))
    text = textwrap.wrap("; ".join(details), 74, break_on_hyphens=False)
    return [f"  {key} = {default}", *(f"      {line}" for line in text)]


def exit_codes_text() -> str:
    """The table of exit codes."""
    import textwrap

    lines = ["Exit codes"]
    for code, meaning in EXIT_CODES:
        lines += textwrap.wrap(f"  {code:<13}{meaning}", 80, subsequent_indent=" " * 15)
    lines.append("When several apply: a signal, 5, 4, 7, 3, then 6 if anything was done, 8, 1.")
    return "\n".join(lines)


def _context_of(ctx: click.Context, words: tuple[str, ...]) -> click.Context:
    """The context in which the words' command would run."""
    here = ctx.find_root()
    for word in words:
        group = here.command
        found = group.get_command(here, word) if isinstance(group, click.Group) else None
        if found is None:
            known = group.list_commands(here) if isinstance(group, click.Group) else []
            raise unknown_command(here, word, [*known, *(TOPICS if here.parent is None else ())])
        name = group.aliases.get(word, word) if isinstance(group, Group) else word
        here = click.Context(found, info_name=name, parent=here, obj=here.obj)
    return here


def _page(ctx: click.Context, text: str) -> None:
    from kcli.output.pager import page

    values = ctx.ensure_object(GlobalValues)
    page(text, pager=not values.no_pager)
