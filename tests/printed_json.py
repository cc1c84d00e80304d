"""Holds that JSON which kcli has printed in a test is as its schema says. Not a test.

``tests/run.py`` passes on what it reads. Stricter than the schema: a property that it does
not have is a fault, too. With ``KEEP_JSON=FOLDER`` a document of each kind and shape is kept, for
``tests/golden/schemas``.
"""

import functools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from kcli.docgen.kinds import names, schema_of

OPEN = ("QueryRow", "Progress", "RecordCount", "RecordFields")
"""Kinds with properties that depend on what is asked for."""
RECORD = {"topic", "partition", "offset", "timestamp", "headers"}
_MOST = 20
"""Items of a list, or lines, that are checked: a long list is made of the same."""


def check_printed(*streams: str | bytes | None) -> None:
    """What a run has written to stdout and stderr; what is no JSON of kcli's is passed over."""
    for stream in streams:
        text = stream.decode("utf-8", "replace") if isinstance(stream, bytes) else stream or ""
        if text.startswith("{") or '\n{"kind"' in text:
            for document in _documents(text):
                check_document(document)


def check_document(document: Mapping[str, Any]) -> None:
    """An object of the kind that it names, or a record."""
    kind = document.get("kind", "Record")
    assert kind in _known(), (
        f"there is no schema of {kind}: see kcli/docgen/lists.py, of changes kcli/flows/changes.py"
    )
    if isinstance(items := document.get("items"), list):
        document = {**document, "items": items[:_MOST]}
    for error in strict(kind).iter_errors(document):
        where = "/".join(map(str, error.absolute_path))
        raise AssertionError(f"{kind}: {where}: {error.message[:500]}: see kcli/docgen/lists.py")
    if folder := os.environ.get("KEEP_JSON"):
        _keep(Path(folder), kind, document)


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(names())


@functools.cache
def strict(kind: str) -> Draft202012Validator:
    """The schema, closed."""
    return Draft202012Validator(_closed(schema_of(kind)), format_checker=FormatChecker())


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    if isinstance(node.get("properties"), dict) and "required" in node and node.get("title") not in OPEN:
        closed["additionalProperties"] = False
    return closed


def _documents(text: str) -> Iterator[dict[str, Any]]:
    """The objects with a kind, and records: of one document, or in lines."""
    try:
        found = [json.loads(text)]
    except ValueError:
        found = list(_lines(text))
    for one in found:
        if isinstance(one, dict) and (_is_kind(one.get("kind")) or one.keys() >= RECORD):
            yield one


def _lines(text: str) -> Iterator[Any]:
    for line in [line for line in text.split("\n") if line.startswith("{")][:_MOST]:
        try:
            yield json.loads(line)
        except ValueError:
            continue  # the run was killed


def _is_kind(kind: object) -> bool:
    return isinstance(kind, str) and kind[:1].isupper()


def _keep(folder: Path, kind: str, document: Mapping[str, Any]) -> None:
    """A line of its own, unless there is one of the same shape. Lines that the schema does not accept any more go."""
    file = folder / f"{kind}.ndjson"
    lines = file.read_text().splitlines() if file.exists() else []
    known = [line for line in lines if strict(kind).is_valid(json.loads(line))]
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    if len(text) < 8000 and all(_shape(json.loads(line)) != _shape(document) for line in known):
        file.write_text("\n".join([*known, text, ""]))


def _shape(document: Mapping[str, Any]) -> tuple[object, ...]:
    items = document.get("items") or [{}]
    return (tuple(document), *(tuple(item) for item in items[:1]))
