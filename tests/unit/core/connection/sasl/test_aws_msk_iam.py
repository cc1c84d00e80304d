"""AWS_MSK_IAM: the signed request, judged by botocore's own signer, and the broker's answer."""

import json
import sys
from datetime import UTC, datetime
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from kcli.core.connection.sasl.aws_msk_iam import (
    ACTION,
    EXPIRES,
    AccessKeys,
    AwsCredentials,
    aws_msk_iam,
    prepare,
    region_of,
    signed_payload,
)
from kcli.core.connection.sasl.exchange import ExchangeError
from kcli.core.connection.steps import Compute
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret

HOST = "b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com"
NOW = datetime(2026, 11, 23, 9, 30, 1, tzinfo=UTC)
CANARY = "wJalr/+c4n4ry"


def credentials(token: str = "") -> AwsCredentials:
    return AwsCredentials("AKIDEXAMPLE", Secret(CANARY), Secret(token))


@pytest.mark.parametrize("token", ["", "FwoGZXIvYXdz/+=token"])
@pytest.mark.parametrize("host", [HOST, "10.0.0.1"])
def test_the_signature_is_that_of_botocore(token: str, host: str) -> None:
    request = botocore.awsrequest.AWSRequest("GET", f"https://{host}/", params={"Action": ACTION})
    key = botocore.credentials.Credentials("AKIDEXAMPLE", CANARY, token or None)
    signer = botocore.auth.SigV4QueryAuth(key, "kafka-cluster", "eu-central-1", expires=EXPIRES)
    with mock.patch("botocore.auth.get_current_datetime", return_value=NOW):
        signer.add_auth(request)
    wanted = {key.lower(): value for key, value in parse_qsl(urlsplit(request.prepare().url).query)}
    sent = json.loads(signed_payload(credentials(token), host, "eu-central-1", NOW, "kcli/1"))
    assert {key: value for key, value in sent.items() if key in wanted} == wanted
    assert set(sent) - set(wanted) == {"version", "host", "user-agent"}
    assert (sent["version"], sent["host"]) == ("2020_10_22", host)
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
