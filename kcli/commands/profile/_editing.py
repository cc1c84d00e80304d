"""What ``kcli profile use``, ``add``, ``copy``, ``rename`` and ``remove`` do: the user's ``config.toml`` is changed under
a lock.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.sources import sources_of
from kcli.commands.shared.usage import usage
from kcli.core.errors import ConfigError
from kcli.core.options import option_field, parse_value
from kcli.files.atomic import FileError, replace_file
from kcli.files.lock import file_lock
from kcli.files.user_file import read_bounded
from kcli.files.xdg import state_home
from kcli.profiles.config_file import ConfigFile, check_marks
from kcli.profiles.editing import Value, renamed_profile, with_current, with_profile, without_profile
from kcli.profiles.importing.checking import check_name
from kcli.profiles.java_sasl import translated
from kcli.profiles.profile import MARKS, Pair, Profile, raise_error
from kcli.profiles.properties import parse_properties, split_pair
from kcli.profiles.proxy_login import split_login
from kcli.profiles.resolve import resolve
from kcli.profiles.secret_keys import JAAS, PROXY, absolute, holds_secret, secret_source
from kcli.profiles.sources import (
    BROKERS,
    FLAGS,
    SANDBOX,
    SourceFiles,
    config_paths,
    is_sandbox,
    no_profile,
    sandbox_profile,
)
from kcli.sandbox.discovery import options_of

_LOCK_PATIENCE = 10.0
_BOOLEANS = {"true": True, "false": False}


def use(inv: Invocation, name: str) -> int:
    """Makes a profile the current one."""
    with edited(inv) as change:
        names = [known for config in SourceFiles().configs(raise_error) for known in config.names]
        if is_sandbox(name):
            sandbox_profile(name, options_of)
        elif name not in names:
            raise no_profile(name, names)
        change(lambda text: with_current(text, name), f"{name} is the current profile")
    if os.environ.get("KCLI_PROFILE") not in (None, "", name):
        inv.talk.warn(f"KCLI_PROFILE={os.environ['KCLI_PROFILE']} is set, and overrides the current profile")
    return 0


def add(inv: Invocation, name: str, *, replace: bool) -> int:
    """Adds a profile with the options of the command line."""
    check_name(name)
    pairs = _given(inv)
    if not pairs:
        raise usage(
            "profile add: the profile would be empty",
            why="no option is given",
            do=f"`kcli profile add {name} -b HOST:PORT`",
        )
    _check(inv, pairs)
    with edited(inv) as change:
        if replace:
            check_replacement(inv, [name])
        change(
            lambda text: with_profile(text, name, [typed(*pair) for pair in pairs], replace=replace),
            f"profile {name} {'replaced' if replace else 'added'}; use it with --profile {name}, "
            f"or for all commands: kcli profile use {name}",
        )
    warn_of_plain_secrets(inv, pairs)
    if not any(pair.key in BROKERS and pair.text for pair in pairs):
        inv.talk.warn(f"profile {name} names no broker: commands need -b with it")
    return 0


def remove(inv: Invocation, name: str) -> int:
    """Removes a profile, after a question."""
    with edited(inv) as change:
        own, configs = config_paths()[0], _by_path()
        _check_own(name, "removed", configs)
        profile = configs[own].profile(name, lambda _error: None)
        lines = _described(profile, "Remove")
        if configs[own].current == name:
            lines.append("It is the current profile; no other becomes the current one.")
        if not _confirmed(inv, profile, lines, "Remove"):
            return 0
        change(lambda text: without_profile(text, name), f"profile {name} removed")
    return 0


def copy(inv: Invocation, source: str, target: str, *, replace: bool) -> int:
    """Adds a profile with all that another one has."""
    check_name(target)
    with edited(inv) as change:
        configs = _by_path()
        if is_sandbox(source):
            raise _no_sandbox(source, "copied")
        found = next((config for config in configs.values() if source in config.names), None)
        if found is None:
            raise no_profile(source, [name for config in configs.values() for name in config.names])
        if source == target and found.path == config_paths()[0]:
            raise _same_name(source, "copied")
        if replace:
            check_replacement(inv, [target])
        pairs = _all_pairs(found.profile(source, raise_error))
        change(
            lambda text: with_profile(text, target, [typed(*pair) for pair in pairs], replace=replace),
            f"profile {source} copied to {target}",
        )
    warn_of_plain_secrets(inv, pairs)
    return 0


def rename(inv: Invocation, old: str, new: str) -> int:
    """Gives a profile of the user another name; the current one stays current."""
    check_name(new)
    with edited(inv) as change:
        configs = _by_path()
        _check_own(old, "renamed", configs)
        if old == new:
            raise _same_name(old, "renamed")
        current = next((config.current for config in configs.values() if config.current), "")
        change(
            lambda text: renamed_profile(text, old, new, current=current == old),
            f"profile {old} renamed to {new}" + (", which is the current profile" if current == old else ""),
        )
    for config in list(configs.values())[1:]:
        if old in config.names:
            inv.talk.warn(
                f"{old} is the profile of {config.path} from now on, which the renamed one had hidden"
            )
    if os.environ.get("KCLI_PROFILE") == old:
        inv.talk.warn(f"KCLI_PROFILE={old} is set, and does not name {new}")
    return 0


def _all_pairs(profile: Profile) -> list[Pair]:
    """The options and the marks of a profile."""
    marks = []
    for mark, origin in profile.mark_origins.items():
        value = getattr(profile, mark)
        marks.append(Pair(mark, str(value).lower() if isinstance(value, bool) else value, origin))
    return [*profile.pairs, *marks]


def _by_path() -> dict[str, ConfigFile]:
    return {config.path: config for config in SourceFiles().configs(raise_error)}


def _check_own(name: str, done: str, configs: Mapping[str, ConfigFile]) -> None:
    """ConfigError unless the user's own file has the profile."""
    own = config_paths()[0]
    names = configs[own].names if own in configs else ()
    if is_sandbox(name):
        raise _no_sandbox(name, done)
    if name not in names:
        elsewhere = [config.path for config in configs.values() if name in config.names]
        if elsewhere:
            raise ConfigError(
                f"profile {name} is not {done}",
                why=f"it is in {elsewhere[0]}, which belongs to the system",
                do="ask who administers this machine",
            )
        raise no_profile(name, list(names))


