"""Each way to log in to a real Kafka through the command line, and each thing that is wrong with it (S2, S3, S5, N4).

What is wrong is one option more on a file of client options that works. Brokers count attempts: their log has a line for
each authentication or TLS handshake that failed.
"""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kcli.core.secret import Secret
from kcli.sandbox.security.certificates import Authority
from kcli.sandbox.security.names import CLIENT_FILES, HOSTS
from kcli.sandbox.security.tokens import TokenSigner
from tests.run import Done, kcli
from tests.secure_kafka import SecureKafka, unused_name, write_file

pytestmark = pytest.mark.integration

RECORDS = [
    {"key": "k", "value": "v", "headers": [["h", "1"], ["h", None]]},
    {"key": None, "value": "", "headers": []},
    {"key": "", "value": None, "headers": []},
    {"key": "AP8=", "key_encoding": "base64", "value": "grün", "headers": []},
]

PLAIN_TEXT = {"security.protocol": "SASL_PLAINTEXT"}
ALLOWED = {**PLAIN_TEXT, "allow.plaintext.secrets": "true"}
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    **{name: (name, {}) for name, way in CLIENT_FILES.items() if way.user},
    "plaintext PLAIN": ("alice-plain", ALLOWED),
    "plaintext OAUTHBEARER": ("alice-oauthbearer", ALLOWED),
    "plaintext SCRAM-SHA-512": ("alice-scram-sha-512", PLAIN_TEXT),
}
"""A file of client options, and what is added to it."""


def options(kafka: SecureKafka, way: str, more: Mapping[str, str]) -> dict[str, str]:
    """Those of a file with ``more``; the address is that of the listener with this security protocol."""
    found = kafka.options(way)
    protocol = more.get("security.protocol", found["security.protocol"])
    if protocol != found["security.protocol"] and protocol in kafka.bootstraps:
        found["bootstrap.servers"] = kafka.bootstraps[protocol]
    return {**found, **more}


def run(file: str, *arguments: str, code: int = 0) -> Done:
    done = kcli(*arguments, "-F", file)
    assert done.code == code, done
    return done


@pytest.mark.parametrize("name", WAYS)
def test_records_there_and_back_in_a_group(secure_kafka: SecureKafka, name: str, tmp_path: Path) -> None:
    way, more = WAYS[name]
    topic, group = secure_kafka.topic(), unused_name("g")
    secure_kafka.grant("alice", ("TOPIC", topic, "READ"), ("TOPIC", topic, "WRITE"), ("GROUP", group, "READ"))
    file = write_file(tmp_path / "client.properties", options(secure_kafka, way, more))
    records = tmp_path / "records"
    records.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    run(file, "produce", topic, "-i", "ndjson", str(records))
    assert secure_kafka.values(topic) == [b"v", b"", None, "grün".encode()]
    read = run(file, "consume", topic, "-e", "-g", group, "-o", "ndjson")
    rows = [json.loads(line) for line in read.out.splitlines()]
    assert [{key: row[key] for key in record} for row, record in zip(rows, RECORDS, strict=True)] == RECORDS
    (lag,) = json.loads(run(file, "groups", "lag", group, "-o", "json").out)["items"]
    assert (lag["committed"], lag["end"], lag["lag_records"]) == (len(RECORDS), len(RECORDS), 0)
    assert "Empty" in run(file, "groups", "describe", group).out


@dataclass(frozen=True)
class Wrong:
    """``options`` make the client ``way`` fail with ``code``, after ``attempts`` that the broker counted.

    ``said`` is in the error: in what failed, why, or what to do. Empty options are removed; ``files`` are written by the
    test, and their names are values of options. ``listener``: another than that of the security protocol.
    """

    way: str
    options: dict[str, str]
    said: tuple[str, ...]
    code: int = 4
    attempts: int = 1
    arguments: tuple[str, ...] = ()
    files: dict[str, Callable[[SecureKafka], bytes]] = field(default_factory=dict)
    listener: str = ""


def _text(token: Secret) -> bytes:
    return token.reveal().encode()


def _unsigned(kafka: SecureKafka) -> bytes:
    """The claims of alice's token, with the algorithm none."""
    claims = _text(kafka.signer.token("alice")).split(b".")[1]
    return base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=") + b"." + claims + b"."


