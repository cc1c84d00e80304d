"""The JSON Schema for editors accepts what is read, and nothing else: of every key, every kind of value is tried."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kcli.flows.resources.documents import read_documents
from kcli.flows.resources.faults import FilesError
from kcli.flows.resources.resource import Kind
from kcli.flows.resources.schema import documents_schema

EXAMPLES: tuple[dict[str, Any], ...] = (
    {
        "kind": "Topic",
        "metadata": {"name": "orders", "profile": "prod"},
        "spec": {
            "partitions": 2,
            "replication_factor": 2,
            "config": {"a": "b", "c": 1, "d": [1, "x"]},
            "assignment": {"0": [1, 2], "1": [2, 1]},
        },
    },
    {
        "kind": "AclBinding",
        "spec": {
            "principal": "User:a",
            "permission": "deny",
            "operations": ["read", "describe"],
            "resource_type": "topic",
            "resource_name": "x",
            "pattern": "literal",
            "host": "*",
        },
    },
    {
        "kind": "AclBinding",
        "metadata": {"name": "reads"},
        "spec": {"principal": "User:a", "operation": "read", "resource_type": "topic", "resource_name": "x"},
    },
    {
        "kind": "User",
        "metadata": {"name": "a"},
        "spec": {"mechanisms": {"SCRAM-SHA-512": {"iterations": 8192}}, "password_env": "X"},
    },
    {
        "kind": "User",
        "metadata": {"name": "a"},
        "spec": {"mechanisms": ["SCRAM-SHA-512"], "password_file": "X"},
    },
    {
        "kind": "Quota",
        "spec": {"entity": {"user": "a", "client-id": None}, "limits": {"producer_byte_rate": 1.5}},
    },
    {"kind": "BrokerConfig", "metadata": {"name": 1}, "spec": {"config": {"a": 1}}},
    {"kind": "GroupConfig", "metadata": {"name": "g"}, "spec": {"config": {"a": 1}}},
    {"kind": "GroupOffsets", "metadata": {"name": "g"}, "spec": {"offsets": {"t": {"0": 5}}}},
)
ABSENT = object()
VALUES = (
    ABSENT,
    None,
    True,
    0,
    1,
    7,
    -3,
    1.5,
    "",
    "x",
    "12",
    "a b",
    "9" * 30,
    99999999999,
    [],
    ["a"],
    [1],
    {},
    {"a": 1},
)
OF_SEVERAL_KEYS = (
    "is none of the",
    "spec.assignment lacks partition",
    "broker, not on",
    "brokers, not on",
    "spec lacks resource_name",
    "names nothing",
)
"""What keys say together, which the schema does not."""


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from _paths(value, (*path, key))


def _with(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    parent: Any = changed
    for key in path[:-1]:
        parent = parent[key]
    if value is ABSENT:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


def test_every_kind_has_an_example() -> None:
    assert {example["kind"] for example in EXAMPLES} == set(map(str, Kind))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["kind"]))
def test_schema_and_reader_agree(example: dict[str, Any], tmp_path: Path) -> None:
    validator = jsonschema.Draft7Validator(documents_schema())
    file = tmp_path / "f.json"
    document = {"apiVersion": "kcli/v1", **example}
    differ, seen = [], set()
    for path in _paths(document):
        for value in VALUES if path else ():
            changed = _with(document, path, value)
            file.write_text(json.dumps(changed))
            try:
                read_documents([str(file)], environment={})
                faults: tuple[Any, ...] = ()
            except FilesError as error:
                faults = error.faults
            if any(text in fault.what for fault in faults for text in OF_SEVERAL_KEYS):
                continue
            is_valid = validator.is_valid(changed)
            seen.add(is_valid)
            if is_valid == bool(faults):
                differ.append((path, value, faults))
    assert not differ
    assert seen == {True, False}


def test_variables_are_valid_where_they_may_be() -> None:
    validator = jsonschema.Draft7Validator(documents_schema())
    topic: dict[str, Any] = {
        "apiVersion": "kcli/v1",
        "kind": "Topic",
        "metadata": {"name": "${ENV}-orders"},
        "spec": {"partitions": "${N:-12}", "config": {"a": "${A}"}},
    }
    assert validator.is_valid(topic)
    topic["spec"]["partitions"] = "12"
    assert not validator.is_valid(topic)


def test_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(documents_schema())