def _no_sandbox(name: str, done: str) -> ConfigError:
    if done == "removed":
        do = f"`kcli sandbox down {name.removeprefix(SANDBOX)}` stops it"
    else:
        do = "add a profile with its address, and the options of its client"
    return ConfigError(f"{name} is not {done}", why="it is a sandbox, which no file of profiles has", do=do)


def _same_name(name: str, done: str) -> ConfigError:
    return ConfigError(
        f"profile {name} is not {done}", why="both names are the same", do="choose another name"
    )


def check_replacement(inv: Invocation, names: Iterable[str]) -> None:
    """An error unless the user's profiles with these names may be replaced: the name of a protected one is confirmed."""
    own = config_paths()[0]
    for config in SourceFiles().configs(raise_error):
        for name in names if config.path == own else ():
            if name not in config.names:
                continue
            profile = config.profile(name, lambda _error: None)
            if profile.protected:
                _confirmed(inv, profile, _described(profile, "Replace"), "Replace")


def _described(profile: Profile, act: str) -> list[str]:
    """A plan: all that the profile has, its marks too."""
    lines = [f"{act} profile {profile.name} ({profile.origin}):"]
    lines += [f"  {pair.key} = {shown(pair)}" for pair in split_login(profile.pairs)]
    for mark in profile.mark_origins:
        value = getattr(profile, mark)
        lines.append(f"  {mark} = {str(value).lower() if isinstance(value, bool) else value}")
    return lines


def _confirmed(inv: Invocation, profile: Profile, lines: list[str], act: str) -> bool:
    danger = f"Profile {profile.name} is protected" if profile.protected else None
    name = profile.name if profile.protected else None
    return confirm(inv, "\n".join(lines), f"{act} profile {profile.name}?", name=name, danger=danger)


def shown(pair: Pair) -> str:
    """The value, hidden if it is a secret; where a secret is read from."""
    try:
        source = secret_source(*pair)
    except ConfigError:
        source = None
    if source is not None:
        return str(source)
    return "(hidden)" if holds_secret(pair.key, pair.text) else pair.text


