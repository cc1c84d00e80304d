"""The values of the global options on the command line; those that name the cluster also in one that is not parsed.

Imported at every start, and by completion, which does without click.
"""

import os
from collections.abc import Iterable
from typing import Any

from kcli.core.classes import NamedTuple


class GlobalValues:
    """The global options given so far; None where an option was not given.

    One object lives as long as the process (``ctx.obj`` of every context): each context that parses an option stores it
    here, before or after the subcommand, and errors that end the parsing early still respect ``-o`` and ``--debug``. (No
    dataclass: ``--version`` does not import them.)
    """

    bootstrap_server: str | None = None
    command_config: tuple[str, ...] = ()
    command_property: tuple[str, ...] = ()
    from_dir: tuple[str, ...] = ()
    output: str | None = None
    no_headers: bool = False
    client_id: str | None = None
    map_address: tuple[str, ...] = ()
    profile: str | None = None
    allow_plaintext_secrets: bool = False
    quiet: bool = False
    verbose: int = 0
    debug: frozenset[str] | None = None
    color: str | None = None
    no_pager: bool = False
    progress: str | None = None
    timeout: float | None = None
    no_input: bool = False
    yes: bool = False
    confirm: tuple[str, ...] = ()
    dry_run: bool = False
    notes: tuple[str, ...] = ()  # on values that were parsed, for stderr
    invocation: Any = None

    def __init__(self, **given: Any) -> None:
        for name, value in given.items():
            setattr(self, name, value)


def environment(name: str) -> str | None:
    """The value of a ``KCLI_*`` variable that sets a global option; empty counts as unset."""
    return os.environ.get(f"KCLI_{name.upper()}") or None


NAMES: dict[str, tuple[str, ...]] = {
    "bootstrap_server": ("-b", "--bootstrap-server"),
    "command_config": ("-F", "--command-config"),
    "command_property": ("-X", "--command-property"),
    "client_id": ("--client-id",),
    "map_address": ("--map-address",),
    "from_dir": ("--from-dir",),
    "profile": ("--profile",),
    "allow_plaintext_secrets": ("--allow-plaintext-secrets",),
}
QUIET_NAMES = {
    "bootstrap_server": ("--bootstrap-servers", "--brokers"),
    "profile": ("--context", "--cluster"),
}
"""These work but are not shown."""

_FLAG = "allow_plaintext_secrets"
_FLAGS = "qv"  # may precede a short option in the same word


class ClusterWords(NamedTuple):
    """The values of the options; the fields are those of ``GlobalValues``."""

    bootstrap_server: str | None
    command_config: tuple[str, ...]
    command_property: tuple[str, ...]
    client_id: str | None
    allow_plaintext_secrets: bool = False
    profile: str | None = None
    from_dir: tuple[str, ...] = ()
    map_address: tuple[str, ...] = ()


def cluster_words(words: Iterable[str | None]) -> ClusterWords | None:
    """The values in ``words`` (None: a word that only the shell can expand); None if a value cannot be determined."""
    values: dict[str, list[str]] = {name: [] for name in NAMES}
    rest = iter(words)
    for word in rest:
        if word == "--":
            break
        name, value = _option(word or "")
        if name == _FLAG:
            values[name].append(word or "")
        elif name:
            value = next(rest, None) if value is None else value
            if value is None:
                return None
            values[name].append(value)
    return ClusterWords(
        bootstrap_server=_last(values["bootstrap_server"]),
        command_config=tuple(values["command_config"]),
        command_property=tuple(values["command_property"]),
        client_id=_last(values["client_id"]),
        allow_plaintext_secrets=bool(values[_FLAG]),
        profile=_last(values["profile"]),
        from_dir=tuple(values["from_dir"]),
        map_address=tuple(values["map_address"]),
    )


def _option(word: str) -> tuple[str, str | None]:
    """The option that a word is, with the value attached to it; an empty name for all other words."""
    if word.startswith("--"):
        spelled, sign, value = word.partition("=")
        return _named(spelled), value if sign else None
    if word.startswith("-"):
        letters = word[1:].lstrip(_FLAGS)
        return _named("-" + letters[:1]), letters[1:] or None
    return "", None


def _named(spelled: str) -> str:
    for name, names in NAMES.items():
        if spelled in names or spelled in QUIET_NAMES.get(name, ()):
            return name
    return ""


def _last(values: list[str]) -> str | None:
    return values[-1] if values else None
