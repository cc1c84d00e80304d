"""TLS contexts from client options: verified by default, at least TLS 1.2, no fallback to plaintext.

Imported by clients that use TLS: a plaintext client does not load ``ssl``.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from kcli.core import classes
from kcli.core.errors import ConfigError
from kcli.core.net.tls.stores import Identity, Stores, authorities, identity
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret

_NO_NAME_CHECK = ("none", "")
_STORE_FIELDS = [field.name for field in classes.fields(Stores) if field.name != "prefix"]


class ClientContext(ssl.SSLContext):
    """A context that knows whether the client has a certificate: alerts mean different things without one."""

    has_certificate = False


def tls_context(options: ClientOptions) -> ssl.SSLContext | None:
    """The context for these options, None for plaintext; ConfigError names a file that cannot be used."""
    if not uses_tls(options):
        return None
    stores = Stores(**{name: getattr(options, f"ssl_{name}") for name in _STORE_FIELDS})
    return make_context(
        stores,
        verify=options.enable_ssl_certificate_verification,
        check_hostname=options.ssl_endpoint_identification_algorithm not in _NO_NAME_CHECK,
    )


def uses_tls(options: ClientOptions) -> bool:
    """Whether the protocol is SSL or SASL_SSL."""
    return options.security_protocol.endswith("SSL")


def unverified(options: ClientOptions) -> str:
    """The warning about a check that is switched off; empty if all are on."""
    if not uses_tls(options):
        return ""
    if not options.enable_ssl_certificate_verification:
        return (
            "the brokers' certificates are not verified (enable.ssl.certificate.verification=false): "
            "an attacker on the network may read and change everything"
        )
    if options.ssl_endpoint_identification_algorithm in _NO_NAME_CHECK:
        return (
            "the host names in the brokers' certificates are not checked (ssl.endpoint.identification.algorithm): "
            "any server with a certificate of a trusted authority may pose as a broker"
        )
    return ""


def make_context(stores: Stores, *, verify: bool = True, check_hostname: bool = True) -> ClientContext:
    """A client's context. ConfigError names what cannot be used.

    Not ``ssl.create_default_context``: it writes session keys where SSLKEYLOGFILE says, and its strictness depends on
    the version of Python. A certificate that is named as trusted is an anchor, also if it is not self-signed, as in Java.
    """
    context = ClientContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION  # as Java's clients: a write must never wait for a read
    _trust(context, stores)
    own = identity(stores)
    if own is not None:
        _load(context, own, stores)
        context.has_certificate = True
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not check_hostname:
        context.check_hostname = False
    return context


def _trust(context: ssl.SSLContext, stores: Stores) -> None:
    found = authorities(stores)
    if found is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=found)
    except (OSError, ValueError) as error:
        where = stores.ca_location or stores.key("ca_pem")
        raise ConfigError(
            f"cannot use the CA certificates in {where}",
            why=_reason(error),
            do=f"check them: openssl x509 -in {stores.ca_location or 'FILE'} -noout -text",
        ) from None


def _load(context: ssl.SSLContext, own: Identity, stores: Stores) -> None:
    asked = []

    def password() -> str:
        """Called for an encrypted key only; without it OpenSSL prompts on the terminal."""
        asked.append(True)
        return own.password.reveal()

    try:
        with readable(own.pem) as path:
            context.load_cert_chain(path, password=password)
    except (OSError, ValueError) as error:
        reason = _reason(error)
        if is_mismatch(error):
            raise ConfigError(
                "the client's certificate and its private key do not belong together",
                why=f"the key in {own.key_source} is not that of the first certificate in {own.certificate_source}",
                do="name the key that the certificate was made for; the client's own certificate comes first in its file",
            ) from None
        if asked:
            raise _password_error(own, stores) from None
        raise ConfigError(
            f"cannot use {own.certificate_source}",
            why=reason,
            do=f"check it, and {own.key_source}"
            if own.key_source != own.certificate_source
            else "check it with openssl x509 and openssl pkey",
        ) from None


def is_mismatch(error: Exception) -> bool:
    """Whether a certificate was not loaded because the key is not its own; a key may even be of another kind."""
    return any(word in _reason(error) for word in ("MISMATCH", "NO_CERTIFICATE_ASSIGNED"))


def _password_error(own: Identity, stores: Stores) -> ConfigError:
    option = stores.key("key_password")
    if own.password:
        return ConfigError(
            f"cannot decrypt {own.key_source}", why=f"{option} is not its password", do=f"correct {option}"
        )
    return ConfigError(
        f"cannot decrypt {own.key_source}",
        why="the private key is encrypted, and no password is given",
        do=f"give {option}, in a file that only you can read",
    )


@contextmanager
def readable(text: Secret) -> Iterator[str]:
    """A path from which only this process reads ``text``: ``load_cert_chain`` accepts nothing else.

    Anonymous memory on Linux. Elsewhere a file of mode 0600 for the moment of the call.
    """
    data = text.reveal().encode("ascii", "replace")
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("kcli", os.MFD_CLOEXEC)
        try:
            path = f"/proc/self/fd/{fd}"
            if os.path.exists(path):
                os.write(fd, data)
                yield path
                return
        finally:
            os.close(fd)
    with tempfile.NamedTemporaryFile(prefix="kcli-") as file:
        file.write(data)
        file.flush()
        yield file.name


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
