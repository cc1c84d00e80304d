"""The resolved configuration of a run: each option with the source that gave it, and what follows from it.

Flags, -X, -F, KCLI_*, the chosen profile, defaults, KAFKA_*, a running sandbox, strongest first (``sources.py``). Secrets
that are in a file, a command or the keyring stay there (``secrets.py``). Nothing here or anywhere assumes
localhost:9092.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kcli.core import classes
from kcli.core.addresses import broker_addresses, cluster_place
from kcli.core.classes import dataclass, field
from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.core.options import (
    ClientOptions,
    build,
    field_of,
    is_option,
    key_of,
    option_field,
    parse_value,
    spellings,
)
from kcli.core.secret import Secret
from kcli.profiles.one_cluster import of_one_cluster
from kcli.profiles.profile import COMMAND_LINE, MARKS, Pair, Profile, Report, raise_error
from kcli.profiles.secret_keys import (
    COMMAND,
    JAAS,
    PROXY,
    TOKEN_COMMAND,
    SecretSource,
    holds_secret,
    is_registry_key,
    secret_source,
    source_key,
)
from kcli.profiles.sifting import check_literal, check_protocol, is_refused, sifted, without_other_mechanisms
from kcli.profiles.sources import BROKERS, Gathered, Sources, gather

O = TypeVar("O", bound=ClientOptions)  # noqa: E741

HIDDEN = "(hidden)"
_TOKEN_COMMAND = TOKEN_COMMAND.replace(".", "_")


@dataclass(slots=True, eq=False, repr=False)
class Resolved:
    """``values`` by field name, ``origins`` likewise; ``ignored`` (key, origin) of other clients' options that mean
    nothing here; ``notes`` and ``warnings`` to say. A value may be a ``SecretSource``, until ``revealed``.
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
    profile: Profile | None = None
    spellings: dict[str, str] = field(default_factory=dict)
    """The keys of the options of clients as their sources spell them, by field name."""
    unused: tuple[str, ...] = ()
    """What is said of options of SASL mechanisms other than the chosen one, which are ignored; ``details`` has it too."""

    @property
    def servers(self) -> str:
        """Where the cluster is, as it is named to people; empty where none is named."""
        values = self.values
        return cluster_place(str(values.get("bootstrap_servers", "")), str(values.get("log_dirs", "")))

    def spelled(self, name: str) -> str:
        """The key of an option, as it was given."""
        return self.spellings.get(name, key_of(name))

    @property
    def refused(self) -> frozenset[str]:
        """The field names of options whose values were refused, where the errors are collected."""
        return frozenset(self.spellings) - self.values.keys() - self.registry.keys()

    def options(self, kind: type[O], own: Mapping[str, Any] | None = None, without: Container[str] = ()) -> O:
        """The options of one client; ``own`` are a command's own flags, None meaning unsaid. ``without``: field names
        that this client does not take from the configuration.
        """
        configured = {name: value for name, value in self.values.items() if name not in without}
        said = {name: value for name, value in (own or {}).items() if value is not None}
        return build(kind, configured | said)

    def revealed(self, read: Callable[[SecretSource], Any]) -> "Resolved":
        """The same with the secrets themselves, as ``read`` returns them, without those that are not used."""
        values = {}
        for name, value in self.values.items():
            if not isinstance(value, SecretSource):
                values[name] = value
            elif self.uses(name):
                values[name] = read(value)
        return classes.replace(self, values=values)

    @property
    def has_secrets(self) -> bool:
        """Whether a client has secrets: among its options, or tokens and keys that its mechanism fetches."""
        given = any(isinstance(value, Secret) and value for value in self.values.values())
        return given or (self.uses("sasl_mechanism") and bool(self.values.get("sasl_mechanism")))

    def uses(self, name: str) -> bool:
        """Whether the security protocol leaves an option its meaning."""
        protocol = str(self.values.get("security_protocol", "PLAINTEXT"))
        if name.startswith("sasl_"):
            return protocol.startswith("SASL_")
        return not (name.startswith("ssl_") or "_ssl_" in name) or protocol.endswith("SSL")


