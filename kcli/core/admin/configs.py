"""Configurations of topics, brokers and groups: describes values with their sources, and alters single keys."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from kcli.core.classes import IntEnum, dataclass, replace
from kcli.core.cluster.cluster import ANY, Cluster
from kcli.core.cluster.fanout import Ask, FanOut, Items, Part, Read, portions, verdict
from kcli.core.cluster.metadata import unknown_topic
from kcli.core.cluster.routes import ToBroker
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import INVALID_CONFIG, INVALID_REQUEST, NONE, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import BrokerError, ConfigError, KcliError, UnsupportedError
from kcli.core.permissions import Permission, on_cluster, on_group, on_topic
from kcli.core.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)

if TYPE_CHECKING:
    from kcli.core.protocol.messages.incremental_alter_configs import (
        AlterConfigsResourceResponse,
        IncrementalAlterConfigsResponse,
    )
    from kcli.core.protocol.messages.list_config_resources import ListConfigResourcesResponse

A = TypeVar("A")
V = TypeVar("V")

_SOURCES = {
    0: "unknown",
    1: "topic",
    2: "dynamic broker",
    3: "dynamic default",
    4: "static broker",
    5: "default",
    6: "dynamic broker logger",
    7: "client metrics",
    8: "group",
}
_TYPES = {
    0: "unknown",
    1: "boolean",
    2: "string",
    3: "int",
    4: "short",
    5: "long",
    6: "double",
    7: "list",
    8: "class",
    9: "password",
}


_UNKNOWN = 0
"""What brokers return for a kind of resource that they do not know, with an error."""


class ConfigKind(IntEnum):
    """The type of a configured resource, with Kafka's numbers."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigOp(IntEnum):
    """The kind of a change, with Kafka's numbers. APPEND and SUBTRACT are for lists (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_OWN_SOURCES = {
    ConfigKind.TOPIC: "topic",
    ConfigKind.BROKER: "dynamic broker",
    ConfigKind.BROKER_LOGGER: "dynamic broker logger",
    ConfigKind.CLIENT_METRICS: "client metrics",
    ConfigKind.GROUP: "group",
}


@dataclass(frozen=True, slots=True)
class ConfigResource:
    """A topic, group or subscription by name; a broker by its id as text, ``""`` for the default of all brokers."""

    kind: ConfigKind
    name: str

    def __str__(self) -> str:
        if self.kind is ConfigKind.BROKER and not self.name:
            return "the default of all brokers"
        if self.kind is ConfigKind.BROKER_LOGGER:
            return f"the loggers of broker {self.name}"
        return f"{self.kind.name.lower().replace('_', ' ')} {self.name or '(all)'}"

    @property
    def own_source(self) -> str:
        """The source of a value set on this resource itself."""
        if self.kind is ConfigKind.BROKER and not self.name:
            return "dynamic default"
        return _OWN_SOURCES[self.kind]

    @property
    def broker(self) -> int:
        """The broker to ask; ANY if any broker can respond."""
        own = self.kind in (ConfigKind.BROKER, ConfigKind.BROKER_LOGGER) and bool(self.name)
        return int(self.name) if own else ANY


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A configuration key. ``value`` is None for a secret; ``source`` says where it was set (``default``: nowhere).

    ``own_source`` is the source of values set on the described resource itself. ``type`` and ``documentation`` are
    empty if the broker does not report them (before v3, KIP-569). ``synonyms``, if requested, are the (name, value,
    source) that would apply if this one were not set.
    """

    name: str
    value: str | None
    source: str
    is_sensitive: bool
    read_only: bool = False
    type: str = ""
    documentation: str = ""
    synonyms: tuple[tuple[str, str | None, str], ...] = ()
    own_source: str = "topic"

    @property
    def is_default(self) -> bool:
        """Whether it is not set on the resource itself, though possibly elsewhere."""
        return self.source != self.own_source


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A change of one key. ``value`` is None for DELETE, which restores the default."""

    name: str
    value: str | None
    op: ConfigOp = ConfigOp.SET


def begin_describe_configs(
    cluster: Cluster,
    resources: Sequence[ConfigResource],
    deadline: float,
    *,
    keys: Sequence[str] | None = None,
    synonyms: bool = False,
    documentation: bool = False,
) -> Callable[[], dict[ConfigResource, list[ConfigEntry] | KcliError]]:
    """Asks for the entries of each resource (only those named in ``keys``), and returns what waits for the responses:
    the entries or the error, NotFoundError if the resource is unknown.
    """
    names = None if keys is None else list(keys)

    def ask(_broker: Broker, items: Items[ConfigResource, None]) -> Iterator[Part[ConfigResource]]:
        for some in portions(items):
            rows = [
                DescribeConfigsResource(
                    resource_type=int(resource.kind), resource_name=resource.name, configuration_keys=names
                )
                for resource, _ in some
            ]
            request = DescribeConfigsRequest(
                resources=rows, include_synonyms=synonyms, include_documentation=documentation
            )
            yield Part(request, [resource for resource, _ in some])

    def read(
        response: DescribeConfigsResponse, part: Part[ConfigResource]
    ) -> Iterator[tuple[ConfigResource, int | KcliError, list[ConfigEntry]]]:
        known = _by_wire(part.keys)
        for row in response.results:
            resource = known.get((row.resource_type, row.resource_name))
            if resource is None and row.resource_type == _UNKNOWN:
                resource = next((one for one in known.values() if one.name == row.resource_name), None)
            if resource is not None:
                needs = _needs(resource, "DESCRIBE_CONFIGS")
                outcome = verdict(
                    row.error_code, f"describing the configuration of {resource}", row.error_message, needs
                )
                entries = [_entry(config, resource) for config in row.configs]
                if resource.kind is ConfigKind.BROKER_LOGGER:
                    entries = _with_parents(entries)
                yield resource, outcome, entries

    wanted = dict.fromkeys(resources)
    return _begin_each(cluster, wanted, ask, read, deadline, "reading the configuration of")


def begin_topic_configs(
    cluster: Cluster, names: Sequence[str], deadline: float, *, keys: Sequence[str] | None = None
) -> Callable[[], dict[str, list[ConfigEntry] | KcliError]]:
    """Asks for the entries of each topic, all ``keys`` or these, and returns what waits for the responses."""
    resources = [ConfigResource(ConfigKind.TOPIC, name) for name in names]
    finish = begin_describe_configs(cluster, resources, deadline, keys=keys)
    return lambda: {r.name: entries for r, entries in finish().items()}


def alter_configs(
    cluster: Cluster,
    changes: Mapping[ConfigResource, Sequence[ConfigChange]],
    deadline: float,
    *,
    validate_only: bool = False,
) -> dict[ConfigResource, KcliError | None]:
    """Changes single keys (IncrementalAlterConfigs, KIP-339), or only validates. None on success.

    Keys that are not named stay as they are. All changes of a resource are applied, or none. A change repeated because
    of a lost response has the same effect again.
    """
    # Few runs need it.
    from kcli.core.protocol.messages.incremental_alter_configs import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )

    def ask(
        _broker: Broker, items: Items[ConfigResource, Sequence[ConfigChange]]
    ) -> Iterator[Part[ConfigResource]]:
        for some in portions(items, len):
            rows = [
                AlterConfigsResource(
                    resource_type=int(resource.kind),
                    resource_name=resource.name,
                    configs=[
                        AlterableConfig(name=change.name, config_operation=int(change.op), value=change.value)
                        for change in wanted
                    ],
                )
                for resource, wanted in some
            ]
            request = IncrementalAlterConfigsRequest(resources=rows, validate_only=validate_only)
            yield Part(request, [resource for resource, _ in some])

    def read(
        response: "IncrementalAlterConfigsResponse", part: Part[ConfigResource]
    ) -> Iterator[tuple[ConfigResource, int | KcliError, None]]:
        known = _by_wire(part.keys)
        for row in response.responses:
            if resource := known.get((row.resource_type, row.resource_name)):
                what = f"changing the configuration of {resource}"
                needs = _needs(resource, "ALTER_CONFIGS")
                yield resource, verdict(_code(row), what, row.error_message, needs), None

    return _of_each(cluster, changes, ask, read, deadline, "changing the configuration of")


def list_config_resources(cluster: Cluster, kind: ConfigKind, deadline: float) -> list[str]:
    """The names that have a configuration of this kind, sorted: subscriptions of client metrics (KIP-714) since Kafka
    3.7, other kinds since 4.1 (KIP-1142).
    """
    # Few runs need it.
    from kcli.core.protocol.messages.list_config_resources import ListConfigResourcesRequest

    what = f"listing {kind.name.lower().replace('_', ' ')} configurations"
    request = ListConfigResourcesRequest(resource_types=[int(kind)])
    if kind is not ConfigKind.CLIENT_METRICS:
        request.require_version(1)

    def check(response: "ListConfigResourcesResponse") -> list[str]:
        if response.error_code != NONE:
            raise BrokerError(response.error_code, what, needs=[on_cluster("DESCRIBE_CONFIGS")])
        return sorted(
            row.resource_name for row in response.config_resources if row.resource_type == int(kind)
        )

    try:
        return cluster.call(lambda: cluster.send(request), check, deadline, what)
    except UnsupportedError as error:
        raise _too_old(kind, error) from None


def _too_old(kind: ConfigKind, error: UnsupportedError) -> UnsupportedError:
    if kind is ConfigKind.CLIENT_METRICS:
        why, do = "client metrics have configurations since Kafka 3.7", "use newer brokers"
    else:
        why = "brokers list what has a configuration since Kafka 4.1"
        do = "use newer brokers, or name the groups: `kcli configs describe groups NAME`"
    return UnsupportedError(error.what, why=f"{error.why}; {why}", do=do)


def _code(row: "AlterConfigsResourceResponse") -> int:
    """Brokers before 3.3 report a value that they reject as an invalid request, and say so in the message."""
    rejected = row.error_code == INVALID_REQUEST and (row.error_message or "").startswith(
        "Invalid config value"
    )
    return INVALID_CONFIG if rejected else row.error_code


def _needs(resource: ConfigResource, operation: str) -> list[Permission]:
    return [on_topic(operation, resource.name), on_group(operation, resource.name), on_cluster(operation)]


def _of_each(
    cluster: Cluster,
    resources: Mapping[ConfigResource, V],
    ask: Ask[ConfigResource, V],
    read: Read[ConfigResource, A],
    deadline: float,
    what: str,
) -> dict[ConfigResource, A | KcliError]:
    """The result for each resource from its broker; NotFoundError if there is no such resource."""
    return _begin_each(cluster, resources, ask, read, deadline, what)()


def _begin_each(
    cluster: Cluster,
    resources: Mapping[ConfigResource, V],
    ask: Ask[ConfigResource, V],
    read: Read[ConfigResource, A],
    deadline: float,
    what: str,
) -> Callable[[], dict[ConfigResource, A | KcliError]]:
    _check(resources)
    route = ToBroker[ConfigResource](cluster, lambda resource: resource.broker)
    run = FanOut(cluster, resources, route, ask, read, deadline, what)
    run.unknown = [UNKNOWN_TOPIC_OR_PARTITION]
    run.begin()
    return lambda: {resource: _not_found(resource, outcome) for resource, outcome in run.run().items()}


def _check(resources: Collection[ConfigResource]) -> None:
    for resource in resources:
        try:
            _ = resource.broker
        except ValueError:
            raise ConfigError(f"{resource.name!r} is no broker id", why="it must be a number") from None


def _by_wire(resources: Collection[ConfigResource]) -> dict[tuple[int, str], ConfigResource]:
    return {(int(resource.kind), resource.name): resource for resource in resources}


def _not_found(resource: ConfigResource, outcome: A) -> A | KcliError:
    """Replaces a broker's error for an unknown topic by the usual NotFoundError."""
    if isinstance(outcome, BrokerError) and outcome.code == UNKNOWN_TOPIC_OR_PARTITION:
        return unknown_topic(resource.name, ())
    return outcome


