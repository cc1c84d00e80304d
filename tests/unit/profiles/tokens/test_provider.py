"""Exactly one source of tokens; files and commands."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from kcli.core.errors import AuthError, ConfigError
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret
from kcli.profiles.tokens import provider
from kcli.profiles.tokens.provider import parse_extensions, token_from_command, token_from_file, token_provider

CANARY = "c4n4ry"


def options(**values: Any) -> ClientOptions:
    return ClientOptions(**{f"sasl_oauthbearer_{name}": value for name, value in values.items()})


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"token_file": "f", "token_command": "c"},
        {"token_file": "f", "token_endpoint_url": "https://h/"},
        {"token_command": "c", "token_endpoint_url": "https://h/"},
    ],
)
def test_one_source_is_needed(values: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        token_provider(options(**values))
    assert all(f"sasl.oauthbearer.{name.replace('_', '.')}" in caught.value.why for name in values)


@pytest.mark.parametrize("missing", ["client_id", "client_secret"])
def test_the_endpoint_needs_id_and_secret(missing: str) -> None:
    values: dict[str, Any] = {
        "token_endpoint_url": "https://h/",
        "client_id": "c",
        "client_secret": Secret(CANARY),
    }
    del values[missing]
    with pytest.raises(ConfigError, match=missing.replace("_", ".")):
        token_provider(options(**values))


@pytest.mark.case("S11")
def test_the_address_of_the_endpoint_is_checked_before_anything_is_sent() -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        token_provider(options(token_endpoint_url="http://h/", client_id="c", client_secret=Secret(CANARY)))


def test_a_file_is_read_again_for_each_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    give = token_provider(options(token_file=str(path)))
    for text in ("first", "second"):
        path.write_text(f"{text}\n")
        assert give().value.reveal() == text


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        token_from_file(str(tmp_path / "none"), {})


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"two words", b"x" * 100_000])
def test_a_file_without_a_token(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "token").write_bytes(data)
    with pytest.raises(AuthError, match="no (access )?token"):
        token_from_file(str(tmp_path / "token"), {})


def test_a_command_writes_the_token_alone_or_as_json() -> None:
    assert token_from_command("echo abc", {"a": "b"}).extensions == {"a": "b"}
    assert token_from_command("echo abc", {}).value.reveal() == "abc"
    written = json.dumps({"access_token": "abc", "expires_in": 60})
    token = token_from_command(f"echo '{written}'", {})
    assert token.value.reveal() == "abc"
    assert token.expires_at is not None
    assert 50 < token.expires_at - time.time() <= 60


def test_a_command_runs_without_a_shell() -> None:
    with pytest.raises(AuthError, match="no access token"):
        token_from_command("echo a; echo b", {})


@pytest.mark.parametrize(
    ("command", "kind", "said"),
    [
        ("/no/such/program", ConfigError, "cannot run"),
        ("'open", ConfigError, "cannot run"),
        ("false", AuthError, "exit status 1"),
        ("true", AuthError, "empty"),
        ("echo {", AuthError, "empty"),
        ("echo '[1]'", AuthError, "RFC 6750"),
        ("echo '{\"access_token\": 7}'", AuthError, "empty"),
    ],
)
def test_a_command_that_writes_no_token(command: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        token_from_command(command, {})


def test_a_command_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "COMMAND_TIMEOUT", 0.05)
    with pytest.raises(AuthError, match="did not end"):
        token_from_command("sleep 30", {})


def test_extensions() -> None:
    assert parse_extensions("") == {}
    assert parse_extensions("logicalCluster=lkc-1, poolId=p=2") == {"logicalCluster": "lkc-1", "poolId": "p=2"}
    for text in ("x", "=v", "a1=v", "auth=v", "ä=v", "a=\x01"):
        with pytest.raises(ConfigError, match="extensions"):
            parse_extensions(text)
