"""The schema registry that the options of a run name, for what reads or changes it: no broker is contacted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kcli.account.change import ChangeOf
from kcli.commands.shared.changing import change_with
from kcli.commands.shared.context import ClusterName, Invocation
from kcli.core.errors import ConfigError
from kcli.core.options import key_of
from kcli.profiles.profile import COMMAND_LINE
from kcli.profiles.secrets import inherits

if TYPE_CHECKING:
    from typing import Any

    from kcli.serde.registry.admin import RegistryAdmin

_PLAINTEXT = "allow_plaintext_secrets"
_LOGIN = ("security_protocol", "sasl_mechanism", "sasl_username", "sasl_password")
"""What says how clients authenticate to brokers, which a registry may inherit."""


@contextmanager
def open_registry(inv: Invocation, *, known: str = "") -> Iterator[RegistryAdmin]:
    """Its client; ConfigError without an address, and for ``-X`` with an option of brokers. ``known``: see below."""
    inv.read_profile()
    for name, origin in inv.resolved.origins.items():
        used = (_PLAINTEXT, *_LOGIN) if inherits(inv.resolved.registry) else (_PLAINTEXT,)
        if origin == COMMAND_LINE and name not in used:
            raise ConfigError(
                f"-X {key_of(name)} has no effect on `{click.get_current_context().command_path}`",
                why="it contacts a schema registry, and no broker",
                do="leave it out",
            )
    with registry_of(inv, known=known) as registry:
        profile = inv.resolved.profile
        inv.place = ClusterName(
            f"schema registry {registry.address}", f"profile {profile.name}" if profile else ""
        )
        yield registry


def registry_of(inv: Invocation, *, known: str = "") -> RegistryAdmin:
    """The client of a command that contacts brokers, too; ConfigError without an address, with the one that is ``known``
    to be meant.
    """
    from kcli.serde.registry.addresses import addresses  # http and ssl: for a registry only
    from kcli.serde.registry.admin import RegistryAdmin

    options = inv.configuration.registry_options(inv.given_timeout)
    if not options.schema_registry_url.strip(" ,"):
        raise ConfigError(
            "no schema registry is named",
            why="neither -X, nor -F, nor KCLI_X_SCHEMA_REGISTRY_URL, nor the profile has schema.registry.url",
            do=f"give -X schema.registry.url={known or 'http://HOST:8081'}, or --profile with a profile that has it",
        )
    plaintext = bool(inv.resolved.values.get(_PLAINTEXT, False))
    found = addresses(options, allow_plaintext_secrets=plaintext)
    return RegistryAdmin(found, options, waiting=lambda: inv.first_contact(f"schema registry {found[0]}"))


def registry_address(inv: Invocation) -> str | None:
    """The name of the registry in journals; None if no option names one."""
    if not inv.resolved.registry.get("schema_registry_url"):
        return None
    with registry_of(inv) as registry:
        return registry.address


def run_registry_change(inv: Invocation, change: ChangeOf[RegistryAdmin, Any, Any]) -> int:
    """Runs the change on the registry of the run. Returns the exit status."""
    with open_registry(inv) as registry:
        return change_with(inv, registry, registry.address, change)
