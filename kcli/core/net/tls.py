"""TLS contexts from client options: verified by default, at least TLS 1.2, no fallback to plaintext.

Imported by clients that use TLS: a plaintext client does not load ``ssl``.
"""

import ssl

from kcli.core.errors import AuthError, ConfigError, KcliError, NotKafkaError
from kcli.core.options import ClientOptions

_TLS_SPOKEN = ("ALERT", "UNSUPPORTED_PROTOCOL", "CERTIFICATE", "CIPHER", "KEY")
"""Words in OpenSSL's reasons which show that the peer speaks TLS but one side rejects the other."""


def tls_context(options: ClientOptions) -> ssl.SSLContext | None:
    """The context for these options, None for plaintext; ConfigError names a file that cannot be used."""
    if options.security_protocol not in ("SSL", "SASL_SSL"):
        return None
    return context_of(
        "ssl",
        options.ssl_ca_location,
        options.ssl_certificate_location,
        options.ssl_key_location,
        None,
        check_hostname=options.ssl_endpoint_identification_algorithm != "none",
    )


def context_of(
    prefix: str, authorities: str, certificate: str, key: str, password: str | None, *, check_hostname: bool
) -> ssl.SSLContext:
    """A client's context from PEM files, ``""`` for none. ConfigError names a file that cannot be used.

    ``prefix``: of the options' names. ``password`` None: OpenSSL prompts for that of an encrypted key.
    """
    try:
        context = ssl.create_default_context(cafile=authorities or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"cannot read the CA certificates in {authorities}",
            why=error.strerror or str(error),
            do=f"{prefix}.ca.location must name a PEM file",
        ) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not check_hostname:
        context.check_hostname = False
    if certificate:
        try:
            context.load_cert_chain(certificate, key or None, password)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"cannot use the certificate {certificate}",
                why=getattr(error, "strerror", None) or str(error),
                do=f"{prefix}.certificate.location and {prefix}.key.location must be PEM files that belong together",
            ) from None
    return context


def tls_error(error: OSError, where: str) -> KcliError:
    """The error for a failed TLS handshake: a certificate, an incompatible TLS version or cipher, or no TLS at all."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return AuthError(
            f"{where}: the broker's certificate was not accepted",
            why=error.verify_message or str(error),
            do="check ssl.ca.location, and that the certificate names this host",
        )
    reason = getattr(error, "reason", None) or error.strerror or str(error)
    if isinstance(error, ssl.SSLError) and any(word in reason for word in _TLS_SPOKEN):
        return AuthError(
            f"{where}: the TLS handshake failed",
            why=reason,
            do="check which versions and ciphers the broker accepts, and whether it wants a certificate",
        )
    # A plaintext listener of Kafka reads the ClientHello as the size of a request, and closes the connection.
    return NotKafkaError(
        f"{where} does not speak TLS on this port",
        why=reason,
        do="check the port and security.protocol: a plaintext listener needs PLAINTEXT",
    )
