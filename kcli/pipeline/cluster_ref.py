"""How a task reaches a cluster: options by value, secrets by reference.

A job travels to its tasks pickled; on Spark it passes through files, the web interface and event logs. So it has no
secret, only where to read one: a file, a command, the keyring, or a profile, ``-F`` file or variable by name. It is read
where the client is made, which may be another machine: the reference must lead to it there too.
"""

import os
import socket
from collections.abc import Collection, Mapping
from typing import Any, Protocol, TypeVar

from kcli.core import classes
from kcli.core.addresses import cluster_place
from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import ConfigError
from kcli.core.options import OF_BROKERS, ClientOptions, build, key_of, option_names
from kcli.core.secret import Secret
from kcli.profiles.profile import COMMAND_LINE
from kcli.profiles.resolve import Resolved, resolve
from kcli.profiles.secret_keys import SecretSource
from kcli.profiles.secrets import SecretReader, registry_values
from kcli.profiles.sources import SourceFiles, Sources, is_sandbox
from kcli.serde.registry.options import RegistryOptions

O = TypeVar("O", bound=ClientOptions)  # noqa: E741

_DECISIVE = ("security_protocol", "sasl_mechanism", "sasl_username")


@dataclass(frozen=True, slots=True)
class ClusterRef:
    """``values`` and ``registry`` by field name: plain values and SecretSources. ``by_origin`` and
    ``registry_by_origin`` name the secrets that stand in plain text in ``origins``: they are read again from the profile,
    the files or the environment.
    """

    values: Mapping[str, Any]
    registry: Mapping[str, Any]
    by_origin: Mapping[str, str]
    registry_by_origin: Mapping[str, str]
    profile: str | None = None
    files: tuple[str, ...] = ()
    command_seconds: float | None = None
    """For each command that prints a secret."""

    @property
    def servers(self) -> str:
        """Where the cluster is, as it is named to people."""
        values = self.values
        return cluster_place(str(values.get("bootstrap_servers", "")), str(values.get("log_dirs", "")))

    def options(self, kind: type[O], **own: Any) -> O:
        """The options of a client; ``own`` by field name replace those of the configuration."""
        reader = SecretReader(os.environ, _silent, self.command_seconds)
        found = {name: _read(reader, value) for name, value in self.values.items()}
        if self.by_origin:
            again = self._resolved()
            for name, origin in self.by_origin.items():
                found[name] = _read(reader, _found(again.values, name, origin))
        return build(kind, {**found, **own})

    def inner_options(self, kind: type[O], **own: Any) -> O:
        """As ``options``, for a client whose options beyond those of all clients follow from the job: of the
        configuration, only how to reach the cluster, what its brokers accept, and the limit of a decompressed batch.
        """
        common = option_names(ClientOptions) | {"max_decompressed_batch_bytes"} | OF_BROKERS
        values = {name: value for name, value in self.values.items() if name in common}
        return classes.replace(self, values=values).options(kind, **own)

    def registry_options(self) -> RegistryOptions:
        """How to reach the schema registry."""
        reader = SecretReader(os.environ, _silent, self.command_seconds)
        found = dict(self.registry)
        if self.registry_by_origin:
            again = self._resolved()
            for name, origin in self.registry_by_origin.items():
                found[name] = _found(again.registry, name, origin)
        return RegistryOptions.build(registry_values(reader, found, self._login))

    def _login(self) -> tuple[str, Secret]:
        own = self.options(ClientOptions)
        return own.sasl_username, own.sasl_password

    def without(self, names: Collection[str]) -> "ClusterRef":
        """The reference without these options, by field name."""
        return classes.replace(
            self, values={key: value for key, value in self.values.items() if key not in names}
        )

    def _resolved(self) -> Resolved:
        files = SourceFiles()
        return resolve(
            Sources(
                # What decides which secrets are in use.
                properties=[
                    f"{key_of(name)}={self.values[name]}" for name in _DECISIVE if name in self.values
                ],
                files=self.files,
                environ=os.environ,
                read_file=files.properties,
                file_state=files.states.get,
                config_files=files.configs,
                profile=self.profile,
                ignores_current=True,
                user=os.getuid(),
            ),
            need_broker=False,
        )


class OptionsOf(Protocol):
    """Makes the options of a client; ``own`` by field name."""

    def __call__(self, kind: type[O], **own: Any) -> O:
        """See above."""


class JobCluster(NamedTuple):
    """A cluster of a job. ``ref`` says to the tasks how they reach it, ``options`` makes those of a client here."""

    ref: ClusterRef
    options: OptionsOf

    @property
    def servers(self) -> str:
        """Where it is, as it is named to people."""
        return self.ref.servers


def cluster_ref(
    resolved: Resolved,
    files: tuple[str, ...],
    timeout: float,
    command_seconds: float | None = None,
    *,
    travels: bool = True,
) -> ClusterRef:
    """The reference to the cluster of these options, whose secrets are not revealed yet. ``files``: those of ``-F``.
    ``command_seconds``: see ``ClusterRef``.

    ConfigError for a secret on the command line: nothing else could read it again. Without ``travels`` the reference
    lacks it: it only names the cluster, and no client is made of it.
    """
    budget = max(1, round(timeout * 1000))
    values, by_origin = _split(resolved.values, resolved.origins, travels=travels)
    timeouts = {
        "default_api_timeout_ms": budget,
        "socket_connection_setup_timeout_ms": min(budget, 10_000),
    }
    registry, registry_by_origin = _split(resolved.registry, resolved.registry_origins, travels=travels)
    return ClusterRef(
        {**timeouts, **values},
        registry,
        by_origin,
        registry_by_origin,
        # A sandbox has no secret that a task would have to read again.
        None if resolved.profile is None or is_sandbox(resolved.profile.name) else resolved.profile.name,
        tuple(os.path.abspath(path) for path in files),
        command_seconds,
    )


def _split(
    values: Mapping[str, Any], origins: Mapping[str, str], *, travels: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """What can be passed on, and the origins of the secrets in plain text."""
    plain = {name: value for name, value in values.items() if not isinstance(value, Secret)}
    secret = {name: origins[name] for name, value in values.items() if isinstance(value, Secret) and value}
    for name, origin in list(secret.items()):
        if origin == COMMAND_LINE and not travels:
            del secret[name]
        elif origin == COMMAND_LINE:
            key = key_of(name)
            raise ConfigError(
                f"{key} is on the command line, and the tasks of a job cannot read it there",
                why="a job is passed on to other processes, and contains no secrets",
                do=f"use -X {key}_file=FILE or {key}_command=COMMAND, a profile, or the variable "
                f"KCLI_X_{name.upper()}",
            )
    return plain, secret


def _read(reader: SecretReader, value: Any) -> Any:
    return reader.read(value) if isinstance(value, SecretSource) else value


def _found(values: Mapping[str, Any], name: str, origin: str) -> Any:
    if not values.get(name):
        raise ConfigError(
            f"{key_of(name)} is not known on {socket.gethostname()}",
            why=f"it was given by {origin}, which a task reads again where it runs",
            do=f"provide it there too, or use {key_of(name)}_file with a file that is there",
        )
    return values[name]


def _silent(_warning: str) -> None:
    """The command has warned already."""
