"""Private keys and tokens that other users can read."""

from pathlib import Path

import pytest

from kcli.profiles.private_files import warnings_of_private_files
from kcli.profiles.resolve import resolve
from kcli.profiles.sources import Sources


def warnings(*pairs: str) -> list[str]:
    return list(warnings_of_private_files(resolve(Sources(properties=pairs), need_broker=False)))


@pytest.mark.case("S8")
@pytest.mark.parametrize(
    ("key", "more"),
    [
        ("ssl.key.location", ["security.protocol=SSL"]),
        ("ssl.keystore.location", ["security.protocol=SASL_SSL"]),
        ("ssl.certificate.location", ["security.protocol=SSL"]),
        ("sasl.kerberos.keytab", ["security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI"]),
        ("sasl.oauthbearer.token.file", ["security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER"]),
        ("schema.registry.ssl.key.location", []),
    ],
)
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
