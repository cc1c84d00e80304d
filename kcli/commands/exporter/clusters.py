"""The clusters of ``kcli exporter``: that of the global options, or one for each ``--profile``."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

from kcli.commands.shared.cluster import CREATES_NONE, admin_options
from kcli.commands.shared.configuration import Configuration
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.sources import sources_of
from kcli.commands.shared.usage import usage
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
    return [Cluster(name, str(options.bootstrap_servers), options, inv.timeout)]


def _of_profile(inv: Invocation, name: str) -> Cluster:
    """The profile names the cluster, whatever variables say."""
    if inv.values.bootstrap_server is not None:
        raise usage(
            "exporter: -b names a cluster beside those of several --profile",
            why="a profile has the brokers of its cluster",
            do="leave out -b, or make a profile of these brokers too",
        )
    values = copy.copy(inv.values)
    values.profile = name
    sources = sources_of(values, lambda: None)
    sources.ignores_current = sources.profile_required = True
    configuration = Configuration(
        values,
        inv.talk,
        inv.given_timeout,
        traced="conf" in inv.areas,
        sources=sources,
        changes=False,
    )
    timeout = inv.timeout_with(configuration)
    options = configuration.client_options(ClientOptions, timeout, CREATES_NONE, {})
    configuration.check_no_registry()
    return Cluster(name, str(options.bootstrap_servers), options, timeout)