REFUSED_TOKENS: dict[str, Callable[[SecureKafka], bytes]] = {
    "unsigned": _unsigned,
    "of another issuer's key": lambda _kafka: _text(TokenSigner.create().token("alice")),
    "for another audience": lambda kafka: _text(kafka.signer.token("alice", audience="another")),
    "of another issuer": lambda kafka: _text(kafka.signer.token("alice", issuer="another")),
}

CHECK = "check sasl.username and sasl.password, and that the broker has this user for this mechanism"
NEEDS_TLS = ("does not speak Kafka on this port", "this port needs security.protocol=SSL or SASL_SSL")
NEEDS_NO_TLS = ("does not speak TLS on this port", "a plaintext listener needs PLAINTEXT or SASL_PLAINTEXT")
NEEDS_SASL = (
    "a listener with SASL does that to clients that do not authenticate",
    "set security.protocol=SASL_SSL",
)
NEEDS_CERTIFICATE = (" requires a certificate of the client", "name one with ssl.certificate.location")

WRONG = {
    **{
        f"password of {mechanism}": Wrong(
            f"alice-{mechanism.lower()}",
            {"sasl.password": "wrong"},
            (f"authentication as alice with {mechanism} failed", CHECK),
        )
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    },
    **{
        f"user of {mechanism}": Wrong(
            f"alice-{mechanism.lower()}",
            {"sasl.username": "bob"},
            (f"authentication as bob with {mechanism} failed", CHECK),
        )
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    },
    **{
        f"token: {what}": Wrong(
            "alice-oauthbearer",
            {},
            ("with OAUTHBEARER failed", "invalid_token"),
            files={"sasl.oauthbearer.token.file": make},
        )
        for what, make in REFUSED_TOKENS.items()
    },
    "token: expired": Wrong(
        "alice-oauthbearer",
        {},
        ("the token expired",),
        attempts=0,
        files={"sasl.oauthbearer.token.file": lambda kafka: _text(kafka.signer.token("alice", lifetime=-60))},
    ),
    "token: no JWT": Wrong(
        "alice-oauthbearer",
        {},
        ("with OAUTHBEARER failed", "invalid_token"),
        files={"sasl.oauthbearer.token.file": lambda _kafka: b"garbage"},
    ),
    "OAUTHBEARER without TLS": Wrong(
        "alice-oauthbearer",
        PLAIN_TEXT,
        ("sasl.mechanism=OAUTHBEARER over SASL_PLAINTEXT is refused", "--allow-plaintext-secrets"),
        code=2,
        attempts=0,
    ),
    "PLAIN without TLS": Wrong(
        "alice-plain",
        PLAIN_TEXT,
        ("sasl.mechanism=PLAIN over SASL_PLAINTEXT is refused", "allow it with --allow-plaintext-secrets"),
        code=2,
        attempts=0,
    ),
    "mechanism": Wrong(
        "alice-scram-sha-256",
        PLAIN_TEXT,
        ("does not offer the SASL mechanism SCRAM-SHA-256", "it offers", "SCRAM-SHA-512"),
    ),
    "another CA": Wrong(
        "alice-plain",
        {},
        ("was issued by an unknown authority", "name the authority's certificate with ssl.ca.location"),
        files={"ssl.ca.location": lambda _kafka: Authority.create("another CA").certificate_pem()},
    ),
    "no client certificate": Wrong(
        "alice-certificate", {"ssl.certificate.location": "", "ssl.key.location": ""}, NEEDS_CERTIFICATE
    ),
    "SASL_SSL on a listener that wants a certificate": Wrong(
        "alice-plain", {}, NEEDS_CERTIFICATE, listener="MTLS"
    ),
    "SASL_SSL on SSL": Wrong(
        "alice-plain", {}, ("does not authenticate clients on this port", "SSL if that is meant"),
        listener="SSL", attempts=0,
    ),
    "SSL on SASL_SSL": Wrong("anonymous-tls", {}, NEEDS_SASL, listener="SASL_SSL", attempts=0),
    "SASL_SSL on SASL_PLAINTEXT": Wrong(
        "alice-plain", {}, NEEDS_NO_TLS, listener="SASL_PLAINTEXT", code=3
    ),
    "SSL on SASL_PLAINTEXT": Wrong("anonymous-tls", {}, NEEDS_NO_TLS, listener="SASL_PLAINTEXT", code=3),
    "PLAINTEXT on SSL": Wrong(
        "anonymous-tls", {"security.protocol": "PLAINTEXT"}, NEEDS_TLS, listener="SSL", code=3
    ),
    "PLAINTEXT on SASL_SSL": Wrong(
        "anonymous-tls", {"security.protocol": "PLAINTEXT"}, NEEDS_TLS, listener="SASL_SSL", code=3
    ),
    "PLAINTEXT on SASL_PLAINTEXT": Wrong(
        "anonymous-tls", {"security.protocol": "PLAINTEXT"}, NEEDS_SASL, listener="SASL_PLAINTEXT", attempts=0
    ),
    "SASL_PLAINTEXT on SASL_SSL": Wrong(
        "alice-scram-sha-256", PLAIN_TEXT, NEEDS_TLS, listener="SASL_SSL", code=3
    ),
}  # fmt: skip


