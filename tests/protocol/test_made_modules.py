"""``make protocol``: what is committed is what it writes, and what it refuses to write."""

from collections.abc import Callable
from typing import Any

import pytest

from kcli.sandbox.errors import DownloadError
from tests.protocol.kafka_json import NEWEST, definitions
from tools.protocol import jars, notes
from tools.protocol.__main__ import KAFKA, changes, formatted
from tools.protocol.modules import apis, modules, snake
from tools.protocol.render import Tables


def test_the_modules_are_those_that_are_made() -> None:
    try:
        made = modules(KAFKA)
    except DownloadError as error:
        pytest.skip(f"a jar is not in the cache, and cannot be fetched: {error}")
    assert sorted(changes(formatted(made))) == []


def test_a_change_by_hand_is_found() -> None:
    path = "kcli/core/protocol/messages/heartbeat.py"
    assert changes({path: "something else\n"}) == {path: "something else\n"}


def test_the_tests_and_the_modules_are_of_one_kafka() -> None:
    assert KAFKA == NEWEST


BETWEEN_BROKERS = {
    "AllocateProducerIds", "AlterPartition", "AssignReplicasToDirs", "BeginQuorumEpoch", "BrokerHeartbeat",
    "BrokerRegistration", "ControllerRegistration", "DeleteShareGroupState", "EndQuorumEpoch", "Envelope",
    "FetchSnapshot", "InitializeShareGroupState", "ReadShareGroupState", "ReadShareGroupStateSummary", "UpdateRaftVoter",
    "Vote", "WriteShareGroupState",
}  # fmt: skip
"""What brokers and controllers only send to each other."""


def test_every_api_of_kafka_is_made_or_none_of_a_client() -> None:
    definitions(NEWEST)
    assert set(apis(NEWEST)) == notes.APIS.keys() | BETWEEN_BROKERS
    assert not notes.APIS.keys() & BETWEEN_BROKERS


def test_notes_are_about_something_that_is_there() -> None:
    definitions(NEWEST)
    text = "\n".join(modules(NEWEST).values())
    places = notes.SECRETS | notes.LONG_ARRAYS | notes.SEQUENCES | notes.VIEWS
    missing = [
        place
        for place in sorted(places)
        if not any(
            part.startswith(f"{place.partition('.')[0]}(") and f"\n    {place.partition('.')[2]}: " in part
            for part in text.split("\nclass ")
        )
    ]
    assert missing == []
    assert all(f"class {name}(" in text for name in [*notes.METHODS, *notes.CLASSES.values()])
    assert (notes.NO_NEWS.keys() | notes.NEWEST_USED.keys()) <= notes.APIS.keys()


@pytest.mark.parametrize(
    ("api", "module"),
    [
        ("ApiVersions", "api_versions"),
        ("AddOffsetsToTxn", "add_offsets_to_txn"),
        ("AddRaftVoter", "add_raft_voter"),
    ],
)
def test_modules_are_called_like_their_apis(api: str, module: str) -> None:
    assert snake(api) == module


# --- single rules ----------------------------------------------------------------------------------------------------


def root(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "type": "request",
        "validVersions": "1-3",
        "flexibleVersions": "2+",
        "fields": list(fields),
    }


def text_of(*roots: dict[str, Any]) -> str:
    tables = Tables(roots)
    for one in roots:
        tables.add(one, "Struct")
    return tables.text


INT = {"name": "Count", "type": "int32", "versions": "0+"}


@pytest.mark.parametrize(
    ("definition", "line"),
    [
        (INT, "count: int = field(INT32)"),
        ({**INT, "versions": "2+"}, 'count: int = field(INT32, "2+", default=0)'),
        ({**INT, "default": "0x7f"}, "count: int = field(INT32, default=127)"),
        ({**INT, "type": "string", "default": "null", "nullableVersions": "1+"},
         'count: str | None = field(STRING, default=None, nullable="1+")'),
        ({**INT, "type": "bool", "default": "true"}, "count: bool = field(BOOL, default=True)"),
        ({**INT, "type": "[]uuid", "versions": "3+"},
         'count: list[bytes] = field(Array(UUID), "3+", default_factory=list)'),
        ({**INT, "versions": "2+", "taggedVersions": "2+", "tag": 4},
         'count: int = field(INT32, "2+", default=0, tag=4)'),
        ({**INT, "type": "bytes", "zeroCopy": True}, "count: bytes | memoryview = field(BYTES)"),
        ({**INT, "type": "string", "default": 'a"b'}, r"""count: str = field(STRING, default='a"b')"""),
    ],
)  # fmt: skip
def test_a_field(definition: dict[str, Any], line: str) -> None:
    assert f"    {line}\n" in text_of(root("ThingRequest", definition))


@pytest.mark.parametrize("versions", ["0", "4+", "none"])
def test_a_field_that_no_valid_version_has_is_left_out(versions: str) -> None:
    assert (
        text_of(root("ThingRequest", {**INT, "versions": versions}))
        == "class ThingRequest(Struct):\n    pass\n"
    )


def holder(message: str, inner: dict[str, Any]) -> dict[str, Any]:
    return root(message, {"name": "Parts", "type": "[]Part", "versions": "0+", "fields": [inner]})


def test_structs_of_one_name_are_one_class_if_they_are_equal() -> None:
    text = text_of(holder("ThingResponse", INT), holder("ThingRequest", INT))
    assert text.count("class Part(") == 1


@pytest.mark.parametrize(
    ("messages", "names"),
    [
        (("ThingResponse", "ThingRequest"), ("class Part(", "class RequestedPart(")),
        (("FirstValue", "SecondValue"), ("class FirstPart(", "class SecondPart(")),
    ],
)
def test_different_structs_of_one_name_have_names_of_their_own(
    messages: tuple[str, str], names: tuple[str, str]
) -> None:
    text = text_of(holder(messages[0], INT), holder(messages[1], {**INT, "type": "int64"}))
    assert all(text.count(name) == 1 for name in names)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: text_of(root("ThingRequest", {**INT, "taggedVersions": "2+", "tag": 0})), "tagged in other versions"),
        (lambda: text_of(root("ThingRequest", {**INT, "name": "Fields"})), "for itself"),
        (lambda: text_of(holder("AResponse", INT), holder("BResponse", {**INT, "type": "int64"})), "notes.CLASSES"),
    ],
)  # fmt: skip
def test_what_a_table_cannot_say_is_an_error(make: Callable[[], str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("pins", "said"), [({}, "is not pinned"), ({"thing-1.jar": "0" * 64}, "has another SHA-256 than 0000")]
)
def test_a_jar_that_is_not_the_pinned_one_is_refused(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, pins: dict[str, str], said: str
) -> None:
    file = tmp_path / "maven/org/apache/kafka/thing/1/thing-1.jar"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"something")
    monkeypatch.setattr(jars, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(jars, "pins", lambda: pins)
    with pytest.raises(jars.JarError, match=said) as error:
        jars.jar("thing", "1")
    assert "  thing-1.jar" in str(error.value)
    jars.jar.cache_clear()