def resolve(sources: Sources, *, need_broker: bool = True, report: Report = raise_error) -> Resolved:
    """The configuration that results. ``report`` is called with the ConfigError for an unknown key or value, for one that
    this version cannot obey, for a file that is not safe, and without any broker.
    """
    warnings: list[str] = []
    found = gather(sources, warnings, report)
    details = [] if found.profile is None else [f"profile {found.profile.name} ({found.profile.origin})"]
    details += [*found.details, *_unused_kafka(found)]
    ranked = [_options_only(pairs) if at == 0 else pairs for at, pairs in enumerate(found.ranked)]
    _check_files(sources, found, warnings, report)
    warnings += _seen_by_all(ranked)
    strong = [pair for pairs in ranked[1:] for pair in pairs if is_registry_key(pair.key)]
    registry, registry_origins = parsed_registry(strong, report)
    brokers = [pair for pairs in ranked for pair in pairs if pair.key in BROKERS]
    if need_broker and not brokers and found.profile is None:
        ranked = [_of_sandbox(sources), *ranked]
    ranked = of_one_cluster(ranked, report)
    if any(pair.key == PROXY for pairs in ranked for pair in pairs):
        from kcli.profiles.proxy_login import left_out, without_logins  # rare: a proxy is named

        warnings += left_out(ranked)
        ranked = without_logins(ranked)
    check_protocol(ranked, report)
    idle: list[ConfigError] = []
    pairs, ignored = sifted(without_other_mechanisms(ranked, report, idle.append), report)
    unused = tuple(f"{error}; {error.do}" for error in idle)
    values, origins = parsed(pairs, report)
    notes = _said(origins, found.kafka)
    if sources.flags.get("bootstrap.servers") == "":
        report(
            ConfigError(
                "-b names no broker",
                why="its value is empty; perhaps a variable is not set",
                do="give HOST:PORT, or leave -b out to use what else is configured",
            )
        )
    if not values.get("log_dirs"):
        values.pop("log_dirs", None)
    if not values.get("bootstrap_servers"):
        values.pop("bootstrap_servers", None)
        if need_broker and "log_dirs" not in values:
            report(no_broker(found.profile, brokers[-1] if brokers else None))
    else:
        _check_addresses(values["bootstrap_servers"], origins["bootstrap_servers"], report)
    return Resolved(
        values,
        origins,
        ignored,
        tuple(notes),
        tuple(dict.fromkeys(warnings)),
        (*details, *unused),
        registry,
        registry_origins,
        found.profile,
        {option.name: pair.key for pair in pairs if (option := option_field(pair.key)) is not None},
        unused,
    )


def _of_sandbox(sources: Sources) -> list[Pair]:
    """The options of a running sandbox, where no other source chooses a cluster: a profile that is in use is another one,
    even without brokers, and an empty value was meant to name some.
    """
    sandbox = sources.find_sandbox()
    if sandbox is None:
        return []
    name, texts = sandbox
    return [Pair(key, text, f"sandbox {name}") for key, text in texts.items()]


def _check_addresses(servers: str, origin: str, report: Report) -> None:
    """Before anything shows them: what is written there may be a password."""
    for address in [one for one in servers.split(",") if one.strip()] or [servers]:
        try:
            broker_addresses(address)
        except ConfigError as error:
            report(ConfigError(f"{error.what} (from {origin})", why=error.why, do=error.do))


class NoBrokerError(ConfigError):
    """No source names a broker."""


