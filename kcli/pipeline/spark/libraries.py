"""The libraries that jobs on Spark need, and the versions of them that work."""

import re
import sys
from importlib import metadata
from typing import NamedTuple

from kcli.core.errors import ConfigError

INSTALL = "pip install 'kcli-kafka[spark]'"


class Library(NamedTuple):
    """Versions from ``least`` up to, not including, ``below`` (None: any)."""

    name: str
    least: tuple[int, ...]
    below: tuple[int, ...] | None

    @property
    def wanted(self) -> str:
        """As pip writes it: ``pyspark>=4.2,<5``."""
        text = f"{self.name}>={_joined(self.least)}"
        return text + (f",<{_joined(self.below)}" if self.below else "")


LIBRARIES = (
    Library("pyspark", (4, 2), (5,)),
    Library("pyarrow", (18,), None),
    Library("pandas", (2, 2), (3,)),
)
"""As the extra ``spark`` in pyproject.toml."""


def installed(name: str) -> str | None:
    """The version of a distribution, None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def check_libraries() -> None:
    """ConfigError for the first library that is missing, or has a version that does not work."""
    for library in LIBRARIES:
        check_library(library, installed(library.name))


def check_library(library: Library, version: str | None) -> None:
    """ConfigError unless ``version`` works."""
    if version is None:
        raise ConfigError(
            f"jobs on Spark need the library {library.name}",
            why=f"it is not installed for {sys.executable}",
            do=f"{INSTALL}; or run the job without Spark: --runner processes",
        )
    found = _parsed(version)
    if found < library.least or (library.below is not None and found >= library.below):
        raise ConfigError(
            f"{library.name} {version} does not work with this version of kcli",
            why=f"jobs on Spark need {library.wanted}",
            do=f"pip install '{library.wanted}'; or run the job without Spark: --runner processes",
        )


def _parsed(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _joined(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
