"""What is wrong with the client options of all sources. No broker is contacted."""

import copy
import os
import shutil
from collections.abc import Callable, Collection
from importlib.util import find_spec
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.connection.sasl.registry import OAUTHBEARER, login_of
from kcli.core.errors import ConfigError
from kcli.core.net.detours import Detours
from kcli.core.net.tls.context import tls_context, unverified
from kcli.core.options import ClientOptions, build, key_of
from kcli.core.secret import Secret
from kcli.core.tokens.provider import with_tokens
from kcli.profiles.profile import Report
from kcli.profiles.resolve import Resolved, no_broker, resolve
from kcli.profiles.secret_command import command_words
from kcli.profiles.secret_keys import COMMAND, FILE, SecretSource, lacks_password, names_file
from kcli.profiles.secrets import check_private_files, empty, no_keyring, read_secret_file
from kcli.profiles.sources import BROKERS, Sources
from kcli.serde.registry.addresses import addresses
from kcli.serde.registry.bearer import bearer_tokens
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.registry.transport import proxy_of, registry_context

_SOME_SECRET = Secret("xxxx:xxxx")
"""In place of secrets that are not read here: NAME:PASSWORD, which some are."""


class Problem(NamedTuple):
    """What is wrong; ``severity`` is ``error`` where commands would refuse it, else ``warning``."""

    severity: str
    what: str
    why: str = ""
    do: str = ""


class Checked(NamedTuple):
    """All problems, each once, errors first, and the files that were read."""

    problems: list[Problem]
    read: list[str]


def check_sources(sources: Sources) -> Checked:
    """Checks the options of all sources, and of each profile by itself."""
    errors: list[ConfigError] = []
    warnings: list[str] = []
    configs = sources.config_files(errors.append)
    sources.config_files = lambda _report: configs
    found = [_checked(sources, errors.append, warnings)]
    for name in dict.fromkeys(name for config in configs for name in config.names):
        found.append(_checked(_only_profile(sources, name), errors.append, warnings))
    for resolved in found:
        _check_brokers(resolved, errors.append, warnings.append)
        _check_secrets(resolved, errors.append, warnings.append)
        warnings += check_private_files(resolved, errors.append)
        if _check_files(resolved, errors.append):
            _check_use(resolved, errors.append, warnings.append)
    problems = [Problem("error", error.what, error.why, error.do) for error in errors]
    problems += [Problem("warning", text) for text in warnings]
    return Checked(list(dict.fromkeys(problems)), [*sources.files, *(config.path for config in configs)])


def _only_profile(sources: Sources, name: str) -> Sources:
    """The options of one profile, without those of the command line and the environment."""
    found = copy.copy(sources)
    found.flags, found.properties, found.files, found.environ = {}, (), (), {}
    found.profile = name
    return found


def _checked(sources: Sources, report: Report, warnings: list[str]) -> Resolved:
    resolved = resolve(sources, need_broker=False, report=report)
    warnings += (*resolved.warnings, *resolved.unused)
    return resolved


def _check_brokers(resolved: Resolved, report: Report, warn: Callable[[str], None]) -> None:
    profile = resolved.profile
    if resolved.servers or profile is None:
        return
    empty = [pair for pair in profile.pairs if pair.key in BROKERS]
    if empty:
        report(no_broker(profile, empty[-1]))
    else:
        warn(f"profile {profile.name} names no broker ({profile.origin}): commands need -b with it")


def _check_secrets(resolved: Resolved, report: Report, warn: Callable[[str], None]) -> None:
    for value in (*resolved.values.values(), *resolved.registry.values()):
        if isinstance(value, SecretSource):
            try:
                _check_secret(value, warn)
            except ConfigError as error:
                report(error)
    if lacks_password(resolved.values) and "sasl_password" not in resolved.refused:
        where = f" in profile {resolved.profile.name}" if resolved.profile is not None else ""
        warn(
            f"there is no password for user {resolved.values['sasl_username']}{where}: it is asked for at a terminal, "
            "and elsewhere commands end with 2"
        )


