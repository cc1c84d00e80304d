"""The pages of the kinds of JSON: the keys of each, with types and meanings, and a document that was printed. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.docgen.kinds import Kind, Schema
from kcli.docgen.site import markdown
from kcli.docgen.site.places import KINDS, Places, kind_place

_REFERENCE = "#/$defs/"
_WORDS = {"integer": "integer", "number": "number", "string": "text", "boolean": "true or false"}


def kinds_page(kinds: Sequence[Kind], places: Places) -> str:
    """The list of all kinds."""
    link = places.linker(KINDS)
    rows = [
        (
            markdown.code(kind.name, markdown.between(KINDS, kind_place(kind.name))),
            markdown.prose(kind.description, link),
            ", ".join(_command(line, KINDS, places) for line in kind.printed_by),
        )
        for kind in kinds
    ]
    text = (
        "What kcli prints with -o json and -o ndjson has a kind. Within kcli/v1 keys are added, but not removed and not "
        "changed. `kcli schema` prints the JSON Schema of a kind."
    )
    return markdown.page(
        "JSON kinds", [markdown.prose(text, link) + "\n", markdown.table(("kind", "", "printed by"), rows)]
    )


def kind_page(kind: Kind, schema: Schema, example: str | None, places: Places) -> str:
    """The page of one kind; ``example`` is a document of it, on one line."""
    source = kind_place(kind.name)
    link = places.linker(source)
    printed = ", ".join(_command(line, source, places) for line in kind.printed_by)
    parts = [
        markdown.prose(kind.description, link) + "\n",
        f"One of the [kinds of JSON]({markdown.between(source, KINDS)}), printed by {printed}.\n",
        "## Keys\n",
        *_keys(schema, source, link),
    ]
    if example is not None:
        parts += [
            "## Example\n",
            markdown.block(json.dumps(json.loads(example), indent=2, ensure_ascii=False), "json"),
        ]
    parts.append(f"`kcli schema {kind.name}` prints the JSON Schema.\n")
    return markdown.page(kind.name, parts, boost=0.5)


def _command(line: str, source: str, places: Places) -> str:
    target = places.command(line.split())
    return markdown.code(line, target and markdown.between(source, target))


def _keys(schema: Schema, source: str, link: markdown.Linker) -> Iterator[str]:
    """The keys of the document; a kind that is a document or an item, too, has its keys below ``items``."""
    return _Keys(schema.get("$defs", {}), source, link).of(schema.get("then", schema), "")


class _Keys:
    """Keys with types and meanings. Those of inner objects follow the key of the object, after a dot."""

    def __init__(self, defs: Mapping[str, Schema], source: str, link: markdown.Linker) -> None:
        self._defs = defs
        self._source = source
        self._link = link

    def of(self, schema: Schema, before: str) -> Iterator[str]:
        """The keys of an object and of what is inside it."""
        required = schema.get("required", ())
        for name, inner in schema.get("properties", {}).items():
            found = self._resolved(inner)
            anchor = f"key-{before}{name}".replace("[]", "")
            term = f"[{markdown.code(before + name)}](#{anchor}){{ #{anchor} .option }} {self._type(inner)}"
            term += "" if name in required else ", not always there"
            yield markdown.definition(term, markdown.prose(_meaning(name, inner, found), self._link))
            yield from self._within(found, before + name)

    def _within(self, schema: Schema, path: str) -> Iterator[str]:
        if "properties" in schema:
            yield from self.of(schema, f"{path}.")
        items = schema.get("items")
        if isinstance(items, dict) and not _kind_of(items):
            yield from self._within(self._resolved(items), f"{path}[]")

    def _resolved(self, schema: Schema) -> Schema:
        name = schema.get("$ref", "").removeprefix(_REFERENCE)
        return {} if _kind_of(schema) else self._defs.get(name, schema)

    def _type(self, schema: Schema) -> str:
        kind = _kind_of(schema)
        if kind:
            return markdown.code(kind, markdown.between(self._source, kind_place(kind)))
        if "$ref" in schema:
            return self._type(self._resolved(schema))
        if "const" in schema:
            return markdown.code(json.dumps(schema["const"]))
        if "enum" in schema:
            return ", ".join(markdown.code(json.dumps(value)) for value in schema["enum"])
        if "anyOf" in schema:
            return " or ".join(self._type(one) for one in schema["anyOf"])
        named = schema.get("type", "any")
        return " or ".join(self._word(one, schema) for one in ([named] if isinstance(named, str) else named))

    def _word(self, name: str, schema: Schema) -> str:
        if name == "string" and schema.get("format") == "date-time":
            return "time"
        if name == "array":
            items: Any = schema.get("items")
            return f"list of {self._type(items)}" if isinstance(items, dict) else "list"
        return _WORDS.get(name, name)


def _meaning(name: str, schema: Schema, found: Schema) -> str:
    """The words of the schema, or of what it refers to; keys that are the same everywhere have none."""
    text: str = schema.get("description") or found.get("description") or ""
    if text:
        return text
    return "Always this." if "const" in schema else f"The {name} of the document."


def _kind_of(schema: Schema) -> str | None:
    """The kind to which a schema refers: its name begins with a capital."""
    name: str = schema.get("$ref", "").removeprefix(_REFERENCE)
    return name if name[:1].isupper() else None
