"""The libraries that jobs on Spark need, and the versions of them that work."""

import re
import sys
from importlib import metadata

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.extras import installation


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
    Library("pandas", (2, 2), (4,)),
)
"""As the extra ``spark`` in pyproject.toml."""

WITHOUT_SPARK = "run the job without Spark: --runner processes"


def installed(name: str) -> str | None:
    """The version of a distribution, None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def missing_library() -> str | None:
    """The first library that is not installed; None if all are."""
    return next((library.name for library in LIBRARIES if installed(library.name) is None), None)


def check_libraries(otherwise: str = WITHOUT_SPARK) -> None:
    """ConfigError for the first library that is missing, or has a version that does not work."""
    for library in LIBRARIES:
        check_library(library, installed(library.name), otherwise)


def check_library(library: Library, version: str | None, otherwise: str = WITHOUT_SPARK) -> None:
    """ConfigError unless ``version`` works. ``otherwise``: what else can be done; empty where nothing can."""
    instead = otherwise and f"; or {otherwise}"
    if version is None:
        raise ConfigError(
            f"jobs on Spark need the library {library.name}",
            why=f"it is not installed for {sys.executable}",
            do=installation("spark") + instead,
        )
    found = _parsed(version)
    if found < library.least or (library.below is not None and found >= library.below):
        raise ConfigError(
            f"{library.name} {version} does not work with this version of kcli",
            why=f"jobs on Spark need {library.wanted}",
            do=installation("spark") + instead,
        )


def _parsed(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _joined(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
