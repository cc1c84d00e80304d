"""Secrets from files, commands and the keyring: what is read, how often, with which environment, and what errors say."""

import os
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kcli.core.errors import ConfigError
from kcli.core.secret import Secret
from kcli.files.user_file import NotAFileError, TooLargeError, read_bounded
from kcli.profiles.secret_keys import LIMIT, SecretSource
from kcli.profiles.secrets import SecretReader

CANARY = "canary-7c1f"


def reader(warnings: list[str] | None = None, **environ: str) -> SecretReader:
    said = [] if warnings is None else warnings
    return SecretReader({"PATH": os.environ["PATH"], **environ}, said.append)


def source(kind: str, text: str) -> SecretSource:
    return SecretSource("sasl.password", kind, text, "u:4")


@pytest.mark.case("X16")
@pytest.mark.parametrize(("content", "secret"), [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a \n", "a ")])
def test_a_file_without_its_line_end(tmp_path: Path, content: str, secret: str) -> None:
    path = tmp_path / "pw"
    path.write_bytes(content.encode())
    path.chmod(0o600)
    assert reader().read(source("file", str(path))).reveal() == secret


@pytest.mark.case("S8")
def test_a_file_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "pw"
    path.write_text(CANARY)
    path.chmod(0o644)
    said: list[str] = []
    reader(said).read(source("file", str(path)))
    assert said == [f"{path} holds secrets, and other users can read it: chmod 600 {path}"]
    path.chmod(0o606)
    with pytest.raises(ConfigError, match="every user can change it"):
        reader().read(source("file", str(path)))


@pytest.mark.case("S8")
def test_pipes_folders_and_large_files_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * (LIMIT + 1))
    for name, why in (
        ("pipe", "a named pipe"),
        (".", "a folder"),
        ("large", "larger than"),
        ("gone", "No such"),
    ):
        with pytest.raises(ConfigError, match=r"cannot read sasl\.password from the file") as caught:
            reader().read(source("file", str(tmp_path / name)))
        assert why in caught.value.why
    with pytest.raises(NotAFileError):
        read_bounded(str(tmp_path / "pipe"))
    with pytest.raises(TooLargeError):
        read_bounded(str(tmp_path / "large"), 10)


def test_a_pipe_of_the_shell_is_read() -> None:
    out, into = os.pipe()
    os.write(into, b"linger.ms=5")
    os.close(into)
    data, state = read_bounded(f"/dev/fd/{out}")
    os.close(out)
    assert data == b"linger.ms=5"
    assert stat.S_ISFIFO(state.mode)
    assert not state.is_file


def test_a_command_runs_once_without_a_shell_and_without_secrets(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = f"import os; print('{CANARY}'); open({str(log)!r}, 'a').write(repr(sorted(os.environ)))"
    command = f'{sys.executable} -c "{program}"'
    made = reader(KCLI_X_SASL_PASSWORD=CANARY, KAFKA_SASL_JAAS_CONFIG=CANARY, KCLI_PROFILE="p")
    assert made.read(source("command", command)).reveal() == CANARY
    assert made.read(source("command", command)).reveal() == CANARY
    text = log.read_text()
    assert text.count("KCLI_PROFILE") == 1
    assert "SASL" not in text
    assert reader().read(source("command", "echo '$HOME;' `id`")).reveal() == "$HOME; `id`"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sh -c 'echo it went wrong >&2; exit 3'", "exit status 3: it went wrong"),
        ("no-such-program-at-all", "No such file"),
        ("'open", "no closing quotation"),
        ("true", "it printed nothing"),
        ("yes", "more than 65,536 bytes"),
        ("printf '\\377'", "not UTF-8"),
    ],
)
def test_a_command_that_fails_is_named_with_what_it_said(command: str, why: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot read sasl\.password") as caught:
        reader().read(source("command", command))
    assert why in caught.value.why
    assert caught.value.exit_code == 2


def test_what_a_command_printed_is_never_in_an_error() -> None:
    for command in (f"sh -c 'echo {CANARY}; exit 1'", f"sh -c 'printf \"{CANARY}\\377\"'"):
        with pytest.raises(ConfigError) as caught:
            reader().read(source("command", command))
        assert CANARY not in f"{caught.value}{caught.value.do}"


def test_a_command_that_hangs_is_ended() -> None:
    with pytest.raises(ConfigError, match="sleep") as caught:
        SecretReader({"PATH": os.environ["PATH"]}, lambda _text: None, 0.1).read(
            source("command", "sleep 60")
        )
    assert "more than 0.1 s" in caught.value.why
    assert caught.value.do.endswith("or give it longer with --timeout")


@pytest.mark.case("X16")
def test_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    class KeyringError(Exception):
        pass

    def get_password(service: str, user: str) -> str | None:
        if service == "locked":
            raise KeyringError("it is locked")
        return CANARY if (service, user) == ("kafka/eu", "me") else None

    fake, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    fake.get_password = get_password  # type: ignore[attr-defined]
    fake.errors = errors  # type: ignore[attr-defined]
    errors.KeyringError = KeyringError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", fake)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    assert reader().read(source("keyring", "kafka/eu/me")).reveal() == CANARY
    with pytest.raises(ConfigError, match="no such entry") as caught:
        reader().read(source("keyring", "kafka/you"))
    assert "keyring set kafka you" in caught.value.do
    with pytest.raises(ConfigError, match="it is locked"):
        reader().read(source("keyring", "locked/me"))


def test_a_missing_keyring_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigError, match="the package keyring is missing") as caught:
        reader().read(source("keyring", "kafka/me"))
    assert "kcli-kafka[keyring]" in caught.value.do


@pytest.mark.parametrize("content", ["one\ntwo\n", "one\n\n", "one\rtwo"])
def test_several_lines_are_no_password(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pw"
    path.write_bytes(content.encode())
    path.chmod(0o600)
    for given in (source("file", str(path)), source("command", f"cat {path}")):
        with pytest.raises(ConfigError) as caught:
            reader().read(given)
        assert "a secret is one line" in caught.value.why
        assert "one" not in caught.value.why.replace("one line", "")


def test_a_byte_order_mark_is_no_part_of_a_password(tmp_path: Path) -> None:
    path = tmp_path / "pw"
    path.write_bytes(b"\xef\xbb\xbfhunter2\r\n")
    path.chmod(0o600)
    assert reader().read(source("file", str(path))) == Secret("hunter2")


def test_pem_text_has_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("-----BEGIN\nx\n-----END\n")
    path.chmod(0o600)
    read = reader().read(SecretSource("ssl.key.pem", "file", str(path), "-X"))
    assert read == Secret("-----BEGIN\nx\n-----END")


@pytest.mark.parametrize(
    ("command", "why", "do"),
    [
        ("pass show x | head -1", "it has |, and no shell runs it", "sh -c '…'"),
        ("cat x 2>/dev/null", "it has 2>/dev/null, and no shell runs it", "sh -c '…'"),
        ("true", "it printed nothing", "it has to print the secret on stdout"),
        ("sh -c 'kill -9 $$'", "it ended by signal SIGKILL", "run it by hand"),
    ],
)
def test_what_is_wrong_with_a_command_is_said(command: str, why: str, do: str) -> None:
    with pytest.raises(ConfigError) as caught:
        reader().read(source("command", command))
    assert why in caught.value.why
    assert do in caught.value.do


def test_a_shell_may_be_the_command() -> None:
    assert reader().read(source("command", "sh -c 'echo a; echo hunter2 | tail -1 >&2' 2")) == Secret("a")
