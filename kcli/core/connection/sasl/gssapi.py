"""GSSAPI (RFC 4752): Kerberos 5, with the ticket cache or a keytab.

The tickets come from a key distribution center: the steps of the security context run in the worker thread. No security
layer is negotiated, as Kafka has none; TLS protects the connection.
"""

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from kcli.core.connection.sasl.exchange import Credentials, Exchange, ExchangeError
from kcli.core.connection.steps import Compute
from kcli.core.errors import ConfigError
from kcli.core.extras import installation
from kcli.core.options import ClientOptions

NO_LAYER = 1
"""The bit of "no security layer" in the broker's offer, and the client's choice."""

_REMEDY = "check sasl.kerberos.service.name, the principal, its ticket (klist) or keytab, and what the brokers accept"
_GET_TICKET = "get a ticket with kinit, or set sasl.kerberos.principal and sasl.kerberos.keytab"
_HINTS = (
    (
        "ticket expired",
        "get a new ticket with kinit, or set sasl.kerberos.principal and sasl.kerberos.keytab",
    ),
    (
        "not found in kerberos database",
        "check sasl.kerberos.service.name, and the host name that the broker advertises",
    ),
    ("clock skew", "set the clock of this machine: Kerberos allows five minutes of difference"),
    ("cannot contact any kdc", "check krb5.conf, and that the key distribution center is running"),
    ("credentials", _GET_TICKET),
    ("cache collection", _GET_TICKET),
)
_MINOR = re.compile(r"Minor \(\d+\): (.+)")
"""The code of Kerberos says more than that of GSSAPI before it."""


class Context(Protocol):
    """A security context of the initiator; every method raises ExchangeError."""

    @property
    def complete(self) -> bool: ...

    def step(self, token: bytes | None) -> bytes | None: ...

    def unwrap(self, message: bytes) -> bytes: ...

    def wrap(self, message: bytes) -> bytes: ...


def prepare(options: ClientOptions) -> Credentials:
    """Kerberos as ``options`` describe it; ConfigError without the library, and for a keytab that cannot be used."""
    principal, keytab = options.sasl_kerberos_principal, os.path.expanduser(options.sasl_kerberos_keytab)
    if keytab and not principal:
        raise ConfigError(
            "sasl.kerberos.keytab without sasl.kerberos.principal",
            why="a keytab may hold the keys of several principals",
            do="set sasl.kerberos.principal; klist -k shows which there are",
        )
    if keytab and not os.access(keytab, os.R_OK):
        raise ConfigError(
            f"sasl.kerberos.keytab names {keytab}, which cannot be read",
            why="permission denied" if os.path.lexists(keytab) else "there is no such file",
            do="correct the path, or its permissions",
        )
    library = _library()
    service = options.sasl_kerberos_service_name or "kafka"

    def begin(host: str) -> Exchange:
        return gssapi(lambda: _Context(library, f"{service}@{host}", principal, keytab))

    return Credentials(lambda: principal, begin, tuple, _REMEDY)


def gssapi(open_context: Callable[[], Context]) -> Exchange:
    """Tokens until the context is established, then the choice of no security layer."""
    context: Context = yield Compute(open_context)
    token = yield Compute(partial(context.step, None))
    while not context.complete:
        challenge = yield token or b""
        token = yield Compute(partial(context.step, bytes(challenge)))
    offer = context.unwrap(bytes((yield token or b"")))
    if len(offer) != 4 or not offer[0] & NO_LAYER:
        raise ExchangeError(
            "the broker demands a security layer of GSSAPI", "kcli protects connections with TLS only"
        )
    yield context.wrap(bytes((NO_LAYER, 0, 0, 0)))


class _Context:
    """A context of the library, with its errors as ExchangeError."""

    def __init__(self, library: Any, service: str, principal: str, keytab: str) -> None:
        self._library, self._principal, self._keytab = library, principal, keytab
        flags = library.RequirementFlag
        self._context = self._checked(
            lambda: library.SecurityContext(
                name=library.Name(service, library.NameType.hostbased_service),
                creds=self._credentials(),
                mech=library.MechType.kerberos,
                flags=flags.mutual_authentication | flags.integrity,
                usage="initiate",
            )
        )

    def _credentials(self) -> Any:
        if not self._principal:
            return None
        name = self._library.Name(self._principal, self._library.NameType.kerberos_principal)
        store = {"client_keytab": self._keytab, "ccache": "MEMORY:"} if self._keytab else None
        return self._library.Credentials(name=name, usage="initiate", store=store)

    @property
    def complete(self) -> bool:
        return bool(self._context.complete)

    def step(self, token: bytes | None) -> bytes | None:
        found: bytes | None = self._checked(lambda: self._context.step(token))
        return found

    def unwrap(self, message: bytes) -> bytes:
        return bytes(self._checked(lambda: self._context.unwrap(message)).message)

    def wrap(self, message: bytes) -> bytes:
        return bytes(self._checked(lambda: self._context.wrap(message, False)).message)

    def _checked(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except self._library.exceptions.GSSError as error:
            text = " ".join(str(error).split())
            minor = _MINOR.search(text)
            why = minor[1] if minor is not None else text
            do = next((do for words, do in _HINTS if words in why.lower()), "")
            if do == _GET_TICKET and self._keytab:
                do = f"check that {self._keytab} has the present key of {self._principal}: klist -k {self._keytab}"
            raise ExchangeError(f"Kerberos refuses: {why}", do) from None


def _library() -> Any:
    try:
        import gssapi as library  # an extra, loaded only for this mechanism
    except ImportError as error:
        raise ConfigError(
            "sasl.mechanism=GSSAPI needs a library that is not installed",
            why=str(error),
            do=f"{installation('kerberos')} (it needs the Kerberos libraries of the system, such as libkrb5-dev)",
        ) from None
    return library
