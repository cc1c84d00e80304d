"""Everything that may give client options, and what it gives: pairs of each source, weakest first. The environment, a
reader of files (``SourceFiles``) and a finder of sandboxes are handed in; the rest is pure.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.core.addresses import broker_addresses
from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import ConfigError, KcliError
from kcli.core.near_names import near_names
from kcli.files.xdg import config_file
from kcli.profiles.environment import kafka_pairs, kcli_pairs
from kcli.profiles.profile import COMMAND_LINE, Pair, Profile, Report, raise_error
from kcli.profiles.secret_keys import JAVA_SASL_KEYS
from kcli.profiles.sifting import chosen_protocol

if TYPE_CHECKING:
    from kcli.files.user_file import FileState
    from kcli.profiles.config_file import ConfigFile
    from kcli.profiles.properties import PropertiesFile


FLAGS = {
    "bootstrap.servers": "-b",
    "log.dirs": "--from-dir",
    "client.id": "--client-id",
    "map.address": "--map-address",
    "allow.plaintext.secrets": "--allow-plaintext-secrets",
}
"""Options with a flag of their own, which is their origin."""

SANDBOX = "sandbox:"
"""What the name of a running sandbox begins with, where it is chosen as a profile."""


def _no_state(_path: str) -> "FileState | None":
    return None


def _no_files(_report: Report) -> "Sequence[ConfigFile]":
    return ()


@dataclass(slots=True, eq=False, repr=False)
class Sources:
    """``flags`` maps a key (``bootstrap.servers``) to the value of the flag with that name, or None."""

    flags: Mapping[str, str | None] = field(default_factory=dict)
    properties: Sequence[str] = ()
    files: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    read_file: Callable[[str], str] = str
    file_state: Callable[[str], "FileState | None"] = _no_state
    """Owner and mode of a file that was read."""
    config_files: "Callable[[Report], Sequence[ConfigFile]]" = _no_files
    """The ``config.toml`` of the user, then that of the system: those that exist."""
    find_sandbox: Callable[[], tuple[str, Mapping[str, str]] | None] = lambda: None
    """Name and client options of a running sandbox."""
    sandbox: Callable[[str], Mapping[str, str]] = lambda _name: {}
    """The client options of the running sandbox of that name; an error if it does not run."""
    profile: str | None = None
    """The profile that ``profile_option`` names."""
    profile_option: str = "--profile"
    broker_option: str = ""
    """The option with which a command names the brokers itself: those of ``properties`` and ``files`` are refused."""
    files_from_variable: bool = False
    """``files`` were not given on the command line; their brokers are ignored where the command names its own."""
    profile_required: bool = False
    """The profile names the cluster: its brokers are stronger than those of any other source (a side of a mirror)."""
    ignores_current: bool = False
    """Only ``profile`` chooses one, no variable and no ``current``."""
    current_names_brokers: bool = False
    """A variable or ``current`` chooses a profile only if the brokers of the line are among those that it names."""
    user: int = -1


class Gathered(NamedTuple):
    """``ranked`` holds the pairs of each kind of source, weakest first; ``profile`` is the chosen one. ``details`` say
    how files were read, and which sources are not used, since a stronger one names another cluster.
    """

    ranked: list[list[Pair]]
    kafka: list[Pair]
    profile: Profile | None
    configs: "Sequence[ConfigFile]"
    details: list[str]


def gather(sources: Sources, warnings: list[str], report: Report = raise_error) -> Gathered:
    """Reads all sources. A profile describes a cluster, and so do the KAFKA_* variables with brokers among them: their
    options, secrets above all, are not for the cluster that a stronger source names.
    """
    configs = sources.config_files(report)
    kafka = list(kafka_pairs(sources.environ))
    variables = list(kcli_pairs(sources.environ, warnings))
    read = list(_files(sources, report))
    files, properties = [pair for file in read for pair in file.pairs], list(_properties(sources, report))
    warnings += [text for file in read for text in file.warnings]
    flags = [Pair(key, text, FLAGS[key]) for key, text in sources.flags.items() if text is not None]
    given = [*([] if sources.files_from_variable else files), *properties]
    if sources.broker_option:
        _refuse_brokers(given, sources, report)
    details = [file.reading for file in read]
    choice = _choice(sources, configs)
    profile = _profile(choice, sources, configs, report)
    if files and sources.files_from_variable and (reason := _not_for(sources, profile, files, flags)):
        details += [f"{path} (from {COMMAND_CONFIG}) is not used: {reason}" for path in sources.files]
        files = []
    # What stands beside it on the command line, or among the variables, does not overrule its choice.
    stronger = [*given, *flags] if choice.chooser == VARIABLE else [*variables, *files, *properties, *flags]
    if profile is not None and not sources.profile and sources.current_names_brokers:
        profile = profile if _are_brokers_of(profile, stronger) else None
    elif profile is not None and not sources.profile and (other := _other_cluster(profile.pairs, stronger)):
        details.append(
            f"profile {profile.name} (from {choice.chooser}) is not used: {other.origin} names another cluster; "
            f"{sources.profile_option} {profile.name} beside it uses the profile's options"
        )
        profile = None
    ranked = [
        *(config.defaults(report) for config in reversed(configs)),
        list(profile.pairs) if profile is not None else [],
        variables,
        files,
        properties,
        flags,
    ]
    if sources.profile_required and profile is not None:
        brokers = [pair for pair in profile.pairs if pair.key in BROKERS]
        ranked = [[pair for pair in pairs if pair.key not in BROKERS] for pairs in ranked] + [brokers]
    if other := _other_cluster(kafka, [pair for pairs in ranked for pair in pairs]):
        names = ", ".join(pair.origin for pair in kafka)
        details.append(f"{names} in the environment: not used, since {other.origin} names another cluster")
        kafka = []
    ranked.insert(0, kafka)
    protocol, rank_of_protocol = chosen_protocol(ranked)
    for rank in range(0 if protocol.startswith("SASL") else rank_of_protocol):
        ranked[rank] = [pair for pair in ranked[rank] if pair.key not in JAVA_SASL_KEYS]  # overruled
    return Gathered([_translated(pairs, report) for pairs in ranked], kafka, profile, configs, details)


def _refuse_brokers(pairs: Sequence[Pair], sources: Sources, report: Report) -> None:
    for pair in pairs:
        if pair.key in BROKERS:
            report(
                ConfigError(
                    f"{pair.key} (from {pair.origin}) names a cluster beside {sources.broker_option}",
                    why=f"{sources.broker_option} names the brokers of this side",
                    do="take it out, or name these brokers with --from or --to",
                )
            )


def _translated(pairs: list[Pair], report: Report) -> list[Pair]:
    if not any(pair.key in JAVA_SASL_KEYS for pair in pairs):
        return pairs
    from kcli.profiles.java_sasl import translated  # few starts have JAAS

    return translated(pairs, report)


LOG_DIRS = frozenset(("log.dirs", "log.dir"))
"""The options that name the log directories of a cluster, which are read instead of its brokers."""
BROKERS = frozenset(("bootstrap.servers", "metadata.broker.list", "bootstrap.server")) | LOG_DIRS
"""The options that name a cluster."""


VARIABLE = "KCLI_PROFILE"
COMMAND_CONFIG = "KCLI_COMMAND_CONFIG"
"""Names a file as ``-F`` does."""


class _Choice(NamedTuple):
    """The name of a profile, empty without one, and what chose it."""

    name: str
    chooser: str


def _choice(sources: Sources, configs: "Sequence[ConfigFile]") -> _Choice:
    found = [_Choice(sources.profile or "", sources.profile_option)]
    if not sources.ignores_current:
        found.append(_Choice(sources.environ.get(VARIABLE, ""), VARIABLE))
        found += (_Choice(config.current, f"current in {config.origin('current')}") for config in configs)
    return next((one for one in found if one.name), found[0])


def _other_cluster(own: Iterable[Pair], stronger: Iterable[Pair]) -> Pair | None:
    """The strongest of the pairs that names brokers, if one of these is not among the brokers that ``own`` has; None
    where either names no brokers. Log directories are another cluster than brokers, whatever they hold.
    """
    mine, theirs = (
        [pair for pair in pairs if pair.key in BROKERS and pair.text] for pairs in (own, stronger)
    )
    if not mine or not theirs or _addresses(theirs[-1].text) <= _addresses(mine[-1].text):
        return None
    return theirs[-1]


def _not_for(sources: Sources, profile: Profile | None, files: list[Pair], flags: list[Pair]) -> str:
    """Why the file that a variable names is not for this one of several clusters; empty where it is."""
    if sources.profile_required and profile is not None:
        return f"{sources.profile_option} names profile {profile.name}, which has options of its own"
    if sources.broker_option and _other_cluster(files, flags) is not None:
        return f"{sources.broker_option} names another cluster than its brokers"
    return ""


def _are_brokers_of(profile: Profile, stronger: Iterable[Pair]) -> bool:
    """Whether the profile names brokers, and all of the line's are among them."""
    named = any(pair.key in BROKERS and pair.text for pair in profile.pairs)
    return named and _other_cluster(profile.pairs, stronger) is None


