"""The kinds and names with which ``kcli configs`` names what is configured."""

from collections.abc import Sequence
from shlex import quote
from typing import Any

import click

from kcli.commands.shared.options import OfferedType
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.usage import nearest, usage, where
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.flows.configs.resources import ALL_BROKERS, KINDS, OF_A_BROKER

KIND_WORDS = "|".join(KINDS)
_ONE_OF = f"{', '.join(list(KINDS)[:-1])} or {list(KINDS)[-1]}"

_OF_QUOTAS = {
    **dict.fromkeys(("user", "users"), "`kcli quotas list --user NAME`; `kcli users list NAME`"),
    **dict.fromkeys(("client", "clients"), "`kcli quotas list --client-id ID`"),
    **dict.fromkeys(("ip", "ips"), "`kcli quotas list --ip 192.0.2.1`"),
}
"""Kinds of Kafka's script that are configured by other commands."""


class KindType(OfferedType):
    """A word of ``KINDS``, also in the singular. A name in its place is converted first, and reported as such."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """The plural."""
        for kind in KINDS:
            if value in (kind, kind[:-1]):
                return kind
        if value in _OF_QUOTAS:
            raise usage(
                f"{where(ctx)}{value!r} is not {_ONE_OF}",
                why="what is configured of users, clients and addresses is their quotas and passwords",
                do=_OF_QUOTAS[value],
                ctx=ctx,
            )
        near = nearest(value, KINDS)
        raise usage(
            f"{where(ctx)}{value!r} is not {_ONE_OF}",
            why="the kind comes before the names",
            do=f"did you mean {near}?"
            if near
            else f"if it is the name of a topic: `{ctx.command_path if ctx else 'kcli'} topics {quote(value)}`",
            ctx=ctx,
        )


KIND = KindType("kind", tuple(KINDS))


def resources(command: str, kind: str, names: Sequence[str]) -> list[ConfigResource]:
    """The named resources; a usage error for a name that cannot exist."""
    number = KINDS[kind]
    for name in names:
        if number is ConfigKind.TOPIC:
            check_topic_name(name, f"configs {command}")
        elif not name:
            raise usage(
                f"configs {command}: the name is empty", why="perhaps a variable is not set", do="name one"
            )
        elif number in OF_A_BROKER and not _is_id(name) and (kind, name) != ("brokers", ALL_BROKERS):
            raise usage(
                f"configs {command}: {name!r} is not a broker id",
                why="a broker is named by its number",
                do="`kcli cluster describe` lists the brokers"
                + ("; `default` is the default of all brokers" if kind == "brokers" else ""),
            )
    wanted = [str(int(name)) if _is_id(name) and number in OF_A_BROKER else name for name in names]
    every = number is ConfigKind.BROKER
    return [ConfigResource(number, "" if every and n == ALL_BROKERS else n) for n in dict.fromkeys(wanted)]


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10
