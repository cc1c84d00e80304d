"""Kafka's definitions of messages, read out of its jars."""

import functools
import json
import keyword
import re
import zipfile
from typing import Any

from kcli.core.protocol.schema import parse_versions
from tools.protocol.jars import jar

Definition = dict[str, Any]

CLIENTS = "kafka-clients"
_FOLDERS = ("common/message/", "common/metadata/")


@functools.cache
def definitions(version: str, artifact: str = CLIENTS) -> dict[str, Definition]:
    """Name of the message → its definition."""
    with zipfile.ZipFile(jar(artifact, version)) as archive:
        names = [n for n in archive.namelist() if n.startswith(_FOLDERS) and n.endswith(".json")]
        found = [_parse(archive.read(name).decode()) for name in names]
    for definition in found:
        _complete(definition.get("fields", []))
        for shared in common_structs(definition).values():
            _complete(shared)
    return {definition["name"]: definition for definition in found}


def _parse(text: str) -> Definition:
    """The first JSON value: 2.8.2 has a file with brackets too many behind it, and Kafka reads it like this."""
    definition, _ = json.JSONDecoder().raw_decode(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE).lstrip())
    return dict(definition)


def _complete(fields: list[Definition]) -> None:
    """A field whose versions are not said has those in which it is tagged, as Kafka reads it."""
    for field in fields:
        field.setdefault("versions", field.get("taggedVersions"))
        _complete(field.get("fields", []))


@functools.cache
def versions_of(text: str | None) -> tuple[int, int]:
    """``"3+"``, ``"1-4"``, ``"2"``; ``"none"`` and a missing one are an empty range."""
    return (1, 0) if text in (None, "none") else parse_versions(text)


def within(version: int, text: str | None) -> bool:
    """Whether ``version`` is one of these."""
    first, last = versions_of(text)
    return first <= version <= last


@functools.cache
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


def fields_of(field: Definition, root: Definition) -> list[Definition] | None:
    """The fields of a struct, or of the elements of an array; None for another type."""
    found: list[Definition] | None = field.get("fields")
    return found or common_structs(root).get(field["type"].removeprefix("[]"))
