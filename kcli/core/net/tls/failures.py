"""The errors of a failed TLS handshake: which side rejected what, and since when or for which names.

OpenSSL's reasons are words such as ``TLSV1_ALERT_UNKNOWN_CA``; an alert is the broker's opinion, all others are this
side's. What the certificate says is text of the peer: it is shortened here and made harmless where it is printed.
"""

import ssl
from collections.abc import Mapping, Sequence
from typing import Any

from kcli.core import clock
from kcli.core.errors import AuthError, ConnectError, KcliError, NotKafkaError
from kcli.core.net.tls.x509 import date_text

Certificate = Mapping[str, Any]
"""Fields as in ``ssl.SSLSocket.getpeercert``."""

_MOST_NAMES, _LONGEST_NAME = 6, 80
_NOT_YET_VALID, _EXPIRED, _SELF_SIGNED, _HOSTNAME_MISMATCH, _IP_MISMATCH = 9, 10, 18, 62, 64
_UNKNOWN_AUTHORITY = (2, 19, 20, 21)
_OLD_PROTOCOL = ("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "WRONG_SSL_VERSION", "NO_PROTOCOLS_AVAILABLE")
_WEAK = ("DH_KEY_TOO_SMALL", "EE_KEY_TOO_SMALL", "CA_KEY_TOO_SMALL", "MD_TOO_WEAK", "INSUFFICIENT_SECURITY")
_REFUSALS = {
    "UNKNOWN_CA": "it does not know the authority that issued it",
    "CERTIFICATE_EXPIRED": "it regards it as expired",
    "CERTIFICATE_REVOKED": "it was revoked",
    "UNSUPPORTED_CERTIFICATE": "it does not support its type",
    "CERTIFICATE_UNKNOWN": "it does not trust it: the authority may be unknown there, or the certificate expired",
    "BAD_CERTIFICATE": "it regards it as invalid",
    "ACCESS_DENIED": "its owner has no access",
    "DECRYPT_ERROR": "its signature does not match",
}
"""What the broker says about the client's certificate, by words in OpenSSL's name of the alert."""
_TLS_WORDS = ("ALERT", "CERTIFICATE", "CIPHER", "KEY", "UNRECOGNIZED_NAME", "EXTENSION", "SIGNATURE")
"""Words in other reasons which show that the peer speaks TLS."""
_RENEW = "renew the broker's certificate, or correct the clock that is wrong"


def presented(sock: Any) -> list[Certificate]:
    """The certificates that the server has sent, its own first, verified or not; empty if there are none.

    Python offers them after a failed handshake only on the object inside the socket.
    """
    inner = getattr(sock, "_sslobj", None)
    chain = getattr(inner, "get_unverified_chain", None)
    try:
        return [one.get_info() for one in (chain() if chain is not None else None) or ()]
    except (ValueError, AttributeError, OSError):  # text for an error, which must not fail itself
        return []


def tls_error(
    error: OSError,
    where: str,
    host: str = "",
    chain: Sequence[Certificate] = (),
    *,
    has_certificate: bool = False,
) -> KcliError:
    """The error of a handshake with ``where`` that failed. ``host`` was wanted, ``chain`` is what the server presented.

    ``has_certificate``: this client has one of its own.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return _not_verified(error, where, host, chain)
    reason = _reason(error)
    if (
        not isinstance(error, ssl.SSLError)
        or isinstance(error, ssl.SSLEOFError)
        or "UNEXPECTED_EOF" in reason
    ):
        return _ended(error, where, spoke_tls=bool(chain))
    if any(word in reason for word in _OLD_PROTOCOL):
        return AuthError(
            f"{where} offers no version of TLS that is secure",
            why=f"kcli accepts TLS 1.2 and 1.3, and the broker neither ({reason})",
            do="enable TLS 1.2 or 1.3 in ssl.enabled.protocols of the broker",
        )
    certificate = _about_certificate(reason, where, has_certificate=has_certificate, presented=bool(chain))
    if certificate is not None:
        return certificate
    if any(word in reason for word in ("HANDSHAKE_FAILURE", "NO_SHARED_CIPHER", "NO_CIPHER")):
        return AuthError(
            f"{where} and kcli share no TLS cipher",
            why=f"the broker refuses all ciphers that this system's OpenSSL offers ({reason})",
            do="check ssl.cipher.suites of the broker, and that its key is of a common type (RSA or EC)",
        )
    if any(word in reason for word in _WEAK):
        return AuthError(
            f"{where} uses a key or signature that is too weak",
            why=reason,
            do="renew the broker's certificate with a key of at least 2048 bits and SHA-256",
        )
    if "UNRECOGNIZED_NAME" in reason:
        return AuthError(
            f"{where} has no certificate for the name {_short(host)}",
            why=reason,
            do="use the host name that the broker's certificate has, in -b and in advertised.listeners",
        )
    if chain or any(word in reason for word in _TLS_WORDS):
        return AuthError(
            f"{where}: the TLS handshake failed",
            why=reason,
            do="check which versions, ciphers and certificates the broker accepts",
        )
    return NotKafkaError(
        f"{where} does not speak TLS on this port",
        why=f"its response is not TLS ({reason})",
        do="check the port and security.protocol: a plaintext listener needs PLAINTEXT or SASL_PLAINTEXT",
    )


def _not_verified(
    error: ssl.SSLCertVerificationError, where: str, host: str, chain: Sequence[Certificate]
) -> AuthError:
    code, now = getattr(error, "verify_code", 0), clock.wall_ms() / 1000
    own = chain[0] if chain else {}
    if code in (_HOSTNAME_MISMATCH, _IP_MISMATCH):
        names = _names(own)
        return AuthError(
            f"the certificate of {where} is not for {_short(host)}",
            why=f"it names {names}" if names else "it names other hosts",
            do="use a name from the certificate, in -b and in advertised.listeners of the broker, "
            "or have the certificate issued for this one",
        )
    if code in (_EXPIRED, _NOT_YET_VALID):
        when = _out_of_time(chain, now)
        word = "has expired" if code == _EXPIRED else "is not valid yet"
        clock_text = f"this machine's clock shows {date_text(now)}"
        return AuthError(
            f"the certificate of {where} {word}",
            why=f"{when}, and {clock_text}" if when else clock_text,
            do=_RENEW,
        )
    issuer = _name_of(chain[-1].get("issuer", ())) if chain else ""
    if code == _SELF_SIGNED:
        return AuthError(
            f"the certificate of {where} is self-signed and not trusted",
            why=f"it was issued by itself ({issuer})" if issuer else "it was issued by itself",
            do="if this is the right broker, save its certificate as PEM and name it with ssl.ca.location",
        )
    if code in _UNKNOWN_AUTHORITY:
        return AuthError(
            f"the certificate of {where} was issued by an unknown authority",
            why=f"{issuer or 'its authority'} is not among those trusted ({error.verify_message})",
            do="name the authority's certificate with ssl.ca.location (or ssl.truststore.location)",
        )
    return AuthError(
        f"the certificate of {where} was not accepted",
        why=error.verify_message or str(error),
        do="check the broker's certificate and ssl.ca.location",
    )


def _about_certificate(
    reason: str, where: str, *, has_certificate: bool, presented: bool
) -> AuthError | None:
    """The error if the alert concerns the client's certificate. Before TLS 1.3 no alert says that one is missing."""
    required = "CERTIFICATE_REQUIRED" in reason
    missing = not has_certificate and (
        "BAD_CERTIFICATE" in reason or ("HANDSHAKE_FAILURE" in reason and presented)
    )
    if required or missing:
        return AuthError(
            f"{where} requires a certificate of the client",
            why=f"none was sent ({reason})" if not has_certificate else f"it accepted none ({reason})",
            do="name one with ssl.certificate.location and ssl.key.location, or with ssl.keystore.location",
        )
    if "ALERT" not in reason or not (has_certificate or presented):
        return None
    text = next((text for word, text in _REFUSALS.items() if word in reason), "")
    if not text and "HANDSHAKE_FAILURE" in reason:
        text = "the handshake failed after both certificates were sent"
    if not text:
        return None
    return AuthError(
        f"{where} does not accept the client's certificate",
        why=f"{text} ({reason})",
        do="check ssl.certificate.location (or ssl.keystore.location), the broker's ssl.truststore.location, "
        "and the clocks of both",
    )


def _ended(error: OSError, where: str, *, spoke_tls: bool) -> ConnectError:
    """A plaintext listener of Kafka reads the ClientHello as the size of a request, and closes the connection."""
    why = "it closed the connection" if isinstance(error, ssl.SSLError) else error.strerror or str(error)
    if spoke_tls:
        return ConnectError(
            f"{where} ended the TLS handshake",
            why=why,
            do="check that the broker is running, and whether it requires a certificate of the client",
        )
    return NotKafkaError(
        f"{where} does not speak TLS on this port",
        why=f"{why} when TLS began",
        do="check the port and security.protocol: a plaintext listener needs PLAINTEXT or SASL_PLAINTEXT",
    )


def _reason(error: OSError) -> str:
    """OpenSSL's name for the reason; some versions give only a text of the same words."""
    return (getattr(error, "reason", None) or error.strerror or str(error)).upper().replace(" ", "_")


def _names(certificate: Certificate) -> str:
    found = [
        str(value) for kind, value in certificate.get("subjectAltName", ()) if kind in ("DNS", "IP Address")
    ]
    if not found:
        common = [v for row in certificate.get("subject", ()) for k, v in row if k == "commonName"]
        return f"no host at all (common name {_short(common[0])})" if common else "no host at all"
    shown = ", ".join(_short(name) for name in found[:_MOST_NAMES])
    more = len(found) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _name_of(rows: Sequence[Sequence[tuple[str, str]]]) -> str:
    """A distinguished name, its common name first."""
    fields = {key: value for row in rows for key, value in row}
    name = fields.get("commonName") or fields.get("organizationalUnitName") or fields.get("organizationName")
    return _short(name) if name else ""


def _out_of_time(chain: Sequence[Certificate], now: float) -> str:
    """Which certificate of the chain is out of its time, and since or until when."""
    for position, certificate in enumerate(chain):
        try:
            first = ssl.cert_time_to_seconds(certificate["notBefore"])
            last = ssl.cert_time_to_seconds(certificate["notAfter"])
        except (KeyError, ValueError):
            continue
        whose = "it" if position == 0 else f"that of its authority {_name_of(certificate.get('subject', ()))}"
        if now > last:
            return f"{whose} expired at {date_text(last)}"
        if now < first:
            return f"{whose} is valid only from {date_text(first)} on"
    return ""


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