def typed(key: str, text: str, _origin: str = "") -> tuple[str, Value]:
    """The pair as it is written: numbers and true or false without quotes."""
    name = "cluster_id" if key == "cluster.id" else key
    if key in MARKS:
        return name, _BOOLEANS.get(text, text)
    option = option_field(key)
    value = parse_value(option, text) if option is not None and not holds_secret(key, text) else text
    if isinstance(value, bool) or (
        option is not None and option.metadata["choices"] and isinstance(value, str)
    ):
        return name, value
    return name, int(text) if isinstance(value, int | float) and text.isdigit() else text


_INSIDE = {PROXY: "proxy.password", JAAS: "sasl.password"}
"""By an option whose text contains a secret: the option that is only that, and may be read from elsewhere."""


def warn_of_plain_secrets(inv: Invocation, pairs: list[Pair]) -> None:
    """Says which secrets are in the file now."""
    keys = [pair.key for pair in pairs if holds_secret(pair.key, pair.text)]
    if keys:
        are = "is" if len(keys) == 1 else "are"
        secret = _INSIDE.get(keys[0], keys[0])
        inv.talk.warn(
            f"{', '.join(keys)} {are} in {config_paths()[0]} in plain text, which only you can read (0600); "
            f"{secret}_command, {secret}_file and keyring: keep such a secret elsewhere"
        )


@contextmanager
def edited(inv: Invocation) -> Iterator[Callable[[Callable[[str], str], str], None]]:
    """``change(edit, done)`` writes what ``edit`` makes of the text of the user's file and says ``done``, under a lock.

    With ``--dry-run`` it writes nothing.
    """
    path = os.path.realpath(config_paths()[0])

    def change(edit: Callable[[str], str], done: str) -> None:
        text = _text(path)
        ConfigFile(path, text, raise_error)
        new = edit(text)
        if inv.dry_run:
            inv.talk.note(f"would be done: {done}")
            return
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            replace_file(path, new.encode())
        except OSError as error:
            raise FileError(
                f"cannot write {path}",
                why=error.strerror or str(error),
                do="free space there, or check who may write to the folder",
            ) from None
        inv.talk.note(done)

    try:
        state_home().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot make {state_home()}",
            why=f"{error.strerror or error}; it is for the lock of changes of profiles",
            do="check HOME and XDG_STATE_HOME",
        ) from None
    with file_lock(state_home() / "config.lock", timeout=_LOCK_PATIENCE, doing="changing profiles"):
        yield change


def _text(path: str) -> str:
    if not os.path.lexists(path):
        return ""
    try:
        return read_bounded(path)[0].decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read {path}", why=str(error), do="correct the file, or move it away"
        ) from None


def _given(inv: Invocation) -> list[Pair]:
    """The options of this command line, each key once; JAAS becomes user and password, paths are absolute."""
    values = inv.values
    pairs: list[Pair] = []
    files = SourceFiles()
    for path in values.command_config:
        file = parse_properties(files.properties(path), path)
        pairs += file.pairs
        inv.talk.detail(file.reading)
    pairs += [split_pair(text, "-X") for text in values.command_property]
    flags = {
        "bootstrap.servers": values.bootstrap_server,
        "client.id": values.client_id,
        "map.address": ",".join(values.map_address) or None,
        "allow.plaintext.secrets": "true" if values.allow_plaintext_secrets else None,
    }
    pairs += [Pair(key, text, FLAGS[key]) for key, text in flags.items() if text is not None]
    renamed = [pair._replace(key="cluster.id") if pair.key == "cluster_id" else pair for pair in pairs]
    here = os.getcwd()
    found = split_login(translated(renamed, raise_error))
    last = {pair.key: pair._replace(text=absolute(pair.key, pair.text, here)) for pair in found}
    return sorted(last.values(), key=lambda pair: pair.key != "bootstrap.servers")


def _check(inv: Invocation, pairs: list[Pair]) -> None:
    """ConfigError for a mark or an option that is wrong. What -X warns of is said."""
    check_marks((pair for pair in pairs if pair.key in MARKS), raise_error)
    sources = sources_of(inv.values, lambda: None)
    sources.properties = [
        text for text in sources.properties if split_pair(text, "-X").key not in (*MARKS, "cluster_id")
    ]
    sources.environ, sources.config_files, sources.profile = {}, lambda _report: (), None
    resolved = resolve(sources, need_broker=False)
    for warning in resolved.warnings:
        inv.talk.warn(warning)
    for key, origin in resolved.ignored:
        inv.talk.warn(f"{key} ({origin}) means nothing to kcli")
