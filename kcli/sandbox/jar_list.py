"""The list of jars of one Kafka version, as kept in the cache: what lets a second start work offline.

A list is written last, after every jar it names is in place and checked, so a list that can be read and whose
files have their sizes is a complete classpath. Nothing here touches the network or imports jgo.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from kcli.core.classes import dataclass
from kcli.files.atomic import replace_file


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar: its path below the cache's repository folder, size in bytes, SHA-1 in hex."""

    path: str
    size: int
    sha1: str


def repository_of(cache: Path) -> Path:
    """The folder that has the layout of a Maven repository."""
    return cache / "maven"


def read_jar_list(cache: Path, version: str) -> list[Path] | None:
    """The classpath of ``version``; None when it is not, or not fully, in the cache."""
    try:
        document = json.loads(_list_path(cache, version).read_text("utf-8"))
        jars = [Jar(**row) for row in document["jars"]]
        repository = repository_of(cache)
        paths = [repository / jar.path for jar in jars]
        complete = all(p.stat().st_size == jar.size for p, jar in zip(paths, jars, strict=True))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return paths if complete and paths else None


def write_jar_list(cache: Path, version: str, jars: Sequence[Jar]) -> None:
    """Record ``jars`` as complete, in one step."""
    path = _list_path(cache, version)
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"version": version, "jars": [asdict(jar) for jar in jars]}
    replace_file(os.fspath(path), json.dumps(document, indent=1).encode(), sync=False)


def cached_versions(cache: Path) -> list[str]:
    """The versions that can be started without a network."""
    names = [path.name.removesuffix(".json") for path in (cache / "kafka").glob("*.json")]
    return [name for name in sorted(names) if read_jar_list(cache, name)]


def cached_text(cache: Path) -> str:
    """Which versions need no network, for error messages."""
    versions = cached_versions(cache)
    return f"ready without a network: {', '.join(versions)}" if versions else "no version is in the cache yet"


def _list_path(cache: Path, version: str) -> Path:
    return cache / "kafka" / f"{version}.json"
