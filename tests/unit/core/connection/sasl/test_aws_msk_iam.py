"""AWS_MSK_IAM: the signed request, judged by Amazon's description of Signature Version 4, and the broker's answer."""

import hashlib
import hmac
import json
import sys
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import botocore.credentials
import pytest

from kcli.core.connection.sasl.aws_msk_iam import (
    AccessKeys,
    aws_msk_iam,
    prepare,
    region_of,
    signed_payload,
)
from kcli.core.connection.sasl.exchange import ExchangeError
from kcli.core.connection.steps import Compute
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions

HOST = "b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com"
CANARY = "wJalr/+c4n4ry"


def credentials(token: str | None = None) -> Any:
    return botocore.credentials.ReadOnlyCredentials("AKIDEXAMPLE", CANARY, token)


def signature(sent: Any) -> str:
    """By the description of Signature Version 4 for query parameters."""
    scope = sent["x-amz-credential"].partition("/")[2]
    names = {
        "action": "Action",
        **{
            name: "-".join(part.title() for part in name.split("-"))
            for name in sent
            if name.startswith("x-amz-")
        },
    }
    names["x-amz-signedheaders"] = "X-Amz-SignedHeaders"
    del names["x-amz-signature"]
    query = "&".join(sorted(f"{names[name]}={quote(sent[name], safe='-_.~')}" for name in names))
    canonical = f"GET\n/\n{query}\nhost:{sent['host']}\n\nhost\n{hashlib.sha256(b'').hexdigest()}"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = b"AWS4" + CANARY.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(
        key, f"AWS4-HMAC-SHA256\n{sent['x-amz-date']}\n{scope}\n{digest}".encode(), "sha256"
    ).hex()


@pytest.mark.parametrize("token", [None, "FwoGZXIvYXdz/+=token"])
@pytest.mark.parametrize("host", [HOST, "10.0.0.1"])
def test_what_is_sent_is_a_presigned_request(token: str | None, host: str) -> None:
    sent = json.loads(signed_payload(credentials(token), host, "eu-central-1", "kcli/1"))
    now = datetime.now(UTC)
    assert (
        abs(
            (
                datetime.strptime(sent["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) - now
            ).total_seconds()
        )
        < 120
    )
    day = sent["x-amz-date"][:8]
    assert sent == {
        "version": "2020_10_22",
        "host": host,
        "user-agent": "kcli/1",
        "action": "kafka-cluster:Connect",
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": f"AKIDEXAMPLE/{day}/eu-central-1/kafka-cluster/aws4_request",
        "x-amz-date": sent["x-amz-date"],
        "x-amz-expires": "900",
        "x-amz-signedheaders": "host",
        "x-amz-signature": signature(sent),
        **({"x-amz-security-token": token} if token else {}),
    }
    assert CANARY not in json.dumps(sent)


@pytest.mark.parametrize(
    ("host", "given", "region"),
    [
        (HOST, "", "eu-central-1"),
        (HOST, "us-west-2", "us-west-2"),
        ("boot-x.c1.kafka-serverless.us-east-1.amazonaws.com", "", "us-east-1"),
        ("b-1.x.kafka.cn-north-1.amazonaws.com.cn", "", "cn-north-1"),
        ("proxy.example", "eu-west-3", "eu-west-3"),
    ],
)
def test_the_region(host: str, given: str, region: str) -> None:
    assert region_of(host, given) == region


@pytest.mark.parametrize(
    "host", ["proxy.example", "kafka.eu-central-1.amazonaws.com.evil.example", "10.0.0.1"]
)
def test_a_host_without_a_region_needs_the_option(host: str) -> None:
    with pytest.raises(ConfigError, match=r"no AWS region for"):
        region_of(host, "")


def answered(answer: bytes) -> bytes:
    """Runs the exchange; returns the client's message."""
    keys = AccessKeys(lambda: credentials("session-c4n4ry"))
    exchange = aws_msk_iam(keys, HOST, "")
    step: Any = next(exchange)
    assert isinstance(step, Compute)
    message = exchange.send(step.fn())
    assert isinstance(message, bytes)
    with pytest.raises(StopIteration):
        exchange.send(answer)
    assert keys.user() == "AKIDEXAMPLE"
    assert [secret.reveal() for secret in keys.secrets()] == [CANARY, "session-c4n4ry"]
    return message


def test_the_broker_answers_with_the_id_of_the_request() -> None:
    message = answered(b'{"version":"2020_10_22","request-id":"1-2-3"}')
    assert json.loads(message)["x-amz-security-token"] == "session-c4n4ry"


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{}", b'{"request-id": 1}', b"\xff", b"[" * 5_000, b'"' + b"x" * 10_000_000]
)
def test_another_answer_is_refused(answer: bytes) -> None:
    with pytest.raises(ExchangeError, match="not that of AWS_MSK_IAM"):
        answered(answer)


def test_without_an_access_key_nothing_is_sent() -> None:
    exchange = aws_msk_iam(AccessKeys(lambda: None), HOST, "")
    step: Any = next(exchange)
    with pytest.raises(ExchangeError, match="no AWS credentials"):
        step.fn()


def test_the_access_key_comes_from_where_aws_tools_look(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    found = prepare(ClientOptions(sasl_mechanism="AWS_MSK_IAM"))
    exchange = found.begin(HOST)
    step: Any = next(exchange)
    sent = json.loads(exchange.send(step.fn()))  # type: ignore[arg-type]
    assert sent["x-amz-credential"].startswith("AKIDENV/")
    assert found.user() == "AKIDENV"


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(ConfigError) as caught:
        prepare(ClientOptions())
    assert caught.value.exit_code == 2
    assert "pip install 'kcli-kafka[msk-iam]'" in caught.value.do


def test_a_profile_that_does_not_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    exchange = prepare(ClientOptions(sasl_aws_profile="nowhere")).begin(HOST)
    step: Any = next(exchange)
    with pytest.raises(ExchangeError, match="nowhere"):
        step.fn()
