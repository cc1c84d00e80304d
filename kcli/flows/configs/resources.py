"""Configurations of topics, brokers, groups, loggers and client metrics, and why one cannot be described or changed."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.admin.feature_levels import METADATA_VERSION
from kcli.core.admin.features import BrokerFeatures
from kcli.core.cluster.metadata import unknown_topic
from kcli.core.errors import BrokerError, KcliError, NotFoundError, UnsupportedError
from kcli.core.exit_codes import ExitCode

KINDS = {
    "topics": ConfigKind.TOPIC,
    "brokers": ConfigKind.BROKER,
    "groups": ConfigKind.GROUP,
    "broker-loggers": ConfigKind.BROKER_LOGGER,
    "client-metrics": ConfigKind.CLIENT_METRICS,
}
"""How users name the kinds."""
OF_A_BROKER = (ConfigKind.BROKER, ConfigKind.BROKER_LOGGER)
"""Kinds whose names are ids of brokers."""
ALL_BROKERS = "default"
"""How users name the default of all brokers."""
NO_SUCH_KIND = (35, 42)
"""UNSUPPORTED_VERSION and INVALID_REQUEST, by which brokers refuse a kind that they do not know."""
_SINCE = {
    ConfigKind.GROUP: (
        (4, 0),
        "use Kafka 4 or later; until then the brokers' own settings (group.*) apply to all groups",
    ),
    ConfigKind.CLIENT_METRICS: ((3, 7), "use Kafka 3.7 or later"),
}
"""Kinds that brokers have only since a release, with what to do before it."""


class FencedBrokerError(KcliError):
    """The broker exists, but is not alive."""

    exit_code = ExitCode.REFUSED


def shown_name(resource: ConfigResource) -> str:
    """The name as users write it."""
    return resource.name or ALL_BROKERS


def kind_word(resource: ConfigResource) -> str:
    """The kind as on the command line, in the singular: ``topic``."""
    return next(word for word, kind in KINDS.items() if kind is resource.kind).removesuffix("s")


def no_subscription(name: str) -> NotFoundError:
    """The error for client metrics that have no key set: then there is no such subscription."""
    return NotFoundError(
        f"there are no client metrics {name}",
        why="no key of a subscription with this name is set",
        do="`kcli configs list client-metrics` lists the subscriptions",
    )


def described(
    admin: Admin, wanted: Sequence[ConfigResource]
) -> dict[ConfigResource, list[ConfigEntry] | KcliError]:
    """The entries of each resource with their synonyms, by key; or the error, explained."""
    found = admin.describe_configs(wanted, synonyms=True)
    return {
        resource: explained(admin, resource, one) if isinstance(one, KcliError) else sorted(one, key=_key)
        for resource, one in found.items()
    }


def explained(admin: Admin, resource: ConfigResource, error: KcliError) -> KcliError:
    """The error of a resource with the nearest names, or the versions of the brokers, where they explain it."""
    if resource.kind is ConfigKind.TOPIC and isinstance(error, NotFoundError):
        return unknown_topic(resource.name, [topic.name for topic in admin.list_topics()])
    if resource.kind in OF_A_BROKER and isinstance(error, NotFoundError):
        if _is_fenced(admin, resource.name):
            return FencedBrokerError(
                f"{resource} is fenced",
                why="it is registered, but has lost contact with the controller; no other broker has its configuration",
                do=f"start it, or find out why it is not connected: `kcli cluster describe` shows it; `kcli configs "
                f"describe brokers {ALL_BROKERS}` shows the default of all brokers",
            )
        error.do = error.do or "`kcli cluster describe` lists the brokers"
    if isinstance(error, BrokerError) and error.code in NO_SUCH_KIND and resource.kind in _SINCE:
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
    """The error with the version of the brokers; unchanged if they are new enough to have such configurations."""
    first, do = _SINCE[resource.kind]
    found = [one for one in admin.describe_features().values() if not isinstance(one, KcliError)]
    old = {_release(one) for one in found if _is_before(one, first)}
    if not old:
        return error
    return UnsupportedError(
        f"{resource} has no configuration on these brokers: they run Kafka {', '.join(sorted(old))}",
        why=error.why,
        do=do,
    )


def _is_before(broker: BrokerFeatures, first: tuple[int, int]) -> bool:
    """A release that is not known, of a broker with a metadata.version, is a newer one."""
    if broker.release is None:
        return METADATA_VERSION not in broker.supported
    return tuple(map(int, broker.release.split("."))) < first


def _release(broker: BrokerFeatures) -> str:
    return broker.release or "before 3.3, or with ZooKeeper"


def _key(entry: ConfigEntry) -> str:
    return entry.name