def no_broker(profile: Profile | None, empty: Pair | None) -> NoBrokerError:
    """``empty`` is the strongest of the pairs that were to name brokers, and name none."""
    if empty is not None:
        return NoBrokerError(
            f"{empty.key} names no broker (from {empty.origin})",
            why="its value is empty; perhaps a variable is not set",
            do="write HOST:PORT there, or take it out",
        )
    if profile is not None:
        return _no_broker_in(profile)
    return NoBrokerError(
        "no broker is named",
        why="kcli never guesses an address, and no sandbox is running",
        do="name one with -b HOST:PORT, or KCLI_BOOTSTRAP_SERVER, or bootstrap.servers in a file given with -F, "
        "or in a profile: `kcli profile add NAME -b HOST:PORT`; or start one here: `kcli sandbox up`",
    )


def _no_broker_in(profile: Profile) -> NoBrokerError:
    return NoBrokerError(
        f"profile {profile.name} names no broker",
        why=f"it has no bootstrap.servers ({profile.origin}), and no other source names one",
        do=f"add it below [profiles.{profile.name}], give -b HOST:PORT, or use another profile with --profile NAME",
    )


# --- values --------------------------------------------------------------------------------------


def parsed(pairs: Sequence[Pair], report: Report) -> tuple[dict[str, Any], dict[str, str]]:
    """Typed values and origins of clients' options by field name; a later pair wins."""
    return _parsed(pairs, _client_option, report)


def _client_option(key: str, origin: str) -> "classes.Field[Any]":
    """The option that ``key`` spells; ConfigError for the mark of a profile, also for one that is misspelt."""
    known = option_field(key)
    if known is not None:
        return known
    mark = key.replace(".", "_")
    if mark in MARKS and (mark == key or origin.startswith("KCLI_")):
        raise ConfigError(
            f"{mark} ({origin}) is no option of a client",
            why="it marks a profile",
            do="write it below [profiles.NAME]; `kcli profile add NAME -b HOST:PORT -X KEY=VALUE` does",
        )
    near = near_names(key, [*MARKS, *spellings()])
    if mark in MARKS or (near and near[0] in MARKS):
        raise ConfigError(
            f"unknown option {key!r} in {origin}",
            why="neither an option of a client nor a mark of a profile has this name",
            do=f"did you mean {mark if mark in MARKS else near[0]!r}? It marks a profile: {', '.join(MARKS)} do",
        )
    return field_of(key, origin)


def parsed_registry(pairs: Sequence[Pair], report: Report) -> tuple[dict[str, Any], dict[str, str]]:
    """Values and origins of the registry's options, by field name."""
    if not pairs:
        return {}, {}
    from kcli.serde.registry.options import registry_field  # rare: most runs name no registry

    return _parsed(pairs, registry_field, report)


def _parsed(
    pairs: Sequence[Pair], field: Callable[[str, str], "classes.Field[Any]"], report: Report
) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, text, origin in pairs:
        try:
            source = secret_source(key, text, origin)
            option = field(source.key if source else key, origin)
            check_literal(key, text, origin)
            values[option.name] = source if source else parse_value(option, text, origin)
            origins[option.name] = origin
        except ConfigError as error:
            report(error)
    return values, origins


# --- what is said --------------------------------------------------------------------------------


def _options_only(pairs: Sequence[Pair]) -> list[Pair]:
    """The KAFKA_* variables that are options of a client; others set such variables for their own use."""
    return [pair for pair in pairs if is_option(pair.key) or source_key(pair.key) or is_refused(pair.key)]


def _unused_kafka(found: Gathered) -> Iterator[str]:
    used = {pair.origin for pair in _options_only(found.ranked[0])}
    for _key, _text, name in found.kafka:
        if name not in used:
            yield f"{name} in the environment is not used: no client option has this name"


def _said(origins: Mapping[str, str], kafka: Sequence[Pair]) -> list[str]:
    """One line for the KAFKA_* variables that took effect."""
    effective = set(origins.values())
    used = [name for _key, _text, name in kafka if name in effective]
    return [f"using {', '.join(used)} from the environment"] if used else []


