"""The resolved configuration of a run: who said what, strongest first, and what follows from it.

Own flags, -X, -F, KCLI_*, KAFKA_*, a running sandbox. Pure: the environment, a reader of files and a finder of
sandboxes are handed in. Nothing here or anywhere assumes localhost:9092.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.core.options import ClientOptions, build, field_of, is_option, key_of, parse_pairs
from kcli.profiles.properties import parse_properties, split_pair
from kcli.profiles.sifting import COMMAND_LINE, Pair, is_unsupported, sifted
from kcli.serde.registry.keys import is_registry_key

O = TypeVar("O", bound=ClientOptions)  # noqa: E741

KCLI_FLAGS = {
    "KCLI_BOOTSTRAP_SERVER": "bootstrap.servers",
    "KCLI_BOOTSTRAP_SERVERS": "bootstrap.servers",
    "KCLI_CLIENT_ID": "client.id",
}
KCLI_OTHER = frozenset(
    ("KCLI_COMMAND_CONFIG", "KCLI_TIMEOUT", "KCLI_COLOR", "KCLI_PROGRESS", "KCLI_PAGER", "KCLI_PROFILE")
) | {"KCLI_IMPL", "KCLI_NO_EXT", "KCLI_CACHE"}
KAFKA_PREFIXES = ("KAFKA_SSL_", "KAFKA_SASL_")
KAFKA_NAMES = ("KAFKA_BOOTSTRAP_SERVERS", "KAFKA_SECURITY_PROTOCOL")
NO_PROFILES = "profiles are not supported yet by this version of kcli"


@dataclass(slots=True, eq=False, repr=False)
class Resolved:
    """``values`` by field name, ``origins`` likewise; ``ignored`` (key, origin) of other clients' options that mean
    nothing here; ``notes`` and ``warnings`` to say.
    """

    values: dict[str, Any]
    origins: dict[str, str]
    ignored: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    registry: dict[str, Any] = field(default_factory=dict)
    """Likewise for the schema registry, which is no Kafka client; ``registry_origins`` too."""
    registry_origins: dict[str, str] = field(default_factory=dict)

    def options(self, kind: type[O], own: Mapping[str, Any] | None = None, without: Container[str] = ()) -> O:
        """The options of one client; ``own`` are a command's own flags, None meaning unsaid. ``without``: field names
        that this client does not take from the configuration.
        """
        configured = {name: value for name, value in self.values.items() if name not in without}
        said = {name: value for name, value in (own or {}).items() if value is not None}
        return build(kind, configured | said)


@dataclass(slots=True, eq=False, repr=False)
class Sources:
    """Everything that may say something; see ``resolve``."""

    flags: Mapping[str, str | None] = field(default_factory=dict)
    properties: Sequence[str] = ()
    files: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    read_file: Callable[[str], str] = str
    find_sandbox: Callable[[], tuple[str, Mapping[str, str]] | None] = lambda: None
    """Name and client options of a running sandbox."""
    find_profiles: Callable[[], str | None] = lambda: None
    """The path of a ``config.toml`` that exists, None without one."""


def resolve(sources: Sources, *, need_broker: bool = True) -> Resolved:
    """The configuration that results; ConfigError for an unknown key or value, for one that this version cannot obey,
    or without any broker.

    ``flags`` maps a key (``bootstrap.servers``) to the value of the flag with that name, or None.
    """
    warnings: list[str] = []
    details: list[str] = []
    _refuse_profile(sources.environ)
    kafka = list(_kafka(sources.environ, details))
    ranked = (
        kafka,
        list(_kcli(sources.environ, warnings)),
        list(_files(sources)),
        [(*split_pair(text, COMMAND_LINE), COMMAND_LINE) for text in sources.properties],
        [(key, text, "a flag") for key, text in sources.flags.items() if text is not None],
    )
    strong = [pair for pairs in ranked[1:] for pair in pairs]
    registry, registry_origins = _registry([pair for pair in strong if is_registry_key(pair[0])], warnings)
    pairs, ignored = sifted(ranked)
    values = parse_pairs(pairs)
    origins = {field_of(key).name: origin for key, _text, origin in pairs}
    notes = _said(origins, kafka)
    if sources.flags.get("bootstrap.servers") == "":
        raise ConfigError(
            "-b names no broker",
            why="its value is empty; perhaps a variable is not set",
            do="give HOST:PORT, or leave -b out to use what else is configured",
        )
    if need_broker:
        named = any(key == "bootstrap.servers" for key, text, _origin in strong if text)
        notes += _unread_profiles(sources.find_profiles(), broker_named=named)
    if need_broker and not values.get("bootstrap_servers"):
        found = sources.find_sandbox()
        if not found:
            raise no_broker()
        name, texts = found
        weakest = [(key, text, f"sandbox {name}") for key, text in texts.items()]
        values.pop("bootstrap_servers", None)  # empty
        values = {**parse_pairs(weakest), **values}
        for key, _text, origin in weakest:
            origins.setdefault(field_of(key).name, origin)
        origins["bootstrap_servers"] = f"sandbox {name}"
    return Resolved(
        values, origins, ignored, tuple(notes), tuple(warnings), tuple(details), registry, registry_origins
    )


def _refuse_profile(environ: Mapping[str, str]) -> None:
    name = environ.get("KCLI_PROFILE")
    if name:
        raise ConfigError(
            f"KCLI_PROFILE={name}: {NO_PROFILES}",
            why="going on without it would mean another cluster than the profile's",
            do="unset KCLI_PROFILE; name the brokers with -b HOST:PORT, and a file of client options with -F FILE",
        )


def _unread_profiles(path: str | None, *, broker_named: bool) -> list[str]:
    """What to note about a ``config.toml`` where the broker is named otherwise; ConfigError where it is not."""
    if path is None:
        return []
    if broker_named:
        return [f"{path} is not read: {NO_PROFILES}"]
    raise ConfigError(
        f"{path} cannot be used: {NO_PROFILES}",
        why="going on without it would mean another cluster than the one it names",
        do="name the brokers with -b HOST:PORT or KCLI_BOOTSTRAP_SERVER, or move the file away",
    )


def no_broker() -> ConfigError:
    """Nobody named a broker."""
    return ConfigError(
        "no broker is named",
        why="kcli never guesses an address, and no sandbox is running",
        do="name one with -b HOST:PORT, or KCLI_BOOTSTRAP_SERVER, or bootstrap.servers in a file given with -F; "
        "or start one here: kcli sandbox up",
    )


def _registry(pairs: Sequence[Pair], warnings: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Values and origins of the registry's options, by field name."""
    if not pairs:
        return {}, {}
    from kcli.serde.registry.options import (  # rare: most runs name no registry
        parse_registry_pairs,
        registry_field,
    )

    values = parse_registry_pairs(pairs)
    for key, text, origin in pairs:
        field = registry_field(key)
        secret = field.metadata["secret"] or (field.name == "schema_registry_url" and "@" in text)
        if origin == COMMAND_LINE and secret:
            warnings.append(
                f"{key} on the command line can be seen by all on this machine: put it into a file, -F FILE"
            )
    return values, {registry_field(key).name: origin for key, _text, origin in pairs}


