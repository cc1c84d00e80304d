"""The two clusters of a mirror, or of a comparison: each a profile with all its options, or brokers with those of the
other sources, and of the profile in use if they are its brokers.
"""

import copy
import shlex
from shlex import quote
from typing import Any, TypeVar

import click

from kcli.commands.shared.configuration import Configuration
from kcli.commands.shared.context import Invocation, cluster_name
from kcli.commands.shared.sources import sources_of
from kcli.commands.shared.usage import usage
from kcli.core.options import ClientOptions, ConsumerOptions, own_option_names
from kcli.profiles.sources import Sources, is_sandbox

O = TypeVar("O", bound=ClientOptions)  # noqa: E741

_LIMIT = "max_decompressed_batch_bytes"
_FROM_FLAGS = dict.fromkeys(
    own_option_names(ConsumerOptions) - {_LIMIT},
    ("it is a consumer option", "leave it out; `kcli consume TOPIC` takes it"),
)
"""The options of a consumer that follow from a mirror's flags: all but the limit of a decompressed batch."""


class Side:
    """One cluster; ``servers`` says where it is, ``words`` are those of the command line that name it. ``named`` is the
    option's value; None: it is what ``--from-dir`` names. ``changes``: whether the command writes to it.
    """

    def __init__(self, inv: Invocation, flag: str, named: str | None, *, changes: bool) -> None:
        self._inv = inv
        paths = inv.values.from_dir
        self.words = (
            [word for path in paths for word in ("--from-dir", path)] if named is None else [flag, named]
        )
        for option, given in (("-b", inv.values.bootstrap_server), ("--profile", inv.values.profile)):
            if given is not None:
                context = click.get_current_context()
                flags = [
                    one
                    for one in ("--from", "--to")
                    if any(one in each.opts for each in context.command.params)
                ]
                raise usage(
                    f"{context.command_path}: {option} names a {'third' if len(flags) == 2 else 'second'} cluster",
                    why=f"{' and '.join(flags)} {'name' if len(flags) == 2 else 'names'} those of this command",
                    do=f"use {flag} instead",
                )
        self._configuration = Configuration(
            inv.values,
            inv.talk,
            inv.given_timeout,
            traced="conf" in inv.areas,
            sources=_sources(inv, flag, named),
            changes=changes,
        )
        if changes:
            inv.acts_under(self._configuration)
        resolved = self._configuration.resolved
        inv.clusters.append(resolved)
        self.servers = resolved.servers
        self.name = cluster_name(resolved)
        profile = resolved.profile
        if named is None:
            self.option = shlex.join(self.words)
        else:
            self.option = (
                f"--profile {quote(profile.name)}" if profile is not None else f"-b {quote(self.servers)}"
            )
        # Refuses -X with options of a producer or consumer: those of a mirror follow from its flags.
        self._configuration.client_options(ConsumerOptions, inv.timeout, _FROM_FLAGS, {})
        self._configuration.check_no_registry()

    @property
    def configuration(self) -> Configuration:
        """The options of this cluster, of all sources."""
        return self._configuration

    def options(self, kind: type[O], **own: Any) -> O:
        """The options of a client of this cluster; ``own`` by field name."""
        given = self._configuration.resolved.values
        if issubclass(kind, ConsumerOptions) and _LIMIT in given:
            own.setdefault(_LIMIT, given[_LIMIT])
        return self._configuration.inner_options(kind, self._inv.timeout, own)


def source_side(inv: Invocation, named: str | None) -> Side:
    """The side that is read: ``--from``, or the directories of ``--from-dir``; a usage error for both, and for none."""
    command = click.get_current_context().command_path
    if named is not None and inv.values.from_dir:
        raise usage(
            f"{command}: --from and --from-dir together", why="each names the source", do="use one of them"
        )
    if named is None and not inv.values.from_dir:
        raise usage(
            f"{command}: missing option --from",
            why="it names the source",
            do="name it: --from PROFILE or --from HOST:PORT; or --from-dir PATH for the log directories of its brokers",
        )
    return Side(inv, "--from", named, changes=False)


def _sources(inv: Invocation, flag: str, named: str | None) -> Sources:
    """A profile that is current, or in a variable, is for one cluster: for that of the two whose brokers it names."""
    values = copy.copy(inv.values)
    if named is None:
        return sources_of(values, lambda: None)
    values.from_dir = ()
    by_address = ":" in named and not is_sandbox(named)
    values.bootstrap_server = named if by_address else None
    values.profile = None if by_address else named
    found = sources_of(values, lambda: None)
    found.profile_option = found.broker_option = flag
    found.current_names_brokers = True
    found.profile_required = not by_address
    return found
