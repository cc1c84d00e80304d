"""Changes to a ``config.toml`` that keep its comments and its order. Pure: text in, text out.

Imported only by commands that write profiles: ``tomlkit`` takes 40 ms.
"""

import tomllib
from collections.abc import Iterable
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode

Value = str | int | float | bool


class ProfileExistsError(KcliError):
    """A profile of that name is there already."""

    exit_code = ExitCode.REFUSED


def with_profile(text: str, name: str, values: Iterable[tuple[str, Value]], *, replace: bool = False) -> str:
    """The text with the profile; ProfileExistsError if it is there and is not to be replaced."""
    document = _parsed(text)
    profiles = document.get("profiles")
    if profiles is not None and name in profiles:
        if not replace:
            raise ProfileExistsError(
                f"profile {name} exists already",
                why="nothing was changed",
                do="choose another name, or --replace it",
            )
        del profiles[name]
    table = tomlkit.table()
    for key, value in values:
        table.append(tomlkit.key(key.split(".")), value)
    if profiles is None:
        profiles = tomlkit.table(is_super_table=True)
        document["profiles"] = profiles
    profiles[name] = table
    return _checked(tomlkit.dumps(document))


def without_profile(text: str, name: str) -> str:
    """The text without the profile, which it has; and without ``current`` if that is its name."""
    document = _parsed(text)
    profiles: Any = document["profiles"]
    del profiles[name]
    if not profiles:
        del document["profiles"]
    if document.get("current") == name:
        del document["current"]
    return _checked(tomlkit.dumps(document))


def with_current(text: str, name: str) -> str:
    """The text with ``current = "NAME"``."""
    document = _parsed(text)
    document["current"] = name
    return _checked(tomlkit.dumps(document))


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigError("the file of profiles is not valid TOML", why=str(error), do="correct it") from None


def _checked(text: str) -> str:
    """A file that nothing could read would be worse than an error."""
    tomllib.loads(text)
    return text