def _seen_by_all(ranked: Sequence[Sequence[Pair]]) -> Iterator[str]:
    """A warning for each secret on the command line."""
    for key, text, origin in (pair for pairs in ranked for pair in pairs):
        url = key.startswith(("schema.registry.url", PROXY)) and "@" in text
        if origin == COMMAND_LINE and (url or holds_secret(key, text)):
            variable = "KCLI_X_" + key.upper().replace(".", "_")
            instead = f"-X {key}_file=FILE, -X {key}_command=COMMAND, {key}=keyring:SERVICE/USER, the variable {variable}"
            yield (
                f"{key} on the command line can be seen by all users of this machine, and the shell keeps it: "
                + (f"use a file, -F FILE, or {variable}" if url or key == JAAS else f"use {instead}")
                + ("; without it kcli asks for it" if key == "sasl.password" else "")
            )


def _check_files(sources: Sources, found: Gathered, warnings: list[str], report: Report) -> None:
    """Refuses, or warns of, files with secrets that other users can read or change; and a file of profiles that every
    user can change, whatever it holds: it chooses the cluster, and what protects it. All of its profiles count.
    """
    pairs: dict[str, list[Pair]] = {path: [] for path in sources.files}
    for pair in (pair for rank in found.ranked for pair in rank):
        path, colon, _line = pair.origin.rpartition(":")
        if colon and path in pairs:
            pairs[path].append(pair)
    for path, own in pairs.items():
        _check_file(path, own, sources, warnings, report)
    for config in found.configs:
        _check_file(config.path, config.pairs(), sources, warnings, report, profiles=True)


def _check_file(
    path: str,
    pairs: Sequence[Pair],
    sources: Sources,
    warnings: list[str],
    report: Report,
    *,
    profiles: bool = False,
) -> None:
    """The same for one file with these pairs."""
    state = sources.file_state(path)
    if state is None:
        return
    from kcli.profiles.file_safety import changeable, check_content  # few runs need it

    try:
        if (text := check_content(path, state, sources.user, pairs)) is not None:
            warnings.append(text)
    except ConfigError as error:
        report(error)
        return
    if profiles and (refused := changeable(path, state, "what your commands connect to")) is not None:
        report(refused)


def origin_lines(resolved: Resolved, remarks: Mapping[str, str] | None = None) -> list[str]:
    """``key = value (origin)`` lines, secrets hidden: for ``--debug=conf``. ``remarks``, by field name, say why a value
    does not count.
    """
    lines = []
    for name, shown, _secret, origin in shown_values(resolved):
        remark = f", {remarks[name]}" if remarks and name in remarks else ""
        lines.append(f"{key_of(name)} = {shown} ({origin}{remark})")
    return lines


def shown_values(resolved: Resolved) -> Iterator[tuple[str, Any, bool, str]]:
    """(field name, value, whether it is a secret, origin) of each option, the registry's last; secrets are hidden."""
    for name, value in sorted(resolved.values.items()):
        secret = bool(field_of(key_of(name)).metadata["secret"])
        yield name, _shown(value, secret=secret, name=name), secret, resolved.origins[name]
    if resolved.registry:
        from kcli.serde.registry.addresses import without_secrets  # rare: a registry is configured
        from kcli.serde.registry.options import registry_field

        for name, value in sorted(resolved.registry.items()):
            secret = bool(registry_field(key_of(name)).metadata["secret"])
            shown = without_secrets(value) if name == "schema_registry_url" else _shown(value, secret=secret)
            yield name, shown, secret, resolved.registry_origins[name]


def _shown(value: Any, *, secret: bool, name: str = "") -> Any:
    if name == _TOKEN_COMMAND:
        return str(SecretSource(TOKEN_COMMAND, COMMAND, value, ""))
    if isinstance(value, SecretSource):
        return str(value)
    return HIDDEN if secret else value