def _files(sources: Sources) -> Iterator[Pair]:
    for path in sources.files:
        yield from parse_properties(sources.read_file(path), path)


def _kcli(environ: Mapping[str, str], warnings: list[str]) -> Iterator[Pair]:
    for name in sorted(environ):
        text = environ[name]
        if not name.startswith("KCLI_") or not text:
            continue
        if name.startswith("KCLI_X_"):
            yield _spelled(name, "KCLI_X_"), text, name
        elif name in KCLI_FLAGS:
            yield KCLI_FLAGS[name], text, name
        elif name not in KCLI_OTHER and not name.startswith("KCLI_TEST_"):
            near = near_names(name, [*KCLI_FLAGS, *KCLI_OTHER])
            hint = f"; did you mean {near[0]}?" if near else ""
            warnings.append(f"the environment variable {name} means nothing to kcli{hint}")


def _kafka(environ: Mapping[str, str], details: list[str]) -> Iterator[Pair]:
    """Variables that others set for their own use: what is no option of a client is no error, but is told at -v."""
    for name in sorted(environ):
        if not environ[name] or not (name in KAFKA_NAMES or name.startswith(KAFKA_PREFIXES)):
            continue
        key = _spelled(name, "KAFKA_")
        if is_option(key) or is_unsupported(key):
            yield key, environ[name], name
        else:
            details.append(f"{name} in the environment is not used: no client option has this name")


def _spelled(name: str, prefix: str) -> str:
    """``KCLI_X_SASL_MECHANISM`` → ``sasl.mechanism``."""
    return name.removeprefix(prefix).lower().replace("_", ".")


def _said(origins: Mapping[str, str], kafka: Sequence[Pair]) -> list[str]:
    """One line for the KAFKA_* variables that took effect."""
    used = [name for key, _text, name in kafka if is_option(key) and origins.get(field_of(key).name) == name]
    return [f"using {', '.join(used)} from the environment"] if used else []


def origin_lines(resolved: Resolved, remarks: Mapping[str, str] | None = None) -> list[str]:
    """``key = value (origin)`` lines, secrets hidden: for ``--debug=conf``. ``remarks``, by field name, say why a value
    does not count.
    """
    lines = []
    for name, value in sorted(resolved.values.items()):
        secret = field_of(key_of(name)).metadata["secret"]
        remark = f", {remarks[name]}" if remarks and name in remarks else ""
        lines.append(f"{key_of(name)} = {'(hidden)' if secret else value} ({resolved.origins[name]}{remark})")
    if resolved.registry:
        lines += _registry_lines(resolved)
    return lines


def _registry_lines(resolved: Resolved) -> list[str]:
    from kcli.serde.registry.addresses import without_secrets  # rare: --debug=conf with a registry
    from kcli.serde.registry.options import registry_field

    lines = []
    for name, value in sorted(resolved.registry.items()):
        key = key_of(name)
        shown = "(hidden)" if registry_field(key).metadata["secret"] else value
        shown = without_secrets(shown) if name == "schema_registry_url" else shown
        lines.append(f"{key} = {shown} ({resolved.registry_origins[name]})")
    return lines