def _addresses(servers: str) -> set[tuple[str, int]]:
    try:
        return {(host.lower(), port) for host, port in broker_addresses(servers)}
    except ConfigError:  # which is reported where they are used
        return {(servers, 0)}


def _profile(
    choice: _Choice, sources: Sources, configs: "Sequence[ConfigFile]", report: Report
) -> Profile | None:
    """The chosen profile; the user's own one where both files have it."""
    name, chooser = choice
    if not name:
        return None
    if is_sandbox(name):
        try:
            return sandbox_profile(name, sources.sandbox)
        except KcliError as error:
            report(ConfigError(f"{error.what} (from {chooser})", why=error.why, do=error.do))
            return None
    for config in configs:
        if name in config.names:
            return config.profile(name, report)
    report(no_profile(name, [known for config in configs for known in config.names], chooser))
    return None


def is_sandbox(name: str) -> bool:
    """Whether a name is that of a sandbox as a profile, ``sandbox:NAME``; ``sandbox:9092`` is the address of a broker."""
    sandbox = name.removeprefix(SANDBOX)
    return sandbox != name and not sandbox.isdecimal() and "," not in sandbox


def sandbox_profile(name: str, options_of: Callable[[str], Mapping[str, str]]) -> Profile:
    """The profile of a running sandbox; an error if it does not run."""
    sandbox = name.removeprefix(SANDBOX)
    origin = f"sandbox {sandbox}"
    return Profile(name, origin, tuple(Pair(key, text, origin) for key, text in options_of(sandbox).items()))


