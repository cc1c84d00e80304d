"""Kafka's own message definitions, out of a published ``kafka-clients`` jar. Not a test.

The jar comes from the cache that sandboxes share, or is fetched into it: one small file, no broker is started.
"""

import functools
import json
import keyword
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.schema import parse_versions
from kcli.sandbox.errors import DownloadError
from kcli.sandbox.fetch import Fetcher
from kcli.sandbox.jar_list import repository_of
from kcli.sandbox.paths import cache_root

NEWEST = "4.3.1"
OLDER = ("3.9.2", "2.8.2")
Definition = dict[str, Any]


@functools.cache
def definitions(version: str) -> dict[str, Definition]:
    """Name of the message -> its definition, of Kafka ``version``; skips when the jar cannot be had."""
    with zipfile.ZipFile(_jar(version)) as jar:
        names = [n for n in jar.namelist() if n.startswith("common/message/") and n.endswith(".json")]
        found = [_parse(jar.read(name).decode()) for name in names]
    return {definition["name"]: definition for definition in found}


def _jar(version: str) -> Path:
    path = f"org/apache/kafka/kafka-clients/{version}/kafka-clients-{version}.jar"
    file = repository_of(cache_root()) / path
    if not file.exists():
        try:
            Fetcher(_repository()).fetch(path, file, on_bytes=lambda _count: None)
        except DownloadError as error:
            pytest.skip(f"no kafka-clients {version} jar in the cache, and it cannot be fetched: {error}")
    return file


def _repository() -> str:
    from jgo.constants import MAVEN_CENTRAL_URL

    return os.environ.get("KCLI_MAVEN_REPO") or str(MAVEN_CENTRAL_URL)


def _parse(text: str) -> Definition:
    """The first JSON value: 2.8.2 has a file with brackets too many behind it, and Kafka reads it like this."""
    definition, _ = json.JSONDecoder().raw_decode(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE).lstrip())
    return dict(definition)


def versions_of(text: str | None) -> tuple[int, int]:
    """``"3+"``, ``"1-4"``, ``"2"``; ``"none"`` and a missing one are an empty range."""
    return (1, 0) if text in (None, "none") else parse_versions(text)


def within(version: int, text: str | None) -> bool:
    first, last = versions_of(text)
    return first <= version <= last


def python_name(name: str) -> str:
    """As Kafka's own generators write snake case: no underscore between neighbouring capitals."""
    snake, capital = "", True
    for char in name:
        if char.isupper() and not capital:
            snake += "_"
        snake += char.lower()
        capital = char.isupper()
    return snake + "_" if keyword.iskeyword(snake) else snake


def common_structs(definition: Definition) -> dict[str, list[Definition]]:
    """Structs that several fields share, by name."""
    return {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", ())}
