"""The two clusters of a mirror: the client options of each, from the same sources except for the brokers."""

import copy
import dataclasses
from typing import Any, TypeVar

from kcli.commands.shared.configuration import Configuration
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.options import ClientOptions, ConsumerOptions

O = TypeVar("O", bound=ClientOptions)  # noqa: E741

_LIMIT = "max_decompressed_batch_bytes"
_FROM_FLAGS = {
    field.name: ("it is a consumer option", "leave it out; `kcli consume` takes it")
    for field in dataclasses.fields(ConsumerOptions)
    if field.name not in {common.name for common in dataclasses.fields(ClientOptions)} | {_LIMIT}
}
"""The options of a consumer that follow from a mirror's flags: all but the limit of a decompressed batch."""


class Side:
    """One cluster; ``servers`` is what its flag says."""

    def __init__(self, inv: Invocation, flag: str, servers: str) -> None:
        self._inv = inv
        self.servers = servers
        if inv.values.bootstrap_server is not None:
            raise usage(
                "kcli mirror: -b names a third cluster",
                why="a mirror has two: --from and --to",
                do=f"use {flag} instead",
            )
        if ":" not in servers:
            raise usage(
                f"kcli mirror: {flag} {servers}: profiles are not supported yet by this version of kcli",
                why="a cluster is named by its brokers",
                do=f"{flag} HOST:PORT",
            )
        values = copy.copy(inv.values)
        values.bootstrap_server = servers
        self._configuration = Configuration(values, inv.talk, traced="conf" in inv.areas)
        # Refuses -X with options of a producer or consumer: those of a mirror follow from its flags.
        self._configuration.client_options(ConsumerOptions, inv.timeout, _FROM_FLAGS, {})
        self._configuration.check_no_registry()

    def options(self, kind: type[O], **own: Any) -> O:
        """The options of a client of this cluster; ``own`` by field name."""
        given = self._configuration.resolved.values
        if issubclass(kind, ConsumerOptions) and _LIMIT in given:
            own.setdefault(_LIMIT, given[_LIMIT])
        return self._configuration.inner_options(kind, self._inv.timeout, own)
