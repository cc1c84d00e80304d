"""Talking to the registry over connections that a test makes up: retry, failover, re-use, and answers that are odd."""

import json
from typing import Any

import pytest

from kcli.core.net.http_messages import Answer, NoAnswerError, Request
from kcli.core.options import key_of
from kcli.serde.errors import (
    RegistryAuthError,
    RegistryError,
    RegistryUnreachableError,
    SchemaNotFoundError,
)
from kcli.serde.registry.addresses import addresses
from kcli.serde.registry.options import RegistryOptions, parse_registry_pairs
from kcli.serde.registry.transport import MAX_ANSWER, Transport

Scripted = tuple[int, bytes] | tuple[int, bytes, dict[str, str]] | str


class Wire:
    """Gives the next of ``answers``, and remembers what was asked; a text is why there is none."""

    def __init__(self, *answers: Scripted) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []
        self.slept: list[float] = []
        self.now = 0.0

    def send(self, request: Request) -> Answer:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise NoAnswerError(request.address, answer)
        status, body, headers = (*answer, {})[:3]
        lowered = {name.lower(): value for name, value in headers.items()}
        return Answer(request.address, status, lowered, body[: request.limit], len(body) <= request.limit)

    def transport(self, url: str = "http://a:1", **options: Any) -> Transport:
        pairs = [(key_of(name), str(value), "") for name, value in options.items()]
        given = RegistryOptions.build({"schema_registry_url": url, **parse_registry_pairs(pairs)})
        found = addresses(given, allow_plaintext_secrets=True)
        return Transport(found, given, send=self.send, now=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def error(code: int, message: str = "no") -> bytes:
    return json.dumps({"error_code": code, "message": message}).encode()


OK = (200, b'{"a":1}')


def test_an_answer_is_its_json() -> None:
    wire = Wire(OK, OK)
    transport = wire.transport("http://a:1/base/")
    assert transport.ask("GET", "/x") == {"a": 1}
    assert transport.ask("POST", "/y", {"b": 2}) == {"a": 1}
    get, post = wire.asked
    assert (get.target, post.target) == ("/base/x", "/base/y")
    assert "Content-Type" not in get.headers
    assert json.loads(post.body or b"") == {"b": 2}
    assert "schemaregistry" in post.headers["Content-Type"]


@pytest.mark.parametrize("failure", ["refused", (500, error(50001)), (503, b"<html>"), (429, b"")], ids=repr)
def test_temporary_errors_are_retried_at_the_next_address(failure: Scripted) -> None:
    wire = Wire(failure, OK, OK)
    transport = wire.transport("http://a:1,http://b:2")
    assert transport.ask("GET", "/x") == {"a": 1}
    assert len(wire.slept) == 1
    transport.ask("GET", "/y")
    assert [str(asked.address) for asked in wire.asked] == [
        "http://a:1",
        "http://b:2",
        "http://b:2",
    ]  # who answers


def test_it_gives_up_and_says_what_each_address_said() -> None:
    wire = Wire("refused", (500, error(50001, "disk\nfull")), "no response in time")
    with pytest.raises(RegistryUnreachableError) as caught:
        wire.transport("http://a:1,http://b:2", schema_registry_max_retries=2).ask("GET", "/x")
    assert (
        caught.value.why
        == "http://a:1: refused; http://b:2: disk full (50001); http://a:1: no response in time"
    )
    assert caught.value.exit_code == 3
    assert len(wire.slept) == 2
    assert wire.slept[0] < wire.slept[1] < 3


@pytest.mark.parametrize(
    ("status", "body", "kind", "why", "exit_code"),
    [
        (404, error(40401, "no subject"), SchemaNotFoundError, "no subject (40401)", 1),
        (404, error(40403), SchemaNotFoundError, "no (40403)", 1),
        (404, b"<html>not here</html>", RegistryError, "HTTP 404", 1),
        (401, error(401, "who?"), RegistryAuthError, "who? (401)", 4),
        (403, b"", RegistryAuthError, "HTTP 403", 4),
        (409, error(409, "incompatible"), RegistryError, "incompatible (409)", 1),
        (422, error(42201, "bad\x1b[31m schema" + "x" * 1000), RegistryError, "bad [31m schema", 1),
        (302, b"", RegistryError, "HTTP 302", 1),
        (400, b'{"error_code":"x","message":{"a":1}}', RegistryError, "{'a': 1}", 1),
        (400, b"[" * 100_000, RegistryError, "HTTP 400", 1),
        (400, b"[1]", RegistryError, "HTTP 400", 1),
    ],
)
def test_a_refusal_is_reported_in_plain_words(
    status: int, body: bytes, kind: type[RegistryError], why: str, exit_code: int
) -> None:
    with pytest.raises(RegistryError) as caught:
        Wire((status, body)).transport().ask("GET", "/x")
    assert type(caught.value) is kind
    assert why in caught.value.why
    assert len(caught.value.why) < 320
    assert caught.value.why.isprintable()
    assert (caught.value.status, caught.value.exit_code) == (status, exit_code)


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000])
def test_an_answer_that_is_not_json(body: bytes) -> None:
    with pytest.raises(RegistryError, match="is not JSON"):
        Wire((200, body)).transport().ask("GET", "/x")


def test_an_answer_without_end_is_refused() -> None:
    wire = Wire((200, b"x" * (MAX_ANSWER + 1)))
    with pytest.raises(RegistryError, match="too large"):
        wire.transport().ask("GET", "/x")


@pytest.mark.parametrize(
    ("options", "headers"),
    [
        ({"basic_auth_user_info": "a:b"}, {"Authorization": "Basic YTpi"}),
        (
            {
                "bearer_auth_token": "t",
                "bearer_auth_logical_cluster": "lsrc-1",
                "bearer_auth_identity_pool_id": "pool-1",
            },
            {
                "Authorization": "Bearer t",
                "target-sr-cluster": "lsrc-1",
                "Confluent-Identity-Pool-Id": "pool-1",
            },
        ),
    ],
)
def test_the_client_id_is_in_each_request(options: dict[str, str], headers: dict[str, str]) -> None:
    wire = Wire(OK)
    wire.transport(**options).ask("GET", "/x")
    assert headers.items() <= wire.asked[0].headers.items()


@pytest.mark.parametrize("failure", ["refused", (401, error(401)), (500, b"")], ids=repr)
def test_no_error_shows_a_secret(failure: Scripted) -> None:
    transport = Wire(*[failure] * 9).transport(
        basic_auth_user_info="me:geheim", schema_registry_max_retries=1
    )
    with pytest.raises((RegistryError, RegistryUnreachableError)) as caught:
        transport.ask("GET", "/x")
    told = f"{caught.value} {caught.value.do} {caught.value!r}"
    assert "geheim" not in told
    assert "bWU6Z2VoZWlt" not in told
