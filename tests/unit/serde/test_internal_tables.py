"""Our tables of coordinators' records against the definitions inside Kafka's jars: each record, each version."""

import base64
import random
import struct
from typing import Any, ClassVar
from uuid import UUID

import pytest

from kcli.core.protocol.schema import INT64, STRING, Struct, field
from kcli.core.protocol.stored import metadata_records
from kcli.core.protocol.stored.group_records import OffsetCommitValue
from kcli.core.protocol.stored.kinds import KINDS, TRANSACTION_STATES, RecordKind
from kcli.serde.serde import SerdeContext
from tests.protocol.compare import struct_differences
from tests.protocol.java_messages import JavaMessages, missing
from tests.protocol.kafka_bytes import encoded, made
from tests.protocol.kafka_json import definitions
from tests.unit.serde.schemas import serde
from tools.protocol.definitions import CLIENTS, python_name, versions_of

NEVER = 0x7FFF


class LegacyOffsetCommitValue(Struct):
    """The value of Kafka before 0.8.2.2: the fields of version 0 of ``OffsetCommitValue``."""

    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = NEVER

    offset: int = field(INT64)
    metadata: str = field(STRING)
    commit_timestamp: int = field(INT64)


NEWEST, OLDER = "4.4.0", "3.9.2"
JARS = {
    "consumer_offsets": "kafka-group-coordinator",
    "transaction_state": "kafka-transaction-coordinator",
    "share_group_state": "kafka-share-coordinator",
}
ALL = [(topic, kind) for topic, kinds in KINDS.items() for kind in kinds.values()]
REMOVED = {"ShareGroupPartitionMetadata": OLDER}
"""Kinds that newer brokers write no more, and where their definition was last."""


def case_id(case: Any) -> str:
    return case.name if isinstance(case, RecordKind) else str(case)


def definition_names(kind: RecordKind) -> tuple[str, str]:
    legacy = "Legacy" if (kind.number, kind.name) == (0, "OffsetCommit") else ""
    return f"{legacy}{kind.name}Key", f"{legacy}{kind.name}Value"


@pytest.mark.parametrize("topic", JARS)
def test_every_record_of_the_newest_kafka_has_a_table(topic: str) -> None:
    theirs = definitions(NEWEST, JARS[topic])
    ours = {
        name for kind in KINDS[topic].values() for name in definition_names(kind) if kind.name not in REMOVED
    }
    assert ours == set(theirs)
    numbers = {d["apiKey"] for d in theirs.values()}
    assert numbers == {kind.number for kind in KINDS[topic].values() if kind.name not in REMOVED}


@pytest.mark.parametrize(("topic", "kind"), ALL, ids=case_id)
def test_a_key_equals_its_definition(topic: str, kind: RecordKind) -> None:
    kafka = REMOVED.get(kind.name, NEWEST)
    definition = definitions(kafka, JARS[topic])[definition_names(kind)[0]]
    assert definition["flexibleVersions"] == "none"
    version = definition.get("apiKey", kind.number) if kafka == NEWEST else kind.number
    assert version == kind.number
    # The number of the kind is in the place of a version; all fields are there.
    fields = [{**field, "versions": "0+"} for field in definition["fields"]]
    assert struct_differences(kind.key, fields, definition, 0) == []


@pytest.mark.parametrize(("topic", "kind"), ALL, ids=case_id)
def test_a_value_equals_its_definition(topic: str, kind: RecordKind) -> None:
    definition = definitions(REMOVED.get(kind.name, NEWEST), JARS[topic])[definition_names(kind)[1]]
    cls: Any = LegacyOffsetCommitValue if definition["name"].startswith("Legacy") else kind.value
    assert cls.versions == versions_of(definition["validVersions"])
    flexible = versions_of(definition["flexibleVersions"])
    assert cls.flexible == (NEVER if flexible == (1, 0) else flexible[0])
    for version in range(cls.versions[0], cls.versions[1] + 1):
        assert struct_differences(cls, definition["fields"], definition, version) == []


@pytest.mark.parametrize("topic", ["consumer_offsets", "transaction_state"])
def test_values_agree_with_an_older_kafka(topic: str) -> None:
    older = definitions(OLDER, JARS[topic])
    for kind in KINDS[topic].values():
        definition = older.get(f"{kind.name}Value")
        if definition is None or kind.name == "ShareGroupMetadata":  # that was a preview in 3.9
            continue
        cls: Any = kind.value
        first, last = versions_of(definition["validVersions"])
        for version in range(first, min(last, cls.versions[1]) + 1):
            found = struct_differences(cls, definition["fields"], definition, version, newest=False)
            assert [line for line in found if "default" not in line] == []


def printed(values: Any) -> Any:
    """As the serde prints them: names in snake case, bytes in base64, ids and states as Kafka prints them."""
    match values:
        case dict():
            shown = {python_name(name): printed(value) for name, value in values.items()}
            if "transaction_status" in shown:
                status = shown["transaction_status"]
                shown["transaction_status"] = TRANSACTION_STATES.get(status, status)
            return shown
        case list():
            return [printed(value) for value in values]
        case bytes():
            return base64.b64encode(values).decode()
        case UUID():
            return base64.urlsafe_b64encode(values.bytes).decode().rstrip("=")
    return values


