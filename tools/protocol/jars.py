"""The jars of Kafka that hold definitions: from the cache that sandboxes share, or fetched into it. Each is pinned."""

import functools
import hashlib
import os
from pathlib import Path

from kcli.sandbox.fetch import Fetcher
from kcli.sandbox.jar_list import repository_of
from kcli.sandbox.paths import cache_root

_PINS = Path(__file__).with_name("jars.sha256")


class JarError(Exception):
    """A jar is not the one that is pinned, or is not pinned at all."""


@functools.cache
def jar(artifact: str, version: str) -> Path:
    """The jar of this artifact; DownloadError if it cannot be had, JarError if it is not the one that is pinned."""
    group = "org/slf4j" if artifact == "slf4j-api" else "org/apache/kafka"
    path = f"{group}/{artifact}/{version}/{artifact}-{version}.jar"
    file = repository_of(cache_root()) / path
    if not file.exists():
        Fetcher(_repository()).fetch(path, file, on_bytes=lambda _count: None)
    found, pinned = hashlib.sha256(file.read_bytes()).hexdigest(), pins().get(file.name)
    if found != pinned:
        why = "is not pinned" if pinned is None else f"has another SHA-256 than {pinned}"
        raise JarError(f"{file.name} {why}: {_PINS.name} would need the line\n{found}  {file.name}")
    return file


def pins() -> dict[str, str]:
    """SHA-256 by the name of the jar."""
    return {name: digest for digest, name in map(str.split, _PINS.read_text("utf-8").splitlines())}


def _repository() -> str:
    from jgo.constants import MAVEN_CENTRAL_URL

    return os.environ.get("KCLI_MAVEN_REPO") or str(MAVEN_CENTRAL_URL)
