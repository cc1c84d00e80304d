"""Private keys and tokens that other users can read or change."""

import os
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.profiles.resolve import resolve
from kcli.profiles.secrets import check_private_files
from kcli.profiles.sources import Sources


def warnings(*pairs: str) -> list[str]:
    return list(check_private_files(resolve(Sources(properties=pairs), need_broker=False)))


KEYS = pytest.mark.parametrize(
    ("key", "more"),
    [
        ("ssl.key.location", ["security.protocol=SSL"]),
        ("ssl.keystore.location", ["security.protocol=SASL_SSL"]),
        ("ssl.certificate.location", ["security.protocol=SSL"]),
        ("sasl.kerberos.keytab", ["security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI"]),
        ("sasl.oauthbearer.token.file", ["security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER"]),
        ("schema.registry.ssl.key.location", []),
        ("schema.registry.ssl.certificate.location", []),
    ],
)


@pytest.mark.case("S8")
@KEYS
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o600])
def test_a_key_that_others_can_read_is_warned_of(
    tmp_path: Path, key: str, more: list[str], mode: int
) -> None:
    path = tmp_path / "k"
    path.write_text("x")
    path.chmod(mode)
    said = warnings(f"{key}={path}", *more)
    assert len(said) == (mode != 0o600)
    assert all(f"({key})" in text and f"chmod 600 {path}" in text for text in said)


def test_what_is_not_used_or_holds_no_key_is_not_warned_of(tmp_path: Path) -> None:
    path, key = tmp_path / "k", tmp_path / "own"
    path.write_text("x")
    key.write_text("x")
    path.chmod(0o644)
    key.chmod(0o600)
    assert not warnings(f"ssl.key.location={path}")  # security.protocol is PLAINTEXT
    assert not warnings(
        "security.protocol=SSL",
        f"ssl.certificate.location={path}",
        f"ssl.key.location={key}",
        f"ssl.ca.location={path}",
    )
    assert not warnings("security.protocol=SSL", "ssl.key.location=/no/such")


@pytest.mark.case("S8")
@KEYS
@pytest.mark.parametrize("mode", [0o666, 0o602])
def test_a_key_that_every_user_can_change_is_refused(
    tmp_path: Path, key: str, more: list[str], mode: int
) -> None:
    """As a password file is."""
    path = tmp_path / "k"
    path.write_text("x")
    path.chmod(mode)
    with pytest.raises(ConfigError, match="is not used: every user can change it") as error:
        warnings(f"{key}={path}", *more)
    assert error.value.do.endswith(f"chmod 600 {path}")


@pytest.mark.case("S8", "X16")
def test_a_key_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k"
    path.write_text("x")
    path.chmod(0o600)
    owner = os.getuid()
    if owner == 0:
        owner = 1234
        os.chown(path, owner, -1)
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with pytest.raises(ConfigError, match="belongs to another user"):
        warnings("security.protocol=SSL", f"ssl.key.location={path}")


def test_all_refused_keys_are_reported_where_errors_are_collected(tmp_path: Path) -> None:
    for name in ("k", "t"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o666)
    options = (
        "security.protocol=SASL_SSL",
        "sasl.mechanism=OAUTHBEARER",
        f"ssl.keystore.location={tmp_path}/k",
        f"sasl.oauthbearer.token.file={tmp_path}/t",
    )
    found: list[ConfigError] = []
    resolved = resolve(Sources(properties=options), need_broker=False)
    assert not list(check_private_files(resolved, found.append))
    assert len(found) == 2
