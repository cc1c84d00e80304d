"""What administrative commands share: the admin client, the first contact, results with errors among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeVar

from kcli.account.survey import Missing
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.cluster.metadata import OR_HIDDEN
from kcli.core.errors import KcliError
from kcli.core.names import is_own_group, means_own_groups
from kcli.core.options import ClientOptions

if TYPE_CHECKING:
    from kcli.core.admin.group_description import GroupDescription
    from kcli.core.admin.groups import ListedGroup

CREATES_NONE = {
    "allow_auto_create_topics": (
        "this command never creates a topic by requesting its metadata",
        "leave it out; `kcli topics create TOPIC` creates one",
    )
}
"""The option of a client that has no effect in an administrative one, and why."""

K = TypeVar("K")
T = TypeVar("T")


def open_admin(inv: Invocation, *, with_registry: bool = False) -> Admin:
    """The admin client of this run; a context manager. ``with_registry``: the run uses a schema registry, too."""
    return Admin(admin_options(inv, with_registry=with_registry), inv.hooks, timeout=inv.timeout)


def admin_options(inv: Invocation, *, with_registry: bool = False) -> ClientOptions:
    """The options of an administrative client; ConfigError for what it does not use."""
    options = inv.client_options(ClientOptions, unused=CREATES_NONE)
    if not with_registry:
        inv.configuration.check_no_registry()
    return options


def connect(inv: Invocation, admin: Admin) -> str:
    """First contact, with a note when it takes long; returns the cluster's id."""
    with inv.first_contact(inv.resolved.servers):
        inv.cluster_id = admin.cluster_id()
    return inv.cluster_id


def no_groups(match: str | None, *, selected: bool = False, partial: bool = False, own: bool = False) -> str:
    """The note for an empty list. ``selected``: not all were listed; ``partial``: not all brokers were asked; ``own``:
    some of kcli's own were left out.
    """
    if match is not None:
        none = f"no group matches {match}"
    elif selected:
        none = "no group matches"
    else:
        none = "no group was listed" if partial else "there are no groups"
    but = " but kcli's own" if own else ""
    where = ", as far as brokers responded" if partial else ""
    return f"{none}{but}{where}, {OR_HIDDEN}"


def listed_groups(
    inv: Invocation,
    admin: Admin,
    match: str | None,
    *,
    states: Sequence[str] = (),
    types: Sequence[str] = (),
    internal: bool = False,
) -> list[ListedGroup]:
    """The groups of all brokers, by shell pattern; it is reported where a broker does not respond, or there are none.

    Groups that kcli uses for itself are included only with ``internal``, or if the pattern asks for them.
    """
    listing = admin.list_groups(states=states, types=types)
    for error in listing.missing:
        inv.lacks(Missing.of(error))
    warn_of_hidden(inv, admin, "groups", unsure=listing.unsure)
    own = internal or means_own_groups(match)
    matching = [row for row in listing.groups if match is None or fnmatchcase(row.group_id, match)]
    found = [row for row in matching if own or not is_own_group(row.group_id)]
    if not found:
        partial, selected = listing.is_partial, bool(states or types)
        inv.talk.remark(no_groups(match, selected=selected, partial=partial, own=bool(matching)))
    return found


def described_groups(inv: Invocation, admin: Admin, names: Sequence[str]) -> dict[str, GroupDescription]:
    """The groups that exist; the others are reported as failures, with the most similar names."""
    from kcli.flows.groups.nearest import name_nearest  # few runs need it

    found = admin.describe_groups(names, all_types=True)
    name_nearest(admin, found)
    return without_errors(inv, found)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names without repeats, in order."""
    return tuple(dict.fromkeys(names))


def warn_of_hidden(inv: Invocation, admin: Admin, what: str, *, unsure: bool = False) -> str:
    """Warns that a list of all groups or topics need not have them all; returns the warning, empty without reason. A list
    that lacks parts says so already.

    ``unsure``: of groups it is not known whether each has a coordinator.
    """
    warning = ""
    if inv.missing:
        return warning
    from kcli.flows.permitted import hidden  # few runs need it

    if more := hidden(admin, what):
        (warning,) = more
    elif unsure:
        warning = (
            "there may be more groups: without DESCRIBE on topic __consumer_offsets it cannot be seen whether each has "
            "a coordinator"
        )
    if warning:
        inv.talk.warn(warning)
    return warning


def readable(inv: Invocation, found: Mapping[K, T | KcliError], kind: str = "") -> dict[K, T]:
    """What could be read; the rest is missing. ``kind`` precedes the keys in its name, as ``group``."""
    good: dict[K, T] = {}
    for key, value in found.items():
        if isinstance(value, KcliError):
            inv.lacks(Missing.of(value, f"{kind} {key}" if kind else ""))
        else:
            good[key] = value
    return good


def without_errors(inv: Invocation, found: Mapping[K, T | KcliError]) -> dict[K, T]:
    """What was found; errors are reported and count for the exit code."""
    good: dict[K, T] = {}
    for key, value in found.items():
        if isinstance(value, KcliError):
            inv.failed(value)
        else:
            good[key] = value
    return good
