"""The topics, brokers and groups whose configurations ``kcli configs`` shows and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from kcli.commands.shared.cluster import unique
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.cluster.metadata import unknown_topic
from kcli.core.errors import BrokerError, KcliError, NotFoundError, UnsupportedError
from kcli.core.exit_codes import ExitCode

_KINDS = {"topics": ConfigKind.TOPIC, "brokers": ConfigKind.BROKER, "groups": ConfigKind.GROUP}
_ALL_BROKERS = "default"
_NO_SUCH_KIND = (35, 42)  # UNSUPPORTED_VERSION, INVALID_REQUEST
_BEFORE_GROUPS = ("before", "3.")

A = TypeVar("A")


class FencedBrokerError(KcliError):
    """The broker exists, but is not alive."""

    exit_code = ExitCode.REFUSED


def resources(command: str, kind: str, names: Sequence[str]) -> list[ConfigResource]:
    """The named resources; a usage error for a name that cannot exist."""
    number = _KINDS[kind]
    for name in names:
        if number is ConfigKind.TOPIC:
            check_topic_name(name, f"configs {command}")
        elif not name:
            raise usage(
                f"configs {command}: the name is empty", why="perhaps a variable is not set", do="name one"
            )
        elif number is ConfigKind.BROKER and name != _ALL_BROKERS and not _is_id(name):
            raise usage(
                f"configs {command}: {name!r} is not a broker id",
                why="a broker is named by its number",
                do="`kcli cluster describe` lists the brokers; `default` is the default of all brokers",
            )
    wanted = [str(int(name)) if _is_id(name) and number is ConfigKind.BROKER else name for name in names]
    every = number is ConfigKind.BROKER
    return [ConfigResource(number, "" if every and n == _ALL_BROKERS else n) for n in unique(wanted)]


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10


def shown_name(resource: ConfigResource) -> str:
    """The name as users write it."""
    return resource.name or _ALL_BROKERS


def entries_of(
    inv: Invocation, admin: Admin, wanted: Sequence[ConfigResource]
) -> dict[ConfigResource, list[ConfigEntry]]:
    """The entries of each resource with their synonyms, by key; errors are reported and count for the exit code."""
    found = without_failures(inv, admin, admin.describe_configs(wanted, synonyms=True))
    return {resource: sorted(entries, key=_key) for resource, entries in found.items()}


def without_failures(
    inv: Invocation, admin: Admin, found: Mapping[ConfigResource, A | KcliError]
) -> dict[ConfigResource, A]:
    """The results without errors, which are reported, with the nearest names and the versions that explain them."""
    good = {}
    for resource, outcome in found.items():
        if isinstance(outcome, KcliError):
            inv.failed(explained(admin, resource, outcome))
        else:
            good[resource] = outcome
    return good


def explained(admin: Admin, resource: ConfigResource, error: KcliError) -> KcliError:
    """The error of a resource with the nearest names, or the versions of the brokers, where they explain it."""
    if resource.kind is ConfigKind.TOPIC and isinstance(error, NotFoundError):
        return unknown_topic(resource.name, [topic.name for topic in admin.list_topics()])
    if resource.kind is ConfigKind.BROKER and isinstance(error, NotFoundError):
        if _is_fenced(admin, resource.name):
            return FencedBrokerError(
                f"{resource} is fenced",
                why="it is registered, but has lost contact with the controller; no other broker has its configuration",
                do=f"start it, or find out why it is not connected: `kcli cluster describe` shows it; `kcli configs "
                f"describe brokers {_ALL_BROKERS}` shows the default of all brokers",
            )
        error.do = error.do or "`kcli cluster describe` lists the brokers"
    if isinstance(error, BrokerError) and error.code in _NO_SUCH_KIND and resource.kind is ConfigKind.GROUP:
        return _too_old(admin, resource, error)
    return error


def _is_fenced(admin: Admin, name: str) -> bool:
    """Whether a broker of this id is registered and not alive; False where brokers cannot say (before Kafka 4.0)."""
    try:
        found = admin.describe_cluster(include_fenced=True).brokers
    except KcliError:
        return False
    return any(broker.is_fenced and str(broker.node.id) == name for broker in found)


def _too_old(admin: Admin, resource: ConfigResource, error: KcliError) -> KcliError:
    """The error with the version of the brokers; unchanged if they are new enough to have configurations of groups."""
    found = [one for one in admin.describe_features().values() if not isinstance(one, KcliError)]
    releases = {one.release or "before 3.3, or with ZooKeeper" for one in found}
    if not any(release.startswith(_BEFORE_GROUPS) for release in releases):
        return error
    return UnsupportedError(
        f"{resource} has no configuration on these brokers: they run Kafka {', '.join(sorted(releases))}",
        why=error.why,
        do="use Kafka 4 or later; until then the brokers' own settings (group.*) apply to all groups",
    )


def _key(entry: ConfigEntry) -> str:
    return entry.name
