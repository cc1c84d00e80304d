"""The clusters of ``kcli exporter``: that of the global options, or one for each ``--profile``."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.commands.shared.cluster import CREATES_NONE, admin_options
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.profile_clusters import profile_configuration
from kcli.core.classes import NamedTuple
from kcli.core.options import ClientOptions


class Cluster(NamedTuple):
    """``name`` is that of its profile, empty without one. ``timeout`` is in seconds; ``servers`` are the brokers to start
    from.
    """

    name: str
    servers: str
    options: ClientOptions
    timeout: float


def clusters(inv: Invocation, profiles: Sequence[str]) -> list[Cluster]:
    """ConfigError for a profile that does not exist, or cannot be used."""
    names = list(dict.fromkeys([*([inv.values.profile] if inv.values.profile else []), *profiles]))
    if len(names) > 1:
        return [_of_profile(inv, name) for name in names]
    inv.values.profile = names[0] if names else None
    options, profile = admin_options(inv), inv.resolved.profile
    name = profile.name if profile is not None else ""
    return [Cluster(name, options.servers, options, inv.timeout)]


def _of_profile(inv: Invocation, name: str) -> Cluster:
    configuration = profile_configuration(inv, name, changes=False)
    timeout = inv.timeout_with(configuration)
    options = configuration.client_options(ClientOptions, timeout, CREATES_NONE, {})
    configuration.check_no_registry()
    return Cluster(name, options.servers, options, timeout)
