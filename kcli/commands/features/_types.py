"""The options that name levels of features, and the request that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kcli.commands.shared.command import options
from kcli.commands.shared.options import option
from kcli.commands.shared.params import Word
from kcli.commands.shared.usage import usage
from kcli.core.admin.feature_levels import METADATA_VERSION, levels_of_release, metadata_level

F = TypeVar("F", bound=Callable[..., Any])

_HIGHEST = 2**15 - 1


def _level(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not name or not equals:
        raise ValueError(f"{text!r} is not NAME=LEVEL")
    number = metadata_level(level) if name == METADATA_VERSION else _number(level)
    if number > _HIGHEST:
        raise ValueError(f"a level is at most {_HIGHEST}, got {level}")
    return name, number


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise ValueError(f"a level is a whole number, got {text!r}")
    return int(text)


def _metadata(text: str) -> int:
    return _level(f"{METADATA_VERSION}={text}")[1]


def _release(text: str) -> str:
    if text.isdecimal():
        raise ValueError(f"{text!r} is not a release such as 4.4")
    levels_of_release(text)
    return text


def level_options(verb: str) -> Callable[[F], F]:
    """The levels that a verb is for, in the words of Kafka's script."""
    return options(
        "Levels",
        option(
            "--feature",
            "features",
            type=Word("level", _level),
            multiple=True,
            metavar="NAME=LEVEL",
            help=f"{verb} this feature to this level; repeatable",
        ),
        option(
            "--metadata",
            type=Word("version", _metadata),
            metavar="VERSION",
            help=f"{verb} metadata.version: a name such as 4.4-IV2, a release, or a level",
        ),
        option(
            "--release-version",
            "release",
            type=Word("release", _release),
            metavar="VERSION",
            help=f"{verb} all features to the levels of a release, such as 4.4",
        ),
    )


def wanted_levels(
    verb: str, features: tuple[tuple[str, int], ...], metadata: int | None, release: str | None
) -> dict[str, int]:
    """The levels by feature; a usage error without any, or with two for one feature."""
    what = f"features {verb}"
    if release is not None and (features or metadata is not None):
        raise usage(
            f"{what}: --release-version together with --{'feature' if features else 'metadata'}",
            why="a release has a level for each feature",
            do="give one of them",
        )
    levels: dict[str, int] = {}
    named = [*features, *([] if metadata is None else [(METADATA_VERSION, metadata)])]
    for name, level in named:
        if levels.setdefault(name, level) != level:
            raise usage(f"{what}: two levels for {name}", why="it can have one", do="give one of them")
    if not levels and release is None:
        raise usage(
            f"{what}: which feature?",
            why="it changes what is named, and nothing else",
            do="give --feature NAME=LEVEL, --metadata VERSION or --release-version VERSION",
        )
    return levels
