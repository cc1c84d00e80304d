"""Changes to a ``config.toml`` that keep its comments and its order. Pure: text in, text out.

Imported only by commands that write profiles: ``tomlkit`` takes 40 ms.
"""

import re
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


def renamed_profile(text: str, old: str, new: str, *, current: bool) -> str:
    """The text with the profile ``old``, which it has, under the name ``new``; ProfileExistsError if that is there.
    ``current``: it is the current one, and stays that.

    Headers are rewritten where they stand, so that comments and order stay. Where the profile has no header of its own,
    as in an inline table, it is moved to the end.
    """
    document = _parsed(text)
    profiles: Any = document["profiles"]
    if new in profiles:
        raise ProfileExistsError(
            f"profile {new} exists already",
            why="nothing was changed",
            do="choose another name, or remove that profile first",
        )
    wanted = tomllib.loads(text)
    wanted["profiles"][new] = wanted["profiles"].pop(old)
    made = "".join(_header_renamed(line, old, new) for line in text.splitlines(keepends=True))
    if _loaded(made) != wanted:
        profiles[new] = profiles.pop(old)
        made = tomlkit.dumps(document)
    return with_current(made, new) if current else _checked(made)


def _header_renamed(line: str, old: str, new: str) -> str:
    """``[profiles.OLD]`` and ``[profiles.OLD.ssl]`` with the new name; any other line as it is."""
    names = "|".join(re.escape(form) for form in (old, f'"{old}"', f"'{old}'"))
    header = re.compile(rf"(\s*\[\s*profiles\s*\.\s*)(?:{names})(\s*[.\]].*)", re.DOTALL)
    found = header.fullmatch(line)
    return line if found is None else f"{found[1]}{tomlkit.key(new).as_string()}{found[2]}"


def _loaded(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


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
