"""Every message table against the definitions that Kafka publishes, in every version the table claims."""

from typing import Any

import pytest

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, Array, Struct, field
from tests.protocol.compare import differences, shared_versions, struct_differences
from tests.protocol.kafka_json import NEWEST, OLDER, definitions
from tests.protocol.tables import case_id, data, requests
from tools.protocol.definitions import python_name, versions_of

REQUESTS = requests()
DATA = data()


def test_all_tables_are_found() -> None:
    names = {request.__name__ for request in REQUESTS}
    assert names >= {"ApiVersionsRequest", "ProduceRequest", "FetchRequest", "MetadataRequest"}


@pytest.mark.case("S0-2")
@pytest.mark.parametrize("request_type", REQUESTS, ids=case_id)
def test_table_equals_the_definition_of_the_newest_kafka(request_type: type[Request]) -> None:
    assert differences(request_type, definitions(NEWEST), newest=True) == []


@pytest.mark.parametrize("kafka", OLDER)
@pytest.mark.parametrize("request_type", REQUESTS, ids=case_id)
def test_table_agrees_with_older_kafkas_where_they_overlap(request_type: type[Request], kafka: str) -> None:
    older = definitions(kafka)
    # An API may be younger than that Kafka, or have been there for early access only, in a version that was removed.
    if request_type.__name__ in older and shared_versions(request_type, older[request_type.__name__]):
        assert differences(request_type, older, newest=False) == []


@pytest.mark.parametrize("kafka", OLDER)
def test_older_kafkas_share_versions_with_the_basic_tables(kafka: str) -> None:
    older = definitions(kafka)
    shared = [r for r in REQUESTS if r.__name__ in older and shared_versions(r, older[r.__name__])]
    assert len(shared) >= 5


@pytest.mark.parametrize("request_type", REQUESTS, ids=case_id)
def test_api_keys_and_names_are_those_of_kafka(request_type: type[Request]) -> None:
    definition = definitions(NEWEST)[request_type.__name__]
    assert definition["type"] == "request"
    assert request_type.api_name == definition["name"].removesuffix("Request")
    assert definitions(NEWEST)[request_type.response.__name__]["apiKey"] == request_type.api_key


def test_api_keys_are_unique() -> None:
    keys = [request.api_key for request in REQUESTS]
    assert len(set(keys)) == len(keys)


# --- tables that travel inside other messages -----------------------------------------------------------


FLEXIBLE = {
    "ConsumerProtocolAssignment": "none",
    "ConsumerProtocolSubscription": "none",
    "KRaftVersionRecord": "0+",
    "LeaderChangeMessage": "0+",
    "SnapshotFooterRecord": "0+",
    "SnapshotHeaderRecord": "0+",
    "VotersRecord": "0+",
}


def test_the_tables_of_the_consumer_protocol_and_of_control_records_are_found() -> None:
    assert [cls.__name__ for cls in DATA] == list(FLEXIBLE)


@pytest.mark.parametrize("cls", DATA, ids=case_id)
def test_data_equals_the_definition_of_the_newest_kafka(cls: Any) -> None:
    definition = definitions(NEWEST)[cls.__name__]
    assert (definition["type"], definition["flexibleVersions"]) == ("data", FLEXIBLE[cls.__name__])
    assert versions_of(definition["validVersions"]) == cls.versions
    for version in range(cls.versions[1] + 1):
        assert struct_differences(cls, definition["fields"], definition, version) == []


@pytest.mark.parametrize("kafka", OLDER)
@pytest.mark.parametrize("cls", DATA, ids=case_id)
def test_data_agrees_with_older_kafkas(cls: Any, kafka: str) -> None:
    definition = definitions(kafka).get(cls.__name__)
    if definition is None:
        assert cls.__name__ not in ("ConsumerProtocolAssignment", "ConsumerProtocolSubscription")
        return  # Kafka had no such record yet
    if (cls.__name__, kafka) == ("LeaderChangeMessage", "2.8.2"):
        assert (
            definition["fields"][0]["name"] == "LeaderId"
        )  # it got its version number without another version
        return
    last = versions_of(definition["validVersions"])[1]
    for version in range(min(last, cls.versions[1]) + 1):
        assert struct_differences(cls, definition["fields"], definition, version, newest=False) == []


# --- the comparison can fail -------------------------------------------------------------------------

ROW: dict[str, Any] = {"name": "TopicName", "type": "string", "versions": "0+"}
ROOT = {"flexibleVersions": "9+", "fields": []}


def differences_of(table: type[Struct], *fields: dict[str, Any], version: int = 9) -> list[str]:
    return struct_differences(table, list(fields), ROOT, version)


def table(*rows: Any) -> type[Struct]:
    names = ["topic_name", "second", "third"]
    return type("Table", (Struct,), dict(zip(names, rows, strict=False)))


