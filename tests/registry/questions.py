"""The requests that kcli makes of a registry, in an order in which each state is met once, and the answers. Not a test.

``karapace.json`` is what Karapace 6.2.0 answered on Kafka 4.4.0; ``tests/integration/test_karapace.py`` asks a real one.
"""

import http.client
import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

RECORDED = Path(__file__).with_name("karapace.json")


class Question(NamedTuple):
    """A request; ``body`` is sent as JSON."""

    line: str
    body: Any = None


class Answered(NamedTuple):
    """A question, the status and the JSON that came."""

    question: Question
    status: int
    answer: Any


def _record(name: str, *fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": name, "fields": fields})


def _avro(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"schema": _record(name, *fields)}


_A = {"name": "a", "type": "int"}
_B = {"name": "b", "type": "string", "default": ""}
_C = {"name": "c", "type": "string"}
_USER = _avro({"name": "r", "type": "Ref"}, name="User")
_JSON = '{"type":"object","properties":{"a":{"type":"%s"}}}'
_PROTO = 'syntax = "proto3";\nmessage M { %s a = 1; }\n'
_VERBOSE = "versions/latest?verbose=true"


def _referring(version: int) -> dict[str, Any]:
    return {**_USER, "references": [{"name": "Ref", "subject": "ref", "version": version}]}


QUESTIONS = (
    # an empty registry
    *map(Question, ("GET /subjects", "GET /config", "GET /mode", "GET /contexts", "GET /nothing")),
    *map(
        Question,
        ("GET /subjects/s/versions", "GET /subjects/s/versions/1", "GET /subjects/s/versions/latest"),
    ),
    *map(Question, ("GET /schemas/ids/999", "GET /schemas/ids/999/versions", "DELETE /subjects/s")),
    Question("GET /subjects/s/versions/1/referencedby"),
    Question("POST /subjects/s", _avro(_A)),
    Question(f"POST /compatibility/subjects/s/{_VERBOSE}", _avro(_A)),
    # register
    Question("POST /subjects/s/versions", _avro(_A)),
    Question("POST /subjects/s/versions", _avro(_A)),
    Question("POST /subjects/s/versions", _avro(_A, _B)),
    Question("POST /subjects/s/versions", _avro(_A, _C)),
    Question("POST /subjects/s/versions", {"schema": "{"}),
    Question("POST /subjects/s/versions", {"schema": '{"type":"x"}'}),
    Question("POST /subjects/s/versions", {"schema": "{}", "schemaType": "THRIFT"}),
    Question("POST /subjects/s/versions", {}),
    Question("POST /subjects/s/versions", {**_avro(_A, _B), "id": 77, "version": 9}),
    # read
    *(
        Question(f"GET /subjects/s/versions/{version}")
        for version in ("1", "2", "latest", "-1", "0", "3", "x")
    ),
    Question("GET /subjects/s/versions"),
    Question("GET /subjects/s/versions/1/schema"),
    Question("GET /subjects/s/versions/1/referencedby"),
    Question("POST /subjects/s", _avro(_A, _B)),
    Question("POST /subjects/s", _avro(_C)),
    Question("POST /subjects/s", {"schema": "{"}),
    *map(Question, ("GET /schemas/ids/1", "GET /schemas/ids/1/versions")),
    Question("GET /schemas/guids/89791762-2336-4186-9674-299b90a802e2"),
    # compatibility
    *(
        Question(f"POST /compatibility/subjects/s/{end}", _avro(_A, _C))
        for end in (
            "versions/1?verbose=true",
            _VERBOSE,
            "versions/latest",
            "versions/9",
            "versions?verbose=true",
        )
    ),
    Question(f"POST /compatibility/subjects/s/{_VERBOSE}", _avro(_A)),
    Question(f"POST /compatibility/subjects/s/{_VERBOSE}", {"schema": "{"}),
    # configuration and mode
    *map(Question, ("GET /config/s", "GET /config/s?defaultToGlobal=true")),
    Question("PUT /config/s", {"compatibility": "FULL_TRANSITIVE"}),
    Question("GET /config/s"),
    Question("PUT /config/s", {"compatibility": "SOME"}),
    *map(Question, ("DELETE /config/s", "DELETE /config/s", "GET /config/s")),
    Question("PUT /config", {"compatibility": "NONE"}),
    Question("GET /config"),
    Question("PUT /config", {"compatibility": "BACKWARD"}),
    Question("GET /mode/s"),
    *map(Question, ("GET /mode/kcli-no-such-subject", "OPTIONS /mode/kcli-no-such-subject")),
    Question("PUT /mode/s", {"mode": "READONLY"}),
    Question("DELETE /mode/s"),
    # references
    Question("POST /subjects/ref/versions", _avro(_A, name="Ref")),
    Question("POST /subjects/user/versions", _referring(7)),
    Question("POST /subjects/user2/versions", _USER),
    Question("POST /subjects/user/versions", _referring(1)),
    *map(Question, ("GET /subjects/ref/versions/1/referencedby", "GET /subjects/user/versions/1")),
    *map(Question, ("GET /schemas/ids/4", "DELETE /subjects/ref", "DELETE /subjects/ref/versions/1")),
    # delete a subject
    *map(Question, ("DELETE /subjects/user", "GET /subjects", "GET /subjects?deleted=true")),
    *map(Question, ("GET /subjects/user/versions", "GET /subjects/user/versions?deleted=true")),
    *map(Question, ("GET /subjects/user/versions/1", "GET /subjects/user/versions/1?deleted=true")),
    *map(Question, ("DELETE /subjects/user", "GET /subjects/ref/versions/1/referencedby")),
    *map(Question, ("DELETE /subjects/user?permanent=true", "GET /subjects?deleted=true")),
    *map(Question, ("DELETE /subjects/user?permanent=true", "GET /schemas/ids/4")),
    *map(Question, ("DELETE /subjects/ref", "DELETE /subjects/s?permanent=true")),
    # delete a version
    *map(Question, ("DELETE /subjects/s/versions/1?permanent=true", "DELETE /subjects/s/versions/1")),
    *map(Question, ("DELETE /subjects/s/versions/1", "GET /subjects/s/versions")),
    *map(Question, ("GET /subjects/s/versions?deleted=true", "GET /schemas/ids/1")),
    *map(Question, ("GET /schemas/ids/1/versions", "GET /schemas/ids/1/versions?deleted=true")),
    Question("POST /subjects/s", _avro(_A)),
    Question("POST /subjects/s?deleted=true", _avro(_A)),
    Question("POST /subjects/s/versions", _avro(_A)),
    *map(Question, ("GET /subjects/s/versions", "DELETE /subjects/s/versions/1?permanent=true")),
    *map(Question, ("GET /subjects/s/versions?deleted=true", "DELETE /subjects/s/versions/9")),
    Question("DELETE /subjects/s/versions/latest"),
    # undelete: the same schema is registered again
    Question("POST /subjects/ref/versions", _avro(_A, name="Ref")),
    Question("GET /subjects/ref/versions"),
    # names
    Question("POST /subjects/%3A.ctx%3As9/versions", _avro(_A, name="Ctx")),
    Question("GET /subjects/%3A.ctx%3As9/versions/1"),
    Question("POST /subjects/a%2Fb/versions", _avro(_A, name="Slash")),
    *map(Question, ("GET /subjects/a%2Fb/versions/1", "GET /subjects?subjectPrefix=:.ctx:")),
    # the other kinds
    Question("POST /subjects/j/versions", {"schema": _JSON % "integer", "schemaType": "JSON"}),
    Question("GET /subjects/j/versions/1"),
    Question(
        f"POST /compatibility/subjects/j/{_VERBOSE}", {"schema": _JSON % "string", "schemaType": "JSON"}
    ),
    Question("POST /subjects/p/versions", {"schema": _PROTO % "int32", "schemaType": "PROTOBUF"}),
    *map(Question, ("GET /subjects/p/versions/1", "GET /subjects/p/versions/1?format=serialized")),
    Question(
        f"POST /compatibility/subjects/p/{_VERBOSE}", {"schema": _PROTO % "string", "schemaType": "PROTOBUF"}
    ),
    Question(
        "POST /subjects/p/versions", {"schema": 'syntax = "proto3"; message {', "schemaType": "PROTOBUF"}
    ),
    Question("POST /subjects/p/versions", _avro(_A)),
    Question("GET /subjects?deleted=true"),
)


def answers(url: str) -> list[Answered]:
    """What the registry at an address answers, which was empty before."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    found = []
    for question in QUESTIONS:
        method, path = question.line.split(" ", 1)
        body = None if question.body is None else json.dumps(question.body)
        connection.request(method, path, body, {"Content-Type": "application/vnd.schemaregistry.v1+json"})
        response = connection.getresponse()
        found.append(Answered(question, response.status, json.loads(response.read())))
    connection.close()
    return found


def recorded() -> list[Answered]:
    """What Karapace answered."""
    rows = json.loads(RECORDED.read_text())
    return [Answered(question, *row) for question, row in zip(QUESTIONS, rows, strict=True)]


def record(found: list[Answered]) -> None:
    """Writes the answers, each in a line."""
    rows = [json.dumps([one.status, one.answer], ensure_ascii=False) for one in found]
    RECORDED.write_text("[\n" + ",\n".join(rows) + "\n]\n")


def essence(one: Answered) -> Answered:
    """What has to be equal: the words of a refused schema are a library's, and how a Protobuf schema is set."""
    answer = one.answer
    if isinstance(answer, dict) and answer.get("error_code") in (422, 42201, 409):
        answer = {"error_code": answer["error_code"], "message": bool(answer["message"])}
    elif isinstance(answer, dict) and answer.get("schemaType") == "PROTOBUF":
        answer = {**answer, "schema": answer["schema"].split()}
    return one._replace(answer=answer)