ROOT_LOGGER = "root"
LOG_LEVELS = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
"""The levels of broker loggers (org.apache.kafka.common.config.LogLevelConfig)."""


def _with_parents(entries: Sequence[ConfigEntry]) -> list[ConfigEntry]:
    """Loggers with where their level comes from: brokers do not say which of them have one of their own.

    One with the level of the logger above it (``a.b`` is above ``a.b.C``, ``root`` above all) counts as a default: it
    has no level of its own, or the same. That level is its synonym.
    """
    levels = {entry.name: entry.value for entry in entries}
    return [_with_parent(entry, levels) for entry in entries]


def _with_parent(entry: ConfigEntry, levels: Mapping[str, str | None]) -> ConfigEntry:
    if entry.name == ROOT_LOGGER:
        return replace(entry, type="string")
    parent = entry.name
    while parent != ROOT_LOGGER:
        parent = parent.rpartition(".")[0] or ROOT_LOGGER
        if parent in levels:
            break
    above = levels.get(parent)
    inherits = above == entry.value
    own = () if inherits else ((entry.name, entry.value, entry.source),)
    return replace(
        entry,
        type="string",
        source=_SOURCES[5] if inherits else entry.source,
        synonyms=(*own, (parent, above, _SOURCES[5])),
    )


def _entry(row: DescribeConfigsResourceResult, resource: ConfigResource) -> ConfigEntry:
    source = _SOURCES.get(row.config_source, "unknown")
    return ConfigEntry(
        name=row.name,
        value=row.value,
        source=source,
        is_sensitive=row.is_sensitive,
        read_only=row.read_only,
        type=_TYPES.get(row.config_type, "") if row.config_type else "",
        documentation=row.documentation or "",
        synonyms=tuple((s.name, s.value, _SOURCES.get(s.source, "unknown")) for s in row.synonyms),
        own_source=resource.own_source,
    )
