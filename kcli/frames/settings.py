"""Where the options of ``kcli.read_topic`` and the others come from: keywords, or a profile of the command line."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions, ConsumerOptions, given, option_names, written_fields
from kcli.core.secret import Secret
from kcli.profiles.profile import read_only_refusal
from kcli.profiles.resolve import Resolved, resolve
from kcli.profiles.secrets import SecretReader, check_private_files, registry_values
from kcli.profiles.sources import SourceFiles, Sources
from kcli.sandbox.discovery import options_of
from kcli.serde.names import SerdeSpecs, parse_serde
from kcli.serde.registry.options import RegistryOptions

O = TypeVar("O", bound=ClientOptions)  # noqa: E741

_REGISTRY = {field.name: field for field in written_fields(RegistryOptions)}
_LOGIN = ("security_protocol", "sasl_mechanism", "sasl_username", "sasl_password")
"""Options of a client that a registry may be asked with (``SASL_INHERIT``)."""


class Settings(NamedTuple):
    """Those of a client, and of the schema registry."""

    options: Any
    registry: RegistryOptions


def settings_of(
    kind: type[O], options: O | None, profile: str | None, values: Mapping[str, Any], *, changes: str = ""
) -> Settings:
    """``values`` are keywords that name options of the client or of the registry; they are stronger than a profile, whose
    options are weaker than the ``KCLI_*`` variables. Without a profile only the keywords count, so that a program does
    not depend on who runs it. ``changes``: the function that writes, which a profile may forbid.
    """
    own = {name: value for name, value in values.items() if name not in _REGISTRY}
    registry = {name: _registry_value(name, value) for name, value in values.items() if name in _REGISTRY}
    reader = SecretReader(os.environ, warn)
    if profile is None:
        client = given(kind, options, own)
        return Settings(client, RegistryOptions.build(registry_values(reader, registry, _login(client))))
    if options is not None:
        raise ConfigError(
            "options and profile were both given",
            why="one of them would be ignored",
            do="use keywords beside the profile",
        )
    parsed = given(kind, None, own)  # also checks the names
    resolved = _resolved(
        profile, need_broker="bootstrap_servers" not in own, log_dirs=getattr(parsed, "log_dirs", "")
    )
    refusal = read_only_refusal(resolved.profile, changes) if changes else None
    if refusal is not None:
        raise refusal
    replaced = {name: getattr(parsed, name) for name in own}
    known = option_names(kind)
    without = [name for name in resolved.values if name not in known]
    client = resolved.revealed(reader.read).options(kind, replaced, without)
    found = registry_values(reader, {**resolved.registry, **registry}, _login(client))
    return Settings(client, RegistryOptions.build(found))


def serdes_of(key_serde: str | None, value_serde: str | None, *, writing: bool = False) -> SerdeSpecs:
    """The serdes that these keywords name; ConfigError."""
    named = (("key", key_serde), ("value", value_serde))
    return SerdeSpecs(
        **{part: parse_serde(serde, writing=writing) for part, serde in named if serde is not None}
    )


def check_registry_used(names: Iterable[str], specs: SerdeSpecs, function: str) -> None:
    """ConfigError for a keyword that names an option of the registry, where no serde asks one."""
    for name in names:
        if name in _REGISTRY and not specs.may_ask_registry:
            raise ConfigError(
                f"{name} has no effect on {function}",
                why="no serde uses the registry",
                do='give value_serde="avro", for example, or leave it out',
            )


def registry_of(
    specs: SerdeSpecs, profile: str | None, values: Mapping[str, Any], function: str
) -> RegistryOptions:
    """The options of the registry, of a ``function`` without a broker: ConfigError for keywords that have no effect on
    it, and for a profile that is not needed.
    """
    check_registry_used(values, specs, function)
    given(ConsumerOptions, None, {name: value for name, value in values.items() if name not in _REGISTRY})
    if not specs.may_ask_registry:
        if profile is not None:
            raise ConfigError(
                f"profile={profile!r} has no effect on {function}",
                why="no broker is asked, and no serde uses a schema registry",
                do="leave it out",
            )
        unused = next(iter(values), None)
    else:
        unused = next((name for name in values if name not in (*_REGISTRY, *_LOGIN)), None)
    if unused is not None:
        raise ConfigError(
            f"{unused} has no effect on {function}", why="no broker is asked", do="leave it out"
        )
    return settings_of(ConsumerOptions, None, profile, values).registry


def _login(options: Any) -> Callable[[], tuple[str, Secret]]:
    return lambda: (options.sasl_username, options.sasl_password)


def warn(text: str) -> None:
    """A warning of Python, at the line that called kcli."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("kcli."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def _resolved(profile: str, *, need_broker: bool, log_dirs: str) -> Resolved:
    files = SourceFiles()
    resolved = resolve(
        Sources(
            flags={"log.dirs": log_dirs or None},
            environ=os.environ,
            read_file=files.properties,
            file_state=files.states.get,
            config_files=files.configs,
            sandbox=options_of,
            profile=profile,
            profile_option="profile",
            ignores_current=True,
            user=os.getuid(),
        ),
        need_broker=need_broker,
    )
    for text in (*resolved.warnings, *check_private_files(resolved)):
        warn(text)
    return resolved


def _registry_value(name: str, value: Any) -> Any:
    default = _REGISTRY[name].default
    if isinstance(default, Secret) and isinstance(value, str):
        return Secret(value)
    if isinstance(default, int) and isinstance(value, str) and value.isdecimal():
        return int(value)
    if type(value) is not type(default):
        kind = type(default).__name__
        raise ConfigError(
            f"{name}={value!r}", why=f"it is of the type {type(value).__name__}", do=f"its type is {kind}"
        )
    return value
