"""HTTP to a schema registry: one connection per address, kept open; retry and failover; responses of limited size.

Runs in the thread that decodes, between two polls: it waits at most for the time limit of each try. Responses are
untrusted. Connections, clock and sleep are injected, so tests need neither sockets nor time.
"""

import http.client
import json
import random
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kcli.core.errors import AuthError
from kcli.core.net.tls.context import make_context
from kcli.core.net.tls.stores import Stores
from kcli.serde.errors import RegistryAuthError, RegistryError, RegistryUnreachableError, SchemaNotFoundError
from kcli.serde.registry.addresses import Address
from kcli.serde.registry.options import RegistryOptions

MAX_ANSWER = 16 << 20
_CHUNK = 1 << 16
_NOT_FOUND = (40401, 40402, 40403)
_AGAIN = (408, 429)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class HttpConnection(Protocol):
    """The methods used of ``http.client.HTTPConnection``."""

    def request(self, method: str, url: str, body: Any = None, headers: Mapping[str, str] = ...) -> None: ...

    def getresponse(self) -> Any: ...

    def close(self) -> None: ...


class _TemporaryError(Exception):
    """This try failed, another may succeed."""


class Transport:
    """Sends requests to the registries of ``addresses``, starting with the one that responded last."""

    def __init__(
        self,
        addresses: Sequence[Address],
        options: RegistryOptions,
        *,
        connect: Callable[[Address], HttpConnection] | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._addresses = addresses
        self._options = options
        self._connect = connect or Connector(options).connect
        self._now, self._sleep = now, sleep
        self._open: dict[Address, HttpConnection] = {}
        self._current = 0

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The response's JSON; RegistryError for an error response, RegistryUnreachableError when all tries failed."""
        why: list[str] = []
        for attempt in range(self._options.schema_registry_max_retries + 1):
            if attempt:
                self._sleep(_pause(attempt))
            address = self._addresses[self._current]
            try:
                return self._try(address, method, path, body)
            except _TemporaryError as error:
                why.append(f"{address}: {error}")
                self._current = (self._current + 1) % len(self._addresses)
        raise RegistryUnreachableError(
            f"the schema registry does not answer {method} {path}",
            why="; ".join(dict.fromkeys(why)),
            do="check schema.registry.url, and that the registry runs",
        )

    def close(self) -> None:
        """Closes the connections."""
        while self._open:
            self._open.popitem()[1].close()

    def _try(self, address: Address, method: str, path: str, body: Any) -> Any:
        # The other side may have closed a kept connection in the meantime: that is not a failure yet.
        for connection, fresh in self._connections(address):
            try:
                status, data = self._exchange(connection, address, method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self._drop(address)
                if fresh:
                    raise _TemporaryError(_words(error)) from None
            else:
                return self._judge(address, method, path, status, data)
        raise AssertionError("a fresh connection was tried last")

    def _connections(self, address: Address) -> Any:
        """The open connection, if any, then a new one."""
        kept = self._open.get(address)
        if kept is not None:
            yield kept, False
        try:
            self._open[address] = fresh = self._connect(address)
        except OSError as error:
            raise _TemporaryError(_words(error)) from None
        yield fresh, True

    def _exchange(
        self, connection: HttpConnection, address: Address, method: str, path: str, body: Any
    ) -> tuple[int, bytes]:
        deadline = self._now() + self._options.schema_registry_request_timeout_ms / 1000
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, address.path + path, body=data, headers=self._headers(address, data))
        response = connection.getresponse()
        parts, size = [], 0
        while part := response.read1(_CHUNK):
            parts.append(part)
            size += len(part)
            if size > MAX_ANSWER:
                self._drop(address)
                raise RegistryError(
                    f"the answer of {address} to {method} {path} is too large",
                    why=f"it has more than {MAX_ANSWER:,} bytes",
                    status=response.status,
                )
            if self._now() > deadline:
                raise TimeoutError("the answer takes too long")
        response.close()  # read1 does not notice the end: the connection would not accept the next request
        return response.status, b"".join(parts)

    def _headers(self, address: Address, body: bytes | None) -> dict[str, str]:
        options = self._options
        headers = {"Accept": f"{_CONTENT_TYPE}, application/json", "User-Agent": "kcli"}
        if body is not None:
            headers["Content-Type"] = _CONTENT_TYPE
        if address.authorization:
            headers["Authorization"] = address.authorization
        if options.bearer_auth_logical_cluster:
            headers["target-sr-cluster"] = options.bearer_auth_logical_cluster
        if options.bearer_auth_identity_pool_id:
            headers["Confluent-Identity-Pool-Id"] = options.bearer_auth_identity_pool_id
        return headers

    def _judge(self, address: Address, method: str, path: str, status: int, data: bytes) -> Any:
        if status >= 500 or status in _AGAIN:
            raise _TemporaryError(_message(status, data)[1])
        if status >= 300:
            raise _refusal(address, f"{method} {path}", status, data)
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise RegistryError(
                f"the answer of {address} to {method} {path} is not JSON",
                why="another server answers at this address, perhaps",
                do="check schema.registry.url",
                status=status,
            ) from None

    def _drop(self, address: Address) -> None:
        connection = self._open.pop(address, None)
        if connection is not None:
            connection.close()


class Connector:
    """Makes connections; the TLS context is created with the first one that needs it."""

    def __init__(self, options: RegistryOptions) -> None:
        self._options = options
        self._context: ssl.SSLContext | None = None

    def connect(self, address: Address) -> HttpConnection:
        """An open connection; OSError, or an error that another try does not cure."""
        timeout = self._options.schema_registry_request_timeout_ms / 1000
        if not address.secure:
            plain = http.client.HTTPConnection(address.host, address.port, timeout=timeout)
            plain.connect()
            return plain
        self._context = self._context or _tls_context(self._options)
        secure = http.client.HTTPSConnection(
            address.host, address.port, timeout=timeout, context=self._context
        )
        try:
            secure.connect()
        except ssl.SSLCertVerificationError as error:
            raise AuthError(
                f"{address}: the schema registry's certificate was not accepted",
                why=error.verify_message or str(error),
                do="check schema.registry.ssl.ca.location, and that the certificate names this host",
            ) from None
        return secure


def _tls_context(options: RegistryOptions) -> ssl.SSLContext:
    stores = Stores(
        prefix="schema.registry.ssl",
        ca_location=options.schema_registry_ssl_ca_location,
        certificate_location=options.schema_registry_ssl_certificate_location,
        key_location=options.schema_registry_ssl_key_location,
        key_password=options.schema_registry_ssl_key_password,
    )
    named = options.schema_registry_ssl_endpoint_identification_algorithm != "none"
    return make_context(stores, check_hostname=named)


def _refusal(address: Address, what: str, status: int, data: bytes) -> RegistryError:
    code, message = _message(status, data)
    what = f"the schema registry {address} refuses {what}"
    if status in (401, 403):
        do = "check basic.auth.user.info or bearer.auth.token, and what this user may read"
        return RegistryAuthError(what, why=message, do=do, status=status, code=code)
    if status == 404 and code in _NOT_FOUND:
        return SchemaNotFoundError(what, why=message, status=status, code=code)
    do = ""
    if status < 400:
        do = "it points to another address: put that into schema.registry.url"
    elif status == 404:
        do = "check the path in schema.registry.url"
    return RegistryError(what, why=message, do=do, status=status, code=code)


def _message(status: int, data: bytes) -> tuple[int, str]:
    """The registry's own code and message, sanitized: one line without control characters, of limited length."""
    code, message = 0, ""
    try:
        body = json.loads(data[:_CHUNK])
        if isinstance(body, dict):
            number = body.get("error_code")
            code = number if isinstance(number, int) else 0
            message = str(body.get("message") or "")
    except (ValueError, RecursionError):
        pass
    plain = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    if len(plain) > 300:
        plain = plain[:299] + "…"
    number = code if code and code != status else status
    return code, f"{plain} ({number})" if plain else f"HTTP {number}"


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return f"the answer is no HTTP ({type(error).__name__})"


def _pause(attempt: int) -> float:
    pause: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (attempt - 1))
    return pause * random.uniform(0.8, 1.2)
