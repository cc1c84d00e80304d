"""What commands about a cluster's things share: the admin client, the first contact, answers with errors among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from kcli.commands.shared.context import Invocation
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.group_description import GroupDescription
    from kcli.core.admin.groups import ListedGroup
    from kcli.core.errors import KcliError

_CREATES = (
    "this command creates no topic by asking for it",
    "leave it out; `kcli topics create TOPIC` creates one",
)

K = TypeVar("K")
T = TypeVar("T")


def open_admin(inv: Invocation) -> Admin:
    """The admin client of this run; a context manager."""
    from kcli.core.admin.admin import Admin
    from kcli.core.options import ClientOptions

    options = inv.client_options(ClientOptions, unused={"allow_auto_create_topics": _CREATES})
    check_no_registry(inv)
    return Admin(options, inv.hooks, timeout=inv.timeout)


def check_no_registry(inv: Invocation) -> None:
    """ConfigError where ``-X`` is about a schema registry, which this run does not use."""
    from kcli.core.errors import ConfigError
    from kcli.core.options import key_of
    from kcli.profiles.sifting import COMMAND_LINE

    for name, origin in inv.resolved.registry_origins.items():
        if origin == COMMAND_LINE:
            raise ConfigError(
                f"-X {key_of(name)} has no effect",
                why="no schema registry is asked: only -s of `kcli consume` and `kcli produce` does that",
                do="leave it out, or add -s, as in -s value=avro",
            )


def connect(inv: Invocation, admin: Admin) -> str:
    """First contact, with a word when it takes long; the cluster's id."""
    with inv.first_contact(inv.resolved.values["bootstrap_servers"]):
        return admin.cluster_id()


def listed_groups(
    inv: Invocation,
    admin: Admin,
    match: str | None,
    *,
    states: Sequence[str] = (),
    types: Sequence[str] = (),
) -> list[ListedGroup]:
    """The groups of all brokers, by shell pattern; a broker that does not answer is a failure, the others' are given.

    kcli's own are only among them when the pattern is about these.
    """
    from fnmatch import fnmatchcase

    from kcli.flows.groups.checkpoint_groups import is_checkpoint_group, only_checkpoint_groups

    listing = admin.list_groups(states=states, types=types)
    for error in listing.errors.values():
        inv.failed(error)
    own = only_checkpoint_groups(match)
    return [
        row
        for row in listing.groups
        if (match is None or fnmatchcase(row.group_id, match))
        and (own or not is_checkpoint_group(row.group_id))
    ]


def described_groups(inv: Invocation, admin: Admin, names: Sequence[str]) -> dict[str, GroupDescription]:
    """The groups that exist; the rest is reported, with the names that come nearest."""
    from kcli.flows.groups.nearest import name_nearest

    told = admin.describe_groups(names)
    name_nearest(admin, told)
    return without_errors(inv, told)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names without repeats, in order."""
    return tuple(dict.fromkeys(names))


def without_errors(inv: Invocation, found: Mapping[K, T | KcliError]) -> dict[K, T]:
    """What was found; the rest is reported and counts for the exit code."""
    from kcli.core.errors import KcliError

    good: dict[K, T] = {}
    for key, value in found.items():
        if isinstance(value, KcliError):
            inv.failed(value)
        else:
            good[key] = value
    return good