def test_an_equal_table_has_no_differences() -> None:
    assert differences_of(table(field(STRING)), ROW) == []


@pytest.mark.parametrize(
    ("broken", "definition", "said"),
    [
        (table(field(INT32)), ROW, "in Kafka string"),
        (table(field(Array(STRING))), ROW, "in Kafka string"),
        (table(field(STRING)), {**ROW, "type": "[]string"}, "in Kafka []string"),
        (table(field(Array(INT16))), {**ROW, "type": "[]int32"}, "in Kafka []int32"),
        (table(field(STRING, "10+")), ROW, "fields"),
        (table(field(STRING)), {**ROW, "versions": "10+"}, "fields"),
        (table(field(STRING, "0-8")), ROW, "fields"),
        (table(field(STRING)), {**ROW, "name": "Topic"}, "fields"),
        (table(field(STRING, nullable="9+")), ROW, "nullable"),
        (table(field(STRING)), {**ROW, "nullableVersions": "9+"}, "nullable"),
        (table(field(STRING, tag=0)), ROW, "fields"),
        (table(field(STRING)), {**ROW, "taggedVersions": "9+", "tag": 0}, "fields"),
        (table(field(STRING, tag=1)), {**ROW, "taggedVersions": "9+", "tag": 0}, "fields"),
        (table(field(STRING, default="x")), ROW, "default"),
        (table(field(STRING)), {**ROW, "default": "x"}, "default"),
        (table(field(STRING)), {**ROW, "default": "null"}, "default"),
        (table(field(INT32, default=0)), {**ROW, "type": "int32", "default": "-1"}, "default"),
        (table(field(STRING)), {**ROW, "flexibleVersions": "none"}, "flexible"),
        (table(field(STRING)), {**ROW, "type": "Part", "fields": [ROW]}, "in Kafka Part"),
        (table(field(table(field(INT32)))), {**ROW, "type": "Part", "fields": [ROW]}, "in Kafka string"),
    ],
)
def test_a_broken_table_is_found(broken: type[Struct], definition: dict[str, Any], said: str) -> None:
    found = differences_of(broken, definition)
    assert len(found) == 1
    assert said in found[0]


def test_fields_in_another_order_are_found() -> None:
    swapped = table(field(STRING), field(STRING))
    second = {**ROW, "name": "Second"}
    assert differences_of(swapped, ROW, second) == []
    assert "fields" in differences_of(swapped, second, ROW)[0]


def test_an_older_kafka_may_spell_a_field_differently_and_lack_tagged_ones() -> None:
    ours = table(field(STRING), field(INT32, tag=0))
    assert struct_differences(ours, [{**ROW, "name": "Topic"}], ROOT, 9, newest=False) == []


@pytest.mark.parametrize("theirs", [[], [{**ROW, "type": "int32"}], [ROW, {**ROW, "name": "More"}]])
def test_an_older_kafka_must_have_the_same_plain_fields(theirs: list[dict[str, Any]]) -> None:
    assert struct_differences(table(field(STRING)), theirs, ROOT, 9, newest=False)


def broken_request(**options: Any) -> type[Request]:
    answer = type("ThingResponse", (Response,), {})
    given = {"key": 7, "versions": (1, 3), "flexible": 2, "response": answer, **options}
    return type("ThingRequest", (Request,), {}, **given)


THING = {"apiKey": 7, "validVersions": "1-3", "flexibleVersions": "2+", "fields": []}
THINGS = {"ThingRequest": THING, "ThingResponse": THING}


def test_an_equal_request_has_no_differences() -> None:
    assert differences(broken_request(), THINGS, newest=True) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": 8}, "key 8, in Kafka 7"),
        ({"versions": (1, 2)}, "versions (1, 2), in Kafka (1, 3)"),
        ({"versions": (0, 3)}, "versions (0, 3), in Kafka (1, 3)"),
        ({"versions": (4, 5)}, "no version in common"),
        ({"flexible": 3}, "flexible is True in Kafka"),
        ({"flexible": 1}, "flexible is False in Kafka"),
    ],
)
def test_a_broken_request_is_found(options: dict[str, Any], said: str) -> None:
    assert any(said in line for line in differences(broken_request(**options), THINGS, newest=True))


@pytest.mark.parametrize(
    ("kafka", "python"),
    [
        ("TransactionalId", "transactional_id"),
        ("Enable2Pc", "enable2_pc"),
        ("IsrNodes", "isr_nodes"),
        ("ISR", "isr"),
        ("From", "from_"),
        ("ThrottleTimeMs", "throttle_time_ms"),
    ],
)
def test_names_are_spelled_like_kafkas_generators_do(kafka: str, python: str) -> None:
    assert python_name(kafka) == python
