"""``kcli configs``: its verbs and options. What they do is in ``_configs_describe.py`` and ``_configs_alter.py``."""

from shlex import quote
from typing import Any

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import OfferedType
from kcli.commands.shared.usage import nearest, usage, where

_KINDS = ("topics", "brokers", "groups")


class KindType(OfferedType):
    """Topics, brokers or groups, also in the singular. A name in its place is converted first, and reported as such."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """The plural."""
        for kind in _KINDS:
            if value in (kind, kind[:-1]):
                return kind
        near = nearest(value, _KINDS)
        raise usage(
            f"{where(ctx)}{value!r} is not topics, brokers or groups",
            why="the kind comes before the names",
            do=f"did you mean {near}?"
            if near
            else f"if it is the name of a topic: `{ctx.command_path if ctx else 'kcli'} topics {quote(value)}`",
            ctx=ctx,
        )


_KIND = KindType("kind", _KINDS)


@group(
    "configs",
    examples=(
        ("kcli configs describe topics orders", "what is set for a topic, and where"),
        ("kcli configs alter topics orders --set retention.ms=3600000", "change one key"),
    ),
)
def configs() -> None:
    """Show and change configurations of topics, brokers and groups."""


@configs.command(
    "describe",
    changes=False,
    examples=(
        ("kcli configs describe topics orders payments", "what is set, and where"),
        ("kcli configs describe topics orders --all", "defaults too"),
        ("kcli configs describe brokers 1 2 --origin", "every place where a key is set"),
        ("kcli configs describe brokers default", "the default of all brokers"),
        ("kcli configs describe groups billing --all -o json", "for scripts"),
    ),
)
@click.argument("kind", type=_KIND, metavar="topics|brokers|groups")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--all", "every", is_flag=True, help="show defaults too")
@click.option("--origin", is_flag=True, help="show every place where a key is set, the strongest first")
@pass_invocation
def describe_configs(inv: Invocation, /, **flags: Any) -> int:
    """Show configurations: each value with where it comes from.

    Without --all, only keys that are set somewhere.

    SOURCE is where the value in force is set: topic, group, dynamic broker (one broker, at run time), dynamic default
    (all brokers, at run time), static broker (the broker's file) or default. A broker is named by its id; `default`
    is the default of all brokers. Values of secrets are never shown.
    """
    from kcli.commands._configs_describe import describe  # clients are loaded when the command runs

    return describe(inv, **flags)


@configs.command(
    "alter",
    changes=True,
    examples=(
        ("kcli configs alter topics orders --set retention.ms=3600000", "asks before it changes anything"),
        ("kcli configs alter topics orders --append cleanup.policy=compact --yes", "a list gets a value"),
        ("kcli configs alter brokers default --unset message.max.bytes --dry-run", "only show the plan"),
        ("kcli configs alter groups billing --set consumer.session.timeout.ms=60000", "of a group"),
    ),
)
@click.argument("kind", type=_KIND, metavar="topics|brokers|groups")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--set", "sets", multiple=True, metavar="K=V", help="set a key; repeatable")
@click.option("--unset", "unsets", multiple=True, metavar="K", help="unset a key: its default applies")
@click.option("--append", "appends", multiple=True, metavar="K=V", help="add values to a list")
@click.option("--remove", "removes", multiple=True, metavar="K=V", help="remove values from a list")
@pass_invocation
def alter_configs(inv: Invocation, /, **flags: Any) -> int:
    """Change configurations: after a plan and a question, and with a check of the values afterwards.

    Keys that are not named stay as they are. All changes of a topic, broker or group are applied, or none. A broker
    is named by its id; `default` changes the default of all brokers.

    Exit code 2 for an unknown key, 7 for one that can only be changed in the broker's file, 6 where some of several
    NAMEs were changed. Brokers may have keys of plug-ins, which cannot be listed: of theirs, only a key that
    resembles a known one counts as unknown. An internal topic, such as __consumer_offsets, requires --confirm NAME:
    --yes is not enough.
    """
    from kcli.commands._configs_alter import alter  # clients are loaded when the command runs

    return alter(inv, **flags)