WALK = [
    (topic, kind, version)
    for topic, kind in ALL
    for version in range(kind.value.versions[0], kind.value.versions[1] + 1)  # type: ignore[attr-defined]
    if version == 0 or (kind.number, kind.name) != (0, "OffsetCommit")
]


@pytest.mark.parametrize(("topic", "kind", "version"), WALK, ids=case_id)
def test_what_a_broker_writes_by_its_definition_is_read_as_it_was(
    topic: str, kind: RecordKind, version: int
) -> None:
    theirs = definitions(REMOVED.get(kind.name, NEWEST), JARS[topic])
    key_definition, value_definition = (theirs[name] for name in definition_names(kind))
    # The number of the kind is in the place of the key's version; all fields are there.
    key_definition = {**key_definition, "fields": [{**f, "versions": "0+"} for f in key_definition["fields"]]}
    one, rng = serde(topic, writing=False), random.Random(f"{topic} {kind.name} {version}")
    for _ in range(20):
        key_values, values = made(key_definition, 0, rng), made(value_definition, version, rng)
        key = struct.pack(">h", kind.number) + encoded(key_definition, 0, key_values)
        value = struct.pack(">h", version) + encoded(value_definition, version, values)
        found = one.decode(key, SerdeContext(f"__{topic}", "key"))
        assert found == {"type": kind.number, "name": kind.name, "data": printed(key_values)}
        found = one.decode(value, SerdeContext(f"__{topic}", "value", key=key))
        assert found == {"version": version, "name": kind.name, "data": printed(values)}


def test_the_first_offset_commits_read_like_the_later_ones() -> None:
    legacy = [(row.name, row.type) for row in LegacyOffsetCommitValue.fields]
    assert legacy == [(row.name, row.type) for row in OffsetCommitValue.fields if row.present(0)]


def test_a_table_that_differs_would_be_found() -> None:
    definition = definitions(NEWEST, JARS["consumer_offsets"])["OffsetCommitValue"]
    broken = [
        {**field, "type": "int32"} if field["name"] == "offset" else field for field in definition["fields"]
    ]
    assert struct_differences(OffsetCommitValue, broken, definition, 3)


# --- the metadata log --------------------------------------------------------------------------------


METADATA = [
    (number, cls, version)
    for number, cls in metadata_records.KINDS.items()
    for version in range(cls.versions[0], cls.versions[1] + 1)  # type: ignore[attr-defined]
]


def test_every_record_of_the_metadata_log_has_a_table() -> None:
    theirs = definitions(NEWEST, "kafka-metadata")
    assert {cls.__name__: number for number, cls in metadata_records.KINDS.items()} == {
        name: definition["apiKey"] for name, definition in theirs.items()
    }


@pytest.mark.parametrize(("number", "cls", "version"), METADATA, ids=case_id)
def test_what_a_controller_writes_by_its_definition_is_read_as_it_was(
    number: int, cls: type[Struct], version: int
) -> None:
    definition = definitions(NEWEST, "kafka-metadata")[cls.__name__]
    assert struct_differences(cls, definition["fields"], definition, version) == []
    one, rng = serde("cluster_metadata", writing=False), random.Random(f"{number} {version}")
    for _ in range(20):
        values = made(definition, version, rng)
        data = bytes([1, number, version]) + encoded(definition, version, values)
        found = one.decode(data, SerdeContext("__cluster_metadata", "value"))
        name = cls.__name__.removesuffix("Record")
        expected = {"type": number, "version": version, "name": name, "data": printed(values)}
        assert repr(found) == repr(expected)  # a quota may be NaN, which equals nothing


# --- Kafka's own classes -----------------------------------------------------------------------------


@pytest.mark.skipif(bool(missing()), reason=missing() or "there is a JDK")
def test_kafkas_own_classes_write_the_same_records() -> None:
    artifacts = {**JARS, "cluster_metadata": "kafka-metadata"}
    packages = {
        "consumer_offsets": "org.apache.kafka.coordinator.group.generated",
        "transaction_state": "org.apache.kafka.coordinator.transaction.generated",
        "share_group_state": "org.apache.kafka.coordinator.share.generated",
        "cluster_metadata": "org.apache.kafka.common.metadata",
    }
    asked: list[tuple[str, int, bytes]] = []
    for topic, artifact in artifacts.items():
        for name, definition in definitions(NEWEST, artifact).items():
            first, last = versions_of(definition["validVersions"])
            rng = random.Random(name)
            for version in [*range(first, last + 1)] * 20:
                data = encoded(definition, version, made(definition, version, rng))
                asked.append((f"{packages[topic]}.{name}", version, data))
    definitions(NEWEST, CLIENTS)
    with JavaMessages(NEWEST, [CLIENTS, *artifacts.values()]) as java:
        answers = java.rewritten(asked)
    wrong = [
        (name, version, answer)
        for (name, version, data), answer in zip(asked, answers, strict=True)
        if answer != data
    ]
    assert wrong == []
