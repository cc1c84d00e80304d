"""New SCRAM credentials: what is derived from a password, and that it is shown nowhere."""

import hashlib
import hmac

import pytest

from kcli.core.admin.users import (
    ScramCredential,
    ScramMechanism,
    check_encrypted,
    mechanism_name,
    upsertion,
)
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from kcli.core.secret import Secret

DIGESTS = {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}


def hi(password: bytes, salt: bytes, iterations: int, digest: str) -> bytes:
    """Hi() as RFC 5802 defines it, and Kafka's ScramFormatter."""
    last = hmac.digest(password, salt + b"\0\0\0\1", digest)
    whole = int.from_bytes(last)
    for _ in range(iterations - 1):
        last = hmac.digest(password, last, digest)
        whole ^= int.from_bytes(last)
    return whole.to_bytes(hashlib.new(digest).digest_size)


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("password", ["pencil", "é Ⅸ\u00ad"])
def test_the_password_is_utf_8_without_preparation(mechanism: ScramMechanism, password: str) -> None:
    """As in ``sasl.scram``: a login derives the same from the same password."""
    made = upsertion(Secret(password), mechanism, 4_096)
    assert made.iterations == 4_096
    assert made.salted_password == hi(password.encode(), made.salt, 4_096, DIGESTS[mechanism])


def test_salts_are_random_and_long() -> None:
    salts = {upsertion(Secret("x"), ScramMechanism.SCRAM_SHA_256, 4_096).salt for _ in range(5)}
    assert len(salts) == 5
    assert {len(salt) for salt in salts} == {32}


def test_nothing_secret_is_shown() -> None:
    made = upsertion(Secret("x"), ScramMechanism.SCRAM_SHA_512, 4_096)
    row = ScramCredentialUpsertion(
        name="a", mechanism=2, iterations=1, salt=made.salt, salted_password=made.salted_password
    )
    for shown in (repr(made), str(made), repr(row), str(row)):
        assert repr(made.salted_password) not in shown
        assert repr(made.salted_password)[2:12] not in shown


def test_mechanisms_have_kafkas_names() -> None:
    assert [mechanism_name(one) for one in (1, ScramMechanism(1), ScramMechanism(2), 9)] == [
        "unknown (1)",
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
        "unknown (9)",
    ]
    assert str(ScramCredential("a b", ScramMechanism.SCRAM_SHA_512)) == "SCRAM-SHA-512 of user a b"


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_without_encryption_nothing_is_sent_unless_allowed(protocol: str) -> None:
    with pytest.raises(ConfigError, match=f"over {protocol} is refused"):
        check_encrypted(ClientOptions(security_protocol=protocol))
    check_encrypted(ClientOptions(security_protocol=protocol, allow_plaintext_secrets=True))


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_with_encryption_it_is_sent(protocol: str) -> None:
    check_encrypted(ClientOptions(security_protocol=protocol))