def _check_secret(source: SecretSource, warn: Callable[[str], None]) -> None:
    """Whether the secret could be read; commands are not run, and the keyring is not unlocked."""
    if source.kind == FILE:
        if not read_secret_file(source, warn):
            raise empty(source)
    elif source.kind == COMMAND:
        _check_command(source)
    elif find_spec("keyring") is None:
        raise no_keyring(source)


def _check_command(source: SecretSource) -> None:
    program = command_words(source)[0]
    if shutil.which(program) is None:
        raise ConfigError(
            f"{source.key}: there is no program {program} (from {source.origin})",
            why="it is not in PATH, or not executable",
            do="install it, or name it with its path",
        )


def _check_use(resolved: Resolved, report: Report, warn: Callable[[str], None]) -> None:
    """What every client refuses before it connects, or warns of: SASL without a mechanism, a password without TLS,
    certificates that cannot be used.
    """
    kept = {name for name, value in resolved.values.items() if isinstance(value, SecretSource)}
    values: dict[str, Any] = {**resolved.values, **dict.fromkeys(kept, _SOME_SECRET)}
    if lacks_password(values):  # it is asked for
        values["sasl_password"] = _SOME_SECRET
    where = f" (profile {resolved.profile.name})" if resolved.profile is not None else ""
    unknown = kept | resolved.refused  # of a refused value it cannot be said what a client would do with it
    checks: list[tuple[str, Callable[[ClientOptions], object], Collection[str]]] = [
        ("ssl_", _check_tls, unknown),
        ("sasl_", _check_login, resolved.refused),
        ("proxy_", Detours, resolved.refused),
    ]
    for start, check, left_out in checks:
        try:
            if not any(name.startswith(start) for name in left_out):
                check(build(ClientOptions, values))
        except ConfigError as error:
            report(ConfigError(f"{error.what}{where}", why=error.why, do=error.do))
    if text := unverified(build(ClientOptions, values)):
        warn(f"{text}{where}")
    if resolved.registry.get("schema_registry_url"):
        _check_registry(resolved, report)


def _check_tls(options: ClientOptions) -> None:
    tls_context(options)


def _check_login(options: ClientOptions) -> None:
    if options.security_protocol.startswith("SASL_"):
        login_of(with_tokens(options) if options.sasl_mechanism == OAUTHBEARER else options)


def _check_registry(resolved: Resolved, report: Report) -> None:
    values = {
        name: _SOME_SECRET if isinstance(value, SecretSource) else value
        for name, value in resolved.registry.items()
    }
    allowed = bool(resolved.values.get("allow_plaintext_secrets"))
    for url in str(values["schema_registry_url"]).split(","):
        options = RegistryOptions.build({**values, "schema_registry_url": url})
        try:
            found = addresses(options, allow_plaintext_secrets=allowed)
            bearer_tokens(options)
            proxy_of(options)
            kept = any(
                isinstance(value, SecretSource)
                for name, value in resolved.registry.items()
                if "_ssl_" in name
            )
            if any(address.secure for address in found) and not kept:
                registry_context(options)
        except ConfigError as error:
            report(error)


def _check_files(resolved: Resolved, report: Report) -> bool:
    """The files that options name have to be readable; returns whether they are."""
    fine = True
    for name, value in (*resolved.values.items(), *resolved.registry.items()):
        path = os.path.expanduser(value) if value and names_file(key_of(name)) else ""
        if path and not os.access(path, os.R_OK):
            fine = False
            exists = os.path.lexists(path)
            origin = resolved.origins.get(name) or resolved.registry_origins[name]
            report(
                ConfigError(
                    f"{resolved.spelled(name)}: {value} cannot be read (from {origin})",
                    why="permission denied" if exists else "there is no such file",
                    do="correct the path" if not exists else f"check who may read it: ls -l {value}",
                )
            )
    return fine
