"""Tokens on a real Kafka: from the sandbox's files, and from an identity provider of the test's own."""

from pathlib import Path

import pytest

from kcli.sandbox.security.names import OAUTHBEARER
from tests.certificates import Authority
from tests.identity_provider import IdentityProvider
from tests.run import kcli_process
from tests.secure_kafka import SecureKafka, write_file

pytestmark = pytest.mark.integration


def test_the_token_of_a_file(secure_kafka: SecureKafka) -> None:
    done = kcli_process(
        "cluster",
        "describe",
        "-o",
        "name",
        "-F",
        secure_kafka.file(f"admin-{OAUTHBEARER.lower()}"),
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, b"1\n"), done.stderr.decode()


def test_client_credentials_over_https(secure_kafka: SecureKafka, tmp_path: Path) -> None:
    """An identity provider of the test's own, with the key that the brokers trust; a token that is none of theirs."""
    authority = Authority(tmp_path)
    with IdentityProvider(authority.broker("localhost")) as provider:
        given = secure_kafka.options(
            "admin-oauthbearer",
            sasl_oauthbearer_token_endpoint_url=provider.url,
            sasl_oauthbearer_client_id="kcli",
            sasl_oauthbearer_client_secret="secret",
            sasl_oauthbearer_ca_location=str(authority.ca),
        )
        del given["sasl.oauthbearer.token.file"]
        file = write_file(tmp_path / "client.properties", given)
        for expected, token in (
            (0, secure_kafka.signer.token("admin")),
            (4, secure_kafka.signer.token("admin", audience="others")),
        ):
            provider.grant = lambda token=token: {"access_token": token.reveal()}  # type: ignore[misc]
            done = kcli_process("cluster", "describe", "-F", file, timeout=60)
            assert done.returncode == expected, done.stderr.decode()
        assert "the broker refuses the token: 'invalid_token'" in done.stderr.decode()
