"""The clusters of a command that has several: each has a profile, with all its options, whatever variables say. For
documents: which of them are of which cluster.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import click

from kcli.commands.shared.cluster import CREATES_NONE, admin_options
from kcli.commands.shared.configuration import Configuration
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.sources import sources_of
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.options import ClientOptions
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.flows.resources.resource import Resource


def profile_configuration(inv: Invocation, name: str, *, changes: bool) -> Configuration:
    """The options of a profile; ConfigError if it does not exist, or cannot be used. ``changes``: whether the command
    writes to its cluster.
    """
    if inv.values.bootstrap_server is not None:
        raise usage(
            f"{click.get_current_context().command_path}: -b names a cluster beside those of profiles",
            why=f"profile {name} has the brokers of its cluster",
            do="leave out -b, or make a profile of these brokers too",
        )
    values = copy.copy(inv.values)
    values.profile = name
    sources = sources_of(values, lambda: None)
    sources.ignores_current = sources.profile_required = True
    return Configuration(
        values,
        inv.talk,
        inv.given_timeout,
        traced="conf" in inv.areas,
        sources=sources,
        changes=changes,
    )


class DocumentCluster(NamedTuple):
    """A cluster with its documents. ``profile`` is None for that of the global options; ``configuration`` has the options
    of the cluster.
    """

    profile: str | None
    configuration: Configuration
    options: ClientOptions
    timeout: float
    resources: list[Resource]

    def open(self, inv: Invocation) -> Admin:
        """The admin client; a context manager."""
        return Admin(self.options, inv.hooks, timeout=self.timeout)

    @property
    def servers(self) -> str:
        """Where it is, as it is named to people."""
        return self.options.servers


def document_clusters(
    inv: Invocation, resources: Collection[Resource], *, changes: bool
) -> list[DocumentCluster]:
    """The clusters that documents name, in the order of the documents; those that name none are of the cluster of the
    global options. With ``--profile`` only that cluster: documents that name another profile are left out, which is said.
    """
    by_profile: dict[str | None, list[Resource]] = {}
    left = []
    for resource in resources:
        if inv.values.profile is None:
            by_profile.setdefault(resource.profile, []).append(resource)
        elif resource.profile in (None, inv.values.profile):
            by_profile.setdefault(None, []).append(resource)
        else:
            left.append(resource)
    if left:
        others = ", ".join(sorted({str(one.profile) for one in left}))
        inv.talk.note(f"{counted(len(left), 'document')} of other profiles left out: {others}")
    return list(_opened(inv, by_profile, changes=changes))


def _opened(
    inv: Invocation, by_profile: dict[str | None, list[Resource]], *, changes: bool
) -> Iterable[DocumentCluster]:
    for profile, resources in by_profile.items():
        if profile is None:
            options = admin_options(inv)
            yield DocumentCluster(None, inv.configuration, options, inv.timeout, resources)
            continue
        configuration = profile_configuration(inv, profile, changes=changes)
        timeout = inv.timeout_with(configuration)
        options = configuration.client_options(ClientOptions, timeout, CREATES_NONE, {})
        configuration.check_no_registry()
        yield DocumentCluster(profile, configuration, options, timeout, resources)
