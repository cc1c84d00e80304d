"""Everything that may give client options, and what it gives: pairs of each source, weakest first. Pure: the environment,
a reader of files and a finder of sandboxes are handed in.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.files.reading import FileState
from kcli.profiles.environment import kafka_pairs, kcli_pairs
from kcli.profiles.java_keys import JAVA_SASL_KEYS
from kcli.profiles.pairs import COMMAND_LINE, Pair, Report, raise_error
from kcli.profiles.profile import Profile
from kcli.profiles.properties import parse_properties, split_pair
from kcli.profiles.sifting import chosen_protocol

if TYPE_CHECKING:
    from kcli.profiles.config_file import ConfigFile


FLAGS = {
    "bootstrap.servers": "-b",
    "client.id": "--client-id",
    "allow.plaintext.secrets": "--allow-plaintext-secrets",
}
"""Options with a flag of their own, which is their origin."""


def _no_state(_path: str) -> FileState | None:
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
    file_state: Callable[[str], FileState | None] = _no_state
    """Owner and mode of a file that was read."""
    config_files: "Callable[[Report], Sequence[ConfigFile]]" = _no_files
    """The ``config.toml`` of the user, then that of the system: those that exist."""
    find_sandbox: Callable[[], tuple[str, Mapping[str, str]] | None] = lambda: None
    """Name and client options of a running sandbox."""
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
    user: int = -1


class Gathered(NamedTuple):
    """``ranked`` holds the pairs of each kind of source, weakest first; ``profile`` is the chosen one."""

    ranked: list[list[Pair]]
    kafka: list[Pair]
    profile: Profile | None
    configs: "Sequence[ConfigFile]"


def gather(sources: Sources, warnings: list[str], report: Report = raise_error) -> Gathered:
    """Reads all sources."""
    configs = sources.config_files(report)
    profile = _profile(sources, configs, report)
    kafka = list(kafka_pairs(sources.environ))
    flags = [Pair(key, text, FLAGS[key]) for key, text in sources.flags.items() if text is not None]
    ranked = [
        kafka,
        *(config.defaults(report) for config in reversed(configs)),
        list(profile.pairs) if profile is not None else [],
        list(kcli_pairs(sources.environ, warnings)),
        files := list(_files(sources, report)),
        properties := list(_properties(sources, report)),
        flags,
    ]
    if sources.broker_option:
        _refuse_brokers([*([] if sources.files_from_variable else files), *properties], sources, report)
    if sources.profile_required and profile is not None:
        brokers = [pair for pair in profile.pairs if pair.key in BROKERS]
        ranked = [[pair for pair in pairs if pair.key not in BROKERS] for pairs in ranked] + [brokers]
    protocol, rank_of_protocol = chosen_protocol(ranked)
    for rank in range(0 if protocol.startswith("SASL") else rank_of_protocol):
        ranked[rank] = [pair for pair in ranked[rank] if pair.key not in JAVA_SASL_KEYS]  # overruled
    return Gathered([_translated(pairs, report) for pairs in ranked], kafka, profile, configs)


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


BROKERS = frozenset(("bootstrap.servers", "metadata.broker.list", "bootstrap.server"))


def _profile(sources: Sources, configs: "Sequence[ConfigFile]", report: Report) -> Profile | None:
    """The chosen profile; the user's own one where both files have it."""
    name, chooser = sources.profile or "", sources.profile_option
    if not name and not sources.ignores_current:
        name, chooser = sources.environ.get("KCLI_PROFILE", ""), "KCLI_PROFILE"
        for config in configs:
            if not name:
                name, chooser = config.current, f"current in {config.origin('current')}"
    if not name:
        return None
    for config in configs:
        if name in config.names:
            return config.profile(name, report)
    report(no_profile(name, [known for config in configs for known in config.names], chooser))
    return None


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


def _files(sources: Sources, report: Report) -> Iterator[Pair]:
    for path in sources.files:
        try:
            text = sources.read_file(path)
        except ConfigError as error:
            report(error)
            continue
        yield from parse_properties(text, path, report)


def _properties(sources: Sources, report: Report) -> Iterator[Pair]:
    for text in sources.properties:
        try:
            yield split_pair(text, COMMAND_LINE)
        except ConfigError as error:
            report(error)