@pytest.mark.case("S2", "S3", "S5", "N4")
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_after_one_attempt(
    secure_kafka: SecureKafka, name: str, tmp_path: Path
) -> None:
    wrong = WRONG[name]
    given = options(secure_kafka, wrong.way, wrong.options)
    if wrong.listener:
        given["bootstrap.servers"] = secure_kafka.bootstraps[wrong.listener]
    for key, contents in wrong.files.items():
        given[key] = str(tmp_path / key)
        Path(given[key]).touch(0o600)
        Path(given[key]).write_bytes(contents(secure_kafka))
    file = write_file(tmp_path / "client.properties", {key: value for key, value in given.items() if value})
    before = secure_kafka.failed_attempts()
    done = run(file, "topics", "list", *wrong.arguments, code=wrong.code)
    assert done.out == ""
    error = "\n".join(done.err.splitlines()[-3:])
    assert error.startswith("kcli: ")
    assert [words for words in wrong.said if words not in error] == [], error
    assert "\n  why: " in error
    assert "\n  do: " in error
    # Of a connection that is reset because of what was sent ahead, the alert of TLS may be lost: it is made once more.
    again = wrong.said is NEEDS_CERTIFICATE
    found = secure_kafka.failed_attempts(before + wrong.attempts) - before
    assert wrong.attempts <= found <= wrong.attempts + again


@pytest.mark.case("S3")
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"hosts": HOSTS, "lifetime": timedelta(hours=-2)}, ("has expired", "why: it expired at 20")),
        ({"hosts": ["kafka.example"]}, ("is not for 127.0.0.1", "kafka.example")),
    ],
    ids=["expired", "another host"],
)
def test_a_certificate_of_the_broker_that_is_not_accepted(
    secure_kafka: SecureKafka, how: dict[str, Any], said: tuple[str, ...], tmp_path: Path
) -> None:
    with secure_kafka.certificate_of_ssl(tmp_path, **how):
        before = secure_kafka.failed_attempts()
        done = run(secure_kafka.file("anonymous-tls"), "topics", "list", code=4)
        found = secure_kafka.failed_attempts(before + 1) - before
    assert [words for words in said if words not in done.err] == [], done.err
    assert "\n  do: " in done.err
    assert found == 1
    run(secure_kafka.file("anonymous-tls"), "topics", "list")


@pytest.mark.case("S2")
@pytest.mark.parametrize(
    "command", ["produce T FILE", "consume T -e", "consume T -e -g G", "groups lag G", "acls list"]
)
def test_each_command_tries_a_wrong_password_once(
    secure_kafka: SecureKafka, command: str, tmp_path: Path
) -> None:
    wrong = options(secure_kafka, "alice-scram-sha-512", {"sasl.password": "wrong"})
    file = write_file(tmp_path / "client.properties", wrong)
    (tmp_path / "records").write_text("1\n")
    before = secure_kafka.failed_attempts()
    done = run(file, *command.replace("FILE", str(tmp_path / "records")).split(), code=4)
    assert "authentication as alice with SCRAM-SHA-512 failed" in done.err
    assert secure_kafka.failed_attempts(before + 1) - before == 1
