"""Exactly one source of tokens; files and commands."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError, ConfigError
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret
from kcli.core.tokens.provider import (
    parse_extensions,
    token_from_command,
    token_from_file,
    token_provider,
    with_tokens,
)

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
    path.write_text("")
    give = token_provider(options(token_file=str(path)))
    for text in ("first", "second"):
        path.write_text(f"{text}\n")
        assert give().value.reveal() == text
    path.unlink()
    with pytest.raises(AuthError, match="cannot read the token"):
        give()


def test_a_file_that_is_none_is_named_before_anything_is_sent(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("none", "no such file"), ("pipe", "not a regular file"), (".", "not a regular file")):
        with pytest.raises(ConfigError) as caught:
            token_provider(options(token_file=str(tmp_path / name)))
        assert why in caught.value.why


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"two words", b"x" * 100_000])
def test_a_file_without_a_token(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "token").write_bytes(data)
    with pytest.raises(AuthError, match=r"no (access )?token"):
        token_from_file(str(tmp_path / "token"), {})


def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AuthError, match="gave no token"):
        token_from_file(str(tmp_path / "pipe"), {})


def run(command: str, extensions: dict[str, str] | None = None, seconds: float = 9.0) -> Token:
    return token_from_command(command, extensions or {}, seconds)


def test_a_command_writes_the_token_alone_or_as_json() -> None:
    assert run("echo abc", {"a": "b"}).extensions == {"a": "b"}
    assert run("echo abc").value.reveal() == "abc"
    written = json.dumps({"access_token": "abc", "expires_in": 60})
    token = run(f"echo '{written}'")
    assert token.value.reveal() == "abc"
    assert token.expires_at is not None
    assert 50 < token.expires_at - time.time() <= 60


def test_a_command_runs_without_a_shell() -> None:
    with pytest.raises(AuthError, match="no access token"):
        run("echo a; echo b")


@pytest.mark.case("X14")
def test_a_command_gets_no_secrets_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KCLI_X_SASL_OAUTHBEARER_CLIENT_SECRET", "KAFKA_SASL_JAAS_CONFIG"):
        monkeypatch.setenv(name, CANARY)
    program = "import os; print('bad' if 'c4n4ry' in str(os.environ) else 'good')"
    assert run(f'{sys.executable} -c "{program}"').value.reveal() == "good"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sh -c 'echo it \x1b[31mwent wrong >&2; exit 3'", "exit status 3: it [31mwent wrong"),
        ("true", "empty"),
        ("echo {", "empty"),
        ("echo '[1]'", "RFC 6750"),
        ("echo '{\"access_token\": 7}'", "empty"),
        ("yes", "more than 65,536 bytes"),
        ("no-such-program-at-all", "No such file"),
    ],
)
def test_a_command_that_writes_no_token(command: str, why: str) -> None:
    with pytest.raises(AuthError) as caught:
        run(command)
    assert why in caught.value.why


@pytest.mark.parametrize("command", ["sleep 30", "sh -c 'exec yes >&2'"])
def test_a_command_that_does_not_end(command: str) -> None:
    with pytest.raises(AuthError) as caught:
        run(command, seconds=0.1)
    assert "more than 0.1 s" in caught.value.why


@pytest.mark.parametrize(
    ("command", "said"),
    [("/no/such/program", "there is no program"), ("'open", "cannot be run"), (" ", "cannot")],
)
def test_a_command_that_cannot_run_is_named_before_anything_is_sent(command: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        token_provider(options(token_command=command))


def test_what_a_command_printed_is_never_in_an_error() -> None:
    for command in (f"sh -c 'echo {CANARY}; exit 1'", f"echo '{CANARY} x'"):
        with pytest.raises(AuthError) as caught:
            run(command)
        assert CANARY not in f"{caught.value}{caught.value.do}"


@pytest.mark.parametrize(
    "values",
    [
        {"client_id": "c"}, {"client_secret": Secret(CANARY)}, {"scope": "s"}, {"header_urlencode": True},
        {"ca_location": "/ca"},
    ],
)  # fmt: skip
def test_options_of_the_endpoint_need_the_endpoint(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="has no effect"):
        token_provider(options(token_command="echo abc", **values))


def test_a_provider_of_the_program_is_the_only_source() -> None:
    def provider() -> Token:
        return Token(value=Secret("abc"))

    assert with_tokens(options(token_provider=provider)).sasl_oauthbearer_token_provider is provider
    assert with_tokens(options(token_command="echo abc")).sasl_oauthbearer_token_provider is not None
    with pytest.raises(ConfigError, match="has no effect"):
        with_tokens(options(token_provider=provider, token_command="echo abc"))


def test_extensions() -> None:
    assert parse_extensions("") == {}
    assert parse_extensions("logicalCluster=lkc-1, poolId=p=2") == {
        "logicalCluster": "lkc-1",
        "poolId": "p=2",
    }
    for text in ("x", "=v", "a1=v", "auth=v", "ä=v", "a=\x01", "a=", "a=ä"):
        with pytest.raises(ConfigError, match="extensions"):
            parse_extensions(text)
