"""TLS contexts from options: what cannot be used is named, what is weak is not offered."""

import ssl
from pathlib import Path

import pytest

from kcli.core.errors import AuthError, ConfigError, NotKafkaError
from kcli.core.net.tls import tls_context, tls_error
from kcli.core.options import ClientOptions

pytestmark = pytest.mark.case("S3")


def context_of(**values: str) -> ssl.SSLContext:
    context = tls_context(ClientOptions(security_protocol="SSL", **values))
    assert context is not None
    return context


def test_plaintext_has_no_context() -> None:
    assert tls_context(ClientOptions()) is None


def test_certificates_and_names_are_checked_by_default() -> None:
    context = context_of()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_the_name_check_can_be_switched_off_and_the_certificate_check_stays() -> None:
    context = context_of(ssl_endpoint_identification_algorithm="none")
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize("content", [None, "", "not a certificate"])
def test_authorities_that_cannot_be_read_name_the_file(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError) as error:
        context_of(ssl_ca_location=str(file))
    assert str(file) in str(error.value)
    assert "ssl.ca.location" in error.value.do


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_certificate_that_cannot_be_used_names_the_file(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "client.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError) as error:
        context_of(ssl_certificate_location=str(file))
    assert str(file) in str(error.value)
    assert "ssl.key.location" in error.value.do


def test_a_certificate_that_was_not_accepted_says_why() -> None:
    refused = ssl.SSLCertVerificationError(1, "certificate verify failed")
    refused.verify_message = "self-signed certificate"
    error = tls_error(refused, "broker:9093")
    assert isinstance(error, AuthError)
    assert "self-signed" in str(error)
    assert "broker:9093" in str(error)


def ssl_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}]")
    error.reason = reason
    return error


@pytest.mark.case("N4")
@pytest.mark.parametrize(
    "cause",
    [ssl_error("WRONG_VERSION_NUMBER"), ssl.SSLEOFError(8, "EOF"), ConnectionResetError(104, "reset")],
)
def test_a_port_without_tls_is_named_and_may_be_tried_again(cause: OSError) -> None:
    """Plaintext on the TLS port; a reset may also be a broker that dies, so it is no refusal for good."""
    error = tls_error(cause, "broker:9092")
    assert isinstance(error, NotKafkaError)
    assert error.what == "broker:9092 does not speak TLS on this port"
    assert "security.protocol" in error.do
    assert error.why


@pytest.mark.parametrize(
    "reason", ["TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL", "TLSV13_ALERT_CERTIFICATE_REQUIRED"]
)
def test_a_broker_that_says_no_is_a_matter_of_tls(reason: str) -> None:
    error = tls_error(ssl_error(reason), "broker:9092")
    assert isinstance(error, AuthError)
    assert error.why == reason
