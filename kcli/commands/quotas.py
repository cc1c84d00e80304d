"""``kcli quotas``: its verbs and options. What they do is in ``_quotas_list.py`` and ``_quotas_alter.py``."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation

F = TypeVar("F", bound=Callable[..., Any])


def _entity(function: F) -> F:
    """The options that name what a quota is for."""
    for option in (
        click.option("--ip", "ip", metavar="ADDRESS", help="an IP address; only connection_creation_rate"),
        click.option("--client-id", "of_client_id", metavar="ID", help="clients with this client.id"),
        click.option("--user", "user", metavar="NAME", help="an authenticated user; '<default>': those without quotas"),
    ):  # fmt: skip
        function = option(function)
    return function


@group(
    "quotas",
    examples=(
        ("kcli quotas list", "all quotas"),
        ("kcli quotas alter --user alice --set producer_byte_rate=10MB/s", "limit a user"),
    ),
)
def quotas() -> None:
    """Show and change quotas of users, client ids and IP addresses."""


@quotas.command(
    "list",
    changes=False,
    examples=(
        ("kcli quotas list", "all quotas"),
        ("kcli quotas list --user alice", "of a user, also together with client ids"),
        ("kcli quotas list --user '<default>'", "what applies to users without quotas of their own"),
        ("kcli quotas list --ip 192.0.2.7 -o json", "for scripts"),
    ),
)
@_entity
@pass_invocation
def list_quotas(inv: Invocation, /, **flags: Any) -> int:
    """List quotas: a line for each key.

    The options select quotas with that user, client id or IP address. `<default>` is the default of users, client ids
    or IP addresses, which applies to those without quotas of their own; a user who is called so is written
    `\\<default>`.

    Here --client-id selects quotas; the client.id of kcli itself is given before the command: `kcli --client-id ID
    quotas list`.
    """
    from kcli.commands._quotas_list import list_selected  # clients are loaded when the command runs

    return list_selected(inv, **flags)


@quotas.command(
    "alter",
    changes=True,
    examples=(
        ("kcli quotas alter --user alice --set producer_byte_rate=10MB/s", "asks before it changes anything"),
        (
            "kcli quotas alter --user alice --client-id etl --set consumer_byte_rate=1MiB/s --yes",
            "in a script",
        ),
        ("kcli quotas alter --user '<default>' --set request_percentage=50 --dry-run", "only show the plan"),
        ("kcli quotas alter --client-id etl --unset producer_byte_rate", "remove a limit"),
        ("kcli quotas alter --ip 192.0.2.7 --set connection_creation_rate=10", "connections per second"),
    ),
)
@_entity
@click.option("--set", "sets", multiple=True, metavar="K=V", help="set a quota; repeatable")
@click.option("--unset", "unsets", multiple=True, metavar="K", help="remove a quota; repeatable")
@pass_invocation
def alter_quotas(inv: Invocation, /, **flags: Any) -> int:
    """Change quotas: after a plan and a question, and with a check of the values afterwards.

    Keys of users and client ids are producer_byte_rate and consumer_byte_rate (bytes per second, as 10MB/s or
    1MiB/s), request_percentage (of the time of one thread) and controller_mutation_rate (partitions created or
    deleted per second); that of IP addresses is connection_creation_rate (per second).

    Keys that are not named stay as they are. Rates are per broker. --user and --client-id together are quotas for
    that user's clients with this id. `<default>` is the default, `\\<default>` one that is called so.
    """
    from kcli.commands._quotas_alter import alter  # clients are loaded when the command runs

    return alter(inv, **flags)
