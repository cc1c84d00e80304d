"""Our tables of coordinators' records against the definitions inside Kafka's jars: each record, each version."""

import functools
import zipfile
from typing import Any, ClassVar

import pytest

from kcli.core.protocol.schema import INT64, STRING, Struct, field
from kcli.sandbox.errors import DownloadError
from kcli.sandbox.fetch import Fetcher
from kcli.sandbox.jar_list import repository_of
from kcli.sandbox.paths import cache_root
from kcli.serde.internal.group_records import NEVER, OffsetCommitValue
from kcli.serde.internal.kinds import KINDS, RecordKind
from tests.protocol.compare import struct_differences
from tests.protocol.kafka_json import Definition, _parse, _repository, versions_of


class LegacyOffsetCommitValue(Struct):
    """The value of Kafka before 0.8.2.2: the fields of version 0 of ``OffsetCommitValue``."""

    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = NEVER

    offset: int = field(INT64)
    metadata: str = field(STRING)
    commit_timestamp: int = field(INT64)


NEWEST, OLDER = "4.3.1", "3.9.2"
JARS = {
    "consumer_offsets": "kafka-group-coordinator",
    "transaction_state": "kafka-transaction-coordinator",
    "share_group_state": "kafka-share-coordinator",
}
ALL = [(topic, kind) for topic, kinds in KINDS.items() for kind in kinds.values()]
REMOVED = {"ShareGroupPartitionMetadata": OLDER}
"""Kinds that newer brokers write no more, and where their definition was last."""


@functools.cache
def definitions(artifact: str, version: str) -> dict[str, Definition]:
    """Name → definition; a field whose versions are not said has those in which it is tagged, as Kafka reads it."""
    path = f"org/apache/kafka/{artifact}/{version}/{artifact}-{version}.jar"
    file = repository_of(cache_root()) / path
    if not file.exists():
        try:
            Fetcher(_repository()).fetch(path, file, on_bytes=lambda _count: None)
        except DownloadError as error:
            pytest.skip(f"no {artifact} {version} jar in the cache, and it cannot be fetched: {error}")
    with zipfile.ZipFile(file) as jar:
        names = [n for n in jar.namelist() if n.startswith("common/message/") and n.endswith(".json")]
        found = [_parse(jar.read(name).decode()) for name in names]
    for definition in found:
        _complete(definition["fields"])
        for struct in definition.get("commonStructs", ()):
            _complete(struct["fields"])
    return {definition["name"]: definition for definition in found}


def _complete(fields: list[Definition]) -> None:
    for row in fields:
        row.setdefault("versions", row.get("taggedVersions"))
        _complete(row.get("fields", []))


def case_id(case: Any) -> str:
    return case.name if isinstance(case, RecordKind) else str(case)


def definition_names(kind: RecordKind) -> tuple[str, str]:
    legacy = "Legacy" if (kind.number, kind.name) == (0, "OffsetCommit") else ""
    return f"{legacy}{kind.name}Key", f"{legacy}{kind.name}Value"


@pytest.mark.parametrize("topic", JARS)
def test_every_record_of_the_newest_kafka_has_a_table(topic: str) -> None:
    theirs = definitions(JARS[topic], NEWEST)
    ours = {
        name for kind in KINDS[topic].values() for name in definition_names(kind) if kind.name not in REMOVED
    }
    assert ours == set(theirs)
    numbers = {d["apiKey"] for d in theirs.values()}
    assert numbers == {kind.number for kind in KINDS[topic].values() if kind.name not in REMOVED}


@pytest.mark.parametrize(("topic", "kind"), ALL, ids=case_id)
def test_a_key_equals_its_definition(topic: str, kind: RecordKind) -> None:
    kafka = REMOVED.get(kind.name, NEWEST)
    definition = definitions(JARS[topic], kafka)[definition_names(kind)[0]]
    assert definition["flexibleVersions"] == "none"
    version = definition.get("apiKey", kind.number) if kafka == NEWEST else kind.number
    assert version == kind.number
    # The number of the kind is in the place of a version; all fields are there.
    fields = [{**field, "versions": "0+"} for field in definition["fields"]]
    assert struct_differences(kind.key, fields, definition, 0) == []


@pytest.mark.parametrize(("topic", "kind"), ALL, ids=case_id)
def test_a_value_equals_its_definition(topic: str, kind: RecordKind) -> None:
    definition = definitions(JARS[topic], REMOVED.get(kind.name, NEWEST))[definition_names(kind)[1]]
    cls: Any = LegacyOffsetCommitValue if definition["name"].startswith("Legacy") else kind.value
    assert cls.versions == versions_of(definition["validVersions"])
    flexible = versions_of(definition["flexibleVersions"])
    assert cls.flexible == (NEVER if flexible == (1, 0) else flexible[0])
    for version in range(cls.versions[0], cls.versions[1] + 1):
        assert struct_differences(cls, definition["fields"], definition, version) == []


@pytest.mark.parametrize("topic", ["consumer_offsets", "transaction_state"])
def test_values_agree_with_an_older_kafka(topic: str) -> None:
    older = definitions(JARS[topic], OLDER)
    for kind in KINDS[topic].values():
        definition = older.get(f"{kind.name}Value")
        if definition is None or kind.name == "ShareGroupMetadata":  # that was a preview in 3.9
            continue
        cls: Any = kind.value
        first, last = versions_of(definition["validVersions"])
        for version in range(first, min(last, cls.versions[1]) + 1):
            found = struct_differences(cls, definition["fields"], definition, version, newest=False)
            assert [line for line in found if "default" not in line] == []


def test_the_first_offset_commits_read_like_the_later_ones() -> None:
    legacy = [(row.name, row.type) for row in LegacyOffsetCommitValue.fields]
    assert legacy == [(row.name, row.type) for row in OffsetCommitValue.fields if row.present(0)]


def test_a_table_that_differs_would_be_found() -> None:
    definition = definitions(JARS["consumer_offsets"], NEWEST)["OffsetCommitValue"]
    broken = [
        {**field, "type": "int32"} if field["name"] == "offset" else field for field in definition["fields"]
    ]
    assert struct_differences(OffsetCommitValue, broken, definition, 3)