def no_profile(name: str, names: Sequence[str], chooser: str = "") -> ConfigError:
    """The error for a profile that does not exist."""
    near = near_names(name, names)
    known = f"there are {', '.join(dict.fromkeys(names))}" if names else "there are none"
    return ConfigError(
        f"there is no profile {name!r}" + (f" (from {chooser})" if chooser else ""),
        why=known,
        do=f"did you mean {near[0]!r}?" if near else _other_profile(names, chooser),
    )


def _other_profile(names: Sequence[str], chooser: str) -> str:
    if names and chooser.startswith("current"):
        return f"choose another one: `kcli profile use {names[0]}`, for example"
    return "`kcli profile add NAME -b HOST:PORT` makes one"


def _files(sources: Sources, report: Report) -> "Iterator[PropertiesFile]":
    for path in sources.files:
        from kcli.profiles.properties import parse_properties  # only where there is such a file

        try:
            text = sources.read_file(path)
        except ConfigError as error:
            report(error)
            continue
        yield parse_properties(text, path, report)


def _properties(sources: Sources, report: Report) -> Iterator[Pair]:
    for text in sources.properties:
        from kcli.profiles.properties import split_pair  # few runs need it

        try:
            yield split_pair(text, COMMAND_LINE)
        except ConfigError as error:
            report(error)


SYSTEM_CONFIG = "/etc/kcli/config.toml"
_PROPERTIES = "-F names a file of client options: lines KEY=VALUE, as Java's .properties or librdkafka's"
_TOML = "move it away, then `kcli profile add NAME -b HOST:PORT` writes a new one"


def config_paths() -> tuple[str, ...]:
    """The ``config.toml`` of this user and of the system, whether they exist or not."""
    return config_file(), SYSTEM_CONFIG


class SourceFiles:
    """Reads files of options; ``states`` has owner and mode of each that was read, by path."""

    def __init__(self) -> None:
        self.states: dict[str, FileState] = {}

    def properties(self, path: str) -> str:
        """The text of a file given with -F; ConfigError if it cannot be read."""
        return self._text(path, _PROPERTIES)

    def configs(self, report: Report) -> "Sequence[ConfigFile]":
        """The ``config.toml`` files that exist."""
        found = []
        for path in config_paths():
            if not os.path.lexists(path):
                continue
            from kcli.profiles.config_file import ConfigFile  # tomllib: only where there is such a file

            try:
                found.append(ConfigFile(path, self._text(path, _TOML), report))
            except ConfigError as error:
                report(error)
        return found

    def _text(self, path: str, wanted: str) -> str:
        from kcli.files.user_file import NotAFileError, TooLargeError, read_bounded  # few runs need it

        try:
            data, self.states[path] = read_bounded(path)
        except TooLargeError:
            raise ConfigError(
                f"{path} is larger than 1 MiB", why="that is no file of options", do=wanted
            ) from None
        except NotAFileError as error:
            raise ConfigError(f"{path} is no file", why=str(error), do=wanted) from None
        except OSError as error:
            raise ConfigError(f"cannot read {path}", why=error.strerror or str(error), do=wanted) from None
        return data.decode("utf-8", "replace")
